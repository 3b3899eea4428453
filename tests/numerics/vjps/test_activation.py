"""Products of activations, gated units and softmax against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from tests.ops.backward import BackwardPass, away, central_differences
from tests.ops.harness import execute

#: Activations with attributes, and the points where their slope jumps.
CASES: list[tuple[str, dict[str, Any], tuple[float, ...]]] = [
    ("identity", {}, ()),
    ("elu", {"alpha": 0.7}, (0,)),
    ("elu", {"alpha": -1.5}, (0,)),
    ("selu", {}, (0,)),
    ("celu", {"alpha": 0.6}, (0,)),
    ("celu", {"alpha": -2.0}, (0,)),
    ("gelu", {}, ()),
    ("gelu", {"approximate": "tanh"}, ()),
    ("quick_gelu", {}, ()),
    ("silu", {}, ()),
    ("mish", {}, ()),
    ("hardswish", {}, (-3, 3)),
    ("hardsigmoid", {}, (-3, 3)),
    ("hardtanh", {"min": -0.5, "max": 2.0}, (-0.5, 2)),
    ("sigmoid", {}, ()),
    ("logsigmoid", {}, ()),
    ("tanh", {}, ()),
    ("tanhshrink", {}, ()),
    ("hardshrink", {"lambd": 1.2}, (-1.2, 1.2)),
    ("hardshrink", {"lambd": -1.0}, ()),
    ("softshrink", {"lambd": 0.8}, (-0.8, 0.8)),
    ("threshold", {"threshold": 0.4, "value": -2.0}, (0.4,)),
    ("softplus", {"beta": 1.5, "threshold": 3.0}, (2,)),
    ("softplus", {"beta": -0.5}, ()),
    ("softsign", {}, ()),
]


def test_every_activation_is_listed() -> None:
    assert {name for name, _, _ in CASES} == set(ops.FAMILIES["activation"]) - {"detach"}  # which has no gradient


@pytest.mark.parametrize(("name", "attrs", "kinks"), CASES)
def test_activations(name: str, attrs: dict[str, Any], kinks: tuple[float, ...]) -> None:
    central_differences(name, attrs, [away(3, 7, kinks=kinks, spread=5)])


@pytest.mark.parametrize(("name", "attrs", "kinks"), CASES)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_lower_precision(name: str, attrs: dict[str, Any], kinks: tuple[float, ...], dtype: str) -> None:
    """The gradient in double precision, within the precision of what is saved."""
    x = away(3, 7, kinks=kinks, spread=4).astype(dtype)
    execute(name, attrs, x)
    declared = ops.find(name)
    assert declared is not None
    lower, full = BackwardPass(declared(**attrs), [x], {}), BackwardPass(declared(**attrs), [x.astype(float)], {})
    seed = np.linspace(-1, 1, 21).reshape(3, 7).astype(dtype)
    (found,), (exact,) = lower.product((seed,)).values(), full.product((seed.astype(float),)).values()
    assert found.dtype == np.float32
    np.testing.assert_allclose(
        found, exact, rtol=2e-3 if dtype == "float16" else 1e-5, atol=1e-3 if dtype == "float16" else 1e-6
    )


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@settings(max_examples=20, deadline=None)
@given(name=st.sampled_from(["softmax", "log_softmax"]), shape=shapes, data=st.data())
def test_softmax(name: str, shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    central_differences(name, {"axis": axis}, [away(*shape)])


def test_softmax_of_a_masked_position() -> None:
    """A position of −∞ has no share and no gradient."""
    op = ops.find("softmax")
    assert op is not None
    x = np.array([[1.0, -np.inf, 2.0]])
    (gradient,) = BackwardPass(op(), [x], {}).product((np.array([[1.0, 5.0, -2.0]]),)).values()
    assert gradient[0, 1] == 0 and np.isfinite(gradient).all()
    assert abs(gradient.sum()) < 1e-15


@settings(max_examples=30, deadline=None)
@given(
    unit=st.sampled_from(
        [("glu", {}), ("reglu", {}), ("geglu", {}), ("geglu", {"approximate": "tanh"}), ("swiglu", {})]
    ),
    gate=st.sampled_from(["first", "second"]),
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    data=st.data(),
)
def test_gated_units(unit: tuple[str, dict[str, Any]], gate: str, shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    shape[axis] *= 2
    central_differences(unit[0], {**unit[1], "axis": axis, "gate": gate}, [away(*shape)])
