"""Sizes that stay symbolic: the dims that are asked for, and those that ``torch.export`` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import lcm
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim, symbol
from netcalc.formats.torch.sizes import ROUNDINGS

#: Names of dims by axis, by the name of an input.
Axes = Mapping[str, Mapping[int, str]]
#: Limits of two symbols that are one dim.
_JOINED: Mapping[str, Callable[[int, int], int]] = {"max": min, "min": max, "multiple_of": lcm}
_NO_LIMIT = 2**62  # torch writes int_oo, or a number of this size


class DimSizes(NamedTuple):
    """Dims of a program as a spec declares them, and the sizes that the symbols of PyTorch stand for."""

    dims: dict[str, Any]
    symbols: dict[str, Dim]


def requested_axes(dynamic: Any, shapes: Mapping[str, tuple[int, ...]]) -> Axes:
    """Return the axes that are dims.

    Args:
        dynamic: names of axes, for all inputs, or for each by its name: a list with None for a fixed axis, or names by
            axis.  A name may be a ``torch.export.Dim``; for one without a name (``Dim.AUTO``) a name is made.
        shapes: shapes of the inputs by name.

    Raises:
        NetcalcError: E502 for an unknown input, an axis that an input lacks, and everything that is not of the form.
    """
    if dynamic is None:
        return {}
    if isinstance(dynamic, Mapping):
        return {name: _axes(name, requested, shapes) for name, requested in dynamic.items() if requested is not None}
    if isinstance(dynamic, str) or not isinstance(dynamic, Sequence):
        raise _invalid(f"'dynamic' should be a mapping or a list of names, not {dynamic!r}")
    return {name: _axes(name, list(dynamic)[: len(shape)], shapes) for name, shape in shapes.items()}


def _axes(name: str, requested: Any, shapes: Mapping[str, tuple[int, ...]]) -> dict[int, str]:
    if name not in shapes:
        hint = did_you_mean(name, list(shapes)) or f"tensors: {', '.join(shapes)}"
        raise _invalid(f"'dynamic' names no input: {name!r}", hint)
    if isinstance(requested, Mapping):
        entries = list(requested.items())
    elif isinstance(requested, Sequence) and not isinstance(requested, str):
        entries = list(enumerate(requested))
    else:
        raise _invalid(f"the axes of {name!r} should be a mapping or a list of names, not {requested!r}")
    rank = len(shapes[name])
    axes = {}
    for axis, dim in entries:
        if dim is None or isinstance(dim, int):
            continue
        if not isinstance(axis, int) or not -rank <= axis < rank:
            raise _invalid(f"{name!r} has no axis {axis!r}; it has {rank}")
        axes[axis % rank] = _dim_name(dim, name, axis % rank)
    return axes


def _dim_name(dim: Any, input_name: str, axis: int) -> str:
    """Return the name of a dim: a text, the name of a ``Dim`` of PyTorch, or one that is made."""
    name = dim if isinstance(dim, str) else getattr(dim, "__name__", None)
    if name is None:
        name = "batch" if axis == 0 else f"{input_name}_{axis}"
    if not str(name).isidentifier():
        raise _invalid(f"{name!r} cannot be the name of a dim")
    return str(name)


def _invalid(message: str, hint: str | None = None) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", message, hint=hint))


def export_sizes(axes: Axes, shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the default size of each dim, and the size to export with: at least 2, as PyTorch fixes sizes 0 and 1.

    Raises:
        NetcalcError: E502 if a dim has two sizes.
    """
    defaults: dict[str, int] = {}
    for name, names in axes.items():
        for axis, dim in names.items():
            size = shapes[name][axis]
            if defaults.setdefault(dim, size) != size:
                raise _invalid(f"the dim {dim!r} has the sizes {defaults[dim]} and {size} in the example")
    taken = {size for size in defaults.values() if size > 1}
    sizes = {}
    for dim, size in defaults.items():
        if size < 2:
            size = next(other for other in range(2, len(defaults) + len(taken) + 3) if other not in taken)
            taken.add(size)
        sizes[dim] = size
    return defaults, sizes


def found_dims(
    exported: Any, shapes: Mapping[str, tuple[Any, ...]], axes: Axes, defaults: Mapping[str, int], *, may_fix: bool
) -> DimSizes:
    """Return the dims of an exported program.

    Args:
        exported: the program.
        found: shapes of its inputs by name, with symbols.
        axes: the dims by input and axis; symbols without a name get one.
        defaults: sizes of the dims, in place of the example's sizes.
        may_fix: True if a dim that is not free is none, False if it is an error.

    Raises:
        NetcalcError: E009 for a dim that is not free.
    """
    names = _named_symbols(shapes, axes, may_fix)
    _refuse_rounded(exported, names)
    declared: dict[str, dict[str, int]] = {}
    for tree, dim in names.items():
        limits = declared.setdefault(dim, {})
        for key, value in _limits(exported, tree).items():
            limits[key] = _JOINED[key](value, limits.get(key, value))
    sizes = {dim: defaults.get(dim, _example_size(names, dim, shapes)) for dim in declared}
    free = {
        dim: symbol(dim, sizes[dim], limits.get("min", 1), limits.get("max"), limits.get("multiple_of", 1))
        for dim, limits in declared.items()
    }
    dims = {dim: {"default": sizes[dim], **limits} if limits else sizes[dim] for dim, limits in declared.items()}
    return DimSizes(dims, {tree.name: free[dim] for tree, dim in names.items()})


def _named_symbols(shapes: Mapping[str, tuple[Any, ...]], axes: Axes, may_fix: bool) -> dict[Any, str]:
    """Return the dim of each symbol in the shapes of inputs."""
    names: dict[Any, str] = {}
    for name, shape in shapes.items():
        for axis, size in enumerate(shape):
            dim = axes.get(name, {}).get(axis)
            if isinstance(size, int) or size.node.expr.is_Integer:
                if dim is not None and not may_fix:
                    raise _fixed(dim, f"torch.export fixes the size of axis {axis} of {name!r} at {size}")
                continue
            tree = size.node.expr
            if not tree.is_Symbol:
                raise _fixed(dim or name, f"torch.export makes axis {axis} of {name!r} a function of others: {tree}")
            chosen = names.setdefault(tree, dim or _new_name(name, axis, names.values()))
            if dim not in (None, chosen) and not may_fix:
                raise _fixed(chosen, f"torch.export finds {dim!r} equal to {chosen!r}", f"name both {chosen!r}")
    return names


def _refuse_rounded(exported: Any, names: Mapping[Any, str]) -> None:
    """Raise E009 if a number that a size is rounded to is fixed: PyTorch takes ``int(0.5 * size)`` for a constant."""
    for guard in _guards(exported):
        if type(guard).__name__ != "Equality" or not guard.args[1].is_Integer:
            continue
        dims = [names[tree] for tree in guard.args[0].free_symbols if tree in names]
        if dims and type(guard.args[0]).__name__ in ROUNDINGS:
            rounded = str(guard.args[0])
            for tree, dim in names.items():
                rounded = rounded.replace(str(tree), dim)
            hint = f"leave {dims[0]!r} out of the dynamic sizes, or compute the number with // or math.floor"
            raise _fixed(dims[0], f"torch.export fixes {rounded} at {guard.args[1]}", hint)


def _limits(exported: Any, tree: Any) -> dict[str, int]:
    """Return limits of a symbol: those that PyTorch found, but for the least size 2 that it takes for granted."""
    limits: dict[str, int] = {}
    interval = exported.range_constraints.get(tree)
    if interval is not None:
        low, high = interval.lower, interval.upper
        if high.is_Integer and int(high) < _NO_LIMIT:
            limits["max"] = int(high)
        if low.is_Integer and int(low) > 2:
            limits["min"] = int(low)
    factor = lcm(*_factors(exported, tree))
    if factor > 1:
        limits["multiple_of"] = factor
    return limits


def _factors(exported: Any, tree: Any) -> Iterator[int]:
    """Yield the numbers that a symbol must be a multiple of."""
    guards = _guards(exported)
    cases = [part for guard in guards if type(guard).__name__ == "Or" for part in guard.args]
    for guard in (*guards, *cases):
        if type(guard).__name__ != "Equality":
            continue
        left, other = guard.args
        for side in guard.args if 0 in guard.args else ():  # Mod(n·symbol, m) = 0
            if type(side).__name__ in ("Mod", "PythonMod"):
                number, rest = (side.args[0] / side.args[1]).as_coeff_Mul()
                if rest == tree and number.is_Rational:
                    yield int(number.q)
        for part in guard.find(lambda part: type(part).__name__ == "FloorDiv"):  # symbol = n·(symbol//n)
            if part.args[0] == tree and part.args[1].is_Integer:
                quotient = type(tree)("quotient", integer=True, positive=True)
                exactly = (left - other).xreplace({part: quotient}).xreplace({tree: part.args[1] * quotient})
                if exactly.expand() == 0:
                    yield int(part.args[1])


def _guards(exported: Any) -> list[Any]:
    """Return the conditions on sizes that an export relies on; a program from a file has none."""
    for node in exported.graph.nodes:
        for size in getattr(node.meta.get("val"), "shape", ()):
            if not isinstance(size, int):
                return [guard.expr for guard in size.node.shape_env.guards]
    return []


def _example_size(names: Mapping[Any, str], dim: str, shapes: Mapping[str, tuple[Any, ...]]) -> int:
    """Return the size of a dim in the example that a program was exported with."""
    for shape in shapes.values():
        for size in shape:
            if not isinstance(size, int) and names.get(size.node.expr) == dim:
                return int(size.node.hint or 2)
    return 1


def _new_name(name: str, axis: int, taken: Iterable[str]) -> str:
    return "batch" if axis == 0 and "batch" not in taken else f"{name}_{axis}"


def _fixed(dim: str, message: str, hint: str | None = None) -> NetcalcError:
    return NetcalcError(Diagnostic("E009", message, hint=hint or f"leave {dim!r} out of the dynamic sizes"))
