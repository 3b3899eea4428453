"""Working of recurrent layers: the gates of one unit at one step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, apply
from netcalc.numerics.working import Call, working
from netcalc.numerics.working.text import factor, indexed, listing, num, products, total
from netcalc.opdef import WorkingLine
from netcalc.ops.recurrent import GRU, LSTM, RNN

#: Gates in the order in which the weights stack them, and the function of each.
_GATES = {"lstm": (("i", "σ"), ("f", "σ"), ("g", "tanh"), ("o", "σ")), "gru": (("r", "σ"), ("z", "σ"), ("n", "tanh"))}


@working("rnn", "lstm", "gru")
def recurrent(call: Call) -> Iterator[WorkingLine]:
    """Yield the gates and the new states of one unit of the first layer, at one step of one sequence."""
    op: Any = call.op
    assert isinstance(op, (RNN, LSTM, GRU))
    if getattr(op, "proj_size", None) is not None:
        return
    step, sample, unit = _place(call)
    x = call.x if call.x.ndim == 3 else call.x[:, None]
    x = x.swapaxes(0, 1)[:, sample : sample + 1] if op.batch_first and call.x.ndim == 3 else x[:, sample : sample + 1]
    weights = {name: call.wide(array) for name, array in call.params.items() if name.endswith("_l0")}
    states = _before(call, x[:step], sample, weights)
    yield WorkingLine(f"x[{step}]", "", "", listing(x[step, 0]))
    yield WorkingLine("h before", "", "", listing(states[0]))
    if len(states) > 1:
        yield WorkingLine(f"c before[{unit}]", "", "", float(states[1][unit]))
    gates = _GATES.get(op.name, (("h", op.nonlinearity if isinstance(op, RNN) else "tanh"),))
    sums: dict[str, tuple[float, float]] = {}
    for number, (gate, _) in enumerate(gates):
        row = number * op.hidden + unit
        parts = []
        for kind, operand, name in (("ih", x[step, 0], "W·x"), ("hh", states[0], "U·h")):
            weight, bias = weights[f"weight_{kind}_l0"][row], weights.get(f"bias_{kind}_l0")
            terms = products(weight, operand) + ([] if bias is None else [num(bias[row])])
            parts.append(float(weight @ operand) + (0.0 if bias is None else float(bias[row])))
            formula = f"{name} + b" if bias is not None else name
            yield WorkingLine(f"{gate}: {name}", formula, total(terms), parts[-1])
        sums[gate] = (parts[0], parts[1])
    yield from _states(op.name, gates, sums, states, unit)


def _states(
    name: str,
    gates: tuple[tuple[str, str], ...],
    sums: Mapping[str, tuple[float, float]],
    states: tuple[Array, ...],
    unit: int,
) -> Iterator[WorkingLine]:
    """Yield the gates of a unit and its new states."""
    values: dict[str, float] = {}
    for gate, function in gates:
        of_input, of_state = sums[gate]
        if gate == "n":  # of a GRU, whose reset gate acts on the product with the state
            inner, formula = of_input + values["r"] * of_state, "tanh(W·x + r·(U·h))"
            product = f"{factor(values['r'])}·{factor(of_state)}"
            text = f"tanh({total([num(of_input), product])})"
        else:
            inner, formula = of_input + of_state, f"{function}(W·x + U·h)"
            text = f"{function}({total([num(of_input), num(of_state)])})"
        values[gate] = _apply(function, inner)
        yield WorkingLine(indexed(gate, (unit,)), formula, text, values[gate])
    if name == "lstm":
        before = float(states[1][unit])
        i, f, g, o = (values[gate] for gate in "ifgo")
        text = total([f"{num(f)}·{factor(before)}", f"{num(i)}·{factor(g)}"])
        cell = f * before + i * g
        yield WorkingLine(indexed("c", (unit,)), "f·c + i·g", text, cell)
        yield WorkingLine(indexed("h", (unit,)), "o·tanh(c)", f"{num(o)}·tanh({num(cell)})", o * float(np.tanh(cell)))
    elif name == "gru":
        before, z, new = float(states[0][unit]), values["z"], values["n"]
        text = f"(1 − {num(z)})·{factor(new)} + {num(z)}·{factor(before)}"
        yield WorkingLine(indexed("h", (unit,)), "(1 − z)·n + z·h", text, (1 - z) * new + z * before)


def _place(call: Call) -> tuple[int, int, int]:
    """Return step, sample and unit of the place in the output."""
    op: Any = call.op
    y = call.outputs[0]
    shape = (*y.shape[:-1], op.hidden)
    place = call.place(shape)
    if y.ndim == 2:
        return place[0], 0, place[1]
    return (place[1], place[0], place[2]) if op.batch_first else (place[0], place[1], place[2])


def _before(call: Call, x: Array, sample: int, weights: Mapping[str, Array]) -> tuple[Array, ...]:
    """Return the states of the first layer before a step, from a run over the steps before it."""
    op: Any = call.op
    initial = []
    for number in range(len(op.states)):
        given = call.inputs[1 + number] if len(call.inputs) > 1 + number else None
        if given is None:
            initial.append(np.zeros(op.hidden))
        else:
            initial.append(call.wide(given)[0] if call.x.ndim == 2 else call.wide(given)[0, sample])
    if not len(x):
        return tuple(initial)
    fields = {name: getattr(op, name) for name in type(op).model_fields}
    single = type(op)(**{**fields, "layers": 1, "bidirectional": False, "batch_first": False})
    _, *ends = apply(single, Run(), (x, *(state.reshape(1, 1, -1) for state in initial)), dict(weights))
    return tuple(end[0, 0] for end in ends)


def _apply(function: str, value: float) -> float:
    if function == "tanh":
        return float(np.tanh(value))
    return max(value, 0.0) if function == "relu" else float(1 / (1 + np.exp(-value)))
