"""Counting conventions: which work a tool counts, and how much for each.

One network has many published "FLOPs", because tools count different things under one name.  A convention here is a
table over operations and terms; what it does not count is reported by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netcalc.dims import Dim
from netcalc.ir import OpNode
from netcalc.opdef import Term

__all__ = ["CONVENTIONS", "Convention", "Counted"]


@dataclass(frozen=True, slots=True)
class Counted:
    """What a convention makes of one operation; ``incomplete`` when it leaves out work that the operation does."""

    macs: Dim
    flops: Dim
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Convention:
    """A way of counting.  ``per_mac`` is how many FLOPs one multiply-add makes."""

    name: str
    about: str
    source: str
    per_mac: int
    count: Callable[[OpNode, Sequence[Term], bool], Counted]


def _macs(terms: Sequence[Term]) -> Dim:
    total: Dim = 0
    for term in terms:
        if term.kind == "mac":
            total = total + term.count
    return total


def _everything(node: OpNode, terms: Sequence[Term], training: bool) -> Counted:
    flops: Dim = 0
    for term in terms:
        flops = flops + term.count * (2 if term.kind == "mac" else 1)
    return Counted(_macs(terms), flops)


#: Operations that run as convolutions, matrix products or attention, which is all that torch's counter knows.
PRODUCTS = frozenset(
    {
        *(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)),
        *("linear", "matmul", "einsum", "scaled_dot_product_attention", "experts"),
        *("rnn", "lstm", "gru", "rnn_cell", "lstm_cell", "gru_cell"),
    }
)


def _products(per_mac: int) -> Callable[[OpNode, Sequence[Term], bool], Counted]:
    def count(node: OpNode, terms: Sequence[Term], training: bool) -> Counted:
        if node.op.name not in PRODUCTS:
            return Counted(0, 0, bool(terms))
        macs = _macs(terms)
        return Counted(macs, macs * per_mac)

    return count


def _elements(node: OpNode, *, of: str, each: int) -> Dim:
    value = node.inputs[0] if of == "input" else node.outputs[0]
    assert value is not None and value.type is not None
    return value.type.elements * each


def _fvcore_norm(node: OpNode, training: bool) -> Dim:
    affine = any(not p.is_buffer for p in node.params)
    if node.op.name == "batch_norm" and not training:
        return _elements(node, of="input", each=2 if affine else 1)
    return _elements(node, of="input", each=5 if affine else 4)


def _fvcore_elements(of: str, each: int) -> Callable[[OpNode, bool], Dim]:
    return lambda node, training: _elements(node, of=of, each=each)


_FVCORE: Mapping[str, Callable[[OpNode, bool], Dim]] = {
    **dict.fromkeys(("batch_norm", "layer_norm", "group_norm", "instance_norm"), _fvcore_norm),
    **dict.fromkeys(
        (f"{kind}_avg_pool{n}d" for kind in ("adaptive", "global") for n in (1, 2, 3)), _fvcore_elements("input", 1)
    ),
    "interpolate": _fvcore_elements("output", 4),
}


def _fvcore(node: OpNode, terms: Sequence[Term], training: bool) -> Counted:
    name = node.op.name
    if name in _FVCORE:
        return Counted(0, _FVCORE[name](node, training))
    if name in PRODUCTS and name != "scaled_dot_product_attention":
        return Counted(_macs(terms), _macs(terms))
    return Counted(0, 0, bool(terms))


CONVENTIONS: dict[str, Convention] = {
    c.name: c
    for c in (
        Convention("netcalc", "every operation; 1 MAC = 2 FLOPs", "docs/counting.md", 2, _everything),
        Convention(
            "torch",
            "convolutions, matrix products and attention, without biases; 1 MAC = 2 FLOPs",
            "torch.utils.flop_counter",
            2,
            _products(2),
        ),
        Convention(
            "torchvision",
            "convolutions, matrix products and attention, without biases; one for each MAC",
            "torchvision weights' _ops",
            1,
            _products(1),
        ),
        Convention(
            "fvcore",
            "one for each MAC; norms, adaptive pooling and bilinear resizing by element; no fused attention",
            "fvcore.nn.flop_count",
            1,
            _fvcore,
        ),
    )
}
