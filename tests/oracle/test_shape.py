"""Reshaping, permuting and expanding with random shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4)
axis = st.integers(-5, 4)
several = st.lists(st.integers(-4, 3), min_size=1, max_size=4)


def filled(shape: list[int]) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@draws
@given(shape=shapes, target=st.lists(st.sampled_from([-1, 1, 2, 3, 4, 6, 8]), max_size=4), data=st.data())
def test_reshape(shape: list[int], target: list[int], data: st.DataObject) -> None:
    if data.draw(st.booleans()):  # a valid target shape
        target = data.draw(st.permutations(shape))
        if data.draw(st.booleans()):
            target = [*target[:-1], -1]
    agree("reshape", {"shape": target}, [filled(shape)], lambda w, x: torch.reshape(x, target))


@draws
@given(shape=shapes, start=axis, end=axis)
def test_flatten(shape: list[int], start: int, end: int) -> None:
    attrs = {"start_axis": start, "end_axis": end}
    agree("flatten", attrs, [filled(shape)], lambda w, x: torch.nn.Flatten(start, end)(x))


@draws
@given(shape=st.lists(st.sampled_from([1, 4, 6, 12]), min_size=1, max_size=3))
def test_flatten_by_default(shape: list[int]) -> None:
    agree("flatten", {}, [filled(shape)], lambda w, x: torch.nn.Flatten()(x))


@draws
@given(
    shape=st.lists(st.sampled_from([1, 4, 6, 12]), min_size=1, max_size=3),
    axis=st.integers(-3, 2),
    sizes=st.lists(st.sampled_from([-1, 1, 2, 3, 4]), max_size=3),
)
def test_unflatten(shape: list[int], axis: int, sizes: list[int]) -> None:
    attrs = {"axis": axis, "sizes": sizes}
    agree("unflatten", attrs, [filled(shape)], lambda w, x: torch.unflatten(x, axis, sizes))


@draws
@given(shape=st.lists(st.integers(1, 2), min_size=1, max_size=4), axes=st.none() | axis | several)
def test_squeeze(shape: list[int], axes: Any) -> None:
    def reference(w: Any, x: Any) -> Any:
        return torch.squeeze(x) if axes is None else torch.squeeze(x, axes)

    agree("squeeze", {"axis": axes}, [filled(shape)], reference)


@draws
@given(shape=shapes, axis=axis)
def test_unsqueeze(shape: list[int], axis: int) -> None:
    agree("unsqueeze", {"axis": axis}, [filled(shape)], lambda w, x: torch.unsqueeze(x, axis))


@draws
@given(shape=shapes, data=st.data())
def test_permute(shape: list[int], data: st.DataObject) -> None:
    axes = data.draw(st.permutations(range(len(shape))) | several)
    axes = [axis - data.draw(st.sampled_from([0, len(shape)])) for axis in axes]
    agree("permute", {"axes": axes}, [filled(shape)], lambda w, x: torch.permute(x, axes))


@draws
@given(shape=shapes, a=axis, b=axis)
def test_transpose(shape: list[int], a: int, b: int) -> None:
    agree("transpose", {"axes": [a, b]}, [filled(shape)], lambda w, x: torch.transpose(x, a, b))


@draws
@given(shape=st.lists(st.integers(1, 2), min_size=1, max_size=3), data=st.data())
def test_expand(shape: list[int], data: st.DataObject) -> None:
    target = data.draw(st.lists(st.integers(1, 3) | st.just(-1), min_size=1, max_size=4))
    if data.draw(st.booleans()):  # a valid target shape
        target = [data.draw(st.sampled_from([-1, size, 3 if size == 1 else size])) for size in shape]
        target = data.draw(st.lists(st.integers(1, 3), max_size=1)) + target
    agree("expand", {"shape": target}, [filled(shape)], lambda w, x: x.expand(*target))


@draws
@given(shape=shapes, repeats=st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_tile(shape: list[int], repeats: list[int]) -> None:
    agree("tile", {"repeats": repeats}, [filled(shape)], lambda w, x: torch.tile(x, repeats))


@draws
@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    repeats=st.integers(1, 3) | st.lists(st.integers(0, 3), min_size=1, max_size=3).filter(any),
    axis=st.none() | st.integers(-3, 2),
)
def test_repeat_interleave(shape: list[int], repeats: Any, axis: int | None) -> None:
    agree(
        "repeat_interleave",
        {"repeats": repeats, "axis": axis},
        [filled(shape)],
        lambda w, x: torch.repeat_interleave(x, torch.tensor(repeats), axis),
    )
