"""Recurrent layers over a sequence, and cells for a single time step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.computed_recurrence import Recurrence, Weights, computed_layers
from netcalc.formats.graph.lines.operands import constant_value, unless_default
from netcalc.formats.graph.lines.weights import learned
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator

#: Vectors of the size of the hidden state that a time step computes.
_GATES = {"rnn": 1, "lstm": 4, "gru": 3}


def _layers(
    operation: str, build: Builder, input: Value, hx: Any, params: list[Value], has_biases: bool, **settings: Any
) -> tuple[Value, ...]:
    layers, bidirectional = settings["num_layers"], settings["bidirectional"]
    names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if has_biases else [])]
    directions = 2 if bidirectional else 1
    if len(params) > len(names) * layers * directions:
        names.append("weight_hr")
    suffixes = [f"_l{layer}{end}" for layer in range(layers) for end in ("", "_reverse")[:directions]]
    parameters = dict(zip([name + suffix for suffix in suffixes for name in names], params, strict=True))
    dropout = _dropout(build, **settings)
    if not _all_learned(build, input, params):
        recurrence = Recurrence(build, operation, settings.get("nonlinearity"))
        each = [_weights({name: parameters[name + suffix] for name in names}) for suffix in suffixes]
        by_layer = [each[start : start + directions] for start in range(0, len(each), directions)]
        batch_first = settings["batch_first"]
        return computed_layers(recurrence, input, _listed(hx), by_layer, dropout, batch_first=batch_first)
    attributes = {
        "hidden": params[0].type.shape[0] // _GATES[operation],
        "bias": None if has_biases else False,
        "layers": unless_default(layers, 1),
        "bidirectional": bidirectional or None,
        "batch_first": settings["batch_first"] or None,
        "dropout": dropout,
        "nonlinearity": settings.get("nonlinearity"),
        "proj_size": params[4 if has_biases else 2].type.shape[0] if "weight_hr" in names else None,
    }
    return build.lines(operation, [input, *_states(build, hx)], attributes, parameters)


def _dropout(build: Builder, dropout: float, train: bool, **_: Any) -> float | None:
    """Return the dropout between layers in training; None where a network in training mode drops nothing."""
    if dropout and train and not build.graph.training:
        raise RuleError("a recurrent layer that drops in inference")
    return dropout or None if train == build.graph.training else None


def _all_learned(build: Builder, input: Value, params: Iterable[Value]) -> bool:
    return all(learned(build, value, input.type.dtype) for value in params)


def _weights(parameters: Mapping[str, Value]) -> Weights:
    """Return weights by the names that ``torch.nn`` has for parameters."""
    return Weights(**{name.replace("weight", "w").replace("bias", "b"): value for name, value in parameters.items()})


def _listed(hx: Any) -> list[Value]:
    return hx if isinstance(hx, list) else [hx]


def _states(build: Builder, hx: Any) -> list[Value]:
    """Return the initial states, one or a list; none if they are zeros, which is what absent ones are."""
    states = _listed(hx)
    return [] if all(constant_value(build, state) in (0, False) for state in states) else states


operator("aten.lstm.input")(partial(_layers, "lstm"))
operator("aten.gru.input")(partial(_layers, "gru"))
operator("aten.rnn_tanh.input")(partial(_layers, "rnn"))
operator("aten.rnn_relu.input")(partial(_layers, "rnn", nonlinearity="relu"))


@operator("netcalc.recurrent.default")
def layers(
    build: Builder, name: str, input: Value, hx: list[Value], params: list[Value], has_biases: bool, **settings: Any
) -> tuple[Value, ...]:
    """A layer on some of the sequences of a packed batch (:mod:`netcalc.formats.torch.packed`)."""
    operation, _, nonlinearity = name.partition("_")
    settings |= {"batch_first": False, "nonlinearity": "relu" if nonlinearity == "relu" else None}
    return _layers(operation, build, input, hx, params, has_biases, **settings)


def _cell(
    operation: str, build: Builder, input: Value, hx: Any, nonlinearity: str | None = None, **weights: Value | None
) -> Any:
    names = {"weight_ih": "w_ih", "weight_hh": "w_hh", "bias_ih": "b_ih", "bias_hh": "b_hh"}
    parameters = {name: value for name, short in names.items() if (value := weights[short]) is not None}
    if not _all_learned(build, input, parameters.values()):
        recurrence, used = Recurrence(build, operation, nonlinearity), _weights(parameters)
        states = recurrence.after(recurrence.linear(input, used.w_ih, used.b_ih), _listed(hx), used)
        return tuple(states) if operation == "lstm" else states[0]
    attributes = {
        "hidden": parameters["weight_hh"].type.shape[1],
        "bias": None if len(parameters) > 2 else False,
        "nonlinearity": nonlinearity,
    }
    outputs = build.lines(f"{operation}_cell", [input, *_states(build, hx)], attributes, parameters)
    return outputs if operation == "lstm" else outputs[0]


operator("aten.lstm_cell.default")(partial(_cell, "lstm"))
operator("aten.gru_cell.default")(partial(_cell, "gru"))
operator("aten.rnn_tanh_cell.default")(partial(_cell, "rnn"))
operator("aten.rnn_relu_cell.default")(partial(_cell, "rnn", nonlinearity="relu"))
