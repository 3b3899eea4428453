"""Shorter graphs with the same values: dead lines left out, views joined, idioms recognized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.formats.graph.constants import fold_constants, note_unknown
from netcalc.formats.graph.model import Graph
from netcalc.formats.graph.simplify import (
    activations,
    attention,
    commuting,
    dropping,
    heads,
    layers,
    lookups,
    norms,
    padding,
    position_bias,
    rotary,
    trivial,
    views,
)
from netcalc.formats.graph.simplify.order import put_in_sequence
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule

__all__ = ["simplify"]

#: Passes over a graph: every rule makes it shorter or plainer, so that they end much earlier.
_PASSES = 50


def simplify(graph: Graph) -> None:
    """Replace lines of a graph by fewer ones that compute the same.

    The tensors of the checkpoint stay declared also where no line is left that uses them.
    """
    for _ in range(2):  # what is recognized may take masks and positions that are constant
        fold_constants(graph)
        work = Rewriter(graph)
        work.sweep()
        for _ in range(_PASSES):
            if not work.run(_RULES):
                break
    put_in_sequence(graph)
    note_unknown(graph)


def _joined_rules(*tables: Mapping[str, Sequence[Rule]]) -> dict[str, list[Rule]]:
    joined: dict[str, list[Rule]] = {}
    for table in tables:
        for operation, rules in table.items():
            joined.setdefault(operation, []).extend(rules)
    return joined


_IDIOMS = (*norms.IDIOMS, *activations.IDIOMS, *attention.IDIOMS, *layers.IDIOMS, *rotary.IDIOMS, *dropping.IDIOMS)

#: The rules of each operation, in the order in which they are tried on the last line of what they replace.
_RULES = _joined_rules(
    trivial.RULES,
    views.RULES,
    commuting.RULES,
    attention.RULES,
    lookups.RULES,
    heads.RULES,
    padding.RULES,
    position_bias.RULES,
    layers.RULES,
    *({operation: [rule] for operation, rule in idiom.items()} for idiom in _IDIOMS),
)
