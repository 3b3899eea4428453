"""Layers that scale inputs."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.held import Form
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import front
from netcalc.formats.keras.layers._arithmetic import by_channel, flattened
from netcalc.formats.keras.operand import Operand

#: The least deviation by which Keras divides.
_LEAST = 1e-7


@layer("Rescaling")
def rescaling(call: Call) -> Operand:
    operand = call.operand()
    value = cast(call.build, operand.value, "float32")
    for operation, setting, neutral in (("mul", "scale", 1.0), ("add", "offset", 0.0)):
        shape, numbers = flattened(_plain(call.get(setting, neutral)))
        if not shape:
            if numbers[0] != neutral or operation == "mul":
                value = call.line(operation, [value], {"value": float(numbers[0])})
        elif len(shape) == 1:
            value = call.line(operation, [value, by_channel(call, operand, numbers)])
        else:
            raise RuleError(f"{setting} of {len(shape)} axes")
    return Operand(value, operand.first, operand.mask)


def _plain(value: Any) -> Any:
    """Return an array of the file as lists."""
    if isinstance(value, dict) and value.get("class_name") in ("__numpy__", "__tensor__"):
        config = value.get("config")
        return config.get("value") if isinstance(config, dict) else None
    return value


@layer("Normalization")
def normalization(call: Call) -> Operand:
    """(x − mean)/max(√variance, 10⁻⁷), with numbers of the file or statistics that were adapted to data."""
    operand = call.operand()
    x = cast(call.build, operand.value, "float32")
    axis = call.get("axis", []) if call.layer.config.get("axis", -1) is not None else []
    axes = sorted(front(one, operand.rank) for one in (axis if isinstance(axis, list) else [axis]))
    sizes = [operand.shape[one] for one in axes]
    mean, deviation = _statistics(call, operand, axes, sizes)
    if call.flag("invert"):
        return Operand(call.line("add", [call.line("mul", [x, deviation]), mean]), operand.first, operand.mask)
    return Operand(call.line("div", [call.line("sub", [x, mean]), deviation]), operand.first, operand.mask)


def _statistics(call: Call, operand: Operand, axes: list[int], sizes: list[Any]) -> tuple[Value, Value]:
    """Return mean and deviation, as they broadcast with the operand's value."""
    broadcast: list[Any] = [1] * operand.rank
    for axis, size in zip(axes, sizes, strict=True):
        broadcast[operand.axis(axis)] = size
    while len(broadcast) > 1 and broadcast[0] == 1:
        broadcast.pop(0)
    given = [_plain(call.get(name)) for name in ("mean", "variance")]
    if given[0] is None:
        if len(axes) > 1 and operand.first:
            raise RuleError("statistics of channels and positions of an image")
        form = Form(shape=tuple(broadcast))
        values = [call.weight(name, name, sizes, form, trainable=False) for name in ("mean", "variance")]
        call.weight("count", "count", (), trainable=False, dtype="int32")
        return values[0], call.line("clamp", [call.line("sqrt", [values[1]])], {"min": _LEAST})
    made: list[Value] = []
    for numbers in given:
        shape, elements = flattened(numbers)
        count = 1
        for size in sizes:
            count *= size
        if len(elements) not in (1, count) or len(shape) > 1 + sum(size == 1 for size in shape):
            raise RuleError("mean and variance of other axes than those of the input")
        if len(axes) > 1 and len(elements) > 1:
            raise RuleError("numbers of several axes")
        if made:  # of variances, which are not negative
            elements = [max(max(number, 0.0) ** 0.5, _LEAST) for number in elements]
        if len(elements) == 1:
            made.append(call.build.filled((), float(elements[0]), "float32"))
        elif axes == [operand.rank - 1]:
            made.append(by_channel(call, operand, elements))
        else:
            listed = call.line("constant", [], {"value": [float(number) for number in elements]})
            made.append(call.line("reshape", [listed], {"shape": broadcast}))
    return made[0], made[1]
