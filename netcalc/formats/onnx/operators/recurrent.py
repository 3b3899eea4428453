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


class _WithPeepholes(Recurrence):
    """A layer with memory cells whose gates see the cell; in place of a projection its weights hold those of this."""

    def after(self, gates: Value, states: Sequence[Value], weights: Weights) -> list[Value]:
        """Return the states after a step, of which the last gate sees the new cell."""
        line, (state, cell) = self.build.line, states
        assert weights.w_hr is not None
        total = line("add", [gates, self.linear(state, weights.w_hh, weights.b_hh)])
        keep, forget, new, shown = self.build.lines("chunk", [total], {"chunks": 4, "axis": -1})
        of_keep, of_shown, of_forget = self.build.lines("chunk", [weights.w_hr], {"chunks": 3, "axis": -1})

        def opened(gate: Value, seen: Value, weight: Value) -> Value:
            return line("sigmoid", [line("add", [gate, line("mul", [seen, weight])])])

        kept = line("mul", [opened(keep, cell, of_keep), line("tanh", [new])])
        after = line("add", [line("mul", [opened(forget, cell, of_forget), cell]), kept])
        return [line("mul", [opened(shown, after, of_shown), line("tanh", [after])]), after]


@operator("LSTM", "GRU", "RNN")
def recurrent(call: Call) -> Any:
    """A layer of one or two directions, with its gates in PyTorch's order, which are computed of those of the file."""
    kind = call.node.op
    direction = call.attribute("direction", "forward")
    count = 2 if direction == "bidirectional" else 1
    nonlinearity = _functions(call, kind, count)
    if call.attribute("input_forget", 0) or call.attribute("clip"):
        raise RuleError("coupled gates or limits of gates")
    resets_first = kind == "GRU" and not call.attribute("linear_before_reset", 0)
    x, batch_first = call.x(), call.attribute("layout", 0) == 1
    hidden: Any = call.attribute("hidden_size") or call.shape(2)[2]
    batch = x.type.shape[0 if batch_first else 1]
    places = (5, 6) if kind == "LSTM" else (5,)
    lengths = _lengths(call, x.type.shape[1 if batch_first else 0])
    own = lengths is not None or call.has(7)
    if (
        not own
        and not resets_first
        and direction != "reverse"
        and (layer := _layer(call, kind, count, hidden, nonlinearity)) is not None
    ):
        output, *last = layer
        return [
            _with_directions(call, output, count, hidden, batch_first),
            *(_placed(call, s, batch_first) for s in last),
        ]
    weights = [_weights(call, kind, place, hidden) for place in range(count)]
    form = _ResettingFirst if resets_first else _WithPeepholes if call.has(7) else Recurrence
    recurrence = form(call.build, kind.lower(), nonlinearity)
    states = [_state(call, place, count, batch, hidden, batch_first) for place in places]
    turned = direction == "reverse"
    if own:
        turns = (True,) if turned else (False, True)[:count]
        return _unrolled(call, recurrence, x, states, [*zip(weights, turns, strict=True)], lengths, batch_first)
    axis = 1 if batch_first else 0
    if turned:
        x = call.line("flip", [x], {"axis": axis})
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


def _lengths(call: Call, steps: Any) -> Value | None:
    """Return the lengths of the sequences of a batch; None if all of them have as many steps as the input."""
    known = call.known(4)
    if not call.has(4) or (known is not None and all(length == steps for length in known.elements)):
        return None
    return call.x(4)


def _unrolled(
    call: Call,
    recurrence: Recurrence,
    x: Value,
    states: Sequence[Value],
    directions: Sequence[tuple[Weights, bool]],
    lengths: Value | None,
    batch_first: bool,
) -> list[Value]:
    """Return the output and the last states of a layer, step by step; behind the end of a sequence nothing changes."""
    line, axis = call.line, 1 if batch_first else 0
    steps = x.type.shape[axis]
    if not isinstance(steps, int):
        raise RuleError("a recurrence of its own kind over a symbolic number of steps")
    parts = [line("select", [x], {"axis": axis, "index": step}) for step in range(steps)]
    running = [None] * steps if lengths is None else [_running(call, lengths, step) for step in range(steps)]
    outputs, last = [], []
    for number, (weights, turned) in enumerate(directions):
        now = [line("select", [state], {"axis": 0, "index": number}) for state in states]
        shown: list[Any] = [None] * steps
        for step in reversed(range(steps)) if turned else range(steps):
            new = recurrence.after(recurrence.linear(parts[step], weights.w_ih, weights.b_ih), now, weights)
            shown[step], going = new[0], running[step]
            if going is not None:
                now = [line("where", [going, after, before]) for after, before in zip(new, now, strict=True)]
                shown[step] = line("masked_fill", [new[0], line("logical_not", [going])], {"value": 0.0})
            else:
                now = new
        outputs.append(line("stack", shown, {"axis": axis}))
        last.append(now)
    output = line("stack", outputs, {"axis": 2 if batch_first else 1})
    return [output, *(line("stack", found, {"axis": axis}) for found in zip(*last, strict=True))]


def _running(call: Call, lengths: Value, step: int) -> Value:
    """Return which sequences of a batch have not ended before a step, (batch, 1)."""
    return call.line("unsqueeze", [call.line("greater", [lengths], {"value": step})], {"axis": 1})


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
    seen = call.line("select", [call.x(7)], {"axis": 0, "index": direction}) if call.has(7) else None
    if not call.has(3):
        return Weights(matrices[0], matrices[1], w_hr=seen)
    count = len(order)
    biases = [_gates(call, call.x(3), direction, order, hidden, start * count) for start in (0, 1)]
    return Weights(matrices[0], matrices[1], biases[0], biases[1], seen)


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
