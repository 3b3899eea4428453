"""Shapes that packed tensors stand for, from the shapes of the tensors that a file has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.expressions import Expression, ExpressionError
from netcalc.expressions.printing import pretty
from netcalc.expressions.tree import Binary, Node, names_of
from netcalc.schemes.methods import Layout
from netcalc.weights.stored import Header, Unpacking

Sizes = dict[str, Any]


class UnfitError(ValueError):
    """Shapes that do not fit each other or the configuration.

    Attributes:
        reason: what does not fit, in words.
        suffix: the ending of the tensor that does not; None if it is not known.
    """

    def __init__(self, reason: str, suffix: str | None = None) -> None:
        self.reason = reason
        self.suffix = suffix
        super().__init__(reason if suffix is None else f"{suffix!r} {reason}" if suffix else f"it {reason}")


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
    for companion in layout.companions:
        other = base + companion.suffix
        if other in headers:
            companions[companion.suffix] = other
        elif companion.always:
            return None
    return Found(layout, base, name, companions)


def logical_shape(
    packed: Found, headers: Mapping[str, Header], settings: Mapping[str, Any]
) -> tuple[tuple[int, ...], Unpacking]:
    """Return the shape that packed tensors stand for, and how it follows.

    Args:
        packed: the tensors.
        headers: the headers of the file.
        settings: the fields of the configuration that apply.

    Raises:
        UnfitError: the shapes do not fit each other or the configuration.
        ExpressionError: they do not determine the shape.
    """
    sizes, steps = sizes_of(packed, headers, settings)
    shape: list[int] = []
    for size in packed.layout.shape:
        shape += sizes["..."] if size is None else [size.evaluate(sizes)]
    stored = headers[packed.name]
    how = f"{'×'.join(map(str, stored.shape)) or 'scalar'} {stored.dtype}"
    padded = tuple(multiple.evaluate(sizes) for multiple in packed.layout.padded)
    return tuple(shape), Unpacking(
        f"{how}, {', '.join(steps)}" if steps else how, flat=packed.layout.flat, padded=padded
    )


def partial_shape(
    packed: Found, headers: Mapping[str, Header], settings: Mapping[str, Any]
) -> tuple[tuple[int | None, ...], Sizes]:
    """Return the shape of which some sizes are None, as companions are left out, and the sizes of all names.

    Raises:
        UnfitError: as :func:`logical_shape`.
    """
    sizes, _ = sizes_of(packed, headers, settings, partial=True)
    shape: list[int | None] = []
    for size in packed.layout.shape:
        try:
            shape += sizes["..."] if size is None else [size.evaluate(sizes)]
        except ExpressionError:
            shape.append(None)
    return tuple(shape), sizes


def sizes_of(
    packed: Found, headers: Mapping[str, Header], settings: Mapping[str, Any], *, partial: bool = False
) -> tuple[Sizes, list[str]]:
    """Return the sizes of all names of a layout, and how those that its tensors do not have follow, in words.

    With ``partial`` what does not follow is None, and conditions of it are not looked at.

    Raises:
        UnfitError, ExpressionError: as :func:`logical_shape`.
    """
    layout = packed.layout
    sizes: Sizes = dict.fromkeys(_names(layout)) | dict(settings)
    bound: Sizes = {}
    _bind([layout.axes], headers[packed.name].shape, bound, layout.suffix)
    for companion in layout.companions:
        if companion.suffix in packed.companions and companion.axes:
            _bind(companion.axes, headers[packed.companions[companion.suffix]].shape, bound, companion.suffix)
    sizes |= bound
    steps = []
    for name, expression in layout.sizes:
        try:
            value = expression.evaluate(sizes)
        except ExpressionError:
            if sizes.setdefault(name, None) is None and not partial:
                raise
            continue
        if sizes.get(name) not in (None, value):
            raise UnfitError(f"{name} is {sizes[name]}, and by the shapes {_worked(expression, sizes)} = {value}")
        sizes[name] = value
        steps.append(f"{name} = {_worked(expression, sizes)} = {value}")
    measured = bound.keys() | dict(layout.sizes).keys()
    open_names = _absent(packed) | (dict(layout.sizes).keys() if partial else set())
    for condition in layout.conditions:
        if any(sizes.get(name) is None for name in condition.names() & open_names):
            continue
        if not condition.evaluate(sizes):
            raise UnfitError(f"{_worked(condition, sizes, measured)} does not hold")
    return sizes, steps


def _absent(packed: Found) -> frozenset[str]:
    """Return the names of axes that only absent companions have."""
    there = set(_axes_of([packed.layout.axes]))
    others: set[str] = set()
    for companion in packed.layout.companions:
        (there if companion.suffix in packed.companions else others).update(_axes_of(companion.axes))
    return frozenset(others - there)


def misfit(packed: Found, suffix: str, headers: Mapping[str, Header], sizes: Mapping[str, Any]) -> str | None:
    """Return why the shape of a companion does not fit the sizes by the others; None if it does."""
    companion = next(each for each in packed.layout.companions if each.suffix == suffix)
    known = {name: size for name, size in sizes.items() if size is not None}
    try:
        _bind(companion.axes, headers[packed.companions[suffix]].shape, known, suffix)
    except UnfitError as why:
        return why.reason
    return None


def _names(layout: Layout) -> Iterable[str]:
    """Yield the names of all axes."""
    yield from _axes_of([layout.axes])
    for companion in layout.companions:
        yield from _axes_of(companion.axes)


def _axes_of(possible: Iterable[Sequence[str | int]]) -> Iterable[str]:
    """Yield the names among axes."""
    return (axis for axes in possible for axis in axes if isinstance(axis, str))


def _bind(possible: Sequence[Sequence[str | int]], shape: tuple[int, ...], bound: Sizes, suffix: str) -> None:
    """Give the sizes of a shape to the names of its axes, of those possible the first that fit.

    Raises:
        UnfitError: none fits.
    """
    for axes in possible:
        sizes = _bound(axes, shape, bound)
        if sizes is not None:
            bound |= sizes
            return
    shown = " or ".join(f"[{', '.join(map(str, axes))}]" for axes in possible)
    names = dict.fromkeys(axis for axes in possible for axis in axes if isinstance(axis, str) and axis != "...")
    settled = ", ".join(f"{name} {bound[name]}" for name in names if bound.get(name) is not None)
    reason = f"is {'×'.join(map(str, shape)) or 'a scalar'}, and should be {shown}"
    raise UnfitError(f"{reason} with {settled}" if settled else reason, suffix)


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


def _worked(expression: Expression, sizes: Sizes, measured: Collection[str] = ()) -> str:
    """Return an expression with the sizes in place of their names; of alternatives those of ``measured`` sizes."""
    values = {name: value for name, value in sizes.items() if name != "..."}
    parts = list(_alternatives(expression.root))
    shown = [part for part in parts if not names_of(part).isdisjoint(measured)] or [expression.root]
    return " or ".join(pretty(p, {n: v for n, v in values.items() if n in names_of(p)}, 0) for p in shown)


def _alternatives(node: Node) -> Iterable[Node]:
    """Yield the conditions of which one suffices."""
    if isinstance(node, Binary) and node.op == "or":
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
    else:
        yield node
