"""Masks of attention that hide the same keys from all queries: padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.formats.graph.model import Line, Value
from netcalc.formats.graph.simplify.arrangement import VIEWS
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule


def padding_mask(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Give attention the padding, (batch, keys), in place of a mask (batch, 1, 1, keys) that is true elsewhere."""
    (mask,) = line.outputs
    (shown,) = line.inputs
    users = work.users(mask)
    if shown is None or mask.type.dtype != "bool" or work.is_result(mask) or not users:
        return None
    batch, *_, keys = (*shown.type.shape, 0, 0)[:2]
    if shown.type.rank != 2 or mask.type.shape != (batch, 1, 1, keys):
        return None
    if not all(_is_masked_by(user, mask) for user in users):
        return None
    work.build.hint = "padding"
    hidden = _hidden(work, shown)
    if hidden is None:
        return None
    for user in users:
        work.feed(user, *user.inputs[:3], None, hidden, *user.inputs[5:])
    return [mask]


def _is_masked_by(line: Line, mask: Value) -> bool:
    if line.operation != "scaled_dot_product_attention" or len(line.inputs) < 4 or line.inputs.count(mask) != 1:
        return False
    query = line.inputs[0]
    free = line.inputs[4:5] in ((), (None,))
    return line.inputs[3] is mask and free and query is not None and query.type.rank == 4


def _hidden(work: Rewriter, shown: Value) -> Value | None:
    """Return the keys that are hidden, as the comparison that gives the others says the opposite.

    A conversion to bool is no work, and its opposite would be.
    """
    maker = work.maker(shown)
    if maker is None or len(maker.inputs) != 1 or maker.inputs[0] is None:
        return None
    if maker.operation == "logical_not":
        return maker.inputs[0]
    if maker.operation == "not_equal":
        return work.build.line("equal", maker.inputs, maker.attributes)
    return None


RULES: Mapping[str, Sequence[Rule]] = {operation: [padding_mask] for operation in VIEWS}
