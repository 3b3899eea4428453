"""References of :mod:`netcalc.ops.axes`."""

from __future__ import annotations

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


@reference("squeeze")
def squeeze(op: Attributes, x: Array) -> Expected:
    named = set(range(x.ndim)) if op.axis is None else {axis % x.ndim for axis in op.axis}
    remaining = [axis for axis, size in enumerate(x.shape) if axis not in named or size != 1]

    def at(index: Shape) -> object:
        source = [0] * x.ndim
        for axis, place in zip(remaining, index, strict=True):
            source[axis] = place
        return x[tuple(source)]

    return Expected(tuple(x.shape[axis] for axis in remaining), x.dtype.name, at)


@reference("unsqueeze")
def unsqueeze(op: Attributes, x: Array) -> Expected:
    new = op.axis % (x.ndim + 1)
    shape = list(x.shape)
    shape.insert(new, 1)
    return Expected(tuple(shape), x.dtype.name, lambda index: x[index[:new] + index[new + 1 :]])


def _with_axes_reordered(x: Array, axes: list[int]) -> Expected:
    def at(index: Shape) -> object:
        source = [0] * x.ndim
        for place, axis in zip(index, axes, strict=True):
            source[axis] = place
        return x[tuple(source)]

    return Expected(tuple(x.shape[axis] for axis in axes), x.dtype.name, at)


@reference("permute")
def permute(op: Attributes, x: Array) -> Expected:
    return _with_axes_reordered(x, [axis % x.ndim for axis in op.axes])


@reference("transpose")
def transpose(op: Attributes, x: Array) -> Expected:
    a, b = (axis % x.ndim for axis in op.axes)
    swapped = {a: b, b: a}
    return _with_axes_reordered(x, [swapped.get(axis, axis) for axis in range(x.ndim)])
