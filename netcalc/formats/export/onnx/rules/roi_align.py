"""Bins of boxes in images."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("roi_align")
def roi_align(graph: Emitter, call: Applied) -> Tensor:
    """Return a RoiAlign, for which the numbers of the images stand beside the boxes."""
    op, boxes = call.op, call.required(1)
    if boxes.rank == 3:
        images, each, _ = boxes.shape
        numbers = graph.expand(graph.unsqueeze(graph.range(0, images), [1]), (images, each))
        numbers = graph.reshape(numbers, (images * each,))
        boxes = graph.reshape(boxes, (images * each, 4))
    else:
        first, boxes = graph.split(boxes, 1, [1, 4])
        numbers = graph.cast(graph.squeeze(first, [1]), "int64")
    height, width = op.output_size
    return graph.node(
        "RoiAlign",
        [call.x, boxes, numbers],
        call.output,
        mode="avg",
        output_height=height,
        output_width=width,
        sampling_ratio=op.sampling_ratio,
        spatial_scale=float(op.spatial_scale),
        coordinate_transformation_mode="half_pixel" if op.aligned else "output_half_pixel",
    )
