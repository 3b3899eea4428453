"""Recurrent layers, in one direction or both, and layers that are applied to each step."""

from __future__ import annotations

from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.shape import merged
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.held import Form
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import name_of
from netcalc.formats.keras.layers._wrapped import wrapped
from netcalc.formats.keras.operand import Operand
from netcalc.formats.keras.problems import clipped

_OPERATIONS = {"LSTM": "lstm", "GRU": "gru", "SimpleRNN": "rnn"}
#: Gates of a state, and their order in netcalc by their places in Keras: a GRU's update is before its reset there.
_GATES: dict[str, tuple[int, ...]] = {"LSTM": (0, 1, 2, 3), "GRU": (1, 0, 2), "SimpleRNN": (0,)}


class _Kind(NamedTuple):
    """Settings that recurrent layers have in common if they are the two directions of one."""

    units: int
    use_bias: bool
    nonlinearity: str | None
    returns_sequences: bool
    returns_states: bool


def _kind(call: Call) -> _Kind:
    """Return the settings of a recurrent layer; RuleError for those that the operations lack."""
    kind = call.layer.kind
    function = name_of(call.get("activation", "tanh"))
    allowed = ("tanh", "relu") if kind == "SimpleRNN" else ("tanh",)
    if function not in allowed:
        raise RuleError(f"activation {clipped(function)} of a {kind} is not supported")
    if kind != "SimpleRNN":
        gates = name_of(call.get("recurrent_activation", "sigmoid"))
        if gates != "sigmoid":
            raise RuleError(f"recurrent_activation {clipped(gates)} is not supported")
    if kind == "GRU" and not call.flag("reset_after", True):
        raise RuleError("reset_after=False is not supported")
    call.without("stateful", False)
    for name in ("unroll", "zero_output_for_mask", "unit_forget_bias", "implementation", "use_cudnn", "time_major"):
        call.get(name)
    for name in ("dropout", "recurrent_dropout"):
        if call.number(name, 0.0):
            call.note(f"{name} of {call.layer.name} acts in training alone, and is left out")
    return _Kind(
        call.integer("units"),
        call.flag("use_bias", True),
        "relu" if function == "relu" else None,
        call.flag("return_sequences"),
        call.flag("return_state"),
    )


def _parameters(call: Call, kind: _Kind, features: Any, where: str, end: str) -> dict[str, Value]:
    """Return the weights of one direction by their names in netcalc; ``where`` is the place of the cell in the file."""
    name, units = call.layer.kind, kind.units
    order = _GATES[name]
    rows = len(order) * units
    parts = None if order == tuple(sorted(order)) else order
    form = Form((1, 0), parts, len(order))
    result = {
        f"weight_ih_l0{end}": call.weight(f"weight_ih_l0{end}", "kernel", (features, rows), form, inner=where),
        f"weight_hh_l0{end}": call.weight(f"weight_hh_l0{end}", "recurrent_kernel", (units, rows), form, inner=where),
    }
    if not kind.use_bias:
        return result
    if name == "GRU":
        for index, bias in enumerate(("bias_ih_l0", "bias_hh_l0")):
            form = Form(None, parts, len(order), at=index)
            result[bias + end] = call.weight(bias + end, "bias", (2, rows), form, inner=where)
    else:
        result[f"bias_ih_l0{end}"] = call.weight(f"bias_ih_l0{end}", "bias", (rows,), inner=where)
    return result


def _attributes(name: str, kind: _Kind, bidirectional: bool = False) -> dict[str, Any]:
    return {
        "hidden": kind.units,
        "bias": False if not kind.use_bias else None if name == "GRU" else "input",
        "batch_first": True,
        "bidirectional": bidirectional or None,
        "nonlinearity": kind.nonlinearity,
    }


def _sequence(call: Call) -> Operand:
    operand = call.operand(0, "sequence")
    if operand.rank != 3:
        raise RuleError(f"its input has {operand.rank} axes in place of 3")
    if operand.mask is not None:
        call.note(f"{call.layer.name} takes steps of padding, which Keras passes over, for steps like others")
    return operand


def _initial(call: Call, name: str) -> list[Value]:
    """Return the initial states that a call gives."""
    given = call.argument(1, "initial_state")
    if given is None:
        return []
    states = given if isinstance(given, list) else [given]
    if len(states) != (2 if name == "LSTM" else 1) or not all(isinstance(state, Operand) for state in states):
        raise RuleError("its initial states")
    return [call.line("unsqueeze", [call.last(state)], {"axis": 0}) for state in states]


@layer("LSTM", "GRU", "SimpleRNN")
def recurrent(call: Call) -> Any:
    """A layer over a sequence: its last state, or all of them, and its states."""
    kind, name, operand = _kind(call), call.layer.kind, _sequence(call)
    x = call.last(operand)
    if call.flag("go_backwards"):
        x = call.line("flip", [x], {"axis": 1})
    parameters = _parameters(call, kind, x.type.shape[-1], "cell", "")
    inputs = [x, *_initial(call, name)]
    outputs = call.build.lines(_OPERATIONS[name], inputs, _attributes(name, kind), parameters)
    states = [call.line("select", [state], {"axis": 0, "index": 0}) for state in outputs[1:]]
    result = Operand(outputs[0], mask=operand.mask) if kind.returns_sequences else Operand(states[0])
    return [result, *map(Operand, states)] if kind.returns_states else result


@layer("Bidirectional")
def bidirectional(call: Call) -> Operand:
    """Two layers over a sequence, of which the second goes backwards, as one operation of two directions."""
    forward = wrapped(call, "layer")
    backward = wrapped(call, "backward_layer") if call.get("backward_layer") is not None else forward
    operand = _sequence(call)
    if call.argument(1, "initial_state") is not None:
        raise RuleError("initial states of both directions are not supported")
    if forward.kind not in _OPERATIONS or backward.kind != forward.kind:
        raise RuleError(f"{clipped(forward.kind)} and {clipped(backward.kind)} as its directions are not supported")
    calls = [Call(one, call.around, [operand], {}) for one in (forward, backward)]
    kinds = [_kind(one) for one in calls]
    turned = [one.flag("go_backwards") for one in calls]
    if kinds[0] != kinds[1] or turned[0] or (backward is not forward and not turned[1]) or kinds[0].returns_states:
        raise RuleError("directions with different settings, or with states as results, are not supported")
    kind, x = kinds[0], call.last(operand)
    parameters: dict[str, Value] = {}
    for one, where, end in zip(calls, ("forward_layer/cell", "backward_layer/cell"), ("", "_reverse"), strict=True):
        parameters |= _parameters(one, kind, x.type.shape[-1], where, end)
        one.require_read()
    attributes = _attributes(forward.kind, kind, True)
    outputs = call.build.lines(_OPERATIONS[forward.kind], [x], attributes, parameters)
    return _merged(call, kind, operand, outputs)


def _merged(call: Call, kind: _Kind, operand: Operand, outputs: tuple[Value, ...]) -> Operand:
    """Return the results of both directions as the setting says that they are combined."""
    mode = call.choice("merge_mode", ("concat", "sum", "mul", "ave"), "")
    if kind.returns_sequences:
        if mode == "concat":
            return Operand(outputs[0], mask=operand.mask)
        both = list(call.build.lines("chunk", [outputs[0]], {"chunks": 2, "axis": -1}))
    else:
        both = [call.line("select", [outputs[1]], {"axis": 0, "index": index}) for index in (0, 1)]
    if mode == "concat":
        return Operand(call.line("concat", both, {"axis": -1}))
    result = call.line("mul" if mode == "mul" else "add", both)
    if mode == "ave":
        result = call.line("mul", [result], {"value": 0.5})
    return Operand(result, mask=operand.mask if kind.returns_sequences else None)


@layer("TimeDistributed")
def time_distributed(call: Call) -> Operand:
    """A layer that is applied to each step: the axes of batch and steps are one for it."""
    inner, operand = wrapped(call, "layer"), call.operand()
    x = call.last(operand)
    if x.type.rank < 3:
        raise RuleError("its input has no steps with features")
    batch, steps = x.type.shape[:2]
    if inner.kind in ("Dense", "Activation", "Dropout"):  # the same for each position
        return call.around.inner(inner, "layer", Operand(x))  # type: ignore[no-any-return]
    result = call.around.inner(inner, "layer", Operand(merged(call.build, x, 0, 1)))
    if not isinstance(result, Operand):
        raise RuleError(f"{clipped(inner.kind)} inside of it has several results")
    value = call.last(result)
    sizes: list[Any] = [-1, steps] if isinstance(steps, int) else [batch, -1]
    return Operand(call.line("unflatten", [value], {"axis": 0, "sizes": sizes}))
