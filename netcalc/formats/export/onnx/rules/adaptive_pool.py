"""Pooling to a given size."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._windows import batched, with_batch

_KINDS = {
    "avg": ("GlobalAveragePool", "AveragePool", "ReduceMean"),
    "max": ("GlobalMaxPool", "MaxPool", "ReduceMax"),
}


@rule(*(f"adaptive_{kind}_pool{axes}d" for kind in _KINDS for axes in (1, 2, 3)))
def adaptive_pool(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a pooling with windows of one size where they are, else reductions of each window, axis by axis."""
    op = call.op
    if getattr(op, "return_indices", False):
        raise UnsupportedError("places of maxima have no operator of ONNX")
    pool, windowed, reduction = _KINDS["avg" if "avg" in op.name else "max"]

    def apply(x: Tensor) -> list[Tensor]:
        sizes = op.sizes_of(x.type)
        targets = op.targets(sizes)
        if sizes == targets:
            return [x]
        if all(target == 1 for target in targets):
            return [graph.node(pool, [x], with_batch(call, x))]
        if not all(isinstance(size, int) for size in (*sizes, *targets)):
            raise UnsupportedError("windows of a symbolic size")
        if all(size % target == 0 for size, target in zip(sizes, targets, strict=True)):
            kernel = [size // target for size, target in zip(sizes, targets, strict=True)]
            return [graph.node(windowed, [x], with_batch(call, x), kernel_shape=kernel, strides=kernel)]
        return [by_axis(graph, x, sizes, targets, reduction)]

    return batched(graph, call, apply)


def by_axis(graph: Emitter, x: Tensor, sizes: Sequence[int], targets: Sequence[int], reduction: str) -> Tensor:
    """Return the reductions of windows from ⌊i·size/target⌋ to ⌈(i + 1)·size/target⌉ along each axis."""
    for axis, (size, target) in enumerate(zip(sizes, targets, strict=True), start=2):
        if size == target:
            continue
        bounds = [(index * size // target, -(-(index + 1) * size // target)) for index in range(target)]
        windows = [graph.slice(x, axis, start, stop) for start, stop in bounds]
        x = graph.concat([graph.reduce(reduction, window, [axis], keep=True) for window in windows], axis)
    return x
