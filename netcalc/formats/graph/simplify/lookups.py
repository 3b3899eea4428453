"""Look-ups that take all elements of a tensor in their order, or elements that are all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netcalc.formats.graph.constants import constants_of
from netcalc.formats.graph.constants.expressions import Expression, progression
from netcalc.formats.graph.model import Line, Value
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule
from netcalc.formats.graph.simplify.steps import regrouped
from netcalc.formats.graph.simplify.views import add_steps


def whole_lookup(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Replace a look-up by a view, if each index counts along an axis of its own."""
    source, *indices = line.inputs
    (result,) = line.outputs
    if source is None or source.type.elements != result.type.elements:
        return None
    operation: Any = work.operation(line)
    axes = [axis % source.type.rank for axis in operation.axis]
    if axes != list(range(axes[0], axes[0] + len(axes))):
        return None
    if "constants" not in work.memory:
        work.memory["constants"] = constants_of(work.graph)
    constants: Mapping[Value, Expression] = work.memory["constants"]
    rank = max(index.type.rank for index in indices if index is not None)
    order: list[int] = []
    for axis, index in zip(axes, indices, strict=True):
        expression = constants.get(index) if index is not None else None
        size = source.type.shape[axis]
        if expression == 0 and size == 1:
            continue
        counted = progression(expression)
        if index is None or counted is None or (counted.start, counted.step) != (0, 1):
            return None
        if index.type.shape[counted.axis] != size:
            return None
        order.append(counted.axis + rank - index.type.rank)
    if sorted(set(order)) != order:
        return None
    return [add_steps(work, source, regrouped(source.type.shape, result.type.shape))]


def equal_elements(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Replace a look-up in a constant whose elements are all the same."""
    maker, (result,) = work.maker(line.inputs[0]), line.outputs
    if maker is None or maker.operation != "constant" or isinstance(maker.attributes["value"], (list, tuple)):
        return None
    attributes = {
        "value": maker.attributes["value"],
        "shape": list(result.type.shape),
        "dtype": maker.attributes.get("dtype"),
    }
    return [work.build.line("constant", [], attributes)]


RULES: Mapping[str, Sequence[Rule]] = {
    "index": [equal_elements, whole_lookup],
    "gather": [equal_elements],
    "index_select": [equal_elements],
}
