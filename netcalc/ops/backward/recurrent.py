"""Backward passes of :mod:`netcalc.ops.recurrent`: backpropagation through time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from netcalc.dims import Dim, product
from netcalc.opdef import Term
from netcalc.ops._elementwise import Work, terms
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._statistics import through_statistics

_RULES = {
    "lstm": (
        "∂L/∂o = ∂L/∂h⊙tanh(c),  ∂L/∂c += ∂L/∂h⊙o⊙(1 − tanh²(c))",
        "∂L/∂i = ∂L/∂c⊙g,  ∂L/∂f = ∂L/∂c⊙c₋₁,  ∂L/∂g = ∂L/∂c⊙i,  ∂L/∂c₋₁ = ∂L/∂c⊙f",
        "for the sums a of the gates: σ′ = σ(1 − σ), tanh′ = 1 − tanh²",
    ),
    "gru": (
        "∂L/∂z = ∂L/∂h⊙(h₋₁ − n),  ∂L/∂n = ∂L/∂h⊙(1 − z),  ∂L/∂r = ∂L/∂n⊙(1 − n²)⊙(U_n·h₋₁ + b)",
        "for the sums a of the gates: σ′ = σ(1 − σ), tanh′ = 1 − tanh²",
        "∂L/∂h₋₁ = ∂L/∂h⊙z + the product below",
    ),
    "rnn": ("∂L/∂a = ∂L/∂h⊙(1 − h²), or with relu 0 where h ≤ 0",),
}
_PRODUCTS = (
    "∂L/∂h₋₁ = ∂L/∂a·U, one product a time step",
    "∂L/∂x = ∂L/∂a·W,  ∂L/∂W = Σ_t ∂L/∂aᵀ·x,  ∂L/∂U = Σ_t ∂L/∂aᵀ·h₋₁,  ∂L/∂b = Σ_t ∂L/∂a",
)

_NORMS = (
    "for a layer norm y = x̂⊙γ + β: ∂L/∂γ = Σ_t ∂L/∂y⊙x̂, and with h = ∂L/∂y⊙γ",
    "∂L/∂x = (h − mean(h) − x̂·mean(h⊙x̂))/√(v + ε), before the products below and the cell state's own rule",
)

#: Work per unit and time step from the gradients of the states to the gradients of the sums of the gates.
_GATES: dict[str, Work] = {
    "lstm": {"mul": 15, "add": 5, "transcendental": 1},
    "gru": {"mul": 10, "add": 5},
    "tanh": {"mul": 2, "add": 1},
    "relu": {"compare": 1},
}


@dataclass(frozen=True)
class _Line:
    """A layer in one direction: what is computed of it."""

    suffix: str
    features: Dim
    needed: bool
    #: True if gradients go on to the input of the layer.
    below: bool
    #: True if a gradient arrives for the output at every time step.
    fed: bool


class _RecurrentBackward(Backward):
    def derivatives(self, op: Any) -> tuple[str, ...]:
        projection = (op.name == "lstm" and op.proj_size is not None) * ("∂L/∂(o⊙tanh(c)) = ∂L/∂h·W_hr",)
        norms = bool(op.norm_groups) * _NORMS
        return (*projection, *norms, *_RULES[_kind_of_cell(op)], *_PRODUCTS)

    def lines(self, op: Any, call: BackwardCall) -> list[_Line]:
        """Return the layers and directions, from the first to the last."""
        raise NotImplementedError(op.name)

    def extent(self, op: Any, call: BackwardCall) -> tuple[Dim, Dim]:
        """Return the number of time steps and the size of the batch."""
        raise NotImplementedError(op.name)

    def states_given(self, op: Any, call: BackwardCall) -> tuple[bool, ...]:
        """Return for each of the last states True if a gradient arrives for it."""
        raise NotImplementedError(op.name)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        steps, batch = self.extent(op, call)
        lines = [line for line in self.lines(op, call) if line.needed]
        each = {"batch": batch, "steps": steps}
        wanted_h, wanted_c = call.wants(1), call.wants(2)
        last_h, *last_c = self.states_given(op, call)
        rows = {"gates": op.gates, "hidden": op.hidden}
        projected = _projected(op)
        kind = _kind_of_cell(op) if op.name.removesuffix("_cell") != "rnn" else op.nonlinearity
        fed = sum(line.fed for line in lines)
        work = [
            Term.of(
                "add", "output and state", directions=fed, batch=batch, steps=steps - 1 + last_h, state=op.handed_on
            )
        ]
        if projected:
            work.append(Term.of("mac", "projection", directions=len(lines), **each, **projected))
            several = _count(lines, "weight_hr", call)
            work.append(Term.of("mul", "projected state", directions=several, **each, hidden=op.hidden))
            work.append(Term.of("mac", "gradient of weight_hr", directions=several, **each, **projected))
        work += terms(_GATES[kind], "gates", directions=len(lines), **each, hidden=op.hidden)
        further: dict[str, Any] = {"directions": len(lines), "batch": batch, "steps": steps - 1 + wanted_h}
        if _kind_of_cell(op) == "lstm":
            carried = {**further, "steps": steps - 1 + wanted_c, "hidden": op.hidden}
            work.append(Term.of("add", "cell state", **{**carried, "steps": steps - 1 + last_c[0]}))
            work.append(Term.of("mul", "cell state", **carried))
        work.append(Term.of("mac", "state before", **further, **rows, state_features=op.handed_on))
        if _kind_of_cell(op) == "gru":
            work.append(Term.of("add", "state before", **further, hidden=op.hidden))
        work += self._parameters(op, call, lines, each, rows)
        if op.norm_groups:
            work += self._norms(op, call, lines, each, rows)
        if call.present(len(op.inputs) - 1) and op.inputs[-1].name == "lengths":
            work.append(Term.of("compare", "lengths", **each))
        return [term for term in work if term.count != 0]

    def _norms(
        self, op: Any, call: BackwardCall, lines: list[_Line], each: dict[str, Dim], rows: dict[str, Dim]
    ) -> Iterator[Term]:
        """Yield the work from what is behind layer norms to what is before them."""
        read = sum(_reads_input(line, call) for line in lines)
        whole = sum(_reads_state(line, call) for line in lines)
        fewer = {**each, "steps": each["steps"] - 1}  # nothing goes on from the first step
        for directions, times in ((read, each), (whole, each), (len(lines) - whole, fewer)):
            yield Term.of("mul", "gain", directions=directions, **times, **rows)
            for gates in op.norm_groups:
                yield from through_statistics(gates * op.hidden, centered=True, directions=directions, **times)
        sums = each["batch"] * each["steps"] - 1
        several = _count(lines, "gain_ih", call) + _count(lines, "gain_hh", call)
        yield Term.of("mul", "gradient of gains", gains=several, **each, **rows)
        yield Term.of("add", "gradient of gains", gains=several, sums=sums, **rows)
        if _kind_of_cell(op) != "lstm":
            return
        units: dict[str, Any] = {"directions": len(lines), **each}
        yield Term.of("mul", "gain of the cell state", **units, hidden=op.hidden)  # once more, for its tanh
        if op.bias:
            yield Term.of("add", "bias of the cell state", **units, hidden=op.hidden)
        if _goes_on(op, call):
            yield Term.of("mul", "gain", **units, hidden=op.hidden)
            yield from through_statistics(op.hidden, **units)
        several = _count(lines, "gain_c", call)
        yield Term.of("mul", "gradient of gains", gains=several, **each, hidden=op.hidden)
        several += _count(lines, "bias_c", call)
        yield Term.of("add", "gradient of gains", gains=several, sums=sums, hidden=op.hidden)

    def kept_by_norms(self, op: Any, call: BackwardCall, lines: list[_Line], *every: Dim) -> list[Saved]:
        """Return what layer norms keep, of all time steps, and their parameters."""
        if not op.norm_groups:
            return []
        recurs = op.name == _kind_of_cell(op)  # a later step needs what an earlier one is
        reads = {
            "ih": [line for line in lines if _reads_input(line, call)],
            "hh": [line for line in lines if recurs or _reads_state(line, call)],
        }
        sizes = dict.fromkeys(reads, (op.gates * op.hidden, len(op.norm_groups)))
        if _kind_of_cell(op) == "lstm":
            reads["c"], sizes["c"] = lines, (op.hidden, 1)
        saved = []
        for kind, (values, groups) in sizes.items():
            if reads[kind] or _count(lines, f"gain_{kind}", call):
                saved.append(call.saved_kept(f"normal_{kind}", *every, values))
            if reads[kind] and (kind != "c" or _goes_on(op, call)):
                saved.append(call.saved_kept(f"root_{kind}", *every, groups))
            names = [f"gain_{kind}{line.suffix}" for line in reads[kind]]
            names += [f"bias_c{line.suffix}" for line in lines if kind == "c" and op.bias]
            saved += (call.saved_parameter(name, name) for name in names)
        return saved

    def _parameters(
        self, op: Any, call: BackwardCall, lines: list[_Line], each: dict[str, Dim], rows: dict[str, Dim]
    ) -> Iterator[Term]:
        """Yield the work from the sums of the gates to parameters and inputs of the layers."""
        several = _count(lines, "weight_hh", call)
        yield Term.of("mac", "gradient of weight_hh", directions=several, **each, **rows, state_features=op.handed_on)
        biases = _count(lines, "bias_ih", call) + _count(lines, "bias_hh", call)
        sums = each["batch"] * each["steps"] - 1
        yield Term.of("add", "gradient of biases", biases=biases, sums=sums, **rows)
        bottom = [line for line in lines if line.suffix.removesuffix("_reverse") in ("", "_l0")]
        for layers in (bottom, [line for line in lines if line not in bottom]):
            if not layers:
                continue
            features = {"features": layers[0].features}
            several = _count(layers, "weight_ih", call)
            yield Term.of("mac", "gradient of weight_ih", directions=several, **each, **rows, **features)
            below = [line for line in layers if line.below]
            yield Term.of("mac", "gradient of input", directions=len(below), **each, **rows, **features)
            joints = sum(line.suffix.endswith("_reverse") for line in below)
            yield Term.of("add", "both directions", layers=joints, **each, **features)
            if layers is not bottom and call.training and op.dropout:
                entries = len(below) - joints
                yield Term.of("mul", "dropout", layers=entries, **each, **features)


def _reads_input(line: _Line, call: BackwardCall) -> bool:
    """Return True if the gradient of the product with the input is needed before its layer norm."""
    return line.below or call.wants(f"weight_ih{line.suffix}")


def _reads_state(line: _Line, call: BackwardCall) -> bool:
    """Return True if the gradient of the product with the state is needed of the first step too."""
    return call.wants(1, f"weight_hh{line.suffix}")


def _goes_on(op: Any, call: BackwardCall) -> bool:
    """Return True if the gradient of the cell state is needed before its layer norm."""
    return op.name == _kind_of_cell(op) or bool(call.wanted - {"gain_c", "bias_c"})


def _kind_of_cell(op: Any) -> str:
    name: str = op.name
    return name.removesuffix("_cell")


def _projected(op: Any) -> dict[str, Dim]:
    """Return the sizes of the projection of the state, if there is one."""
    if op.name != "lstm" or op.proj_size is None:
        return {}
    return {"proj_size": op.proj_size, "hidden": op.hidden}


def _count(lines: Sequence[_Line], name: str, call: BackwardCall) -> int:
    """Return in how many layers and directions the gradient of a parameter is wanted."""
    return sum(call.wants(name + line.suffix) for line in lines)


def _parameters_of(call: BackwardCall, suffix: str) -> list[str]:
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr", "gain_ih", "gain_hh", "gain_c", "bias_c")
    return [name + suffix for name in names if call.param(name + suffix) is not None]


@backward("rnn", "lstm", "gru")
class LayersBackward(_RecurrentBackward):
    """Layers over a sequence."""

    def extent(self, op: Any, call: BackwardCall) -> tuple[Dim, Dim]:
        x = call.input()
        if x.rank == 2:
            return x.shape[0], 1
        return (x.shape[1], x.shape[0]) if op.batch_first else (x.shape[0], x.shape[1])

    def states_given(self, op: Any, call: BackwardCall) -> tuple[bool, ...]:
        return call.given[1:]

    def lines(self, op: Any, call: BackwardCall) -> list[_Line]:
        lines: list[_Line] = []
        below = call.wants(0)
        started = call.wants(1) or (op.name == "lstm" and call.wants(2))
        for layer in range(op.layers):
            suffixes = op.suffixes(layer)
            features = op.directions * op.handed_on if layer else call.input().shape[-1]
            fed = layer < op.layers - 1 or call.given[0]
            wanted = [below or started or call.wants(*_parameters_of(call, suffix)) for suffix in suffixes]
            lines += [
                _Line(suffix, features, needed, below, fed) for suffix, needed in zip(suffixes, wanted, strict=True)
            ]
            below = any(wanted)
        return lines

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        lines = [line for line in self.lines(op, call) if line.needed]
        steps, batch = self.extent(op, call)
        every = (op.layers * op.directions, steps, batch)
        upper = [line for line in lines if not line.suffix.startswith("_l0")]
        memory = op.name == "lstm"
        drops = call.training and bool(op.dropout) and op.layers > 1
        reads_h = not memory or _count(lines, "weight_hh", call) > 0
        reads_upper = _count(upper, "weight_ih", call) > 0
        saved: list[Saved] = []
        if _count(lines, "weight_ih", call) > _count(upper, "weight_ih", call):
            saved.append(call.saved_input("input"))
        if call.present(1) and (_count(lines, "weight_hh", call) or op.name == "gru"):
            saved.append(call.saved_input("hx", 1))
        if memory and call.present(2):
            saved.append(call.saved_input("cx", 2))
        lengths = len(op.inputs) - 1
        if call.present(lengths):
            saved.append(call.saved_input("lengths", lengths))
        if reads_h or (reads_upper and not drops):
            saved.append(call.saved_kept("hidden", *every, op.handed_on))
        if memory:
            saved.append(call.saved_kept("cells", *every, op.hidden))
        if op.name != "rnn":
            saved.append(call.saved_kept("workspace", *every, 4 * op.hidden))
        between = (op.layers - 1, steps, batch, op.directions * op.handed_on)
        if drops and reads_upper:
            saved.append(call.saved_kept("dropped", *between))
        if drops and any(line.below for line in upper):
            saved.append(call.saved_kept("result1", *between, dtype="bool"))
        saved += self.kept_by_norms(op, call, lines, *every)
        for line in lines:
            names = [f"weight_hh{line.suffix}"]
            names += [f"weight_ih{line.suffix}"] if line.below else []
            names += [f"weight_hr{line.suffix}"] if _projected(op) else []
            saved += (call.saved_parameter(name, name) for name in names)
        return saved


@backward("rnn_cell", "lstm_cell", "gru_cell")
class CellBackward(_RecurrentBackward):
    """Single time steps."""

    def extent(self, op: Any, call: BackwardCall) -> tuple[Dim, Dim]:
        return 1, product(call.input().shape[:-1])

    def states_given(self, op: Any, call: BackwardCall) -> tuple[bool, ...]:
        return call.given

    def lines(self, op: Any, call: BackwardCall) -> list[_Line]:
        return [_Line("", call.input().shape[-1], True, call.wants(0), False)]

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        saved: list[Saved] = []
        if call.wants("weight_ih"):
            saved.append(call.saved_input("input"))
        if call.present(1) and (call.wants("weight_hh") or op.name == "gru_cell"):
            saved.append(call.saved_input("hx", 1))
        if op.name == "lstm_cell":
            saved += [call.saved_input("cx", 2)] if call.present(2) else []
            saved += [] if op.layer_norm else [call.saved_output("cy", 1)]
        if op.name == "rnn_cell":
            saved.append(call.saved_output("result"))
        else:
            saved.append(call.saved_kept("workspace", *call.outputs[0].shape[:-1], 4 * op.hidden))
        saved += self.kept_by_norms(op, call, self.lines(op, call), *call.outputs[0].shape[:-1])
        saved += [call.saved_parameter("weight_ih", "weight_ih")] if call.wants(0) else []
        saved += [call.saved_parameter("weight_hh", "weight_hh")] if call.wants(1) else []
        return saved
