"""PyTorch code of the operations of :mod:`netcalc.ops.roi_align`."""

from __future__ import annotations

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule

helper('''
def roi_align(
    x: Tensor,
    boxes: Tensor,
    size: tuple[int, int],
    samples: int,
    spatial_scale: float = 1.0,
    aligned: bool = False,
) -> Tensor:
    """Return mean samples of the bins of each box (boxes, channels, height, width).

    Args:
        x: images (batch, channels, height, width).
        boxes: x1, y1, x2, y2 (batch, boxes, 4), or behind the number of the image.
        size: bins along height and width.
        samples: samples of a bin along each axis.
        spatial_scale: size of a pixel of the boxes in elements.
        aligned: shift the boxes by half an element.
    """
    if boxes.ndim == 3:
        count, each, _ = boxes.shape
        images = torch.arange(count, device=x.device).repeat_interleave(each)
        boxes = boxes.flatten(0, 1)
    else:
        images, boxes = boxes[:, 0].long(), boxes[:, 1:]

    def places(
        axis: int, bins: int, limit: int
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        ends = boxes[:, 1 - axis :: 2] * spatial_scale - (0.5 if aligned else 0.0)
        start, extent = ends[:, 0], ends[:, 1] - ends[:, 0]
        extent = extent if aligned else extent.clamp(min=1.0)
        total = bins * samples
        steps = torch.arange(total, device=x.device, dtype=boxes.dtype) + 0.5
        at = start[:, None] + (extent / total)[:, None] * steps
        outside = (at < -1) | (at > limit)
        inside = at.clamp(0, limit - 1)
        first = inside.floor()
        beyond = (inside - first).masked_fill(outside, 0.0)
        rest = (1 - (inside - first)).masked_fill(outside, 0.0)
        return first.long(), (first + 1).clamp(max=limit - 1).long(), rest, beyond

    top, bottom, upper, lower = places(0, size[0], x.shape[2])
    left, right, before, behind = places(1, size[1], x.shape[3])
    total = x.new_zeros(len(images), top.shape[1], left.shape[1], x.shape[1])
    source = x.permute(0, 2, 3, 1)
    for rows, down in ((top, upper), (bottom, lower)):
        for columns, across in ((left, before), (right, behind)):
            index = (images[:, None, None], rows[:, :, None], columns[:, None, :])
            weight = down[:, :, None] * across[:, None, :]
            total = total + source[index] * weight[..., None]
    bins = total.unflatten(1, (size[0], samples)).unflatten(3, (size[1], samples))
    return bins.mean((2, 4)).permute(0, 3, 1, 2)
''')


@rule("roi_align")
def roi_align(call: Call) -> Emitted | str:
    """Write a helper."""
    op = call.op
    values = (
        call.value(tuple(op.output_size), "output_size"),
        call.value(op.sampling_ratio, "samples"),
        call.value(op.spatial_scale, "spatial_scale"),
        str(op.aligned),
    )
    return f"{call.helper('roi_align')}({call.x}, {call.input(1)}, {', '.join(values)})"
