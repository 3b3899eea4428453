"""Backward passes of :mod:`netcalc.ops.chunked_scan`, in the same chunks as the forward passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.dims import Dim
from netcalc.opdef import Context, Term
from netcalc.ops.activation import Softplus
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._delta_rule import GatedDeltaRuleBackward
from netcalc.ops.backward._inner import inner
from netcalc.ops.backward._saved_tensors import SavedTensors
from netcalc.ops.chunked_scan import SsdScan, chunks


class _Ssd:
    """The parts of the backward pass of an ssd_scan, and the sizes."""

    def __init__(self, op: SsdScan, call: BackwardCall) -> None:
        self.out = call.given[0]
        self.delta = call.wants(1, 6)
        self.decay = self.delta or call.wants(2)
        self.written = self.delta or call.wants(0)
        self.b, self.c = call.wants(3), call.wants(4)
        self.states = self.decay or self.written or self.b or call.wants(7)
        batch, length, heads, size = call.input().shape
        self.count = chunks(Context(), length, op.chunk)
        state = {"state": call.input(3).shape[3]}
        self.each: dict[str, Dim] = {"batch": batch, "length": length, "heads": heads}
        self.sized = {**self.each, "size": size}
        self.part: dict[str, Dim] = {"batch": batch, "chunks": self.count, "heads": heads}
        self.places = {**self.part, "positions": op.chunk}
        self.stated = {**self.places, **state}
        self.values = {**self.places, "size": size}
        self.both = {**self.values, **state}
        self.pairs = {**self.part, "queries": op.chunk, "keys": op.chunk}
        self.passed = {"batch": batch, "heads": heads, "to_chunks": self.count + 1, "from_chunks": self.count + 1}


@backward("ssd_scan")
class SsdScanBackward(Backward):
    """The matrix products of each chunk and of the pairs of chunks, each with its two gradients."""

    rule = (
        "Y = (C·Bᵀ⊙L)·W + e^{s}⊙(C·X), W = Δ·u, L = e^{differences of the sums s of Δ·a}",
        "∂L/∂W = (C·Bᵀ⊙L)ᵀ·g + e^{s_end − s}⊙B·∂L/∂X,  ∂L/∂C = ((g·Wᵀ)⊙L)·B + (e^{s}⊙g)·X",
        "∂L/∂B = ((g·Wᵀ)⊙L)ᵀ·C + e^{s_end − s}⊙(W·∂L/∂X),  ∂L/∂X passes from chunk to chunk by Pᵀ",
        "∂L/∂s: each exponential times its gradient; ∂L/∂(Δ·a) is its sum from the position to the end",
        "∂L/∂u = Δ·∂L/∂W + D·g,  ∂L/∂Δ = Σ u·∂L/∂W + a·∂L/∂(Δ·a), 0 outside the limits",
    )

    def saves(self, op: SsdScan, call: BackwardCall) -> Sequence[Saved]:
        it, tensors = _Ssd(op, call), SavedTensors(call)
        batch, length, heads, size = call.input().shape
        places, state = (batch, it.count, heads, op.chunk), call.input(3).shape[3]
        reads = it.states or it.c
        tensors.input(it.delta or call.wants(5), "u", 0)
        if it.delta:
            changed = call.present(6) or op.delta_softplus
            tensors.keep(changed, "self", batch, length, heads)
            tensors.input(not changed, "self", 1)
            tensors.keep(op.delta_softplus and call.present(6), "biased", batch, length, heads)
            tensors.input(op.delta_softplus and not call.present(6), "biased", 1)
        tensors.input(it.delta, "a", 2)
        tensors.input(it.c or it.decay, "B", 3)
        tensors.input(it.states, "C", 4)
        tensors.input(call.wants(0), "D", 5)
        tensors.keep(call.wants(0, 2), "steps", batch, length, heads)
        tensors.keep(it.b or it.c or it.decay, "written", *places, size)
        tensors.keep(it.written or it.decay, "scores", *places, op.chunk)
        tensors.keep(it.b or it.c, "between", *places, op.chunk)
        tensors.keep(it.b or it.decay, "remaining", *places)
        tensors.keep(it.written, "b_decayed", *places, state)
        tensors.keep(it.decay, "entering", batch, it.count + 1, heads, size, state)
        tensors.keep(it.states, "passing", batch, heads, it.count + 1, it.count + 1)
        tensors.keep(it.c, "states", batch, it.count + 1, heads, size, state)
        tensors.keep(reads, "since", *places)
        tensors.keep(it.decay, "read", *places, size)
        return tensors.saved

    def cost(self, op: SsdScan, call: BackwardCall) -> Sequence[Term]:
        it = _Ssd(op, call)
        work: list[Term] = []
        if it.out and (it.states or it.c):
            work += self._output(it)
        if it.states:
            work += self._states(it)
        if it.decay:
            work += self._decays(op, it)
        work += self._inputs(op, call, it)
        return work

    def _output(self, it: _Ssd) -> Iterator[Term]:
        """Yield the work from the output to the products that it adds."""
        yield Term.of("mul", "output of the states", **it.values)
        if it.decay:
            yield Term.of("mul", "decay from the start", **it.values)
            yield Term.of("add", "decay from the start", **{**it.values, "size": it.values["size"] - 1})
            yield Term.of("mul", "decay from the start", **it.places)
        if it.c:
            yield Term.of("mac", "gradient of C from the states", **it.both)
        if it.states:
            yield Term.of("mac", "gradient of the states", **it.both)
        if it.decay or it.b or it.c:
            yield Term.of("mac", "gradient of scores", **it.pairs, size=it.values["size"])
        if it.written:
            yield Term.of("mac", "gradient of what is written", **it.pairs, size=it.values["size"])
            yield Term.of("add", "gradient of what is written", **it.values)
        if it.b or it.c:
            yield Term.of("mul", "scores", **it.pairs)
        for wanted, name in ((it.c, "C"), (it.b, "B")):
            if wanted:
                yield Term.of("mac", f"gradient of {name} from scores", **it.pairs, state=it.stated["state"])
                yield Term.of("add", f"gradient of {name}", **it.stated)
        if it.decay:
            yield Term.of("mul", "decay between positions", **it.pairs)

    def _states(self, it: _Ssd) -> Iterator[Term]:
        """Yield the work between the states of the chunks."""
        passed = {**it.passed, "size": it.both["size"], "state": it.both["state"]}
        yield Term.of("mac", "states passed on", **passed)
        if it.decay:
            yield Term.of("mac", "gradient of decay between chunks", **passed)
            yield Term.of("mul", "decay between chunks", **it.passed)
        if it.written:
            yield Term.of("mac", "what is written, from states", **it.both)
        if it.b or it.decay:
            yield Term.of("mac", "gradient of decayed B", **it.both)
        if it.b:
            yield Term.of("mul", "gradient of B from states", **it.stated)

    def _decays(self, op: SsdScan, it: _Ssd) -> Iterator[Term]:
        """Yield the work from the exponentials to the products of delta and a."""
        yield Term.of("mul", "decay to the end", **it.stated)
        yield Term.of("add", "decay to the end", **{**it.stated, "state": it.stated["state"] - 1})
        yield Term.of("mul", "decay to the end", **it.places)
        yield Term.of("add", "decay to the end", **it.places)
        yield Term.of("add", "decay of the chunk", **it.part, steps=op.chunk - 1)
        yield Term.of("add", "decay of the chunk", **it.part, sums=2)
        between = {**it.passed, "from_chunks": it.count}
        yield Term.of("add", "decay between chunks", **between, sums=2)
        yield Term.of("add", "sums of decay", **it.part, steps=op.chunk - 1)
        if it.out:
            yield Term.of("add", "decay between positions", **it.places, steps=op.chunk - 1, sums=2)
            yield Term.of("add", "sums of decay", **it.places)

    def _inputs(self, op: SsdScan, call: BackwardCall, it: _Ssd) -> Iterator[Term]:
        """Yield the work of the inputs, without the padding."""
        heads, size = it.each["heads"], it.sized["size"]
        rows = it.each["batch"] * it.each["length"]
        if it.out and call.wants(5):
            yield Term.of("mul", "gradient of D", **it.sized)
            yield Term.of("add", "gradient of D", sums=rows * size - 1, heads=heads)
        if call.wants(0):
            yield Term.of("mul", "gradient of u", **it.sized)
            if it.out and call.present(5):
                yield Term.of("mul", "skip", **it.sized)
                yield Term.of("add", "skip", **it.sized)
        if call.wants(2):
            yield Term.of("mul", "gradient of a", **it.each)
            yield Term.of("add", "gradient of a", sums=rows - 1, heads=heads)
        for index in (3, 4):
            if call.wants(index) and (it.out or index == 3):
                x = call.input(index)
                spread = rows * heads * it.stated["state"] - x.elements
                yield Term.of("add", "heads of a group", sums=spread)
        if it.delta:
            yield Term.of("mul", "gradient of delta", **it.sized)
            yield Term.of("add", "gradient of delta", **{**it.sized, "size": size - 1})
            yield Term.of("mul", "gradient of delta", **it.each)
            yield Term.of("add", "gradient of delta", **it.each)
            yield Term.of("compare", "limits", **it.each, limits=1 if op.delta_max is None else 2)
            if op.delta_softplus:
                declared, within = inner(Softplus(), call.input(1), call)
                yield from declared.cost(Softplus(), within)
        if call.wants(6):
            yield Term.of("add", "gradient of delta_bias", sums=rows - 1, heads=heads)


backward("gated_delta_rule")(GatedDeltaRuleBackward)
