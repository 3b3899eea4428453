"""The convention of ``fvcore.nn.flop_count``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.analysis.conventions.convention import Convention, Rule, RuleCount, not_counted
from netcalc.dims import Dim
from netcalc.ir import OpNode
from netcalc.tensor_type import TensorType


def _input(node: OpNode, index: int = 0) -> TensorType:
    type_ = node.input_types[index]
    assert type_ is not None
    return type_


def _op(node: OpNode) -> Any:
    """Return the operation, untyped: each rule reads attributes of the operations that it applies to."""
    return node.op


def _matmul(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    """Elements of the first operand times columns of the second, even if the first is broadcast."""
    first, second = _input(node), _input(node, 1)
    return RuleCount(first.elements * second.shape[-1] if second.rank > 1 else 0)


def _conv(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    """Multiply-adds of a convolution; weight standardization counts as a norm of the weight.

    With a padding of ``same`` or ``valid`` torch runs an operator that fvcore does not count.
    """
    op = _op(node)
    if op.padding in ("same", "valid") and op.padding_mode == "zeros":
        return RuleCount(0)
    weight = node.input_types[1] or node.params[0]
    return RuleCount(macs, weight.elements * 4 if op.weight_standardization else 0)


def _norm(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    return RuleCount(0, _input(node).elements * (5 if _is_weighted(node) else 4))


def _is_weighted(node: OpNode) -> bool:
    """Return True for a norm with a weight, which may be an input."""
    return _op(node).affine or "weight" in node.op.named(node.inputs)


def _batch_norm(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    if _op(node).own_statistics(training, given="running_mean" in node.op.named(node.inputs)):
        return _norm(node, macs, training)
    return RuleCount(0, _input(node).elements * (2 if _is_weighted(node) else 1))


def _pool(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    return RuleCount(0, _input(node).elements)


def _interpolate(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    """Resizing of images without antialiasing; nothing else is counted."""
    x, y = _input(node), node.outputs[0].known_type
    if x.rank != 4 or _op(node).antialias:
        return RuleCount(0)
    by_mode = {"nearest": y.elements, "bilinear": y.elements * 4, "area": x.elements}
    return RuleCount(0, by_mode.get(_op(node).mode, 0))


def _grid_sample(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    """Four operations for each element of the result, in any mode."""
    return RuleCount(0, node.outputs[0].known_type.elements * 4)


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("bilinear", "scaled_dot_product_attention", "rnn", "lstm", "gru"), not_counted),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _conv),
    **dict.fromkeys(("layer_norm", "group_norm", "instance_norm"), _norm),
    **dict.fromkeys(("adaptive_avg_pool2d", "global_avg_pool2d"), _pool),
    "batch_norm": _batch_norm,
    "matmul": _matmul,
    "interpolate": _interpolate,
    "grid_sample": _grid_sample,
}

FVCORE = Convention(
    name="fvcore",
    about="one for each MAC; norms, adaptive pooling and resizing by element; no fused attention",
    source="fvcore.nn.flop_count",
    per_mac=1,
    per_other=0,
    by_element=True,
    rules=_RULES,
)
