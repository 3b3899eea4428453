"""Recurrent cells over sequences: as operations where netcalc has them, else step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.held import Form
from netcalc.formats.keras.layers._activations import applied, name_of
from netcalc.formats.keras.operand import Operand

OPERATIONS = {"LSTM": "lstm", "GRU": "gru", "SimpleRNN": "rnn"}
#: Gates of a state, and their order in netcalc by their places in Keras: a GRU's update is before its reset there.
_GATES: dict[str, tuple[int, ...]] = {"LSTM": (0, 1, 2, 3), "GRU": (1, 0, 2), "SimpleRNN": (0,)}
#: Most steps that are written out, which is a matter of seconds.
_MOST = 200
#: Settings that change neither results nor weights.
WITHOUT_EFFECT = (
    *("unroll", "zero_output_for_mask", "unit_forget_bias", "implementation", "use_cudnn", "time_major"),
    *("dropout_mask_count", "recurrent_dropout_seed"),
)


class Cell(NamedTuple):
    """A cell: its kind, as the layer over a sequence is called, and the settings that decide what it computes."""

    kind: str
    units: int
    use_bias: bool
    function: Any
    gates: Any
    resets_first: bool

    @property
    def is_operation(self) -> bool:
        """True if netcalc has an operation of this cell over a sequence."""
        functions = ("tanh", "relu") if self.kind == "SimpleRNN" else ("tanh",)
        return (
            name_of(self.function) in functions
            and (self.kind == "SimpleRNN" or name_of(self.gates) == "sigmoid")
            and not self.resets_first
        )

    @property
    def states(self) -> int:
        """Number of states that a step hands on."""
        return 2 if self.kind == "LSTM" else 1


def cell_of(call: Call) -> Cell:
    """Return the settings of a recurrent layer or cell."""
    kind = call.layer.kind.removesuffix("Cell")
    for name in WITHOUT_EFFECT:
        call.get(name)
    for name in ("dropout", "recurrent_dropout"):
        if call.number(name, 0.0):
            call.note(f"{name} of {call.layer.name} acts in training alone, and is left out")
    return Cell(
        kind,
        call.integer("units"),
        call.flag("use_bias", True),
        call.get("activation", "tanh"),
        call.get("recurrent_activation", "sigmoid") if kind != "SimpleRNN" else None,
        kind == "GRU" and not call.flag("reset_after", True),
    )


def parameters(call: Call, cell: Cell, features: Any, where: str, path: str, end: str = "") -> dict[str, Value]:
    """Return the weights of an operation by their names; ``where`` is the place of the cell in the file."""
    order = _GATES[cell.kind]
    rows = len(order) * cell.units
    parts = None if order == tuple(sorted(order)) else order
    form = Form((1, 0), parts, len(order))

    def held(name: str, variable: str, shape: Sequence[Any], form: Form) -> Value:
        return call.weight(name, variable, shape, form, inner=where, path=path)

    names = [f"{name}{end}" for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")]
    result = {
        names[0]: held(names[0], "kernel", (features, rows), form),
        names[1]: held(names[1], "recurrent_kernel", (cell.units, rows), form),
    }
    if cell.use_bias and cell.kind == "GRU":
        for index, name in enumerate(names[2:]):
            result[name] = held(name, "bias", (2, rows), Form(None, parts, len(order), at=index))
    elif cell.use_bias:
        result[names[2]] = held(names[2], "bias", (rows,), Form())
    return result


def attributes(cell: Cell, bidirectional: bool = False) -> dict[str, Any]:
    """Return the attributes of the operation of a cell."""
    return {
        "hidden": cell.units,
        "bias": False if not cell.use_bias else None if cell.kind == "GRU" else "input",
        "batch_first": True,
        "bidirectional": bidirectional or None,
        "nonlinearity": "relu" if name_of(cell.function) == "relu" else None,
    }


def over(
    call: Call, cell: Cell, x: Value, states: Sequence[Value], where: str, path: str
) -> tuple[Value, Sequence[Value]]:
    """Return the outputs of a cell at all steps, (batch, steps, units), and its last states, (batch, units) each.

    Args:
        call: the layer or cell whose weights they are.
        cell: its settings.
        x: the sequence, (batch, steps, features).
        states: the states at the start, (batch, units) each; none for zeros.
        where: place of the cell in the file.
        path: path of the lines that hold its weights.
    """
    if not cell.is_operation:
        return _stepwise(call, cell, x, states, where, path)
    start = [call.line("unsqueeze", [state], {"axis": 0}) for state in states]
    held = parameters(call, cell, x.type.shape[-1], where, path)
    output, *last = call.build.lines(OPERATIONS[cell.kind], [x, *start], attributes(cell), held)
    return output, [call.line("select", [state], {"axis": 0, "index": 0}) for state in last]


def steps_of(x: Value) -> int:
    """Return the number of steps of a sequence that is written out; RuleError if it is open, or too large."""
    steps = x.type.shape[1]
    if not isinstance(steps, int):
        raise RuleError("with these settings it is written out step by step, and the number of steps is open")
    if steps > _MOST:
        raise RuleError(f"with these settings it is written out step by step, and {steps:,} steps are too many")
    return steps


def _stepwise(
    call: Call, cell: Cell, x: Value, states: Sequence[Value], where: str, path: str
) -> tuple[Value, Sequence[Value]]:
    """Return the same, from lines for each step: the products with the inputs are one."""
    count, batch = steps_of(x), x.type.shape[0]
    formulas = _Formulas(call, cell, where, path, x.type.shape[-1])
    inputs = formulas.of_inputs(x)
    now = list(states) or [call.build.filled((batch, cell.units), 0.0, x.type.dtype)] * cell.states
    outputs = []
    for step in range(count):
        now = formulas.after(call.line("select", [inputs], {"axis": 1, "index": step}), now)
        outputs.append(now[0])
    return call.line("stack", outputs, {"axis": 1}), now


class _Formulas:
    """The formulas of a step of a cell with any functions, with weights in the order of the file."""

    def __init__(self, call: Call, cell: Cell, where: str, path: str, features: Any) -> None:
        self.call, self.cell = call, cell
        units, rows = cell.units, len(_GATES[cell.kind]) * cell.units

        def held(line: str, name: str, variable: str, shape: Sequence[Any], form: Form) -> Value:
            return call.weight(name, variable, shape, form, inner=where, path=f"{path}.{line}")

        self._of_input = held("input", "weight", "kernel", (features, rows), Form((1, 0)))
        # a gated unit that resets the state first has two products with it
        parts = {"state": (0, 1), "candidate": (2,)} if cell.resets_first else {"state": None}
        self._of_state = {
            line: held(line, "weight", "recurrent_kernel", (units, rows), Form((1, 0), part, 3))
            for line, part in parts.items()
        }
        self._biases: dict[str, Value] = {}
        if cell.use_bias and cell.kind == "GRU" and not cell.resets_first:
            for place, line in enumerate(("input", "state")):
                self._biases[line] = held(line, "bias", "bias", (2, rows), Form(at=place))
        elif cell.use_bias:
            self._biases["input"] = held("input", "bias", "bias", (rows,), Form())

    def of_inputs(self, x: Value) -> Value:
        """Return what the inputs of all steps add to the gates."""
        return self._linear(x, self._of_input, "input")

    def after(self, gates: Value, states: Sequence[Value]) -> list[Value]:
        """Return the states after a step, of which the first is its output."""
        if self.cell.kind == "SimpleRNN":
            return [self._function(self._sum(gates, self._product_with(states[0])))]
        if self.cell.kind == "LSTM":
            return self._lstm(self._sum(gates, self._product_with(states[0])), states[1])
        return [self._gru(self._chunks(gates, 3), states[0])]

    def _lstm(self, gates: Value, memory: Value) -> list[Value]:
        keep, forget, new, shown = self._chunks(gates, 4)
        memory = self._sum(
            self._product(self._gate(forget), memory), self._product(self._gate(keep), self._function(new))
        )
        return [self._product(self._gate(shown), self._function(memory)), memory]

    def _gru(self, gates: Sequence[Value], state: Value) -> Value:
        update, reset, new = gates
        if self.cell.resets_first:
            of_update, of_reset = self._chunks(self._product_with(state), 2)
        else:
            of_update, of_reset, of_new = self._chunks(self._product_with(state), 3)
        keep, opened = self._gate(self._sum(update, of_update)), self._gate(self._sum(reset, of_reset))
        if self.cell.resets_first:
            added = self._product_with(self._product(opened, state), "candidate")
        else:
            added = self._product(opened, of_new)
        candidate = self._function(self._sum(new, added))
        return self._sum(candidate, self._product(keep, self.call.line("sub", [state, candidate])))

    def _product_with(self, state: Value, line: str = "state") -> Value:
        return self._linear(state, self._of_state[line], line)

    def _linear(self, x: Value, weight: Value, line: str) -> Value:
        bias = self._biases.get(line)
        return weighted(self.call.build, "linear", x, weight, bias, {"out": weight.type.shape[0]})

    def _function(self, value: Value) -> Value:
        return applied(self.call, Operand(value), self.cell.function).value

    def _gate(self, value: Value) -> Value:
        return applied(self.call, Operand(value), self.cell.gates).value

    def _chunks(self, value: Value, count: int) -> tuple[Value, ...]:
        return self.call.build.lines("chunk", [value], {"chunks": count, "axis": -1})

    def _sum(self, one: Value, other: Value) -> Value:
        return self.call.line("add", [one, other])

    def _product(self, one: Value, other: Value) -> Value:
        return self.call.line("mul", [one, other])
