"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.computed_recurrence import Recurrence, Weights, computed_layers
from netcalc.formats.graph.lines.operands import constant_value
from netcalc.formats.graph.lines.weights import learned
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator

#: Orders of gates in PyTorch, by their places in ONNX: input, output, forget, cell; update, reset, hidden.
_ORDERS = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_FUNCTIONS = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}


class _ResettingFirst(Recurrence):
    """A gated unit that resets the state before the product with its weights, which PyTorch's does not."""

    def after(self, gates: Value, states: Sequence[Value], weights: Weights) -> list[Value]:
        """Return the state after a step: n + z·(h − n), n = tanh(x + (r·h)·W)."""
        line, (state,) = self.build.line, states
        inputs = self.build.lines("chunk", [gates], {"chunks": 3, "axis": -1})
        matrices = self.build.lines("chunk", [weights.w_hh], {"chunks": 3, "axis": 0})
        biases: Sequence[Value | None] = (None, None, None)
        if weights.b_hh is not None:
            biases = self.build.lines("chunk", [weights.b_hh], {"chunks": 3, "axis": 0})
        reset, update = (
            line("sigmoid", [line("add", [inputs[gate], self.linear(state, matrices[gate], biases[gate])])])
            for gate in (0, 1)
        )
        product = self.linear(line("mul", [reset, state]), matrices[2], biases[2])
        new = line("tanh", [line("add", [inputs[2], product])])
        return [line("add", [new, line("mul", [update, line("sub", [state, new])])])]


@operator("LSTM", "GRU", "RNN")
def recurrent(call: Call) -> Any:
    """A layer of one or two directions, with its gates in PyTorch's order, which are computed of those of the file."""
    kind = call.node.op
    direction = call.attribute("direction", "forward")
    count = 2 if direction == "bidirectional" else 1
    nonlinearity = _functions(call, kind, count)
    if call.has(4) and call.known(4) is None:
        raise RuleError("lengths of sequences that depend on data")
    if call.has(7) or call.attribute("input_forget", 0) or call.attribute("clip"):
        raise RuleError("peepholes, coupled gates or limits of gates")
    resets_first = kind == "GRU" and not call.attribute("linear_before_reset", 0)
    x, batch_first = call.x(), call.attribute("layout", 0) == 1
    hidden: Any = call.attribute("hidden_size") or call.shape(2)[2]
    batch = x.type.shape[0 if batch_first else 1]
    places = (5, 6) if kind == "LSTM" else (5,)
    if (
        not resets_first
        and direction != "reverse"
        and (layer := _layer(call, kind, count, hidden, nonlinearity)) is not None
    ):
        output, *last = layer
        return [
            _with_directions(call, output, count, hidden, batch_first),
            *(_placed(call, s, batch_first) for s in last),
        ]
    weights = [_weights(call, kind, place, hidden) for place in range(count)]
    states = [_state(call, place, count, batch, hidden, batch_first) for place in places]
    turned = direction == "reverse"
    axis = 1 if batch_first else 0
    if turned:
        x = call.line("flip", [x], {"axis": axis})
    form = _ResettingFirst if resets_first else Recurrence
    recurrence = form(call.build, kind.lower(), nonlinearity)
    output, *last = computed_layers(recurrence, x, states, [weights], None, batch_first=batch_first)
    if turned:
        output = call.line("flip", [output], {"axis": axis})
    return [_with_directions(call, output, count, hidden, batch_first), *(_placed(call, s, batch_first) for s in last)]


def _layer(call: Call, kind: str, count: int, hidden: int, nonlinearity: str | None) -> tuple[Value, ...] | None:
    """Add a layer whose weights the file holds, under PyTorch's names and in its order; None for computed ones."""
    places = [place for place in (1, 2, 3) if call.has(place)]
    if not all(learned(call.build, call.x(place), call.type(0).dtype) for place in places):
        return None
    order = _ORDERS[kind]
    parameters = {}
    for direction in range(count):
        end = "_reverse" if direction else ""
        gates = [g * hidden for g in order]
        for place, name in ((1, "weight_ih_l0"), (2, "weight_hh_l0")):
            parameters[f"{name}{end}"] = call.part(place, f"{name}{end}", direction, gates, hidden)
        for place, name in enumerate(("bias_ih_l0", "bias_hh_l0") if call.has(3) else ()):
            starts = [(place * len(order) + g) * hidden for g in order]
            parameters[f"{name}{end}"] = call.part(3, f"{name}{end}", direction, starts, hidden)
    batch_first = call.attribute("layout", 0) == 1
    attributes = {
        "hidden": hidden,
        "bias": None if call.has(3) else False,
        "bidirectional": count == 2 or None,
        "batch_first": batch_first or None,
        "nonlinearity": None if nonlinearity == "tanh" else nonlinearity,
    }
    given = [place for place in ((5, 6) if kind == "LSTM" else (5,)) if call.has(place)]
    states = [call.x(place) for place in given]
    zeros = all(constant_value(call.build, state) in (0, False) for state in states)
    inputs = [call.x()] if zeros else [call.x(), *(_placed(call, state, batch_first) for state in states)]
    return call.build.lines(kind.lower(), inputs, attributes, parameters)


def _functions(call: Call, kind: str, count: int) -> str | None:
    """Return the nonlinearity of a layer; RuleError for other functions than PyTorch has."""
    names: list[str] = [name.lower() for name in call.attribute("activations") or _FUNCTIONS[kind] * count]
    if kind == "RNN" and names in (["relu"] * count, ["tanh"] * count):
        return names[0]
    if names != _FUNCTIONS[kind] * count:
        raise RuleError(f"the functions {', '.join(names)}, which PyTorch's layer does not have")
    return None


def _weights(call: Call, kind: str, direction: int, hidden: int) -> Weights:
    order = _ORDERS[kind]
    matrices = [_gates(call, call.x(place), direction, order, hidden, 0) for place in (1, 2)]
    if not call.has(3):
        return Weights(matrices[0], matrices[1])
    count = len(order)
    biases = [_gates(call, call.x(3), direction, order, hidden, start * count) for start in (0, 1)]
    return Weights(matrices[0], matrices[1], *biases)


def _gates(call: Call, stacked: Value, direction: int, order: tuple[int, ...], hidden: int, first: int) -> Value:
    """Return the rows of the gates of a direction in another order."""
    own = call.line("select", [stacked], {"axis": 0, "index": direction})
    parts = [
        call.line("slice", [own], {"axis": 0, "start": (first + g) * hidden or None, "stop": (first + g + 1) * hidden})
        for g in order
    ]
    return parts[0] if len(parts) == 1 else call.line("concat", parts, {"axis": 0})


def _state(call: Call, place: int, count: int, batch: Any, hidden: int, batch_first: bool) -> Value:
    if not call.has(place):
        return call.build.filled((count, batch, hidden), 0, call.type(0).dtype)
    state = call.x(place)
    if constant_value(call.build, state) in (0, False):
        return call.build.filled((count, batch, hidden), 0, call.type(0).dtype)
    return _placed(call, state, batch_first)


def _placed(call: Call, state: Value, batch_first: bool) -> Value:
    """Return a state with the axis of directions first, or behind the batch."""
    return call.line("transpose", [state], {"axes": [0, 1]}) if batch_first else state


def _with_directions(call: Call, output: Value, count: int, hidden: int, batch_first: bool) -> Value:
    """Return the output with an axis of directions: before the batch, or the last but one."""
    if count == 1:
        return call.line("unsqueeze", [output], {"axis": 2 if batch_first else 1})
    parts = call.line("unflatten", [output], {"axis": -1, "sizes": [count, hidden]})
    return parts if batch_first else call.line("transpose", [parts], {"axes": [1, 2]})
