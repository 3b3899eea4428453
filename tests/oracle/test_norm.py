"""Normalization with random attributes and shapes against torch, including running statistics after training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.ops.harness import execute
from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")
F = torch.nn.functional

flags = st.booleans()
eps = st.sampled_from([0, 1e-5, 0.1])
shapes = st.lists(st.integers(1, 5), min_size=1, max_size=5)


def normal(shape: list[int], dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).normal(1, 2, size=shape).astype(dtype)


def in_float64(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reference computed in float64: for a group of one value float32 is rounding error only."""

    def reference(weights: dict[str, Any], x: Any) -> Any:
        return function({n: w.double() for n, w in weights.items()}, x.double()).float()

    return reference


def steps_as_torch(name: str, kind: str, attrs: dict[str, Any], shape: list[int], training: bool) -> None:
    """Assert that one step agrees with torch.nn's module ``kind`` in output and updated state."""
    before: dict[str, np.ndarray] = {}
    after: dict[str, np.ndarray] = {}

    def reference(weights: dict[str, Any], x: Any) -> Any:
        module = getattr(torch.nn, f"{kind}{max(x.dim() - 2, 1)}d")(x.shape[1], **attrs)
        state = {n: w.double() if w.is_floating_point() else w for n, w in weights.items()}
        state |= {n: state[n].clone() for n, _ in module.named_buffers()}  # a step changes them
        y = torch.func.functional_call(module.train(training), state, (x.double(),)).to(x.dtype)
        if not torch.is_grad_enabled():
            before.update({n: w.numpy() for n, w in weights.items()})
            after.update({n: w.numpy() for n, w in state.items()})
        return y

    x = normal(shape)
    agree(name, attrs, [x], reference, training=training, tolerance=1e-4)
    if before:
        state = {**before, **execute(name, attrs, x, weights=before, training=training).updates}
        assert state.keys() == after.keys()
        for buffer, expected in after.items():
            np.testing.assert_allclose(state[buffer], expected, rtol=1e-5, atol=1e-5)


tracking = st.fixed_dictionaries(
    {
        "eps": eps,
        "momentum": st.sampled_from([None, 0, 0.1, 1]),
        "affine": flags,
        "bias": flags,
        "track_running_stats": flags,
    }
)


@draws
@given(shape=shapes, attrs=tracking, training=flags)
def test_batch_norm(shape: list[int], attrs: dict[str, Any], training: bool) -> None:
    steps_as_torch("batch_norm", "BatchNorm", attrs, shape, training)


@draws
@given(shape=shapes, eps=eps, training=flags)
def test_frozen_batch_norm(shape: list[int], eps: float, training: bool) -> None:
    """BatchNorm that stays in evaluation mode."""

    @in_float64
    def reference(state: dict[str, Any], x: Any) -> Any:
        module = getattr(torch.nn, f"BatchNorm{max(x.dim() - 2, 1)}d")(x.shape[1], eps=eps).double().eval()
        module.load_state_dict(state | {"num_batches_tracked": torch.tensor(0)})
        return module(x)

    agree("frozen_batch_norm", {"eps": eps}, [normal(shape)], reference, training=training, tolerance=1e-4)


@draws
@given(shape=st.lists(st.integers(1, 5), min_size=3, max_size=5), attrs=tracking, training=flags)
def test_instance_norm(shape: list[int], attrs: dict[str, Any], training: bool) -> None:
    steps_as_torch("instance_norm", "InstanceNorm", attrs, shape, training)


@draws
@given(shape=shapes, axes=st.integers(1, 4), eps=eps, affine=flags, bias=flags)
def test_layer_norm(shape: list[int], axes: int, eps: float, affine: bool, bias: bool) -> None:
    def reference(weights: dict[str, Any], x: Any) -> Any:
        assert axes <= x.dim()
        return F.layer_norm(x, x.shape[-axes:], weights.get("weight"), weights.get("bias"), eps)

    attrs = {"axes": axes, "eps": eps, "affine": affine, "bias": bias}
    agree("layer_norm", attrs, [normal(shape)], in_float64(reference), tolerance=1e-4)


@draws
@given(shape=shapes, sizes=st.lists(st.integers(1, 3), max_size=2))
def test_normalized_shape(shape: list[int], sizes: list[int]) -> None:
    for name, function in (("layer_norm", F.layer_norm), ("rms_norm", F.rms_norm)):
        agree(
            name,
            {"normalized_shape": sizes, "affine": False, "eps": 1e-5},
            [normal([*shape, 2, 3])],
            in_float64(lambda w, x, function=function: function(x, sizes, eps=1e-5)),
            tolerance=1e-4,
        )


@draws
@given(
    shape=shapes,
    axes=st.integers(1, 2),
    eps=st.sampled_from([None, 1e-6, 0.1]),
    affine=flags,
    dtype=st.sampled_from(["float16", "float32"]),
)
def test_rms_norm(shape: list[int], axes: int, eps: float | None, affine: bool, dtype: str) -> None:
    def reference(weights: dict[str, Any], x: Any) -> Any:
        assert axes <= x.dim()
        weight = weights["weight"].to(x.dtype) if affine else None
        return F.rms_norm(x, x.shape[-axes:], weight, eps)

    attrs = {"axes": axes, "eps": eps, "affine": affine}
    agree("rms_norm", attrs, [normal(shape, dtype)], reference, tolerance=2e-5 if dtype == "float32" else 2e-3)


@draws
@given(shape=shapes, groups=st.integers(1, 4), eps=eps, affine=flags, bias=flags)
def test_group_norm(shape: list[int], groups: int, eps: float, affine: bool, bias: bool) -> None:
    agree(
        "group_norm",
        {"groups": groups, "eps": eps, "affine": affine, "bias": bias},
        [normal(shape)],
        in_float64(lambda w, x: F.group_norm(x, groups, w.get("weight"), w.get("bias"), eps)),
        tolerance=1e-4,
    )


@draws
@given(
    shape=shapes,
    size=st.integers(0, 8),
    alpha=st.sampled_from([1e-4, 0.5, 0]),
    beta=st.sampled_from([0.75, 1, 0.5]),
    k=st.sampled_from([1, 2.5]),
)
@example([2, 5, 3], 4, 0.5, 0.75, 1)
def test_local_response_norm(shape: list[int], size: int, alpha: float, beta: float, k: float) -> None:
    agree(
        "local_response_norm",
        {"size": size, "alpha": alpha, "beta": beta, "k": k},
        [normal(shape)],
        lambda w, x: F.local_response_norm(x, size, alpha, beta, k),
    )


@draws
@given(
    shape=shapes,
    p=st.sampled_from([0, 0.5, 1, 2, 3, 4.5, -1, float("inf"), -float("inf")]),
    axis=st.one_of(st.integers(-3, 3), st.lists(st.integers(-3, 2), max_size=3)),
    eps=st.sampled_from([1e-12, 1]),
)
def test_normalize(shape: list[int], p: float, axis: Any, eps: float) -> None:
    agree(
        "normalize",
        {"p": p, "axis": axis, "eps": eps},
        [normal(shape)],
        lambda w, x: F.normalize(x, p, axis, eps),
        tolerance=1e-4,
    )


@draws
@given(
    kind=st.sampled_from(["layer_norm", "group_norm", "rms_norm"]),
    count=st.integers(1, 2),
    given=st.tuples(flags, flags),
)
def test_given_weights_of_samples(kind: str, count: int, given: tuple[bool, bool]) -> None:
    x = normal([2, 4, 3, 2])
    shape = [4] if kind == "group_norm" else [*x.shape[-count:]]
    vectors = [normal(shape) if is_given else None for is_given in given][: 1 if kind == "rms_norm" else 2]

    def reference(weights: dict[str, Any], x: Any, weight: Any = None, bias: Any = None) -> Any:
        if kind == "group_norm":
            return F.group_norm(x, 2, weight, bias, 1e-3)
        if kind == "layer_norm":
            return F.layer_norm(x, shape, weight, bias, 1e-3)
        return F.rms_norm(x, shape, weight, 1e-3)

    attrs = {"groups": 2} if kind == "group_norm" else {"axes": count}
    gradients = kind != "group_norm" or given != (False, True)  # for which PyTorch fails
    agree(kind, {**attrs, "affine": False, "eps": 1e-3}, [x, *vectors], reference, gradients=gradients)


@draws
@given(
    kind=st.sampled_from(["batch_norm", "instance_norm"]),
    given=st.tuples(flags, flags),
    own=flags,
    axes=st.integers(1, 3),
    training=flags,
)
def test_given_vectors_of_channels(kind: str, given: tuple[bool, bool], own: bool, axes: int, training: bool) -> None:
    x = normal([2, 4, *[3, 2, 2][:axes]])
    vectors = [normal([4]) if is_given else None for is_given in given]
    statistics = [] if own else [normal([4]), np.abs(normal([4]))]

    def reference(weights: dict[str, Any], x: Any, weight: Any, bias: Any, mean: Any = None, var: Any = None) -> Any:
        return getattr(F, kind)(x, mean, var, weight, bias, own, eps=1e-3)

    attrs = {"affine": False, "track_running_stats": not own, "eps": 1e-3}
    agree(kind, attrs, [x, *vectors, *statistics], reference, constants=(3, 4), training=training)
