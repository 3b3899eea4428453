"""Activations and gated units: recorded torch results, and rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import symbol, value_at
from netcalc.ir.build import infer
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import case_ids, execute, truth_case

ATTRS: dict[str, tuple[str, dict[str, Any]]] = {
    "gelu_tanh": ("gelu", {"approximate": "tanh"}),
    "softmax_last": ("softmax", {}),
    "log_softmax": ("log_softmax", {"axis": -1}),
    "prelu": ("prelu", {"num_parameters": 8}),
}

EVERY = (
    *ops.FAMILIES["rectifier"],
    *ops.FAMILIES["activation"],
    *ops.FAMILIES["softmax"],
    *ops.FAMILIES["gated_units"],
)


@pytest.mark.parametrize("case_id", case_ids("op_act"))
def test_equals_torch(case_id: str) -> None:
    name, attrs = ATTRS.get(case_id, (case_id, {}))
    case = truth_case("op_act", case_id)
    inputs = [np.float32(5) * x for x in case.inputs] if case_id == "softmax_last" else case.inputs
    case.check(execute(name, attrs, *inputs, weights=case.weights).outputs)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_does_not_overflow(name: str) -> None:
    x = np.array([[1000, 1000], [-1000, -1000]], np.float32)
    (y,) = execute(name, {}, x).outputs
    np.testing.assert_allclose(y, 0.5 if name == "softmax" else -np.log(2), rtol=1e-6)


def test_softmax_of_a_masked_row_is_nan_as_in_torch() -> None:
    x = np.array([[-np.inf, -np.inf], [-np.inf, 0]], np.float32)
    (y,) = execute("softmax", {}, x).outputs
    assert np.isnan(y[0]).all()
    assert y[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("approximate", "share"),
    [  # Φ(−7.85) by math.erfc; 1/(1 + exp(2u)) with u = √(2/π)·(7.85 + 0.044715·7.85³)
        ("none", 2.0801864e-15),
        ("tanh", 3.7082547e-21),
    ],
)
def test_gelu_keeps_its_digits_in_the_lower_tail(approximate: str, share: float) -> None:
    (y,) = execute("gelu", {"approximate": approximate}, np.array([-7.85], np.float32)).outputs
    np.testing.assert_allclose(y, [-7.85 * share], rtol=1e-5)


@pytest.mark.parametrize("name", ["sigmoid", "silu", "elu", "softplus", "mish", "quick_gelu", "gelu"])
def test_large_inputs_give_finite_results(name: str) -> None:
    x = np.array([-1000, 1000], np.float32)
    (y,) = execute(name, {}, x).outputs
    assert np.isfinite(y).all()


@pytest.mark.parametrize("name", ["glu", "reglu", "geglu", "swiglu"])
def test_gate_selects_the_half_that_is_activated(name: str) -> None:
    """Swapping the halves and the name of the gate changes nothing."""
    a, b = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    one, other = np.concatenate([a, b], 1), np.concatenate([b, a], 1)
    (first,) = execute(name, {"gate": "first", "axis": 1}, one).outputs
    (second,) = execute(name, {"gate": "second", "axis": 1}, other).outputs
    np.testing.assert_array_equal(first, second)
    (standard,) = execute(name, {}, one).outputs
    assert np.array_equal(standard, first) == (name != "glu")


def test_prelu_is_initialized_with_its_attribute() -> None:
    op = ops.find("prelu")(num_parameters=4, init=0.1)  # type: ignore[misc]
    (slope,) = op.params(Context(), TensorType((2, 4, 3)))
    assert (slope.name, slope.shape, dict(slope.init.args)) == ("weight", (4,), {"value": 0.1})


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "said"),
    [
        ("prelu", {"num_parameters": 3}, (2, 4), "3 slopes for 4 channels"),
        ("prelu", {"num_parameters": 2}, (2,), "2 slopes for 1 channels"),
        ("softmax", {"axis": 2}, (2, 4), "no axis 2"),
        ("swiglu", {}, (2, 5), "its size 5 is odd"),
        ("glu", {"axis": 0}, (3, 4), "its size 3 is odd"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], shape: tuple[int, ...], said: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(RuleError, match=said):
        declared(**attrs).infer(Context(), TensorType(shape))


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("celu", {"alpha": 0}),
        ("gelu", {"approximate": "sigmoid"}),
        ("hardtanh", {"min": 2, "max": 1}),
        ("hardtanh", {"max": float("nan")}),
        ("leaky_relu", {"slope": 0.1}),
        ("prelu", {"num_parameters": 0}),
        ("swiglu", {"gate": "third"}),
    ],
)
def test_invalid_attributes(name: str, attrs: dict[str, Any]) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(ValidationError):
        declared(**attrs)


def test_integers_are_accepted_by_rectifiers_only() -> None:
    x = np.array([-2, 3])
    assert execute("relu", {}, x).outputs[0].tolist() == [0, 3]
    for name in EVERY:
        if name not in ("relu", "identity", "detach"):
            with pytest.raises(RuleError, match="floating-point"):
                ops.find(name)().infer(Context(), TensorType((2, 4), "int64"))  # type: ignore[misc]
    with pytest.raises(RuleError, match="bool"):
        ops.find("relu")().infer(Context(), TensorType((2, 4), "bool"))  # type: ignore[misc]


@pytest.mark.parametrize("name", EVERY)
def test_symbolic_sizes_agree_with_integers(name: str) -> None:
    op = ops.find(name)()  # type: ignore[misc]
    ctx = Context()
    n, d = symbol("n"), symbol("d")
    symbolic, fixed = TensorType((n, 3, 2 * d)), TensorType((5, 3, 14))
    (open_,), (closed,) = (infer(op, (x,), ctx) for x in (symbolic, fixed))
    sizes = {"n": 5, "d": 7}
    assert tuple(value_at(s, sizes) for s in open_.shape) == closed.shape
    terms = zip(op.cost(ctx, (symbolic,), (open_,)), op.cost(ctx, (fixed,), (closed,)), strict=True)
    assert all(value_at(one.count, sizes) == other.count for one, other in terms)


# a smaller number is zero in single precision
numbers = st.floats(-3, 3, allow_subnormal=False).filter(lambda number: number == 0 or abs(number) > 1e-30)
attributes = st.one_of(
    st.tuples(st.sampled_from(EVERY), st.just({})),
    st.tuples(st.just("leaky_relu"), st.fixed_dictionaries({"negative_slope": numbers})),
    st.tuples(st.sampled_from(["elu", "celu"]), st.fixed_dictionaries({"alpha": numbers.filter(bool)})),
    st.tuples(st.just("softplus"), st.fixed_dictionaries({"beta": numbers.filter(bool), "threshold": numbers})),
    st.tuples(st.just("hardtanh"), st.fixed_dictionaries({"min": st.floats(-2, 0), "max": st.floats(0, 2)})),
    st.tuples(st.just("gelu"), st.just({"approximate": "tanh"})),
    st.tuples(st.just("geglu"), st.just({"approximate": "tanh", "gate": "second"})),
    st.tuples(
        st.sampled_from(ops.FAMILIES["softmax"] + ops.FAMILIES["gated_units"]),
        st.fixed_dictionaries({"axis": st.integers(-2, 1)}),
    ),
)


@settings(deadline=None, max_examples=200)
@given(
    drawn=attributes,
    shape=st.lists(st.sampled_from([2, 4]), min_size=2, max_size=4),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
)
def test_predictions_hold(drawn: tuple[str, dict[str, Any]], shape: list[int], dtype: str) -> None:
    name, attrs = drawn
    execute(name, attrs, np.random.default_rng(0).normal(size=shape).astype(dtype))
