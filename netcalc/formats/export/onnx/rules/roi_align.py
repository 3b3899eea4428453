"""Regions of images at a fixed size."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import wide


@rule("roi_align")
def roi_align(graph: Emitter, call: Applied) -> Tensor:
    """Return a RoiAlign, with the numbers of the images beside the boxes."""
    op, x, boxes = call.op, wide(graph, call.x), wide(graph, call.required(1))
    count = call.output.shape[0]
    if boxes.rank == 2:
        images, rois = graph.split(boxes, 1, [1, 4])
        images = graph.cast(graph.squeeze(images, [1]), "int64")
    else:
        numbers = graph.unsqueeze(graph.range(0, boxes.shape[0]), [1])
        images = graph.reshape(graph.expand(numbers, boxes.shape[:2]), (count,))
        rois = graph.reshape(boxes, (count, 4))
    height, width = map(int, op.output_size)
    made = graph.node(
        "RoiAlign",
        [x, rois, images],
        x.type.with_shape(*call.output.shape),
        coordinate_transformation_mode="half_pixel" if op.aligned else "output_half_pixel",
        mode="avg",
        output_height=height,
        output_width=width,
        sampling_ratio=int(op.sampling_ratio),
        spatial_scale=float(op.spatial_scale),
    )
    return graph.cast(made, call.output.dtype)
