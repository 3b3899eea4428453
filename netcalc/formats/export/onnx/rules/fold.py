"""Windows of an image as columns (im2col), and the reverse (col2im)."""

from __future__ import annotations

from netcalc.dims import Dim, product
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import wide


@rule("unfold")
def unfold(graph: Emitter, call: Applied) -> Tensor:
    """Return the rows of each window by a Gather, and then its columns; a reshape for windows beside each other."""
    op, x = call.op, call.x
    batch = x.shape[:-3]
    pads = [(int(before), int(after)) for before, after in op.padding]
    x = graph.pad(x, [*[(0, 0)] * (x.rank - 2), *pads])
    lead = x.rank - 2
    counts: list[Dim] = []
    for axis, (kernel, stride, dilation) in enumerate(zip(op.kernel, op.stride, op.dilation, strict=True)):
        place = lead + 2 * axis  # the axis before is two by now
        size = x.shape[place]
        count = (size - dilation * (kernel - 1) - 1) // stride + 1
        counts.append(count)
        if kernel == stride and dilation == 1:
            x = graph.slice(x, place, 0, count * stride) if size != count * stride else x
            x = graph.reshape(x, (*x.shape[:place], count, kernel, *x.shape[place + 1 :]))
            x = graph.swapped(x, place, place + 1)
        else:
            offsets = graph.unsqueeze(graph.mul(graph.range(0, kernel), dilation), [1])
            places = graph.add(offsets, graph.mul(graph.range(0, count), stride))
            x = graph.gather(x, places, place)
    order = [*range(lead), lead, lead + 2, lead + 1, lead + 3]
    rows = call.output.shape[-2]
    return graph.reshape(graph.transpose(x, order), (*batch, rows, product(counts)))


@rule("fold")
def fold(graph: Emitter, call: Applied) -> Tensor:
    """Return a Col2Im."""
    op, x = call.op, wide(graph, call.x)
    alone = x.rank == 2
    if alone:
        x = graph.unsqueeze(x, [0])
    shape = call.output.shape if not alone else (1, *call.output.shape)
    made = graph.node(
        "Col2Im",
        [x, graph.shape(op.output_size), graph.shape(op.kernel)],
        x.type.with_shape(*shape),
        dilations=list(map(int, op.dilation)),
        pads=[int(before) for before, _ in op.padding] + [int(after) for _, after in op.padding],
        strides=list(map(int, op.stride)),
    )
    return graph.cast(graph.squeeze(made, [0]) if alone else made, call.output.dtype)
