"""Numbers of extreme size in attributes: executed exactly, or refused with a diagnostic."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from netcalc import ops
from netcalc.arrays import numpy_dtype
from netcalc.diagnostics import NetcalcError, RuleError
from netcalc.engine.run import forward
from netcalc.numerics.kernels import Run, apply
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from netcalc.verification.verify import verify

WHOLE = [
    (name, field)
    for name, declared in ops.every().items()
    for field in declared.model_fields
    if field in ("stride", "diagonal", "offset", "window", "step")
]


def spec_of(name: str, changed: dict[str, Any]) -> dict[str, Any]:
    types = ops.every()[name].example.types()
    inputs = {f"x{n}": {"shape": list(t.shape), "dtype": t.dtype} for n, t in enumerate(types)}
    line = {name: {**ops.every()[name].example.attrs, **changed}, **({"from": list(inputs)} if inputs else {})}
    return {"netcalc": 1, "inputs": inputs, "layers": [line]}


@pytest.mark.parametrize("name,field", WHOLE)
@pytest.mark.parametrize("number", [10**18, 10**30, -(10**30)])
def test_distances_between_positions_may_be_of_any_size(name: str, field: str, number: int) -> None:
    try:
        program = elaborate(load_data(spec_of(name, {field: number})))
        report = verify(program, values=True, backward=any(t.is_float for t in program.main.output_types))
    except NetcalcError:
        return
    assert report.ok, report.failures


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_a_whole_number_fits_the_element_type(name: str) -> None:
    with pytest.raises(NetcalcError, match="does not fit int64"):
        elaborate(load_data(spec_of(name, {"value": 10**30})))


def test_remainders_of_halves_are_by_a_number_in_half_precision() -> None:
    """PyTorch 2.13: ``torch.fmod(torch.tensor(0.7, dtype=torch.half), 0.1)``, and ``torch.remainder`` with 1e-5."""
    x = np.array([0.7, 0.3], "float16")
    fmod, remainder = ops.every()["fmod"](value=0.1), ops.every()["remainder"](value=1e-5)
    assert apply(fmod, Run(), (x,), {})[0].tolist() == [0.0003662109375, 0.0001220703125]
    assert apply(remainder, Run(), (x,), {})[0].tolist() == [5.7220458984375e-06, 1.9073486328125e-06]
    spec = {"netcalc": 1, "dtype": "float16", "inputs": {"x": [2, 8]}, "layers": [{"fmod": {"value": 0.1}}]}
    assert verify(elaborate(load_data(spec)), values=True).ok


def test_weights_of_classes_are_floating_point_numbers() -> None:
    types = ops.every()["cross_entropy"].example.types()
    with pytest.raises(RuleError, match="floating-point"):
        ops.every()["cross_entropy"]().infer(None, *types, types[0].with_shape(5).with_dtype("bool"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "dtype,name,value,number,expected",
    [
        ("float16", "add", 0.98291, -0.9, 0.0830078125),
        ("bfloat16", "add", 0.98291, -0.9, 0.0859375),
        ("float16", "sub", 0.98291, 0.9, 0.0830078125),
        ("bfloat16", "pow", 1e30, 0.9, 8.994408097932841e26),
        ("float16", "mul", 0.98291, 0.9, 0.884765625),
        ("bfloat16", "mul", 0.98291, 0.9, 0.88671875),  # 0.8828125 with a rounded number
        ("float16", "div", 0.98291, 1.1, 0.8935546875),  # 0.89404296875 with a rounded number
        ("float16", "equal", 0.9, 0.9, 1),
        ("float16", "greater", 0.9, 0.9, 0),
    ],
)
@pytest.mark.parametrize("plan", ["fast", "reference"])
def test_numbers_beside_halves_are_rounded_as_in_pytorch(
    dtype: str, name: str, value: float, number: float, expected: float, plan: str
) -> None:
    """Results of PyTorch 2.13 on a processor, for tensors of 1, 9 and 20 elements."""
    spec = {"netcalc": 1, "dtype": dtype, "inputs": {"x": {"shape": [9], "dtype": dtype}}}
    program = elaborate(load_data({**spec, "layers": [{name: {"value": number}}]}))
    result = forward(program, {"x": np.full(9, value, numpy_dtype(dtype))}, plan=plan)  # type: ignore[arg-type]
    assert result.outputs["output"].astype(float).tolist() == [expected] * 9


@pytest.mark.parametrize(
    "reduction,smoothing,expected", [("mean", 0.1, np.nan), ("mean", 0.0, np.nan), ("sum", 0.1, 0.1)]
)
def test_classes_without_weight(reduction: str, smoothing: float, expected: float) -> None:
    """PyTorch 2.13: a mean adds two quotients by the total weight, of which the first is 0/0."""
    scores, target = np.log(np.full((1, 2), 0.5)), np.array([0])
    weight = np.array([0, 2 / np.log(2)])
    op = ops.every()["cross_entropy"](reduction=reduction, label_smoothing=smoothing)
    np.testing.assert_allclose(apply(op, Run(), (scores, target, weight), {})[0], expected)


def test_powers_of_a_very_large_order_underflow() -> None:
    """PyTorch 2.13: ``lp_pool1d(torch.full((1, 2, 2), 0.5), 1e308, 2)`` is 0."""
    op = ops.every()["lp_pool1d"](norm_type=1e308, kernel=2)
    assert apply(op, Run(), (np.full((1, 2, 2), 0.5, np.float32),), {})[0].tolist() == [[[0], [0]]]


def test_an_endless_sequence_is_refused() -> None:
    with pytest.raises(NetcalcError, match="too large") as caught:
        elaborate(load_data({"netcalc": 1, "layers": [{"arange": {"stop": float("inf"), "dtype": "float32"}}]}))
    assert caught.value.diagnostics[0].code == "E401"


@pytest.mark.parametrize(
    "line",
    [
        {"max_pool2d": {"kernel": 3, "padding": "same_upper", "dilation": 10**30}},
        {"local_response_norm": {"size": 2**60}},
    ],
)
def test_temporary_arrays_beyond_the_memory_are_refused(line: dict[str, Any]) -> None:
    program = elaborate(load_data({"netcalc": 1, "inputs": {"x": [1, 2, 8, 8]}, "layers": [line]}))
    with pytest.raises(NetcalcError, match=r"out of memory") as caught:
        verify(program, values=True, backward=True, max_work=1e30)
    assert caught.value.diagnostics[0].code == "E603"


@pytest.mark.parametrize("dilation", [3, 10**30])
def test_a_window_of_one_element_has_no_dilation(dilation: int) -> None:
    op = ops.every()["max_pool1d"](kernel=1, dilation=dilation, return_indices=True)
    x = np.arange(4.0).reshape(1, 1, 4)
    values, indices = apply(op, Run(), (x,), {})
    assert (values.tolist(), indices.tolist()) == (x.tolist(), [[[0, 1, 2, 3]]])


@pytest.mark.parametrize(
    "line", [{"mul": {"value": 1e308}}, {"hardtanh": {"max": 1e308}}, {"layer_norm": {"axes": 1, "eps": 1e308}}]
)
def test_numbers_beyond_an_element_type_are_infinite_without_a_warning(line: dict[str, Any]) -> None:
    program = elaborate(load_data({"netcalc": 1, "inputs": {"x": [2, 3]}, "layers": [line]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert verify(program, values=True).ok


@pytest.mark.parametrize("name", ["sigmoid", "silu", "quick_gelu"])
def test_planned_runs_in_double_precision_keep_the_digits_of_lower_tails(name: str) -> None:
    program = elaborate(load_data({"netcalc": 1, "dtype": "float64", "inputs": {"x": [64]}, "layers": [name]}))
    x = np.linspace(-12, -1, 64)
    scale = 1.702 if name == "quick_gelu" else 1
    defined = np.array([(1 if name == "sigmoid" else v) * math.exp(scale * v) / (1 + math.exp(scale * v)) for v in x])
    np.testing.assert_allclose(forward(program, {"x": x}, plan="fast").outputs["output"], defined, rtol=1e-14)
