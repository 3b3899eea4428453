"""Attention over an axis of samples and heads together, with an axis for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.formats.graph.model import Line, Value
from netcalc.formats.graph.simplify.arrangement import arranged
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule
from netcalc.formats.graph.simplify.steps import open_sizes
from netcalc.formats.graph.simplify.views import chain_after


def apart(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Split the first axis of attention where views of its result split it into two."""
    result, *weights = line.outputs
    inputs = [value for value in line.inputs if value is not None]
    if weights or result.type.rank != 3 or len(inputs) != 3 or any(value.type.rank != 3 for value in inputs):
        return None
    after = chain_after(work, result, line.scope)
    arrangement = arranged(result.type.shape, [work.operation(view) for view in after])
    if arrangement is None or len(arrangement.source[0]) != 2 or not all(_may_split(work, value) for value in inputs):
        return None
    sizes = open_sizes([factor.size for factor in arrangement.source[0]])
    split = {
        value: work.build.line("unflatten", [value], {"axis": 0, "sizes": sizes}) for value in dict.fromkeys(inputs)
    }
    attended = work.build.line(line.operation, [split[value] for value in inputs], line.attributes)
    return [work.build.line("flatten", [attended], {"start_axis": 0, "end_axis": 1})]


def _may_split(work: Rewriter, value: Value) -> bool:
    """Return True for a view, or a selection from one, which can have another shape without another line."""
    maker = work.maker(value)
    if maker is not None and maker.operation == "select":
        maker = work.maker(maker.inputs[0])
    return maker is not None and maker.operation in ("reshape", "flatten", "transpose", "permute")


RULES: Mapping[str, Sequence[Rule]] = {"scaled_dot_product_attention": [apart]}
