"""Recurrent layers and cells.

Layers become the operators of ONNX, whose gates stand in another order; layers with layer norms or projections, which
these lack, are written step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._wide import wide

#: Operators, with the order of the gates there: ONNX has i, o, f, c and z, r, h for i, f, g, o and r, z, n here.
_OPERATORS = {"rnn": ("RNN", (0,)), "lstm": ("LSTM", (0, 3, 1, 2)), "gru": ("GRU", (1, 0, 2))}


@dataclass(slots=True)
class _Steps:
    """Arithmetic of one direction of a layer, or of a cell: gates, and states from step to step."""

    graph: Emitter
    call: Applied
    suffix: str

    @property
    def op(self) -> Any:
        """The operation."""
        return self.call.op

    def value(self, name: str) -> Tensor | None:
        """Return a parameter; None if there is none."""
        name = f"{name}{self.suffix}"
        return wide(self.graph, self.call.param(name)) if self.call.has(name) else None

    def part(self, kind: str, x: Tensor) -> Tensor:
        """Return what the input (``ih``) or the state (``hh``) adds to the gates."""
        weight = self.value(f"weight_{kind}")
        assert weight is not None
        made = self.graph.matmul(x, self.graph.swapped(weight))
        gain, bias = self.value(f"gain_{kind}"), self.value(f"bias_{kind}")
        if gain is not None:
            sizes = [gates * self.op.hidden for gates in self.op.norm_groups]
            made = self.normalized(made, sizes, gain, None)
        return made if bias is None else self.graph.add(made, bias)

    def normalized(self, x: Tensor, sizes: Sequence[int], gain: Tensor, bias: Tensor | None) -> Tensor:
        """Return numbers normalized in groups of these sizes, by gain and bias."""
        graph = self.graph
        groups = [x] if len(sizes) == 1 else graph.split(x, -1, sizes)
        gains = [gain] if len(sizes) == 1 else graph.split(gain, 0, sizes)
        eps = float(self.op.eps)
        parts = [
            graph.node("LayerNormalization", [group, scale], group.type, axis=-1, epsilon=eps)
            for group, scale in zip(groups, gains, strict=True)
        ]
        made = graph.concat(parts, -1)
        return made if bias is None else graph.add(made, bias)

    def after(self, product: Tensor, states: Sequence[Tensor]) -> list[Tensor]:
        """Return the states after a step, from the product with the input."""
        graph, hidden = self.graph, self.op.hidden
        state = self.part("hh", states[0])
        match self.op.name.removesuffix("_cell"):
            case "rnn":
                operator = {"tanh": "Tanh", "relu": "Relu"}[self.op.nonlinearity]
                return [graph.unary(operator, graph.add(product, state))]
            case "gru":
                return [self._gated(product, state, states[0])]
        i, f, g, o = graph.split(graph.add(product, state), -1, [hidden] * 4)
        i, f, o = (graph.unary("Sigmoid", gate) for gate in (i, f, o))
        c = graph.add(graph.mul(f, states[1]), graph.mul(i, graph.unary("Tanh", g)))
        gain = self.value("gain_c")
        inner = c if gain is None else self.normalized(c, [hidden], gain, self.value("bias_c"))
        h = graph.mul(o, graph.unary("Tanh", inner))
        projection = self.value("weight_hr")
        return [h if projection is None else graph.matmul(h, graph.swapped(projection)), c]

    def _gated(self, product: Tensor, state: Tensor, before: Tensor) -> Tensor:
        graph, sizes = self.graph, [self.op.hidden] * 3
        reset_x, update_x, new_x = graph.split(product, -1, sizes)
        reset_h, update_h, new_h = graph.split(state, -1, sizes)
        reset = graph.unary("Sigmoid", graph.add(reset_x, reset_h))
        update = graph.unary("Sigmoid", graph.add(update_x, update_h))
        new = graph.unary("Tanh", graph.add(new_x, graph.mul(reset, new_h)))
        return graph.add(new, graph.mul(update, graph.sub(before, new)))


@rule("rnn_cell", "lstm_cell", "gru_cell")
def cell(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the states after one step."""
    steps, x = _Steps(graph, call, ""), wide(graph, call.x)
    shape = (*x.shape[:-1], call.op.hidden)
    given = [call.named(f"{state}_0") for state in call.op.states]
    states = [graph.zeros(shape, x.dtype) if state is None else wide(graph, state) for state in given]
    return [graph.cast(value, call.output.dtype) for value in steps.after(steps.part("ih", x), states)]


@rule("rnn", "lstm", "gru")
def layers(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the outputs of all steps, and the last states of all layers and directions."""
    op, x = call.op, wide(graph, call.x)
    batched = x.rank == 3
    if not batched:
        x = graph.unsqueeze(x, [1])
    elif op.batch_first:
        x = graph.swapped(x, 0, 1)
    composed = bool(op.norm_groups) or op.handed_on != op.hidden
    finals: list[list[Tensor]] = []
    for layer in range(op.layers):
        starts = [_start(graph, call, state, layer, batched=batched) for state in op.states]
        x, ends = (_composed if composed else _operator)(graph, call, x, layer, starts)
        finals.append(ends)
    ends = [graph.concat([*parts], 0) for parts in zip(*finals, strict=True)]
    if not batched:
        x, ends = graph.squeeze(x, [1]), [graph.squeeze(end, [1]) for end in ends]
    elif op.batch_first:
        x = graph.swapped(x, 0, 1)
    return [graph.cast(value, call.output.dtype) for value in (x, *ends)]


def _start(graph: Emitter, call: Applied, state: str, layer: int, *, batched: bool) -> Tensor | None:
    """Return the initial states of both directions of a layer; None for zeros."""
    given, directions = call.named(f"{state}_0"), call.op.directions
    if given is None:
        return None
    rows = graph.slice(given, 0, layer * directions, (layer + 1) * directions)
    return wide(graph, rows if batched else graph.unsqueeze(rows, [1]))


def _operator(
    graph: Emitter, call: Applied, x: Tensor, layer: int, starts: Sequence[Tensor | None]
) -> tuple[Tensor, list[Tensor]]:
    """Return the outputs and the last states of a layer by the operator of ONNX."""
    op = call.op
    operator, order = _OPERATORS[op.name]
    suffixes, hidden = op.suffixes(layer), int(op.hidden)

    def gathered(names: Sequence[str]) -> Tensor:
        rows = []
        for suffix in suffixes:
            parts = []
            for name in names:
                value = wide(graph, call.param(f"{name}{suffix}"))
                gates = [value] if len(order) == 1 else graph.split(value, 0, [hidden] * len(order))
                parts += [gates[place] for place in order]
            rows.append(graph.unsqueeze(graph.concat(parts, 0), [0]))
        return graph.concat(rows, 0)

    bias = gathered(["bias_ih", "bias_hh"]) if op.bias else None
    lengths = call.named("lengths")
    inputs = [x, gathered(["weight_ih"]), gathered(["weight_hh"]), bias]
    inputs += [None if lengths is None else graph.cast(lengths, "int32"), *starts]
    length, batch, _ = x.shape
    directions = op.directions
    state = x.type.with_shape(directions, batch, hidden)
    attributes: dict[str, Any] = {"direction": "bidirectional" if op.bidirectional else "forward"}
    if op.name == "gru":
        attributes["linear_before_reset"] = 1
    if op.name == "rnn":
        attributes["activations"] = [op.nonlinearity.capitalize()] * directions
    types = [x.type.with_shape(length, directions, batch, hidden), *[state] * len(op.states)]
    made, *ends = graph.nodes_of(operator, inputs, types, hidden_size=hidden, **attributes)
    joined = graph.transpose(made, [0, 2, 1, 3]) if directions > 1 else made
    return graph.reshape(joined, (length, batch, directions * hidden)), ends


def _composed(
    graph: Emitter, call: Applied, x: Tensor, layer: int, starts: Sequence[Tensor | None]
) -> tuple[Tensor, list[Tensor]]:
    """Return the outputs and the last states of a layer, step by step."""
    op, (length, batch, _) = call.op, x.shape
    if not isinstance(length, int):
        raise UnsupportedError("layer norms and projections over a symbolic length")
    if call.named("lengths") is not None:
        raise UnsupportedError("layer norms and projections with lengths of sequences")
    sizes = {"h": op.handed_on, "c": op.hidden}
    outputs, finals = [], []
    for direction, suffix in enumerate(op.suffixes(layer)):
        steps = _Steps(graph, call, suffix)
        products = steps.part("ih", x)
        states = [
            graph.zeros((batch, sizes[state]), x.dtype)
            if start is None
            else graph.squeeze(graph.slice(start, 0, direction, direction + 1), [0])
            for state, start in zip(op.states, starts, strict=True)
        ]
        places = range(length)[:: -1 if direction else 1]
        rows = {}
        for place in places:
            product = graph.squeeze(graph.slice(products, 0, place, place + 1), [0])
            states = steps.after(product, states)
            rows[place] = graph.unsqueeze(states[0], [0])
        outputs.append(graph.concat([rows[place] for place in range(length)], 0))
        finals.append([graph.unsqueeze(state, [0]) for state in states])
    return graph.concat(outputs, -1), [graph.concat([*parts], 0) for parts in zip(*finals, strict=True)]
