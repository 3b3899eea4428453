"""Losses with random attributes and inputs, against torch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.arrays import normal
from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")
F = torch.nn.functional

flags = st.booleans()
reductions = st.sampled_from(["none", "mean", "sum", "batchmean"])
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def between_0_and_1(shape: list[int], seed: int = 0) -> np.ndarray:
    """Draw probabilities, including 0 and 1."""
    return np.asarray(np.clip(normal(*shape, seed=seed) / 2 + 0.5, 0, 1))


@draws
@given(shape=shapes, reduction=reductions, weighted=flags)
def test_distances(shape: list[int], reduction: str, weighted: bool) -> None:
    arrays = [normal(*shape), normal(*shape, seed=1), between_0_and_1(shape, 2) + 1 if weighted else None]
    for name in ("mse_loss", "l1_loss"):
        function = getattr(F, name)
        agree(
            name,
            {"reduction": reduction},
            arrays,
            lambda w, x, y, weight, function=function: function(x, y, reduction=reduction, weight=weight),
        )


@draws
@given(shape=shapes, other=shapes)
def test_shapes_that_differ(shape: list[int], other: list[int]) -> None:
    """torch broadcasts the distances and warns, which counts as a refusal here."""
    for name in ("mse_loss", "l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"):
        function = getattr(F, name)
        arrays = [between_0_and_1(shape), between_0_and_1(other, 1)]
        agree(name, {}, arrays, lambda w, x, y, function=function: function(x, y))


@draws
@given(shape=shapes, reduction=reductions, weight=st.sampled_from([None, "whole", "last", "more"]))
def test_binary_cross_entropy(shape: list[int], reduction: str, weight: str | None) -> None:
    by = {"whole": shape, "last": shape[-1:], "more": [2, *shape]}
    agree(
        "binary_cross_entropy",
        {"reduction": reduction},
        [between_0_and_1(shape), between_0_and_1(shape, 1), normal(*by[weight], seed=2) if weight else None],
        lambda w, x, y, weight: F.binary_cross_entropy(x, y, weight, reduction=reduction),
        constants=(2,),
    )


@draws
@given(shape=shapes, reduction=reductions, weighted=flags, positive=st.sampled_from([None, "whole", "last", "more"]))
def test_binary_cross_entropy_with_logits(
    shape: list[int], reduction: str, weighted: bool, positive: str | None
) -> None:
    by = {"whole": shape, "last": shape[-1:], "more": [2, *shape]}
    weights = [
        normal(*shape[-1:], seed=2) if weighted else None,
        normal(*by[positive], seed=3) + 5 if positive else None,
    ]
    agree(
        "binary_cross_entropy_with_logits",
        {"reduction": reduction},
        [normal(*shape) * 30, between_0_and_1(shape, 1), *weights],
        lambda w, x, y, weight, pos: F.binary_cross_entropy_with_logits(
            x, y, weight, reduction=reduction, pos_weight=pos
        ),
        constants=(2, 3),
    )


@draws
@given(shape=st.lists(st.integers(1, 4), max_size=4), reduction=reductions, log_target=flags)
def test_kl_div(shape: list[int], reduction: str, log_target: bool) -> None:
    def reference(w: dict[str, Any], x: Any, y: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that the meaning of mean will change
            return F.kl_div(x, y, reduction=reduction, log_target=log_target)

    target = normal(*shape, seed=1) if log_target else between_0_and_1(shape, 1)
    attrs = {"reduction": reduction, "log_target": log_target}
    agree("kl_div", attrs, [normal(*shape), target], reference, tolerance=1e-4)


@draws
@given(
    shape=shapes,
    reduction=st.sampled_from(["none", "mean", "sum"]),
    smoothing=st.sampled_from([0, 0.1, 1]),
    weighted=flags,
    ignore=st.sampled_from([-100, -1, 0]),
    by_probability=flags,
    fits=st.sampled_from([True, True, True, False]),
)
@example([3, 4, 2], "mean", 0, True, -1, False, True)
@example([3, 4, 2], "mean", 0.1, True, -100, False, True)
@example([3, 4, 2], "mean", 0.1, True, -100, True, True)
def test_class_losses(
    shape: list[int], reduction: str, smoothing: float, weighted: bool, ignore: int, by_probability: bool, fits: bool
) -> None:
    axis = min(1, len(shape) - 1)
    positions = shape[:axis] + shape[axis + 1 :] if fits else [*shape, 2]
    least = -1 if ignore == -1 else 0
    classes = np.asarray(np.random.default_rng(1).integers(least, shape[axis], positions))
    weight = between_0_and_1(shape[axis : axis + 1], 2) + 0.5 if weighted else None
    target = between_0_and_1(shape if fits else positions, 3) if by_probability else classes
    agree(
        "cross_entropy",
        {"reduction": reduction, "label_smoothing": smoothing, "ignore_index": ignore},
        [normal(*shape) * 5, target, weight],
        lambda w, x, y, weight: F.cross_entropy(
            x, y, weight, reduction=reduction, label_smoothing=smoothing, ignore_index=ignore
        ),
        constants=() if by_probability else (2,),
    )
    agree(
        "nll_loss",
        {"reduction": reduction, "ignore_index": ignore},
        [normal(*shape), target, weight],
        lambda w, x, y, weight: F.nll_loss(x, y, weight, reduction=reduction, ignore_index=ignore),
        constants=(2,),
    )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_gradients_at_equal_elements(reduction: str) -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 2.0])
    agree("l1_loss", {"reduction": reduction}, [x, y], lambda w, x, y: F.l1_loss(x, y, reduction=reduction))
