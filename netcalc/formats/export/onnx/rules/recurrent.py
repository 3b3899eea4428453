"""Recurrent layers, and cells for a single time step.

ONNX has LSTM, GRU and RNN without projections and layer norms; with these a layer is a Scan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules._wide import wide
from netcalc.formats.export.onnx.scan import Sequenced, scan

#: The function of the cell state before its tanh.
Finish: TypeAlias = Callable[[Tensor], Tensor]
States: TypeAlias = Sequence[Tensor]

#: Places of ONNX's gates among those of the weights: i, o, f, c of i, f, g, o, and z, r, h of r, z, n.
_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn": (0,)}
_NORM_GROUPS = {"lstm": (4,), "gru": (2, 1)}


@rule("rnn", "lstm", "gru")
def layers(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return an LSTM, GRU or RNN for each layer, or a Scan for each of its directions."""
    op, x = call.op, wide(graph, call.x)
    batched = x.rank == 3
    if not batched:
        x = graph.unsqueeze(x, [1])
    elif op.batch_first:
        x = graph.swapped(x, 0, 1)
    starts = [_start(graph, call, state, x) for state in op.states]
    apply = _scanned if op.norm_groups or (op.name == "lstm" and op.proj_size is not None) else _by_operator
    finals: list[list[Tensor]] = [[] for _ in op.states]
    for layer in range(op.layers):
        first = layer * op.directions
        own = [start and graph.slice(start, 0, first, first + op.directions) for start in starts]
        x, *ends = apply(graph, call, layer, x, own)
        for final, end in zip(finals, ends, strict=True):
            final.append(end)
    made = [x, *(graph.concat(final, 0) for final in finals)]
    if not batched:
        made = [graph.squeeze(value, [1]) for value in made]
    elif op.batch_first:
        made[0] = graph.swapped(made[0], 0, 1)
    return [graph.cast(value, type_.dtype) for value, type_ in zip(made, call.outputs, strict=True)]


def _start(graph: Emitter, call: Applied, state: str, x: Tensor) -> Tensor | None:
    """Return an initial state (layers·directions, batch, hidden); None if it is absent."""
    given = call.named(f"{state}_0")
    if given is None:
        return None
    given = wide(graph, given)
    return graph.unsqueeze(given, [1]) if given.rank == 2 else given


def _by_operator(graph: Emitter, call: Applied, layer: int, x: Tensor, starts: Sequence[Tensor | None]) -> list[Tensor]:
    """Return the output (length, batch, directions·hidden) of a layer by ONNX's operator, and its last states."""
    op, suffixes = call.op, call.op.suffixes(layer)
    length, batch = x.shape[:2]

    def weights(kind: str, suffix: str) -> Tensor:
        gates = graph.split(wide(graph, call.param(f"{kind}{suffix}")), 0, [op.hidden] * op.gates)
        return graph.concat([gates[place] for place in _GATES[op.name]], 0) if op.gates > 1 else gates[0]

    matrices = [graph.stack([weights(kind, suffix) for suffix in suffixes], 0) for kind in ("weight_ih", "weight_hh")]
    bias = None
    if op.bias:
        both = [[weights(kind, suffix) for kind in ("bias_ih", "bias_hh")] for suffix in suffixes]
        bias = graph.stack([graph.concat(pair, 0) for pair in both], 0)
    lengths = call.named("lengths")
    lengths = None if lengths is None else graph.cast(lengths, "int32")
    attributes: dict[str, Any] = {"direction": "bidirectional" if op.bidirectional else "forward"}
    if op.name == "gru":
        attributes["linear_before_reset"] = 1
    if op.name == "rnn":
        attributes["activations"] = [op.nonlinearity.capitalize()] * op.directions
    state = x.type.with_shape(op.directions, batch, op.hidden)
    y, *ends = graph.nodes_of(
        op.name.upper(),
        [x, *matrices, bias, lengths, *starts],
        [x.type.with_shape(length, op.directions, batch, op.hidden), *[state] * len(starts)],
        hidden_size=int(op.hidden),
        **attributes,
    )
    if op.directions == 1:
        return [graph.squeeze(y, [1]), *ends]
    y = graph.transpose(y, [0, 2, 1, 3])
    return [graph.reshape(y, (length, batch, op.directions * op.hidden)), *ends]


def _scanned(graph: Emitter, call: Applied, layer: int, x: Tensor, starts: Sequence[Tensor | None]) -> list[Tensor]:
    """Return the output (length, batch, directions·hidden) of a layer by a Scan in each direction, and last states."""
    op = call.op
    length, batch = x.shape[:2]
    sizes = {"h": op.handed_on, "c": op.hidden}
    valid = _valid(graph, call, length)
    outputs, ends = [], []
    for direction, suffix in enumerate(op.suffixes(layer)):
        cell = _Cell(graph, call, suffix)
        before = [
            graph.zeros((batch, sizes[state]), x.dtype)
            if start is None
            else graph.squeeze(graph.slice(start, 0, direction, direction + 1), [0])
            for state, start in zip(op.states, starts, strict=True)
        ]

        def step(
            inner: Emitter, states: list[Tensor], items: list[Tensor], cell: _Cell = cell
        ) -> tuple[list[Tensor], list[Tensor]]:
            after = cell.step(inner, items[0], states)
            if len(items) == 1:
                return after, after[:1]
            nothing = inner.scalar(0.0, after[0])  # after its end a sequence keeps its state, and its output is zero
            kept = [inner.where(items[1], new, old) for new, old in zip(after, states, strict=True)]
            return kept, [inner.where(items[1], after[0], nothing)]

        products = cell.product(graph, "ih", x)
        sequences = [Sequenced(products, 0), *([Sequenced(valid, 0)] if valid else [])]
        last, given = scan(graph, before, sequences, step, backwards=direction > 0)
        outputs += given
        ends.append(last)
    finals = [graph.stack(parts, 0) for parts in zip(*ends, strict=True)]
    return [graph.concat(outputs, -1), *finals]


def _valid(graph: Emitter, call: Applied, length: Any) -> Tensor | None:
    """Return the mask (length, batch, 1) of the time steps that are not padding; None without lengths."""
    lengths = call.named("lengths")
    if lengths is None:
        return None
    steps = graph.unsqueeze(graph.range(0, length), [1, 2])
    return graph.compare("Less", steps, graph.unsqueeze(lengths, [1]))


class _Cell:
    """The time step of a layer in one direction, with its weights read once."""

    def __init__(self, graph: Emitter, call: Applied, suffix: str = "") -> None:
        self._op = call.op
        self._kind = call.op.name.removesuffix("_cell")
        names = (f"{kind}_{part}" for kind in ("weight", "bias", "gain") for part in ("ih", "hh", "hr", "c"))
        self._weights = {name: wide(graph, call.param(name + suffix)) for name in names if call.has(name + suffix)}
        for name in ("weight_ih", "weight_hh", "weight_hr"):
            if name in self._weights:
                self._weights[name] = graph.swapped(self._weights[name])

    def product(self, graph: Emitter, part: str, x: Tensor) -> Tensor:
        """Return what the input (``ih``) or the state (``hh``) adds to the gates."""
        op, made = self._op, graph.matmul(x, self._weights[f"weight_{part}"])
        if op.norm_groups:
            sizes = [gates * op.hidden for gates in _NORM_GROUPS[self._kind]]
            return self._normalized(graph, part, made, sizes)
        return self._with_bias(graph, part, made)

    def step(self, graph: Emitter, product: Tensor, states: States) -> list[Tensor]:
        """Return the states after a time step, from the product with the input and the states before."""

        def finish(c: Tensor) -> Tensor:
            return self._normalized(graph, "c", c, [self._op.hidden]) if "gain_c" in self._weights else c

        h = self.product(graph, "hh", states[0])
        after, *others = _STEPS[self._kind](graph, self._op, product, h, states, finish)
        if "weight_hr" in self._weights:
            after = graph.matmul(after, self._weights["weight_hr"])
        return [after, *others]

    def _normalized(self, graph: Emitter, part: str, x: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return x normalized in groups of these sizes, by gain and bias."""
        gains = graph.split(self._weights[f"gain_{part}"], 0, sizes)
        groups = graph.split(x, -1, sizes)
        eps = float(self._op.eps)
        made = [
            graph.node("LayerNormalization", [group, gain], group.type, axis=-1, epsilon=eps)
            for group, gain in zip(groups, gains, strict=True)
        ]
        return self._with_bias(graph, part, graph.concat(made, -1))

    def _with_bias(self, graph: Emitter, part: str, x: Tensor) -> Tensor:
        bias = self._weights.get(f"bias_{part}")
        return x if bias is None else graph.add(x, bias)


def _elman(graph: Emitter, op: Any, x: Tensor, h: Tensor, states: States, finish: Finish) -> list[Tensor]:
    return [graph.unary("Tanh" if op.nonlinearity == "tanh" else "Relu", graph.add(x, h))]


def _memory(graph: Emitter, op: Any, x: Tensor, h: Tensor, states: States, finish: Finish) -> list[Tensor]:
    i, f, g, o = graph.split(graph.add(x, h), -1, [op.hidden] * 4)
    i, f, g, o = (graph.unary(name, gate) for name, gate in zip(_FUNCTIONS, (i, f, g, o), strict=True))
    c = graph.add(graph.mul(f, states[1]), graph.mul(i, g))
    return [graph.mul(o, graph.unary("Tanh", finish(c))), c]


def _gated(graph: Emitter, op: Any, x: Tensor, h: Tensor, states: States, finish: Finish) -> list[Tensor]:
    x_parts, h_parts = (graph.split(part, -1, [op.hidden] * 3) for part in (x, h))
    reset, update = (graph.unary("Sigmoid", graph.add(x_parts[i], h_parts[i])) for i in range(2))
    new = graph.unary("Tanh", graph.add(x_parts[2], graph.mul(reset, h_parts[2])))
    return [graph.add(new, graph.mul(update, graph.sub(states[0], new)))]


_FUNCTIONS = ("Sigmoid", "Sigmoid", "Tanh", "Sigmoid")
_STEPS = {"rnn": _elman, "lstm": _memory, "gru": _gated}


@rule("rnn_cell", "lstm_cell", "gru_cell")
def cell(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the arithmetic of a time step."""
    x = wide(graph, call.x)
    given = [call.named(f"{state}_0") for state in call.op.states]
    shape = (*x.shape[:-1], call.op.hidden)
    states = [graph.zeros(shape, x.dtype) if state is None else wide(graph, state) for state in given]
    own = _Cell(graph, call)
    made = own.step(graph, own.product(graph, "ih", x), states)
    return [graph.cast(value, type_.dtype) for value, type_ in zip(made, call.outputs, strict=True)]
