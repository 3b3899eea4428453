"""Arithmetic and elementwise functions: errors, suggested fixes, and symbolic sizes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, assumptions, symbol
from netcalc.ir.build import infer
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute
from tests.ops.prediction import predict

B, H, W = symbol("b", default=1), symbol("h", default=6), symbol("w", default=3)
x = np.arange(6, dtype=np.float32).reshape(2, 3)


def refusal(name: str, attrs: dict[str, Any], *types: TensorType) -> RuleError:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(RuleError) as caught:
        declared(**attrs).infer(Context(), *types)
    return caught.value


def test_every_example_runs() -> None:
    rng = np.random.default_rng(0)
    for family in ("arithmetic", "compare", "elementwise", "matmul", "reduce", "sorting", "routing"):
        for name in ops.FAMILIES[family]:
            declared = ops.find(name)
            assert declared is not None
            types = declared.example.types()
            execute(name, declared.example.attrs, *(rng.integers(0, 3, t.shape).astype(t.dtype) for t in types))


# -- sums, with numbers worked by hand --------------------------------------------------------------


def test_three_inputs_and_a_number() -> None:
    (y,) = execute("add", {"value": 1}, x, np.float32([[10], [20]]), x).outputs
    assert y.tolist() == [[11, 13, 15], [27, 29, 31]]


def test_one_minus() -> None:
    (y,) = execute("sub", {"value": 1, "reverse": True}, x).outputs
    assert y.tolist() == [[1, 0, -1], [-2, -3, -4]]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_rounds_once(dtype: Any) -> None:
    """One third is inexact in both types, so that rounding the number first would change the result."""
    y = execute("mul", {"value": 1 / 3}, x.astype(dtype)).outputs[0]
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, (x.astype(dtype).astype(np.float32) * np.float32(1 / 3)).astype(dtype))


@pytest.mark.parametrize(
    ("shapes", "work"),
    # the first sum has 4 elements, the next ones 12
    [([(4,), (1,), (3, 1), (3, 4)], 4 + 12 + 12), ([(2, 3)] * 5, 4 * 6), ([(), ()], 1)],
)
def test_work_of_a_sum(shapes: list[tuple[int, ...]], work: int) -> None:
    assert predict("add", {}, *shapes).work == {"add": work}
    execute("add", {}, *(np.ones(shape, np.float32) for shape in shapes))


@pytest.mark.parametrize(("exponent", "work"), [(2, {"mul": 6}), (3.0, {"mul": 12}), (4, {"transcendental": 6})])
def test_work_of_a_power(exponent: float, work: dict[str, int]) -> None:
    assert predict("pow", {"value": exponent}, (2, 3)).work == work
    execute("pow", {"value": exponent}, x)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["add", "mul", "minimum", "maximum", "logical_and", "logical_or"]),
    full=st.lists(st.integers(1, 4), max_size=4),
    data=st.data(),
)
def test_the_work_of_broadcasting_is_counted(name: str, full: list[int], data: st.DataObject) -> None:
    arrays = []
    for _ in range(data.draw(st.integers(2, 4))):
        own = full[data.draw(st.integers(0, len(full))) :]
        arrays.append(np.ones([data.draw(st.sampled_from([1, n])) for n in own], np.float32))
    execute(name, {}, *arrays)


# -- symbolic sizes ---------------------------------------------------------------------------------


def test_symbolic_sizes_broadcast_when_their_forms_are_equal() -> None:
    h = symbol("h", default=224)
    halved = (h + 1) // 2
    found = predict("add", {}, (1, 64, halved), (8, 64, (h - 1) // 2 + 1), (64, 1))
    assert found.shapes == [(8, 64, halved)]
    numbers = predict("add", {}, (1, 64, 112), (8, 64, 112), (64, 1))
    assert found.at(h=224).work == numbers.work


@pytest.mark.parametrize(
    ("shapes", "result", "assumed"),
    [
        (((H // 2,), (3,)), H // 2, ["h//2 == 3"]),
        (((H // 2, 5), (W, 5)), H // 2, ["h//2 == w"]),
        (((B,), (4,)), 4, ["b == 1"]),
        (((B,), (H // 6,)), B, ["b == h//6"]),
        (((B,), (1,), (B,)), B, []),
    ],
)
def test_sizes_that_are_equal_at_the_default_are_assumed_equal(
    shapes: list[tuple[Dim, ...]], result: Dim, assumed: list[str]
) -> None:
    with assumptions() as made:
        prediction = predict("add", {}, *shapes)
    assert prediction.shapes[0][0] == result
    assert [str(claim) for claim in made] == assumed


def test_sizes_that_differ_at_the_default_do_not_broadcast() -> None:
    error = refusal("add", {}, TensorType((H,)), TensorType((3,)))
    assert "axis 0 is h and 3" in error.message
    error = refusal("add", {}, TensorType((symbol("n"),)), TensorType((3,)))
    assert "axis 0 is n and 3" in error.message


# -- refusals ---------------------------------------------------------------------------------------


def test_a_mismatch_names_every_axis() -> None:
    error = refusal("add", {}, TensorType((1, 128, 28, 28)), TensorType((64, 56, 28)))
    assert error.code == "E401"
    assert error.message == "add cannot broadcast its inputs: axis 1 is 128 and 64, axis 2 is 28 and 56"


@pytest.mark.parametrize(
    ("main", "shortcut", "remedy"),
    [
        ((1, 128, 28, 28), (1, 64, 56, 56), "give input 2 a projection: conv2d: {out: 128, kernel: 1, stride: 2}"),
        ((1, 64, 56, 56), (1, 256, 14, 14), "give input 1 a projection: conv2d: {out: 256, kernel: 1, stride: 4}"),
        ((2, 32, 100), (2, 16, 200), "give input 2 a projection: conv1d: {out: 32, kernel: 1, stride: 2}"),
        ((2, 8, 4, 4, 4), (2, 4, 4, 4, 4), "give input 2 a projection: conv3d: {out: 8, kernel: 1, stride: 1}"),
        ((2, 10, 512), (2, 10, 256), "give input 2 a projection: linear: {out: 512}"),
    ],
)
def test_a_residual_join_gets_a_working_fix(main: tuple[int, ...], shortcut: tuple[int, ...], remedy: str) -> None:
    """The first applicable fix makes the shapes compatible."""
    types = [TensorType(main), TensorType(shortcut)]
    for fix in refusal("add", {}, *types).fixes:
        declared = ops.find(fix.op)
        assert declared is not None
        (repaired,) = infer(declared(**fix.attrs), (types[fix.port],), Context())
        if repaired.shape == fix.shape:
            types[fix.port] = repaired
            break
    else:
        pytest.fail("no remedy works")
    assert fix.hint == remedy
    add = ops.find("add")
    assert add is not None
    add().infer(Context(), *types)


@pytest.mark.parametrize("shapes", [[(2, 3), (4, 5)], [(1, 2, 3), (2, 3, 4), (4, 5, 6)], [(7,), (5,)]])
def test_incompatible_shapes_get_no_working_fix(shapes: list[tuple[int, ...]]) -> None:
    types = [TensorType(shape) for shape in shapes]
    for fix in refusal("add", {}, *types).fixes:
        declared = ops.find(fix.op)
        assert declared is not None
        (repaired,) = infer(declared(**fix.attrs), (types[fix.port],), Context())
        assert repaired.shape != fix.shape


@pytest.mark.parametrize(
    ("name", "attrs", "dtypes", "message", "code"),
    [
        ("add", {}, ["float32"], "takes 2 or more inputs, or 1 and a value, got 1", "E303"),
        ("logical_or", {}, ["bool"], "takes 2 or more inputs, got 1", "E303"),
        ("sub", {"value": 1}, ["float32", "float32"], "takes 2 inputs, or 1 and a value, got 2 and a value", "E303"),
        ("less", {"value": 1}, ["float32", "float32"], "takes 2 inputs, or 1 and a value, got 2 and a value", "E303"),
        ("sub", {"value": 1}, ["bool"], "an input is bool", "E402"),
        ("pow", {}, ["bool", "bool"], "its operands are bool", "E402"),
        ("pow", {"value": -2}, ["int64"], "no negative powers", "E402"),
        ("div", {"rounding": "floor"}, ["bool", "bool"], "its inputs are bool", "E402"),
        ("where", {}, ["int64", "float32", "float32"], "takes a bool condition, and this one is int64", "E402"),
        ("masked_fill", {"value": 0}, ["float32", "uint8"], "takes a bool mask, and this one is uint8", "E402"),
        ("masked_fill", {"value": -1e9}, ["float16", "bool"], "out of the range of float16", "E402"),
        ("clamp", {"max": 300}, ["uint8"], "out of the range of uint8", "E402"),
        ("abs", {}, ["bool"], "its input is bool", "E402"),
        ("neg", {}, ["bool"], "its input is bool", "E402"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], dtypes: list[Any], message: str, code: str) -> None:
    error = refusal(name, attrs, *(TensorType((2, 3), dtype) for dtype in dtypes))
    assert message in error.message
    assert error.code == code


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("clamp", {}),
        ("add", {"value": "1"}),
        ("mul", {"value": True}),
        ("masked_fill", {}),
        ("cast", {"dtype": "float8"}),
        ("div", {"rounding": "up"}),
    ],
)
def test_attributes_out_of_range(name: str, attrs: dict[str, Any]) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(ValidationError):
        declared(**attrs)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int8", "bool"])
def test_cast_to_and_from(dtype: str) -> None:
    (there,) = execute("cast", {"dtype": dtype}, x).outputs
    (back,) = execute("cast", {"dtype": "float32"}, there).outputs
    np.testing.assert_array_equal(back, x if dtype != "bool" else x != 0)


@pytest.mark.parametrize(
    ("name", "dtype", "value", "expected"),
    [
        ("sub", "uint8", -1, 5),
        ("add", "uint8", -5, 255),
        ("mul", "uint8", -5, 236),
        ("sub", "uint8", 300, 216),
        ("add", "int8", 300, 48),
        ("mul", "int16", 65_536, 0),
        ("sub", "int32", 2**40, 4),
    ],
)
def test_numbers_wrap_around_in_integer_types(name: str, dtype: str, value: int, expected: int) -> None:
    """Results of PyTorch 2.13 with a tensor of 4."""
    (result,) = execute(name, {"value": value}, np.array([4], dtype)).outputs
    assert (result.dtype.name, result.tolist()) == (dtype, [expected])
