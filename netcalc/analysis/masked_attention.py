"""Work of attention under fixed masks, counted in three ways: over all pairs, kept pairs, and tiles of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.analysis.working import product_text
from netcalc.dims import Dim
from netcalc.dims.settled import joined
from netcalc.ir import OpNode
from netcalc.opdef import Context, WorkingLine

if TYPE_CHECKING:
    from netcalc.analysis.cost import Analysis

#: Queries and keys of a tile: those of FlashAttention-2's forward kernel for heads of 64 features without dropout
#: (csrc/flash_attn/src/flash_fwd_launch_template.h).
TILE = 128
#: Rule of the pairs, for the working of an operation.
PAIRS = (
    "of a query and a key, in each head: all, those that the mask keeps, and those in tiles that have one of these, "
    "which a block-sparse kernel computes (FlashAttention-2, arXiv:2307.08691)"
)


class MaskedAttention(NamedTuple):
    """MACs of the forward pass in all attention whose causal masks, windows or blocks hide pairs."""

    full_rectangle: Dim
    """MACs of both products over all pairs of a query and a key."""
    kept: Dim
    """MACs of the pairs that the masks keep."""
    tiles: Dim
    """MACs in tiles of 128 queries and 128 keys that have a kept pair, or in the blocks of a pattern of blocks; a
    block-sparse kernel computes these.
    """
    counted: Dim
    """MACs that the convention counts."""

    @property
    def counted_as(self) -> str:
        """Name of the figure that the convention counts; empty for another one."""
        names = {"the full rectangle": self.full_rectangle, "what the masks keep": self.kept, "tiles": self.tiles}
        if isinstance(self.full_rectangle, int):
            names |= {"half of the full rectangle": self.full_rectangle // 2, "nothing": 0}
        return next((name for name, macs in names.items() if macs == self.counted), "")


def masked_attention(analysis: Analysis) -> MaskedAttention | None:
    """Return the work of attention under fixed masks; None if no operation of the network has such a mask."""
    found = [
        (row.node, row.repeat) for row in analysis.leaves() if isinstance(row.node, OpNode) and is_masked(row.node)
    ]
    if not found:
        return None
    totals: Sequence[Dim] = (0, 0, 0, 0)
    for node, repeat in found:
        figures = (*of_operation(node, analysis.program.training), analysis.node(node).macs)
        totals = _sum(totals, [figure * repeat for figure in figures])
    return MaskedAttention(*map(joined, totals))


def is_masked(node: OpNode) -> bool:
    """Return True for an attention of which a fixed pattern hides pairs, whatever masks are given."""
    op: Any = node.op
    return node.op.name == "scaled_dot_product_attention" and bool(op.is_patterned)


def of_operation(node: OpNode, training: bool) -> tuple[Dim, Dim, Dim]:
    """Return the MACs over the full rectangle, of kept pairs and in tiles, of an attention with a fixed mask."""
    op: Any = node.op
    each: Dim = op.macs_of_a_pair(Context(training=training), node.input_types)
    full, kept, tiles = (step.value * each for step in pair_steps(node))
    return full, kept, tiles


def pair_steps(node: OpNode) -> tuple[WorkingLine, WorkingLine, WorkingLine]:
    """Return the pairs of a query and a key of an attention with a fixed mask, in each head, counted in three ways."""
    op: Any = node.op
    query, key, *_ = node.input_types
    assert query is not None and key is not None
    queries, keys = query.shape[-2], key.shape[-2]
    return (
        WorkingLine("full rectangle", "queries·keys", product_text((queries, keys)), queries * keys),
        WorkingLine("kept by the mask", "", "", op.kept(queries, keys).pairs),
        WorkingLine(f"in tiles of {TILE} × {TILE}", "", "", op.tiled(queries, keys, TILE)),
    )


def _sum(one: Iterable[Dim], other: Iterable[Dim]) -> Sequence[Dim]:
    return [first + second for first, second in zip(one, other, strict=True)]
