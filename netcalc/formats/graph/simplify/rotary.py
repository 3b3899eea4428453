"""Rotary position embedding that is written out with tables of cosines and sines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from netcalc.formats.graph.model import Line, Value
from netcalc.formats.graph.simplify.evaluation import Evaluation
from netcalc.formats.graph.simplify.halves import (
    alternating,
    behind,
    every_other,
    half,
    in_front,
    joined,
    last_but_one,
)
from netcalc.formats.graph.simplify.pattern import Found, Pattern, anything, either, idiom, last_axis, named, op
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule
from netcalc.tensor_type import TensorType


def _negative(x: Pattern) -> Pattern:
    return either(op("neg", x), op("mul", x, value=-1))


def _rotated(turned: Pattern) -> Pattern:
    return op("add", op("mul", "x", "cos"), op("mul", turned, "sin"))


def _by_halves(first: Pattern, second: Pattern) -> tuple[Pattern, Pattern]:
    """Return the patterns of both features of the rotated pairs, from tables with a column for each pair."""
    return (
        op("sub", op("mul", first, "cos"), op("mul", second, "sin")),
        op("add", op("mul", second, "cos"), op("mul", first, "sin")),
    )


_TURNED = joined(_negative(half("x", 1)), half("x", 0))
_TURNED_PAIRS = alternating(_negative(every_other("x", 1)), every_other("x", 0))
_HALVES = joined(*_by_halves(half("x", 0), half("x", 1)))
_PAIRS = alternating(*_by_halves(every_other("x", 0), every_other("x", 1)))


#: Pairs of features as complex numbers, times a table of complex numbers.
_OF_NUMBERS = op(
    "flatten",
    op("view_as_real", op("mul", op("view_as_complex", "pairs"), "table")),
    start_axis=last_but_one,
    end_axis=last_axis,
)


def _rotary(interleaved: bool) -> Any:
    def rotary(work: Rewriter, match: Found) -> Value | None:
        """Return the rotation as one operation, of a tensor with positions before features."""
        x, cos, sin = (match.values[name] for name in ("x", "cos", "sin"))
        return _rotation_of(work, x.type, lambda: x, cos, sin, interleaved)

    return rotary


def of_numbers(work: Rewriter, match: Found) -> Value | None:
    """Return the rotation of pairs that are complex numbers; the table holds cosines and sines."""
    pairs, table = match.values["pairs"], match.values["table"]
    *lead, count, _ = pairs.type.shape

    def features() -> Value:
        return work.build.line("flatten", [pairs], {"start_axis": pairs.type.rank - 2})

    return _rotation_of(work, pairs.type.with_shape(*lead, 2 * count), features, table, table, interleaved=True)


def _rotation_of(
    work: Rewriter, type_: TensorType, features: Callable[[], Value], cos: Value, sin: Value, interleaved: bool
) -> Value | None:
    """Return the rotation of features of a type by two tables; None if these are no rotary tables."""
    attributes = _attributes(work, type_, cos, sin, interleaved)
    if attributes is not None:
        return work.build.line("rotary_embedding", [features()], attributes)
    attributes = _attributes(work, type_, cos, sin, interleaved, place=-3)
    if attributes is None:
        return None
    turned = work.build.line("transpose", [features()], _HEADS_IN_FRONT)
    turned = work.build.line("rotary_embedding", [turned], attributes)
    return work.build.line("transpose", [turned], _HEADS_IN_FRONT)


def _attributes(
    work: Rewriter, x: TensorType, cos: Value, sin: Value, interleaved: bool, place: int = -2
) -> dict[str, Any] | None:
    """Return the attributes of the rotation by two tables whose positions are along an axis of x."""
    key = (cos, sin, x.shape[-1], interleaved, place)
    computed = work.memory.setdefault("rotary", {})
    if key not in computed:
        computed[key] = _found_attributes(work, x, cos, sin, interleaved, place)
    attributes: dict[str, Any] | None = computed[key]
    return attributes


def _found_attributes(
    work: Rewriter, x: TensorType, cos: Value, sin: Value, interleaved: bool, place: int
) -> dict[str, Any] | None:
    features = x.shape[-1]
    if x.rank < -place or not isinstance(features, int) or any(not _is_along(table, x, place) for table in (cos, sin)):
        return None
    evaluation = work.memory.setdefault(Evaluation, Evaluation(work))
    arrays = [evaluation.array(table) for table in (cos, sin)]
    if any(array is None for array in arrays):
        return None
    if cos is sin:
        arrays = [arrays[0].real, arrays[0].imag]
    from netcalc.numerics.rotary_tables import pairs_of, rotary_attributes

    rows = [array.reshape(-1, array.shape[-1]) for array in arrays]
    columns = [pairs_of(row, features, interleaved) for row in rows]
    if columns[0] is None or columns[1] is None:
        return None
    attributes = rotary_attributes(columns[0], columns[1])
    if attributes is None:
        return None
    return {**attributes, "interleaved": True} if interleaved else attributes


def _is_along(table: Value, x: TensorType, place: int) -> bool:
    """Return True for a table of the positions along an axis of x: all others but the last have size 1."""
    shape = table.type.shape
    if len(shape) < -place or len(shape) > x.rank or shape[place] != x.shape[place]:
        return False
    return all(size == 1 for axis, size in enumerate(shape[:-1]) if axis != len(shape) + place)


def partial(work: Rewriter, match: Found) -> Value | None:
    """Return a rotation of the first features of a tensor, behind which the others stay as they are."""
    line, rotated = work.maker(match.values["rotated"]), match.values["rotated"]
    if line is None or rotated.type.shape[-1] != match.number("first"):
        return None
    attributes = {**line.attributes, "rotary_dim": rotated.type.shape[-1]}
    x = match.values["x"]
    if "joined" not in match.values:
        return work.build.line("rotary_embedding", [x], attributes)
    turned = work.build.line("rotary_embedding", [work.build.line("transpose", [x], _HEADS_IN_FRONT)], attributes)
    return work.build.line("transpose", [turned], _HEADS_IN_FRONT)


_HEADS_IN_FRONT = {"axes": [-3, -2]}


def _rotation(x: Pattern) -> Pattern:
    return named("rotated", op("rotary_embedding", x, theta=anything, scaling=anything, interleaved=anything))


def _turned(x: Pattern) -> Pattern:
    """Return the pattern of a tensor whose second and third last axes are swapped."""

    def swapped(axes: tuple[int, ...], line: Line) -> bool:
        rank = line.outputs[0].type.rank
        return sorted(axis % rank for axis in axes) == [rank - 3, rank - 2]

    return op("transpose", x, axes=swapped)


_FIRST, _OTHERS = in_front("x", "first"), behind("x", "first")

IDIOMS: tuple[Mapping[str, Rule], ...] = (
    idiom(_rotated(_TURNED), _rotary(interleaved=False)),
    idiom(_rotated(_TURNED_PAIRS), _rotary(interleaved=True)),
    idiom(_HALVES, _rotary(interleaved=False)),
    idiom(_PAIRS, _rotary(interleaved=True)),
    idiom(_OF_NUMBERS, of_numbers),
    idiom(joined(_rotation(_FIRST), _OTHERS), partial),
    idiom(joined(named("joined", _turned(_rotation(_turned(_FIRST)))), _OTHERS), partial),
)
