"""Windows of images as columns."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.tensor_type import TensorType


@rule("unfold")
def unfold(graph: Emitter, call: Applied) -> Tensor:
    """Return the windows: rows by their places, then columns by theirs."""
    op, x = call.op, call.x
    padded = graph.pad(x, [*[(0, 0)] * (x.rank - 2), *op.padding])
    if not all(isinstance(size, int) for size in padded.shape[-2:]):
        raise UnsupportedError("windows of an image of symbolic sizes")
    for axis in (0, 1):
        place = x.rank - 2 + 2 * axis
        kernel, stride, dilation = op.kernel[axis], op.stride[axis], op.dilation[axis]
        starts = range(0, int(padded.shape[place]) - dilation * (kernel - 1), stride)
        listed = [[start + tap * dilation for start in starts] for tap in range(kernel)]
        indices = graph.constant(listed, TensorType((kernel, len(starts)), "int64"))
        padded = graph.gather(padded, indices, place)
    first = x.rank - 2
    order = [*range(first), first, first + 2, first + 1, first + 3]
    return graph.reshape(graph.transpose(padded, order), call.output.shape)
