"""Measurement of how far gradients reach through time: those of the last step's outputs, by distance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from netcalc.analysis.signal.remedies import RECURRENT
from netcalc.analysis.signal.report import Reach
from netcalc.analysis.signal.through_time import Gate, factor_by_step
from netcalc.analysis.signal.time_axis import steps_of
from netcalc.analysis.signal.trunk import Graph
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.engine.gradient_steps import by_step
from netcalc.engine.gradients import program_type, seeds_of
from netcalc.ir import Program
from netcalc.numerics.initializers import generator
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.kernels import Run
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tape import Record, Tape, Variable
from netcalc.numerics.vjps import Back, Gradients, apply_vjp

_GATES = {"rnn": 1, "lstm": 4, "gru": 3}
#: Factor below which the average factor by step is no longer followed: rounding of float32 may be next.
_FOLLOWED = 1e-12


@dataclass(slots=True)
class _Watched:
    """An operation with its axis of time, and what was measured of it."""

    axis: int
    states: Array | None = None
    gradients: Array | None = None
    predicted: float | None = None


@dataclass(slots=True)
class _Time:
    """The operations that are watched, by number, and the axis of time of the outputs with the number of steps."""

    watched: dict[int, _Watched]
    axis: int
    steps: int
    seen: dict[int, int] = field(default_factory=dict)  # numbers by identity of the instance


def through_time(
    program: Program, graph: Graph, parameters: Parameters, arrays: Sequence[Array], seed: int
) -> tuple[Reach, ...]:
    """Return the reach of recurrent layers and of causal attention; nothing for other networks.

    Runs forward and backward once.  The loss is the sum of the last step of all outputs that have steps, or of all
    outputs if none has, with normal weights.
    """
    time = _time(graph)
    if time is None:
        return ()
    wanted = frozenset(spec.name for spec in program.inputs if spec.type.is_float)
    kept: list[Instance] = []  # alive, since they are known by their identity

    def forward(
        instance: Instance, run: Run, inputs: Sequence[Array | None], params: Mapping[str, Array]
    ) -> tuple[Array, ...]:
        number = len(kept)
        kept.append(instance)
        time.seen[id(instance)] = number
        outputs = run_operation(instance, run, inputs, params)
        if number in time.watched:
            one = time.watched[number]
            one.states = by_step(outputs[0], one.axis, mean=True)
            one.predicted = _predicted(instance, inputs[0], params)
        return outputs

    def product(record: Record, back: Back, arrived: tuple[Array | None, ...]) -> Gradients:
        gradients = apply_vjp(record.instance.node.op, back, arrived)
        one = time.watched.get(time.seen[id(record.instance)])
        if one is not None:
            recurrent = record.instance.node.op.name in RECURRENT
            gradient = gradients.get(0) if recurrent else arrived[0]
            one.gradients = None if gradient is None else by_step(gradient, one.axis)[::-1]
        return gradients

    tape = Tape(program, parameters.fetch, lambda path: True, wanted, generator(seed, "/run"), forward)
    outputs = dict(zip(program.output_names, tape.run([*arrays]), strict=True))
    _, seeds = seeds_of(program, outputs, _last_step(program, outputs, time, seed))
    for _ in tape.backward(seeds, product):
        pass
    found = sorted(time.watched.items())
    return tuple(_reach(graph.instances[number], one) for number, one in found if one.gradients is not None)


def _time(graph: Graph) -> _Time | None:
    """Return the operations that have steps: recurrent layers, or the first one before causal attention."""
    steps = steps_of(graph)
    return None if steps is None else _Time({n: _Watched(axis) for n, axis in steps.axes.items()}, *steps[1:])


def _last_step(program: Program, outputs: Mapping[str, Variable], time: _Time, seed: int) -> dict[str, Array]:
    """Return normal weights of the last step of the outputs that have steps, or of all outputs."""
    rng = generator(seed, "/loss")
    floats = {name: one.array for name, one in outputs.items() if program_type(program, name).is_float}
    weights = {name: rng.standard_normal(array.shape) for name, array in floats.items()}
    axis = time.axis
    stepped = [name for name, a in floats.items() if a.ndim >= 2 + (axis == -2) and a.shape[axis] == time.steps]
    for name in weights:
        if name in stepped:
            np.moveaxis(weights[name], axis, 0)[:-1] = 0
        elif stepped:
            weights[name][...] = 0
    count = sum(int(np.count_nonzero(each)) for each in weights.values())
    return {name: each / math.sqrt(count or 1) for name, each in weights.items()}


def _reach(instance: Instance, one: _Watched) -> Reach:
    assert one.states is not None and one.gradients is not None
    gradients = one.gradients.tolist()
    known = [d for d, norm in enumerate(gradients) if math.isfinite(norm) and norm > _FOLLOWED * gradients[0] > 0]
    end = known[-1] if known else 0
    factor = (gradients[end] / gradients[0]) ** (1 / end) if end else None
    return Reach(
        *(instance.path, instance.node.op.name, len(gradients), tuple(one.states.tolist()), tuple(gradients)),
        by_step=factor,
        predicted=one.predicted,
    )


def _predicted(instance: Instance, x: Array | None, params: Mapping[str, Array]) -> float | None:
    """Return the factor by step that follows from the weights of a layer; None with projections or layer norms."""
    op: Any = instance.node.op
    if op.name not in RECURRENT or x is None or not params.keys().isdisjoint(("weight_hr_l0", "gain_hh_l0")):
        return None
    directions = ("", "_reverse") if op.bidirectional else ("",)
    layers = [
        [[_gate(op, params, number, f"_l{layer}{way}") for number in range(_GATES[op.name])] for way in directions]
        for layer in range(op.layers)
    ]
    square = float(np.mean(np.asarray(x, np.float64) ** 2))
    return factor_by_step(op.name, getattr(op, "nonlinearity", "tanh"), layers, square)


def _gate(op: Any, params: Mapping[str, Array], number: int, suffix: str) -> Gate:
    def part(name: str) -> Array:
        rows = params[f"{name}{suffix}"]
        size = len(rows) // _GATES[op.name]
        return np.asarray(rows[number * size : (number + 1) * size], np.float64)

    def square(weight: Array) -> float:
        return int(weight.shape[1]) * float(np.mean(weight**2))

    none = np.zeros(1)
    own, state = (part(name) if f"{name}{suffix}" in params else none for name in ("bias_ih", "bias_hh"))
    both = own if op.name == "gru" and number == 2 else own + state
    states = float(np.mean(state**2))
    return Gate(square(part("weight_ih")), square(part("weight_hh")), float(both.mean()), float(both.var()), states)
