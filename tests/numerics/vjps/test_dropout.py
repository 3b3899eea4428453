"""Products of dropout and stochastic depth against central differences, and of stored tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc import ops
from tests.ops.backward import BackwardPass, away, central_differences

VARIANTS: list[tuple[str, dict[str, Any], str, tuple[int, ...]]] = [
    ("dropout", {}, "result1", (4, 3, 2, 2)),
    ("dropout", {"channelwise": True}, "other", (4, 3, 1, 1)),
    ("stochastic_depth", {"mode": "row"}, "other", (4, 1, 1, 1)),
    ("stochastic_depth", {"mode": "batch"}, "other", (1, 1, 1, 1)),
]


@pytest.mark.parametrize(("name", "attrs", "saved", "shape"), VARIANTS)
@pytest.mark.parametrize("p", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("training", [True, False])
def test_dropping(
    name: str, attrs: dict[str, Any], saved: str, shape: tuple[int, ...], p: float, training: bool
) -> None:
    central_differences(name, {"p": p, **attrs}, [away(4, 3, 2, 2)], training=training)


@pytest.mark.parametrize(("name", "attrs", "saved", "shape"), VARIANTS)
def test_the_mask_is_kept_in_training(name: str, attrs: dict[str, Any], saved: str, shape: tuple[int, ...]) -> None:
    declared = ops.find(name)
    assert declared is not None
    op, x = declared(**attrs), away(4, 3, 2, 2).astype("float32")
    trained, run = (BackwardPass(op, [x], {}, training=training) for training in (True, False))
    (kept,) = trained.declared.saves(op, trained.call)
    assert (kept.name, kept.type.shape, kept.type.dtype) == (saved, shape, "bool" if saved == "result1" else "float32")
    assert not run.declared.saves(op, run.call)


@pytest.mark.parametrize(("name", "attrs", "saved", "shape"), VARIANTS)
def test_what_was_dropped_has_no_gradient(name: str, attrs: dict[str, Any], saved: str, shape: tuple[int, ...]) -> None:
    declared = ops.find(name)
    assert declared is not None
    passed = BackwardPass(declared(p=0.5, **attrs), [np.ones((4, 3, 2, 2))], {}, training=True, seed=2)
    (gradient,) = passed.product((np.ones((4, 3, 2, 2)),)).values()
    np.testing.assert_array_equal(gradient, passed.outputs[0])


def test_a_parameter_passes_its_gradient_on() -> None:
    central_differences("parameter", {"shape": [2, 3]}, [])
    central_differences("linear_weight", {"out": 2, "features": 3}, [])
