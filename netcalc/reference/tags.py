"""Tags of a network, by which lists of specs are searched: those that its spec states and those that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netcalc.analysis.cost import Analysis
from netcalc.dims import default_of
from netcalc.dtypes import INTEGERS

#: Operations that tell a kind of network wherever they occur, by tag.
_OPERATIONS = {
    "moe": {"experts"},
    "transformer": {"scaled_dot_product_attention"},
    "rnn": {"rnn", "lstm", "gru", "rnn_cell", "lstm_cell", "gru_cell"},
    "ssm": {"selective_scan", "ssd_scan"},
    "linear-attention": {"gated_delta_rule", "wkv"},
}
#: Axes of a batch of images.
_IMAGE_RANK = 4


def tags_of(analysis: Analysis, stated: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the tags of a network in alphabetical order.

    Besides those that are ``stated`` they are: moe, transformer, rnn, ssm and linear-attention by operations; cnn if
    convolutions do most of its multiply-adds; decoder if it has caches of keys and values or states; text and image by
    its inputs.
    """
    return tuple(sorted({*stated, *_by_operation(analysis), *_by_input(analysis)}))


def _by_operation(analysis: Analysis) -> Iterator[str]:
    costs = analysis.by_operation
    yield from (tag for tag, names in _OPERATIONS.items() if not names.isdisjoint(costs))
    macs = {name: default_of(cost.macs) or 0 for name, (_, cost) in costs.items()}
    if 2 * sum(count for name, count in macs.items() if name.startswith("conv")) > sum(macs.values()):
        yield "cnn"
    if analysis.program.caches.past is not None:
        yield "decoder"


def _by_input(analysis: Analysis) -> Iterator[str]:
    for spec in analysis.program.inputs:
        if spec.type.dtype in INTEGERS and spec.name.endswith("input_ids"):
            yield "text"
        elif len(spec.type.shape) == _IMAGE_RANK and spec.type.dtype not in INTEGERS:
            yield "image"
