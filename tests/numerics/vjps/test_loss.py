"""Products of losses against central differences."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.backward import away, central_differences

flags = st.booleans()
shapes = st.lists(st.integers(1, 3), min_size=1, max_size=3)
reductions = st.sampled_from(["none", "mean", "sum"])
few = settings(max_examples=25, deadline=None)


def within(*shape: int, seed: int = 0) -> np.ndarray:
    """Return probabilities away from 0 and 1."""
    return np.random.default_rng(seed).uniform(0.1, 0.9, shape)


@few
@given(
    shape=shapes,
    reduction=reductions,
    smoothing=st.sampled_from([0, 0.1, 1]),
    weighted=flags,
    ignore=st.sampled_from([-100, 0]),
    by_probability=flags,
)
def test_classes(
    shape: list[int], reduction: str, smoothing: float, weighted: bool, ignore: int, by_probability: bool
) -> None:
    axis = min(1, len(shape) - 1)
    classes = np.random.default_rng(1).integers(0, shape[axis] + 1, shape[:axis] + shape[axis + 1 :])
    classes[classes == shape[axis]] = ignore  # not all are ignored below
    classes.flat[0] = shape[axis] - 1
    if ignore == 0 and not classes.any():
        ignore = -100
        classes[classes < 0] = 0
    x, weight = away(*shape), within(shape[axis], seed=2) if weighted else None
    attrs = {"reduction": reduction, "ignore_index": ignore}
    central_differences("nll_loss", attrs, [x, classes, weight])
    central_differences("cross_entropy", {**attrs, "label_smoothing": smoothing}, [x, classes, weight])
    if by_probability:
        arrays = [x, within(*shape, seed=3), weight]
        central_differences("cross_entropy", {"reduction": reduction, "label_smoothing": smoothing}, arrays)


@few
@given(name=st.sampled_from(["mse_loss", "l1_loss"]), shape=shapes, reduction=reductions, weighted=flags)
def test_distances(name: str, shape: list[int], reduction: str, weighted: bool) -> None:
    weight = within(*shape, seed=2) if weighted else None
    central_differences(name, {"reduction": reduction}, [away(*shape, kinks=[0.5]), np.full(shape, 0.5), weight])


@few
@given(shape=shapes, reduction=reductions, weight=st.sampled_from([None, "whole", "last"]))
def test_binary_cross_entropy(shape: list[int], reduction: str, weight: str | None) -> None:
    by = {"whole": shape, "last": shape[-1:]}
    arrays = [within(*shape), within(*shape, seed=1), within(*by[weight], seed=2) if weight else None]
    central_differences("binary_cross_entropy", {"reduction": reduction}, arrays)


@few
@given(
    shape=shapes,
    reduction=reductions,
    weighted=flags,
    positive=st.sampled_from([None, "whole", "last", "attribute"]),
)
def test_binary_cross_entropy_with_logits(
    shape: list[int], reduction: str, weighted: bool, positive: str | None
) -> None:
    by = {"whole": shape, "last": shape[-1:]}
    arrays = [
        away(*shape),
        within(*shape, seed=1),
        within(*shape[-1:], seed=2) if weighted else None,
        within(*by[positive], seed=3) if positive in by else None,
    ]
    attrs = {"reduction": reduction, **({"pos_weight": [2.5]} if positive == "attribute" else {})}
    central_differences("binary_cross_entropy_with_logits", attrs, arrays)


@few
@given(shape=shapes, reduction=st.sampled_from(["none", "mean", "sum", "batchmean"]), log_target=flags)
def test_kl_div(shape: list[int], reduction: str, log_target: bool) -> None:
    arrays = [away(*shape), within(*shape, seed=1)]
    central_differences("kl_div", {"reduction": reduction, "log_target": log_target}, arrays)
