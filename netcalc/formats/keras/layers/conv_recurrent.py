"""Recurrent layers whose products are convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.shape import merged
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.lines.windows import plain, unless
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import applied
from netcalc.formats.keras.layers._recurrence import WITHOUT_EFFECT, steps_of
from netcalc.formats.keras.layers._windows import filters_first, padding
from netcalc.formats.keras.operand import Operand


@layer("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
def conv_lstm(call: Call) -> Any:
    """An LSTM over images or the like, written out step by step; the convolutions of the inputs are one."""
    axes, operand = int(call.layer.kind[-2]), call.operand(0, "sequences")
    if operand.rank != axes + 3:
        raise RuleError(f"its input has {operand.rank} axes in place of {axes + 3}")
    for name in WITHOUT_EFFECT:
        call.get(name)
    for name in ("dropout", "recurrent_dropout"):
        if call.number(name, 0.0):
            call.note(f"{name} of {call.layer.name} acts in training alone, and is left out")
    call.channels_last()
    call.without("stateful", False)
    x = call.last(operand)
    if call.flag("go_backwards"):
        x = call.line("flip", [x], {"axis": 1})
    count, gates = steps_of(x), _Gates(call, axes, x)
    every = gates.of_inputs(x)
    states = _initial(call) or gates.zeros(every)
    outputs = []
    for step in range(count):
        states = gates.after(call.line("select", [every], {"axis": 1, "index": step}), states)
        outputs.append(states[0])
    if call.mask(operand) is not None:
        call.note(f"{call.layer.name} takes steps of padding, which Keras passes over, for steps like others")
    turned = [Operand(state, True) for state in states]
    result = turned[0]
    if call.flag("return_sequences"):
        lasts = [call.last(Operand(output, True)) for output in outputs]
        result = Operand(call.line("stack", lasts, {"axis": 1}), mask=call.mask(operand))
    return [result, *turned] if call.flag("return_state") else result


def _initial(call: Call) -> list[Value]:
    given = call.argument(1, "initial_state")
    if given is None:
        return []
    if not isinstance(given, list) or len(given) != 2 or not all(isinstance(state, Operand) for state in given):
        raise RuleError("its initial states")
    return [call.first(state) for state in given]


class _Gates:
    """The gates of a layer, (batch, 4·filters, positions), which two convolutions add up."""

    def __init__(self, call: Call, axes: int, x: Value) -> None:
        self.call, self.axes, channels = call, axes, x.type.shape[-1]
        if not isinstance(channels, int):
            raise RuleError("the number of channels of its input is open")
        self.filters, self.kernel = call.integer("filters"), call.sizes("kernel_size", axes)
        rows, path = 4 * self.filters, call.around.path
        form = filters_first(axes)
        self.of_input = call.weight(
            "weight", "kernel", (*self.kernel, channels, rows), form, inner="cell", path=f"{path}.input"
        )
        shape = (*self.kernel, self.filters, rows)
        self.of_state = call.weight("weight", "recurrent_kernel", shape, form, inner="cell", path=f"{path}.state")
        self.bias = None
        if call.flag("use_bias", True):
            self.bias = call.weight("bias", "bias", (rows,), inner="cell", path=f"{path}.input")

    def of_inputs(self, x: Value) -> Value:
        """Return what the inputs of all steps add, (batch, steps, 4·filters, positions)."""
        call = self.call
        stride, dilation = call.sizes("strides", self.axes, 1), call.sizes("dilation_rate", self.axes, 1)
        attributes = {
            "stride": unless(stride, 1),
            "padding": padding(call, self.kernel, stride, dilation),
            "dilation": unless(dilation, 1),
        }
        together = call.first(Operand(merged(call.build, x, 0, 1)))
        made = self._convolved(together, self.of_input, self.bias, attributes)
        return call.line("unflatten", [made], {"axis": 0, "sizes": [-1, x.type.shape[1]]})

    def zeros(self, every: Value) -> list[Value]:
        """Return the states before the first step."""
        batch, _, _, *positions = every.type.shape
        return [self.call.build.filled((batch, self.filters, *positions), 0.0, every.type.dtype)] * 2

    def after(self, gates: Value, states: Sequence[Value]) -> list[Value]:
        """Return output and memory after a step."""
        call, (state, memory) = self.call, states
        same = {"padding": "same_upper" if any(size % 2 == 0 for size in self.kernel) else self._sides()}
        total = call.line("add", [gates, self._convolved(state, self.of_state, None, same)])
        keep, forget, new, shown = call.build.lines("chunk", [total], {"chunks": 4, "axis": 1})
        kept = call.line("mul", [self._gate(keep), self._function(new)])
        memory = call.line("add", [call.line("mul", [self._gate(forget), memory]), kept])
        return [call.line("mul", [self._gate(shown), self._function(memory)]), memory]

    def _sides(self) -> Any:
        return unless([size // 2 for size in self.kernel], 0)

    def _convolved(self, x: Value, weight: Value, bias: Value | None, attributes: dict[str, Any]) -> Value:
        settings = {"out": 4 * self.filters, "kernel": plain(self.kernel), **attributes}
        return weighted(self.call.build, f"conv{self.axes}d", x, weight, bias, settings)

    def _gate(self, value: Value) -> Value:
        return applied(self.call, Operand(value, True), self.call.get("recurrent_activation", "sigmoid")).value

    def _function(self, value: Value) -> Value:
        return applied(self.call, Operand(value, True), self.call.get("activation", "tanh")).value
