"""Backward pass of the gated delta rule, in the same chunks as the forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.dims import Dim
from netcalc.opdef import Context, Term
from netcalc.ops._elementwise import terms
from netcalc.ops.backward import Backward, BackwardCall, Saved
from netcalc.ops.backward._saved_tensors import SavedTensors
from netcalc.ops.chunked_scan import GatedDeltaRule, chunks


class _Rule:
    """The parts of the backward pass of a gated_delta_rule, and the sizes."""

    def __init__(self, op: GatedDeltaRule, call: BackwardCall) -> None:
        self.out = call.given[0]
        #: True if the state after the last chunk has a gradient
        self.last = len(call.given) > 1 and call.given[1]
        self.query, self.key, self.value, self.decay, self.beta, self.start = (call.wants(n) for n in range(6))
        self.written = self.key or self.beta
        self.system = self.written or self.decay
        self.states = self.system or self.value or self.start
        self.scores = self.query or self.key or self.decay
        batch, length, heads, size = call.input(2).shape
        self.features = call.input(1).shape[3]
        self.size = size
        self.count = chunks(Context(), length, op.chunk)
        self.each: dict[str, Dim] = {"batch": batch, "length": length, "heads": heads}
        self.part: dict[str, Dim] = {"batch": batch, "chunks": self.count, "heads": heads}
        self.places = {**self.part, "positions": op.chunk}
        self.keyed = {**self.places, "d_k": self.features}
        self.valued = {**self.places, "d_v": size}
        self.both = {**self.keyed, "d_v": size}
        self.pairs = {**self.part, "queries": op.chunk, "keys": op.chunk}
        self.state = {**self.part, "d_k": self.features, "d_v": size}
        #: chunks after which the state has a gradient; before which it is wanted; both
        self.after = self.count - 1 + self.last
        self.before = self.count - 1 + self.start
        self.through = self.count - 2 + self.last + self.start


class GatedDeltaRuleBackward(Backward):
    """The matrix products of each chunk with their two gradients, and the transposed triangular system."""

    rule = (
        "∂L/∂N = (Q·Kᵀ⊙D)ᵀ·g + K̃·∂L/∂S, for what is added to the state, N = V − P·S, S → e^{s_end}·S + K̃ᵀ·N",
        "∂L/∂S = e^{s_end}·∂L/∂S + Q̃ᵀ·g − Pᵀ·∂L/∂N, from chunk to chunk",
        "(V, P) = T⁻¹·R: ∂L/∂R = T⁻ᵀ·∂L/∂(V, P),  ∂L/∂T = −∂L/∂R·(V, P)ᵀ below the diagonal",
        "∂L/∂s: each exponential times its gradient; ∂L/∂decay is its sum from the position to the end",
        "∂L/∂value = β·∂L/∂R_V,  ∂L/∂β = Σ value·∂L/∂R_V + Σ key·∂L/∂(β·key)",
    )

    def saves(self, op: GatedDeltaRule, call: BackwardCall) -> Sequence[Saved]:
        it, tensors = _Rule(op, call), SavedTensors(call)
        batch, length, heads, size = call.input(2).shape
        places, features = (batch, it.count, heads, op.chunk), it.features
        tensors.input(it.beta, "value", 2)
        tensors.input(it.value or it.key, "beta", 4)
        tensors.keep(it.system or it.query, "key", *places, features)
        tensors.keep(it.key or it.decay, "query", *places, features)
        tensors.keep(it.key or it.decay, "writes", *places, features)
        tensors.keep(it.written or it.query, "between", *places, op.chunk)
        tensors.keep(it.system or it.value, "system", *places, op.chunk)
        tensors.keep(it.states, "scores", *places, op.chunk)
        tensors.keep(it.system or it.query, "since", *places)
        tensors.keep(it.key or it.decay, "remaining", *places)
        tensors.keep(it.states, "fading", batch, it.count, heads)
        tensors.keep(it.states, "solved", *places, size + features)
        tensors.keep(it.states, "decayed_query", *places, features)
        tensors.keep(it.states, "decayed_key", *places, features)
        tensors.keep(it.system or it.query, "states", batch, it.count, heads, features, size)
        tensors.keep(it.scores, "added", *places, size)
        for wanted, name in ((it.query, "query"), (it.key, "key")):
            if op.normalize:
                tensors.keep(wanted, f"normal_{name}", batch, length, heads, features)
                tensors.keep(wanted, f"inverse_{name}", batch, length, heads, 1)
        return tensors.saved

    def cost(self, op: GatedDeltaRule, call: BackwardCall) -> Sequence[Term]:
        it = _Rule(op, call)
        work = list(self._chunks(it))
        if it.out and it.scores:
            work += self._scores(it)
        if it.system or it.value:
            work += self._system(op, it)
        if it.decay:
            work += self._decays(op, it)
        work += self._inputs(op, call, it)
        return work

    def _chunks(self, it: _Rule) -> Iterator[Term]:
        """Yield the work from the last chunk to the first."""
        after = {**it.both, "chunks": it.after}
        before = {**it.both, "chunks": it.before}
        if it.states:
            if it.out:
                yield Term.of("mac", "what is added, from output", **it.pairs, d_v=it.size)
                yield Term.of("add", "what is added", **{**it.valued, "chunks": it.after})
                yield Term.of("mac", "state, from output", **before)
                yield Term.of("add", "state", **{**it.state, "chunks": it.through})
            yield Term.of("mac", "what is added, from state", **after)
            yield Term.of("mul", "state", **{**it.state, "chunks": it.through})
            yield Term.of("mac", "state, from prediction", **before)
            yield Term.of("add", "state", **{**it.state, "chunks": it.before})
        if it.system:
            yield Term.of("mac", "gradient of prediction", **it.both)
            yield Term.of("add", "gradient of prediction", **it.keyed)
        if it.out and (it.query or it.decay):
            yield Term.of("mac", "gradient of query from state", **it.both)
        if it.out and it.scores:
            yield Term.of("mac", "gradient of scores", **it.pairs, d_v=it.size)
        if it.key or it.decay:
            yield Term.of("mac", "gradient of key from state", **after)
        if it.decay:
            yield Term.of("mul", "decay of the chunk", **{**it.state, "chunks": it.after})
            sums = it.features * it.size - 1
            yield Term.of("add", "decay of the chunk", **{**it.part, "chunks": it.after}, sums=sums)

    def _scores(self, it: _Rule) -> Iterator[Term]:
        """Yield the work from the scores to queries and keys."""
        if it.query or it.key:
            yield Term.of("mul", "scores", **it.pairs)
        for wanted, name in ((it.query, "query"), (it.key, "key")):
            if wanted:
                yield Term.of("mac", f"gradient of {name} from scores", **it.pairs, d_k=it.features)
        if it.decay:
            yield Term.of("mul", "decay between positions, of scores", **it.pairs)
        if it.query:
            yield Term.of("mul", "gradient of query", **it.keyed)
            yield Term.of("add", "gradient of query", **it.keyed)
        if it.decay:
            yield Term.of("mul", "decay from the start, of queries", **it.keyed)
            yield Term.of("add", "decay from the start, of queries", **it.places, others=it.features - 1)
            yield Term.of("add", "decay from the start", **it.places)

    def _system(self, op: GatedDeltaRule, it: _Rule) -> Iterator[Term]:
        """Yield the work of the triangular system and of what it takes."""
        columns = it.size + it.features if it.system else it.size
        solution = {**it.part, "pairs": op.chunk * (op.chunk - 1) // 2, "columns": columns}
        yield from terms({"mul": 1, "add": 1}, "transposed system", **solution)
        if not it.system:
            return
        yield Term.of("mac", "gradient of the system", **it.pairs, columns=columns)
        if it.written:
            yield from terms({"mul": 1, "add": 1}, "gradient of the system", **it.pairs)
            yield Term.of("mac", "gradient of written keys", **it.pairs, d_k=it.features)
            yield from terms({"mul": 1, "add": 1}, "gradient of written keys", **it.keyed)
        if it.key:
            yield Term.of("mac", "gradient of key from the system", **it.pairs, d_k=it.features)
            yield Term.of("mul", "gradient of key", **it.keyed)
            yield Term.of("add", "gradient of key", **it.keyed, parts=1 + it.out)

    def _decays(self, op: GatedDeltaRule, it: _Rule) -> Iterator[Term]:
        """Yield the work from the exponentials to the decay of each position."""
        sums = {"steps": op.chunk - 1}
        others = {"others": it.features - 1}
        yield from terms({"mul": 1, "add": 1}, "decay between positions", **it.pairs)
        yield Term.of("add", "decay between positions", **it.places, **sums, axes=2)
        yield Term.of("add", "decay between positions", **it.places)
        yield Term.of("mul", "decay from the start", **it.keyed)
        yield Term.of("add", "decay from the start", **it.places, **others)
        yield from terms({"mul": 1, "add": 1}, "decay from the start", **it.places)
        yield Term.of("mul", "decay to the end", **it.keyed)
        yield Term.of("add", "decay to the end", **it.places, **others)
        yield from terms({"mul": 1, "add": 1}, "decay to the end", **it.places)
        yield Term.of("add", "decay of the chunk", **it.part, **sums)
        yield from terms({"mul": 1, "add": 2}, "decay of the chunk", **it.part)
        yield Term.of("add", "sums of decay", **it.part, **sums)

    def _inputs(self, op: GatedDeltaRule, call: BackwardCall, it: _Rule) -> Iterator[Term]:
        """Yield the work of the inputs, without the padding."""
        keyed = {**it.each, "d_k": it.features}
        valued = {**it.each, "d_v": it.size}
        if it.value:
            yield Term.of("mul", "gradient of value", **valued)
        if it.beta:
            yield Term.of("mul", "gradient of beta", **valued)
            yield Term.of("add", "gradient of beta", **{**valued, "d_v": it.size - 1})
            yield Term.of("mul", "gradient of beta", **keyed)
            yield Term.of("add", "gradient of beta", **{**keyed, "d_k": it.features - 1})
            yield Term.of("add", "gradient of beta", **it.each)
        if it.key:
            yield from terms({"mul": 1, "add": 1}, "gradient of key", **keyed)
        if it.query and it.out:
            yield Term.of("mul", "scale", **keyed)
        for index, wanted in ((0, it.query and it.out), (1, it.key)):
            if not wanted:
                continue
            if op.normalize:
                yield from terms({"mul": 3, "add": 1}, "norms", **keyed)
                yield Term.of("add", "norms", **{**keyed, "d_k": it.features - 1})
            x = call.input(index)
            spread = it.each["batch"] * it.each["length"] * it.each["heads"] * it.features - x.elements
            yield Term.of("add", "heads of a group", sums=spread)
