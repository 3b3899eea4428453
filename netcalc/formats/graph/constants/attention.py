"""Constant masks of attention as attributes of the operation."""

from __future__ import annotations

from typing import Any, NamedTuple

from netcalc.dims import Dim
from netcalc.formats.graph.constants.expressions import Expression, call, never_negative, truth
from netcalc.formats.graph.constants.mask_parts import added_parts, bare, boolean_parts
from netcalc.formats.graph.constants.masks import Mask, mask_of
from netcalc.formats.graph.constants.rules import broadcast
from netcalc.formats.graph.model import Graph, Line, Value, given

_ATTENTION = "scaled_dot_product_attention"


class _Split(NamedTuple):
    """A mask of attention as the conjunction of a fixed mask and of one that depends on inputs."""

    fixed: Mask
    rest: Value | None


def recognize_masks(graph: Graph, constants: dict[Value, Expression]) -> None:
    """Replace the constant masks of attention by its attributes ``causal``, ``window`` and ``alignment``.

    Args:
        graph: the graph, whose lines are changed; the lines of the masks stay, and may be unused.
        known: the elements of its constant values.
    """
    makers = {value: line for line in graph.lines for value in line.outputs}
    done: dict[tuple[Value, Dim, Dim], _Split | None] = {}
    lines = []
    for line in graph.lines:
        mask = line.inputs[3] if line.operation == _ATTENTION and len(line.inputs) > 3 else None
        if mask is not None and not line.attributes.keys() & {"causal", "window", "alignment", "blocks"}:
            lengths = line.inputs[0].type.shape[-2], line.inputs[1].type.shape[-2]  # type: ignore[union-attr]
            if (mask, *lengths) not in done:
                done[mask, *lengths], joined = _split(mask, lengths, constants, makers, line)
                lines += joined
            if (split := done[mask, *lengths]) is not None:
                line.attributes |= _attributes(split.fixed, lengths)
                line.inputs = given((*line.inputs[:3], split.rest, *line.inputs[4:]))
        lines.append(line)
    graph.lines[:] = lines


def _split(
    mask: Value, lengths: tuple[Dim, Dim], constants: dict[Value, Expression], makers: dict[Value, Line], user: Line
) -> tuple[_Split | None, list[Line]]:
    """Return the parts of a mask, and the line that joins those that depend on inputs if there are several."""
    original, mask = mask, bare(mask, makers)
    same, shape = None if original is mask else _Split(Mask(), mask), mask.type.shape
    boolean = mask.type.dtype == "bool"
    shown, rest = boolean_parts(mask, constants, makers) if boolean else added_parts(mask, constants, makers)
    if not shown:
        return same, []
    fixed: Expression = truth(True)
    for expression, sizes in shown:
        fixed = call("and", (fixed, broadcast(expression, sizes, shape)))
    fixed_mask = mask_of(fixed, shape)
    if fixed_mask is None or not _shift_fits(fixed_mask, lengths) or not (boolean or _sees_some(fixed_mask, lengths)):
        return same, []
    if len(rest) < 2:
        return _Split(fixed_mask, rest[0] if rest else None), []
    joined = Line("logical_and", {}, tuple(rest), (Value(mask.type, mask.hint),), user.scope)
    return _Split(fixed_mask, joined.outputs[0]), [joined]


def _shift_fits(mask: Mask, lengths: tuple[Dim, Dim]) -> bool:
    """Report that the shift of a mask is one of the two that attention has."""
    return mask.shift == 0 or mask.shift == lengths[1] - lengths[0]


def _sees_some(mask: Mask, lengths: tuple[Dim, Dim]) -> bool:
    """Report that every query sees a key: a finite number that is added to all scores alike hides none of them."""
    if not never_negative(mask.shift):
        return False
    return mask.left is None or mask.shift != 0 or never_negative(lengths[1] - lengths[0])


def _attributes(mask: Mask, lengths: tuple[Dim, Dim]) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if mask.right == 0:
        attributes["causal"] = True
    if mask.shift != 0:
        attributes["alignment"] = "lower_right"
    if mask.left is not None or mask.right:
        attributes["window"] = mask.left if mask.left == mask.right else [mask.left, mask.right]
    return attributes
