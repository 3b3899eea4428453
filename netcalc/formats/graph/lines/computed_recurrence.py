"""Recurrent layers and cells whose weights are computed, step by step, since lines of such layers hold parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.model import Value


class Weights(NamedTuple):
    """The weights of one direction of a layer: of inputs, of the hidden state, and of the projection of the latter."""

    w_ih: Value
    w_hh: Value
    b_ih: Value | None = None
    b_hh: Value | None = None
    w_hr: Value | None = None


class Recurrence(NamedTuple):
    """The formulas of a kind of recurrent layer: ``rnn``, ``lstm`` or ``gru``, as in ``torch.nn``."""

    build: Builder
    kind: str
    nonlinearity: str | None = None

    def over(self, steps: Sequence[Value], states: Sequence[Value], weights: Weights) -> list[list[Value]]:
        """Return the states after each of the steps, (batch, features) each."""
        every = []
        for step in steps:
            states = self.after(self.linear(step, weights.w_ih, weights.b_ih), states, weights)
            every.append(list(states))
        return every

    def linear(self, x: Value, weight: Value, bias: Value | None) -> Value:
        return weighted(self.build, "linear", x, weight, bias, {"out": weight.type.shape[0]})

    def after(self, gates: Value, states: Sequence[Value], weights: Weights) -> list[Value]:
        """Return the states after a step, given what the inputs add to its gates."""
        hidden = self.linear(states[0], weights.w_hh, weights.b_hh)
        if self.kind == "rnn":
            return [self.build.line(self.nonlinearity or "tanh", [self._sum(gates, hidden)])]
        if self.kind == "gru":
            return [self._gru(gates, hidden, states[0])]
        return self._lstm(self._sum(gates, hidden), states[1], weights.w_hr)

    def _gru(self, gates: Value, hidden: Value, state: Value) -> Value:
        from_input, from_state = (
            self.build.lines("chunk", [value], {"chunks": 3, "axis": -1}) for value in (gates, hidden)
        )
        reset, update = (self._sigmoid(self._sum(*pair)) for pair in zip(from_input[:2], from_state[:2], strict=True))
        new = self.build.line("tanh", [self._sum(from_input[2], self._product(reset, from_state[2]))])
        return self._sum(new, self._product(update, self.build.line("sub", [state, new])))

    def _lstm(self, gates: Value, cell: Value, projection: Value | None) -> list[Value]:
        keep, forget, new, shown = self.build.lines("chunk", [gates], {"chunks": 4, "axis": -1})
        kept = self._product(self._sigmoid(keep), self.build.line("tanh", [new]))
        cell = self._sum(self._product(self._sigmoid(forget), cell), kept)
        hidden = self._product(self._sigmoid(shown), self.build.line("tanh", [cell]))
        return [hidden if projection is None else self.linear(hidden, projection, None), cell]

    def _sum(self, one: Value, other: Value) -> Value:
        return self.build.line("add", [one, other])

    def _product(self, one: Value, other: Value) -> Value:
        return self.build.line("mul", [one, other])

    def _sigmoid(self, value: Value) -> Value:
        return self.build.line("sigmoid", [value])


def computed_layers(
    recurrence: Recurrence,
    input: Value,
    states: Sequence[Value],
    weights: Sequence[Sequence[Weights]],
    dropout: float | None,
    *,
    batch_first: bool,
) -> tuple[Value, ...]:
    """Add layers over a sequence; return the output and the last states.

    Args:
        recurrence: the formulas.
        input: the sequence, (steps, batch, features), or with ``batch_first`` (batch, steps, features).
        states: the initial states, (layers · directions, batch, features) each.
        weights: weights by layer and direction.
        dropout: probability of dropping elements between layers.
        batch_first: True if axis 0 is that of the batch.

    Raises:
        RuleError: the number of steps is symbolic.
    """
    build, axis = recurrence.build, 1 if batch_first else 0
    length = input.type.shape[axis]
    if not isinstance(length, int):
        raise RuleError(f"{recurrence.kind} with computed weights over a symbolic number of steps")
    steps = [build.line("select", [input], {"axis": axis, "index": step}) for step in range(length)]
    last: list[list[Value]] = [[] for _ in states]
    for number, directions in enumerate(weights):
        if number and dropout:
            steps = [build.line("dropout", [step], {"p": dropout}) for step in steps]
        results = []
        for turned, weight in zip((False, True), directions, strict=False):
            first = [build.line("select", [state], {"axis": 0, "index": len(last[0])}) for state in states]
            every = recurrence.over(steps[::-1] if turned else steps, first, weight)
            for found, state in zip(last, every[-1], strict=True):
                found.append(state)
            hidden = [one[0] for one in every]
            results.append(hidden[::-1] if turned else hidden)
        steps = [
            build.line("concat", pair, {"axis": -1}) if len(pair) > 1 else pair[0]
            for pair in zip(*results, strict=True)
        ]
    stacked = (build.line("stack", found, {"axis": 0}) for found in last)
    return build.line("stack", steps, {"axis": unless_default(axis, 1)}), *stacked
