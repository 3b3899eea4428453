"""Counting conventions: which work a tool counts, and how much for each.

One network has many published "FLOPs", because tools count different things under one name.  A convention here is
what it makes of a multiply-add, and a table of the operations that it treats otherwise, as the tool itself does (the
tests hold each against the tool).  What a convention does not count is reported by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from netcalc.dims import Dim
from netcalc.ir import OpNode, Value
from netcalc.opdef import Term
from netcalc.tensor_type import TensorType

__all__ = ["CONVENTIONS", "Convention", "Counted", "Tally"]


class Counted(NamedTuple):
    """What a convention makes of one operation; ``incomplete`` when it leaves out all the work that is done."""

    macs: Dim
    flops: Dim
    incomplete: bool = False


class Tally(NamedTuple):
    """The multiply-adds that a convention counts for an operation, and the FLOPs besides."""

    macs: Dim
    others: Dim = 0


#: What a tool counts for an operation, from the node, its multiply-adds, and whether it is trained.
Rule: TypeAlias = Callable[[OpNode, Dim, bool], Tally]


class Convention(NamedTuple):
    """A way of counting.

    ``per_mac`` is how many FLOPs a multiply-add makes, ``per_other`` any other operation.  ``rules`` are for the
    operations that are counted otherwise.
    """

    name: str
    about: str
    source: str
    per_mac: int
    per_other: int
    rules: Mapping[str, Rule]

    def counts(self, node: OpNode, terms: Sequence[Term], training: bool) -> Counted:
        """What this convention makes of an operation with these terms."""
        macs: Dim = 0
        others: Dim = 0
        for term in terms:
            if term.kind == "mac":
                macs = macs + term.count
            else:
                others = others + term.count
        rule = self.rules.get(node.op.name)
        counted = rule(node, macs, training) if rule else Tally(macs, others * self.per_other)
        flops = counted.macs * self.per_mac + counted.others
        return Counted(counted.macs, flops, flops == 0 and (macs != 0 or others != 0))


# -- the rules --------------------------------------------------------------------------------------


def _type(value: Value | None) -> TensorType:
    assert value is not None
    return value.known_type


def _op(node: OpNode) -> Any:
    """The operation; a rule knows the attributes of the one that it is for."""
    return node.op


def _nothing(node: OpNode, macs: Dim, training: bool) -> Tally:
    return Tally(0)


def _matrices(node: OpNode, macs: Dim, training: bool) -> Tally:
    """A vector on the right makes a matrix product ``mv`` or ``dot``, which torch's counter does not know."""
    return Tally(macs if _type(node.inputs[1]).rank > 1 else 0)


def _fvcore_matmul(node: OpNode, macs: Dim, training: bool) -> Tally:
    """The elements of the first input times the columns of the second, whichever of them is broadcast."""
    x, other = map(_type, node.inputs)
    return Tally(x.elements * other.shape[-1] if other.rank > 1 else 0)


def _fvcore_conv(node: OpNode, macs: Dim, training: bool) -> Tally:
    """Not when the padding is one of torch's words, which runs another operator; filters may be normalised first."""
    op = _op(node)
    if op.padding in ("same", "valid") and op.padding_mode == "zeros":
        return Tally(0)
    return Tally(macs, node.params[0].elements * 4 if op.weight_standardization else 0)


def _fvcore_norm(node: OpNode, macs: Dim, training: bool) -> Tally:
    affine = any(not param.is_buffer for param in node.params)
    return Tally(0, _type(node.inputs[0]).elements * (5 if affine else 4))


def _fvcore_batch_norm(node: OpNode, macs: Dim, training: bool) -> Tally:
    if _op(node).own_statistics(training):
        return _fvcore_norm(node, macs, training)
    return Tally(0, _type(node.inputs[0]).elements * (2 if _op(node).affine else 1))


def _fvcore_pool(node: OpNode, macs: Dim, training: bool) -> Tally:
    return Tally(0, _type(node.inputs[0]).elements)


def _fvcore_interpolate(node: OpNode, macs: Dim, training: bool) -> Tally:
    """Of images only, and not smoothed."""
    x, y = _type(node.inputs[0]), _type(node.outputs[0])
    if x.rank != 4 or _op(node).antialias:
        return Tally(0)
    each = {"nearest": y.elements, "bilinear": y.elements * 4, "area": x.elements}
    return Tally(0, each.get(_op(node).mode, 0))


#: Every multiply-add counts, whatever operation it is in, but these run as operators that torch's counter passes over.
_TORCH: Mapping[str, Rule] = {"bilinear": _nothing, "matmul": _matrices}

_FVCORE: Mapping[str, Rule] = {
    **dict.fromkeys(("bilinear", "scaled_dot_product_attention", "rnn", "lstm", "gru"), _nothing),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _fvcore_conv),
    **dict.fromkeys(("layer_norm", "group_norm", "instance_norm"), _fvcore_norm),
    **dict.fromkeys(("adaptive_avg_pool2d", "global_avg_pool2d"), _fvcore_pool),
    "batch_norm": _fvcore_batch_norm,
    "matmul": _fvcore_matmul,
    "interpolate": _fvcore_interpolate,
}

CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention("netcalc", "every operation; 1 MAC = 2 FLOPs", "docs/counting.md", 2, 1, {}),
        Convention(
            "torch",
            "convolutions, matrix products and attention, without biases; 1 MAC = 2 FLOPs",
            "torch.utils.flop_counter",
            2,
            0,
            _TORCH,
        ),
        Convention(
            "torchvision",
            "convolutions, matrix products and attention, without biases; one for each MAC",
            "torchvision weights' _ops",
            1,
            0,
            _TORCH,
        ),
        Convention(
            "fvcore",
            "one for each MAC; norms, adaptive pooling and resizing by element; no fused attention",
            "fvcore.nn.flop_count",
            1,
            0,
            _FVCORE,
        ),
    )
}
