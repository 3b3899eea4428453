"""Resizing of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._wide import wide
from netcalc.formats.export.onnx.rules.adaptive_pool import by_axis
from netcalc.tensor_type import TensorType

_MODES = {"linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
#: Coefficient of the cubic filter, without and with a wider one.
_CUBIC = (-0.75, -0.5)


@rule("interpolate")
def interpolate(graph: Emitter, call: Applied) -> Tensor:
    """Return a Resize; ``area`` is adaptive pooling."""
    op, x, shape = call.op, call.x, call.output.shape
    if op.mode == "area":
        if not all(isinstance(size, int) for size in (*x.shape[2:], *shape[2:])):
            raise UnsupportedError("windows of a symbolic size")
        return by_axis(graph, x, [*map(int, x.shape[2:])], [*map(int, shape[2:])], "ReduceMean")
    if op.antialias and all(isinstance(size, int) for size in (*x.shape[2:], *shape[2:])):
        return _filtered(graph, op, x, shape)
    if op.mode == "lanczos":
        raise UnsupportedError("the filter of Lanczos has no operator of ONNX")
    attributes: dict[str, object] = {"coordinate_transformation_mode": "half_pixel"}
    if op.mode == "nearest":
        attributes = {"coordinate_transformation_mode": "asymmetric", "mode": "nearest", "nearest_mode": "floor"}
    elif op.mode == "nearest-exact":
        attributes |= {"mode": "nearest", "nearest_mode": "round_prefer_ceil"}
    else:
        attributes["mode"] = _MODES[op.mode]
        if op.align_corners:
            attributes["coordinate_transformation_mode"] = "align_corners"
        if op.mode == "bicubic":
            attributes["cubic_coeff_a"] = _CUBIC[op.antialias]
        if op.antialias:
            attributes["antialias"] = 1
    factors = op.factors(x.rank - 2)
    if all(factor is not None for factor in factors):
        scales = graph.constant([1.0, 1.0, *factors], TensorType((x.rank,), "float32"))
        return graph.node("Resize", [x, None, scales], call.output, **attributes)
    return graph.node("Resize", [x, None, None, graph.shape(shape)], call.output, **attributes)


def _filtered(graph: Emitter, op: Any, x: Tensor, shape: Sequence[Any]) -> Tensor:
    """Return products with the weights of a widened filter along each axis; runtimes round them in their Resize."""
    import numpy as np

    from netcalc.numerics.kernels.resize import filters

    made = wide(graph, x)
    for axis, factor in reversed([*enumerate(op.factors(x.rank - 2), start=2)]):
        size, out = int(x.shape[axis]), int(shape[axis])
        places, weights = filters(op, size, out, factor, np.float32)
        table = np.zeros((size, out), np.float32)
        np.add.at(table, (places, np.arange(out)[:, None]), weights)
        matrix = graph.cast(graph.constant(table.tolist(), TensorType((size, out), "float32")), made.dtype)
        if axis == x.rank - 1:
            made = graph.matmul(made, matrix)
        else:
            made = graph.swapped(graph.matmul(graph.swapped(made, axis, -1), matrix), axis, -1)
    return graph.cast(made, x.dtype)
