"""Windows over spatial axes: the batch axis that ONNX requires, and padding as attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied

#: Rules of padding that are values of ``auto_pad`` too.
_AUTO = {"same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER"}


def batched(graph: Emitter, call: Applied, apply: Callable[[Tensor], list[Tensor]]) -> list[Tensor]:
    """Return the results of an operator of (batch, channels, axes…), for an input that may have no batch axis."""
    x = call.x
    if x.rank == call.op.axes + 2:
        return apply(x)
    return [graph.squeeze(value, [0]) for value in apply(graph.unsqueeze(x, [0]))]


def filters(call: Applied) -> tuple[Tensor, Tensor | None]:
    """Return the weight and the bias of a convolution, which are inputs or parameters."""
    bias = call.named("bias") or (call.param("bias") if call.has("bias") else None)
    return call.named("weight") or call.param("weight"), bias


def filter_attributes(op: Any) -> dict[str, Any]:
    """Return the attributes that convolutions and transposed ones have in common."""
    return {
        "kernel_shape": list(op.kernel),
        "strides": list(op.stride),
        "dilations": list(op.dilation),
        "group": int(op.groups),
    }


def pad_attributes(padding: Any, pads: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the attributes of padding: the rule where the sizes are symbols, else the numbers."""
    if padding in _AUTO and not all(isinstance(side, int) for pad in pads for side in pad):
        return {"auto_pad": _AUTO[padding]}
    return {"pads": [*(int(before) for before, _ in pads), *(int(after) for _, after in pads)]}


def with_batch(call: Applied, x: Tensor, index: int = 0) -> Any:
    """Return the type of a result for an input that has a batch axis."""
    type_ = call.outputs[index]
    return type_ if x.rank == call.x.rank else type_.with_shape(1, *type_.shape)
