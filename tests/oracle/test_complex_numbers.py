"""Operations on complex numbers against torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.dtypes import COMPLEX
from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

SHAPES = npst.array_shapes(min_dims=1, max_dims=3, max_side=5)
TYPES = st.sampled_from(["complex64", "complex128"])


def numbers(shape: tuple[int, ...], dtype: str = "complex64", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return np.asarray(drawn if dtype in COMPLEX else drawn.real).astype(dtype)


PARTS: dict[str, Callable[..., Any]] = {
    "real": torch.real,
    "imag": torch.imag,
    "view_as_real": torch.view_as_real,
    "conj": torch.conj,
    "angle": torch.angle,
}
FUNCTIONS = ("abs", "exp", "log", "sqrt", "sin", "cos", "tanh", "neg", "square", "reciprocal")


@draws
@given(name=st.sampled_from([*PARTS]), shape=SHAPES, dtype=TYPES)
def test_parts(name: str, shape: tuple[int, ...], dtype: str) -> None:
    agree(name, {}, [numbers(shape, dtype)], lambda w, x: PARTS[name](x))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions(name: str, dtype: str) -> None:
    agree(name, {}, [numbers((3, 7), dtype)], lambda w, x: getattr(torch, name)(x))


@draws
@given(name=st.sampled_from(["complex", "polar"]), shape=SHAPES, dtype=st.sampled_from(["float32", "float64"]))
def test_made_of_real_numbers(name: str, shape: tuple[int, ...], dtype: str) -> None:
    x, y = numbers(shape, dtype), numbers((shape[-1],), dtype, 1)
    agree(name, {}, [np.abs(x), y], lambda w, x, y: getattr(torch, name)(x, y))


@draws
@given(shape=SHAPES, pairs=st.integers(1, 3), dtype=st.sampled_from(["float32", "float64", "int64"]))
def test_pairs(shape: tuple[int, ...], pairs: int, dtype: str) -> None:
    x = numbers((*shape, pairs), "float64").astype(dtype)
    agree("view_as_complex", {}, [x], lambda w, x: torch.view_as_complex(x))


@draws
@given(
    name=st.sampled_from(["add", "sub", "mul", "div"]),
    shape=SHAPES,
    types=st.permutations(["complex64", "complex128", "float32", "float64", "int64"]),
    ranks=st.tuples(st.booleans(), st.booleans()),
)
def test_arithmetic(name: str, shape: tuple[int, ...], types: list[str], ranks: tuple[bool, bool]) -> None:
    first, second = (
        numbers(shape if full else (), dtype if dtype != "int64" else "float64", seed)
        for seed, (dtype, full) in enumerate(zip(types, ranks, strict=False))
    )
    arrays = [array.astype(dtype) + (dtype == "int64") for array, dtype in zip((first, second), types, strict=False)]
    arrays = [np.where(array == 0, 1, array).astype(array.dtype) for array in arrays]
    agree(name, {}, arrays, lambda w, x, y: getattr(torch, name)(x, y))


@pytest.mark.parametrize(("name", "attrs"), [("mul", {"value": 0.5}), ("div", {"value": 2, "reverse": True})])
def test_arithmetic_with_a_number(name: str, attrs: dict[str, Any]) -> None:
    value = attrs["value"]
    agree(
        name,
        attrs,
        [numbers((3, 4))],
        lambda w, x: value / x if attrs.get("reverse") else getattr(torch, name)(x, value),
    )


@pytest.mark.parametrize("exponent", [2, 3, -1, 0.5])
def test_powers(exponent: float) -> None:
    agree("pow", {"value": exponent}, [numbers((3, 4))], lambda w, x: x**exponent)


@pytest.mark.parametrize("name", ["equal", "not_equal"])
def test_comparison(name: str) -> None:
    x = numbers((3, 4))
    y = np.where(np.arange(12).reshape(3, 4) % 2, x, x.conj())
    agree(name, {}, [x, y], lambda w, x, y: torch.eq(x, y) if name == "equal" else torch.ne(x, y))


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@pytest.mark.parametrize("axis", [None, 1])
def test_reductions(name: str, axis: int | None) -> None:
    attrs = {} if axis is None else {"axis": axis}
    agree(name, attrs, [numbers((3, 4))], lambda w, x: getattr(torch, name)(x, *attrs.values()))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_cumulative(name: str) -> None:
    agree(name, {"axis": 1}, [numbers((3, 4))], lambda w, x: getattr(torch, name)(x, 1))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products(dtype: str) -> None:
    x, y, z = numbers((2, 3, 4), dtype), numbers((2, 4, 5), dtype, 1), numbers((4,), dtype, 2)
    agree("matmul", {}, [x, y], lambda w, x, y: x @ y)
    agree("matmul", {}, [x, z], lambda w, x, y: x @ y)
    equation = "bixy,ioxy->boxy"
    weight = numbers((3, 2, 4, 5), dtype, 1)
    image = numbers((2, 3, 4, 5), dtype)
    agree("einsum", {"equation": equation}, [image, weight], lambda w, *x: torch.einsum(equation, *x))


def test_linear() -> None:
    def reference(weights: Any, x: Any) -> Any:
        complex_weights = {name: weight.to(x.dtype) for name, weight in weights.items()}
        return torch.nn.functional.linear(x, complex_weights["weight"], complex_weights["bias"])

    agree("linear", {"out": 5}, [numbers((2, 4))], reference)
    weight, bias = numbers((5, 4), seed=1), numbers((5,), seed=2)
    agree("linear", {"out": 5}, [numbers((2, 4)), weight, bias], lambda w, *x: torch.nn.functional.linear(*x))


MOVES: list[tuple[str, dict[str, Any], Callable[[Any], Any]]] = [
    ("reshape", {"shape": [4, 3]}, lambda x: x.reshape(4, 3)),
    ("transpose", {"axes": [0, 1]}, lambda x: x.T),
    ("slice", {"axis": 1, "start": 1, "stop": 3}, lambda x: x[:, 1:3]),
    ("select", {"axis": 0, "index": 1}, lambda x: x[1]),
    ("pad", {"padding": [[1, 2]], "axis": [1]}, lambda x: torch.nn.functional.pad(x, (1, 2))),
    ("expand", {"shape": [2, 3, 4]}, lambda x: x.expand(2, 3, 4)),
    ("tile", {"repeats": [2, 1]}, lambda x: x.repeat(2, 1)),
    ("roll", {"shifts": 1, "axis": 1}, lambda x: x.roll(1, 1)),
    ("flip", {"axis": 1}, lambda x: x.flip(1)),
    ("cast", {"dtype": "complex128"}, lambda x: x.to(torch.complex128)),
    ("cast", {"dtype": "float32"}, lambda x: x.real),
    ("cast", {"dtype": "bool"}, lambda x: x.to(torch.bool)),
    ("identity", {}, lambda x: x),
]


@pytest.mark.parametrize(("name", "attrs", "reference"), MOVES, ids=[f"{m[0]}-{i}" for i, m in enumerate(MOVES)])
def test_moves(name: str, attrs: dict[str, Any], reference: Callable[[Any], Any]) -> None:
    agree(name, attrs, [numbers((3, 4))], lambda w, x: reference(x).clone())


def test_joined() -> None:
    x, y = numbers((3, 4)), numbers((3, 4), seed=1)
    agree("concat", {"axis": 1}, [x, y], lambda w, *x: torch.cat(x, 1))
    agree("stack", {"axis": 1}, [x, y.real.copy()], lambda w, *x: torch.stack(x, 1))
    mask = np.arange(12).reshape(3, 4) % 3 == 0
    agree("where", {}, [mask, x, y], lambda w, *x: torch.where(*x))
    agree("masked_fill", {"value": 0.0}, [x, mask], lambda w, x, mask: x.masked_fill(mask, 0.0))
    places = np.array([2, 0])
    agree("index_select", {"axis": 0}, [x, places], lambda w, x, at: x.index_select(0, at))


@pytest.mark.parametrize("name", ["index_put", "scatter"])
def test_sums_at_positions(name: str) -> None:
    x, y, index = numbers((3, 4)), numbers((3, 2), seed=1), np.array([[0, 1], [2, 2], [3, 0]])
    if name == "scatter":
        agree(name, {"axis": 1, "reduce": "sum"}, [x, index, y], lambda w, x, at, y: x.scatter_add(1, at, y))
        return
    places = np.array([1, 1])
    attrs = {"axis": 1, "accumulate": True}
    agree(
        name, attrs, [x, y, places], lambda w, x, y, at: x.index_put((torch.arange(3)[:, None], at), y, accumulate=True)
    )


def line(text: str, x: str = "{shape: [2, 4, 8], dtype: complex64}") -> Any:
    return netcalc.loads(f"{{netcalc: 1, inputs: {{x: {x}}}, layers: [{text}]}}")


@pytest.mark.parametrize(
    "text", ["relu", "softmax: -1", "layer_norm", "max: 1", "argmax: 1", "div: {value: 2, rounding: floor}"]
)
def test_operations_on_real_numbers_refuse_complex_ones(text: str) -> None:
    with pytest.raises(NetcalcError) as refused:
        line(text)
    assert {found.code for found in refused.value.diagnostics} == {"E402"}


def test_operations_that_cannot_make_complex_numbers_refuse_to() -> None:
    with pytest.raises(NetcalcError, match="arange is for real numbers, and its result is complex64"):
        line("arange: {stop: 4, dtype: complex64}")


def test_operations_on_complex_numbers_refuse_real_ones() -> None:
    for name in ("real", "imag", "conj", "angle", "view_as_real"):
        with pytest.raises(NetcalcError, match=f"{name} takes complex numbers, and its input is float32"):
            line(name, "[2, 4]")


def test_work_is_real_arithmetic() -> None:
    """A complex multiply-add is 4 real ones, a product 6 FLOPs, a sum 2; other tools ignore the element type."""
    product = line("{linear: {out: 3, bias: false}}")
    assert product.macs == 4 * 2 * 4 * 8 * 3
    assert product.cost("torch").flops == 2 * 2 * 4 * 8 * 3 == 2 * product.cost("fvcore").macs
    assert line("{mul: 2.0}").flops == 6 * 2 * 4 * 8
    assert line("{add: 2.0}").flops == 2 * 2 * 4 * 8


def test_parameters_count_once_and_take_all_their_bytes() -> None:
    net = line("{linear: {out: 3}}")
    module = torch.nn.Linear(8, 3, dtype=torch.complex64)
    assert net.params == sum(p.numel() for p in module.parameters()) == 27
    assert net.cost().weight_bytes == sum(p.nbytes for p in module.parameters()) == 27 * 8


@pytest.mark.parametrize("dtype", sorted(COMPLEX))
def test_drawn_numbers_have_the_variance_of_torch(dtype: str) -> None:
    net = netcalc.loads(
        f"{{netcalc: 1, inputs: {{x: {{shape: [20000], dtype: {dtype}}}}}, layers: ["
        f"{{name: w, parameter: {{shape: [20000], dtype: {dtype}, init: normal(std=2)}}}}], outputs: [x, w]}}"
    )
    x, w = net.run(seed=3).outputs.values()
    theirs = torch.randn(20000, dtype=getattr(torch, dtype), generator=torch.Generator().manual_seed(0)).numpy()
    for ours, std in ((x, 1), (w, 2)):
        assert ours.dtype == dtype
        for part in (ours.real, ours.imag):
            assert abs(part.std() - std * theirs.real.std()) < 0.03 * std
        assert abs((ours.real * ours.imag).mean()) < 0.03 * std**2


def test_gradients_are_refused() -> None:
    net = line("{linear: {out: 3}}, abs")
    with pytest.raises(NetcalcError, match="gradients of complex numbers are not computed, and linear"):
        net.analysis(backward=True)
    with pytest.raises(NetcalcError, match="gradients of complex numbers are not computed, and linear"):
        net.gradients()


def test_weights_of_files(tmp_path: Path) -> None:
    module = torch.nn.Linear(8, 3, dtype=torch.complex64)
    tensors = {f"fc.{name}": tensor.detach() for name, tensor in module.state_dict().items()}
    save_file(tensors, tmp_path / "w.safetensors")
    np.savez(tmp_path / "w.npz", **{name: tensor.numpy() for name, tensor in tensors.items()})
    net = line("{name: fc, linear: {out: 3}}")
    x = torch.randn(2, 4, 8, dtype=torch.complex64)
    for file in ("w.safetensors", "w.npz"):
        result = net.run(inputs={"x": x.numpy()}, weights=tmp_path / file)
        row = result.rows["output"]
        expected = module(x).detach()
        np.testing.assert_allclose(result.outputs["output"], expected.numpy(), atol=1e-5)
        assert abs(row.mean - expected.abs().mean().item()) < 1e-5
        result.save(tmp_path / f"out-{file}.safetensors")
        assert load_file(tmp_path / f"out-{file}.safetensors")["output"].dtype == torch.complex64
