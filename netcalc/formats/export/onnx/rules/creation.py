"""Tensors without inputs."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.tensor_type import TensorType

#: Most numbers of a range that are written as a list.
_LISTED = 4096


@rule("parameter", "linear_weight", "buffer")
def stored(graph: Emitter, call: Applied) -> Tensor:
    """Return the parameter."""
    (name,) = call.types
    return call.param(name)


@rule("constant")
def constant(graph: Emitter, call: Applied) -> Tensor:
    """Return a constant; one number for any shape is expanded."""
    value, type_ = call.op.value, call.output
    if isinstance(value, tuple):
        if type_.is_complex:
            value = [complex(*pair) for pair in _pairs(value)]
        return graph.constant(value, type_)
    if not isinstance(value, (bool, int, float)):
        return graph.expand(graph.size(value, type_.dtype), type_.shape)
    return graph.zeros(type_.shape, type_.dtype, value)


def _pairs(value: tuple[object, ...]) -> list[tuple[float, float]]:
    """Return the pairs of numbers in nested lists."""
    if not isinstance(value[0], tuple):
        return [(float(value[0]), float(value[1]))]  # type: ignore[arg-type]
    return [pair for item in value if isinstance(item, tuple) for pair in _pairs(item)]


@rule("arange")
def arange(graph: Emitter, call: Applied) -> Tensor:
    """Return a list of numbers, or a Range for sizes that are symbols and for long ones."""
    op, type_ = call.op, call.output
    bounds = (op.start, op.stop, op.step)
    if any(isinstance(bound, float) for bound in bounds):
        (count,) = type_.shape
        if not isinstance(count, int):
            raise UnsupportedError("a range of fractions with a symbolic length")
        return graph.constant([op.start + place * op.step for place in range(count)], type_)
    if all(isinstance(bound, int) for bound in bounds):
        numbers = range(*bounds)
        if len(numbers) <= _LISTED:
            return graph.constant([*numbers], type_)
    inner = TensorType(type_.shape, "int64")
    made = graph.node("Range", [graph.size(bound) for bound in bounds], inner)
    return graph.cast(made, type_.dtype)
