"""Shapes that packed tensors stand for, from the shapes of the tensors that a file has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.expressions import Expression
from netcalc.schemes.methods import Layout
from netcalc.weights.stored import Header

Sizes = dict[str, Any]


class Found(NamedTuple):
    """A packed tensor and its companions, by their names, in a layout."""

    layout: Layout
    base: str
    name: str
    companions: Mapping[str, str]  # names by suffix

    @property
    def logical(self) -> str:
        """Name of the tensor that they stand for."""
        return self.base + self.layout.gives


def companions_of(layout: Layout, name: str, headers: Mapping[str, Header]) -> Found | None:
    """Return the tensors that a name is the packed one of; None if it is not in this layout."""
    if headers[name].dtype not in layout.types or not name.endswith(layout.suffix):
        return None
    base = name[: len(name) - len(layout.suffix)]
    companions = {}
    for suffix, required, _ in layout.companions:
        if base + suffix in headers:
            companions[suffix] = base + suffix
        elif required:
            return None
    return Found(layout, base, name, companions)


def logical_shape(
    packed: Found, headers: Mapping[str, Header], settings: Mapping[str, Any]
) -> tuple[tuple[int, ...], str]:
    """Return the shape that packed tensors stand for, and how it follows, in words.

    Args:
        found: the tensors.
        headers: the headers of the file.
        settings: the fields of the configuration that apply.

    Raises:
        ValueError: the shapes do not fit each other or the configuration.
        ExpressionError: they do not determine the shape.
    """
    layout = packed.layout
    sizes, steps = settled_sizes(packed, headers, settings)
    shape: list[int] = []
    for size in layout.shape:
        shape += sizes["..."] if size is None else [size.evaluate(sizes)]
    stored = headers[packed.name]
    how = f"{'×'.join(map(str, stored.shape)) or 'scalar'} {stored.dtype}"
    return tuple(shape), f"{how}, {', '.join(steps)}" if steps else how


def settled_sizes(
    packed: Found, headers: Mapping[str, Header], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the sizes of the axes of packed tensors with the fields, and how further sizes follow, in words.

    Raises:
        ValueError, ExpressionError: as :func:`logical_shape`.
    """
    layout = packed.layout
    stored = headers[packed.name]
    sizes: Sizes = dict.fromkeys(_names(layout)) | dict(settings)
    bound: Sizes = {}
    _bind([layout.axes], stored.shape, bound, packed.name)
    for suffix, _, axes in layout.companions:
        if suffix in packed.companions and axes:
            _bind(axes, headers[packed.companions[suffix]].shape, bound, packed.companions[suffix])
    sizes |= bound
    steps = []
    for name, expression in layout.sizes:
        value = expression.evaluate(sizes)
        if sizes.get(name) not in (None, value):
            raise ValueError(f"{name} is {sizes[name]}, and by the shapes {_worked(expression, sizes)} = {value}")
        sizes[name] = value
        steps.append(f"{name} = {_worked(expression, sizes)} = {value}")
    for condition in layout.conditions:
        if not condition.evaluate(sizes):
            raise ValueError(f"{_worked(condition, sizes)} does not hold")
    return sizes, steps


def _names(layout: Layout) -> Iterable[str]:
    """Yield the names of all axes."""
    for axes in (layout.axes, *(axes for companion in layout.companions for axes in companion.axes)):
        yield from (axis for axis in axes if isinstance(axis, str))


def _bind(possible: Sequence[Sequence[str | int]], shape: tuple[int, ...], bound: Sizes, name: str) -> None:
    """Give the sizes of a shape to the names of its axes, of those possible the first that fit."""
    for axes in possible:
        sizes = _bound(axes, shape, bound)
        if sizes is not None:
            bound |= sizes
            return
    shown = " or ".join(f"[{', '.join(map(str, axes))}]" for axes in possible)
    settled = ", ".join(f"{key} {value}" for key, value in bound.items() if value is not None and key != "...")
    raise ValueError(f"{name!r} is {'×'.join(map(str, shape)) or 'a scalar'}, and should be {shown} with {settled}")


def _bound(axes: Sequence[str | int], shape: tuple[int, ...], bound: Sizes) -> Sizes | None:
    """Return the sizes of the named axes; None if they contradict each other, or those known before."""
    sizes: Sizes = {}
    if axes[:1] == ("...",):
        lead = len(shape) - len(axes) + 1
        if lead < 0:
            return None
        sizes["..."] = shape[:lead]
        axes, shape = axes[1:], shape[lead:]
    if len(axes) != len(shape):
        return None
    for axis, size in zip(axes, shape, strict=True):
        if isinstance(axis, int):
            if axis != size:
                return None
        elif axis != "_" and sizes.setdefault(axis, size) != size:
            return None
    return sizes if all(bound.get(name, size) == size for name, size in sizes.items()) else None


def _worked(expression: Expression, sizes: Sizes) -> str:
    """Return an expression with the sizes in place of their names."""
    names = expression.names()
    return expression.pretty({name: value for name, value in sizes.items() if name in names and name != "..."})
