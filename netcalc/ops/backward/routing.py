"""Backward passes of :mod:`netcalc.ops.routing`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from netcalc.dims import Dim, product
from netcalc.opdef import Context, Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._inner import inner
from netcalc.ops.routing import Experts, TopKRouter


@backward("top_k_router")
class RouterBackward(Backward):
    """Gradients of the selected scores; the selection itself has none."""

    def derivatives(self, op: TopKRouter) -> tuple[str, ...]:
        rules = ["∂L/∂s = g at the selected experts, 0 at the others"]
        if op.normalize:
            rules.insert(0, "weights s/T, T = Σ s: ∂L/∂s = (g − Σ g·s/T)/T")
        of_score = "∂L/∂logits = s·(∂L/∂s − Σ s·∂L/∂s)" if op.scoring == "softmax" else "∂L/∂logits = ∂L/∂s·s·(1 − s)"
        return (*rules, of_score)

    def saves(self, op: TopKRouter, call: BackwardCall) -> Sequence[Saved]:
        weights = call.outputs[0]
        if op.order == "score_first":
            result = call.saved_kept("result", *call.input().shape)
        else:  # scores of the selected experts, which are the weights unless these are changed
            changed = op.normalize or op.scale != 1
            result = call.saved_kept("result", *weights.shape) if changed else call.saved_output("result")
        saved = [result, call.saved_output("indices", 1)]
        if op.normalize:
            saved.append(call.saved_kept("other", *call.outputs[0].shape[:-1], 1))
        return saved

    def cost(self, op: TopKRouter, call: BackwardCall) -> Sequence[Term]:
        weights = call.outputs[0]
        tokens = product(weights.shape[:-1])
        selected = {"tokens": tokens, "k": op.k}
        work: list[Term] = []
        if op.scale != 1:
            work.append(Term.of("mul", "scale", **selected))
        if op.normalize:
            work += [
                Term.of("div", "normalize", **selected),
                Term.of("mul", "normalize", **selected),
                Term.of("add", "weight sum", tokens=tokens, others=op.k - 1),
                Term.of("div", "weight sum", tokens=tokens),
                Term.of("add", "normalize", **selected),
            ]
        declared, within = inner(op.score(), call.input() if op.order == "score_first" else weights, call)
        return (*work, *declared.cost(op.score(), within))


@backward("experts")
class ExpertsBackward(Backward):
    """Each pair of a token and an expert goes back through the MLP; with a capacity all slots do."""

    rule = (
        "∂L/∂y = w·g for each pair with weight w,  ∂L/∂w = Σ g·y",
        "∂L/∂h = ∂L/∂y·W_down,  ∂L/∂W_down = Σ ∂L/∂yᵀ·h over the tokens of the expert",
        "h = activation(a)⊙u: ∂L/∂u = ∂L/∂h⊙activation(a),  ∂L/∂a = ∂L/∂h⊙u⊙activation′(a)",
        "∂L/∂x = Σ over the k experts of ∂L/∂(a, u)·W,  ∂L/∂W = Σ ∂L/∂(a, u)ᵀ·x over the tokens of the expert",
    )

    def saves(self, op: Experts, call: BackwardCall) -> Sequence[Saved]:
        lead = _lead(op, call)
        first = _first_projection(op)
        on_output = op.weights_on == "output"
        through, to_rows = _needs_activation(op, call), _to_rows(op, call)
        saved = [call.saved_input("indices", 2)]
        if op.limited:
            x, k = call.input(), call.input(1).shape[-1]
            saved.append(call.saved_kept("place", product(x.shape[:-2]), k * x.shape[-2], dtype="int64"))
        if _of_output(op, call) if on_output else call.wants(0):
            saved.append(call.saved_input("weights", 1))
        if call.wants(1):
            pairs = (product(call.input().shape[:-2]), _length(call), call.input(1).shape[-1], call.input().shape[-1])
            saved.append(call.saved_kept("down", *pairs) if on_output else call.saved_input("input"))
        if call.wants(first):
            saved.append(call.saved_kept("rows", *lead, call.input().shape[-1]))
        inside = list(self._saved_inside(op, call, lead)) if through else []
        # without a gate the hidden units are the result of the activation, which may be saved already
        held = not op.gated and any(tensor.name == "activation_result" for tensor in inside)
        if call.wants("down_proj") and not held:
            saved.append(call.saved_kept("hidden", *lead, op.hidden))
        saved += inside
        if to_rows:
            saved.append(call.saved_parameter(first, first))
        return saved

    def _saved_inside(self, op: Experts, call: BackwardCall, lead: tuple[Dim, ...]) -> Iterator[Saved]:
        """Yield what the gradient keeps on its way through the activation and the product with up."""
        declared, within = inner(op.activation, call.input().with_shape(*lead, op.hidden), call)
        own = [Saved(f"activation_{s.name}", "kept", s.type) for s in declared.saves(op.activation, within)]
        yield from own
        if op.gated:
            yield call.saved_kept("up", *lead, op.hidden)
            if not any(saved.name == "activation_result" for saved in own):
                yield call.saved_kept("activated", *lead, op.hidden)
            if op.limit is not None:
                yield call.saved_kept("gate_up", *lead, 2 * op.hidden)
        yield call.saved_parameter("down_proj", "down_proj")

    def cost(self, op: Experts, call: BackwardCall) -> Sequence[Term]:
        x, k = call.input(), call.input(1).shape[-1]
        features = x.shape[-1]
        pairs = {"tokens": product(x.shape[:-1]), "k": k, "features": features}
        of_weights = (
            Term.of("mul", "gradient of weights", **pairs),
            Term.of("add", "gradient of weights", **{**pairs, "features": features - 1}),
        )
        work: list[Term] = list(of_weights) if call.wants(1) else []
        if op.weights_on == "output" and _of_output(op, call):
            work.append(Term.of("mul", "weights", **pairs))
        work += self._down(op, call)
        if _needs_activation(op, call):
            work += self._activation(op, call)
            work += self._up(op, call)
        if call.wants(0):
            if op.weights_on == "input":
                work.append(Term.of("mul", "weights", **pairs))
            work.append(Term.of("add", "gradient of input", **{**pairs, "k": k - 1}))
        return work

    def _down(self, op: Experts, call: BackwardCall) -> Iterator[Term]:
        rows, features = _computed_rows(op, call), call.input().shape[-1]
        if _needs_activation(op, call):
            yield Term.of("mac", "gradient of hidden", **rows, out_features=features, hidden=op.hidden)
        if call.wants("down_proj"):
            yield Term.of("mac", "gradient of down_proj", **rows, out_features=features, hidden=op.hidden)
        if call.wants("down_proj_bias"):
            yield _sum_of_bias(op, rows, features, "down_proj_bias")

    def _activation(self, op: Experts, call: BackwardCall) -> Iterator[Term]:
        rows = _computed_rows(op, call)
        declared, within = inner(op.activation, call.input().with_shape(*_lead(op, call), op.hidden), call)
        if op.gated:
            yield Term.of("mul", "gate", **rows, hidden=op.hidden, halves=2)
        yield from (replace(term, role=f"activation: {term.role}") for term in declared.cost(op.activation, within))
        if op.limit is not None:
            yield Term.of("compare", "limit", **rows, hidden=op.hidden, bounds=3)

    def _up(self, op: Experts, call: BackwardCall) -> Iterator[Term]:
        rows, first = _computed_rows(op, call), _first_projection(op)
        sizes = {"features": 2 * op.hidden if op.gated else op.hidden, "in_features": call.input().shape[-1]}
        if call.wants(first):
            yield Term.of("mac", f"gradient of {first}", **rows, **sizes)
        if call.wants(f"{first}_bias"):
            yield _sum_of_bias(op, rows, sizes["features"], f"{first}_bias")
        if _to_rows(op, call):
            yield Term.of("mac", "gradient of tokens", **rows, **sizes)


def _first_projection(op: Experts) -> str:
    """Return the name of the first projection."""
    return "gate_up_proj" if op.gated else "up_proj"


def _to_rows(op: Experts, call: BackwardCall) -> bool:
    """Return True if the gradients of the inputs of the MLPs are needed."""
    return call.wants(0) or (op.weights_on == "input" and call.wants(1))


def _needs_activation(op: Experts, call: BackwardCall) -> bool:
    """Return True if gradients go through the activation."""
    return _to_rows(op, call) or call.wants(_first_projection(op), f"{_first_projection(op)}_bias")


def _of_output(op: Experts, call: BackwardCall) -> bool:
    """Return True if the gradients of the outputs of the MLPs are needed."""
    return _needs_activation(op, call) or call.wants("down_proj", "down_proj_bias")


def _length(call: BackwardCall) -> Dim:
    x = call.input()
    return x.shape[-2] if x.rank > 1 else 1


def _computed_rows(op: Experts, call: BackwardCall) -> dict[str, Dim]:
    """Return the number of MLPs that are computed, as factors."""
    x, k = call.input(), call.input(1).shape[-1]
    if not op.limited:
        return {"pairs": k * product(x.shape[:-1])}
    return {"sequences": product(x.shape[:-2]), "experts": op.experts, "places": op.places(Context(), x.shape[-2], k)}


def _lead(op: Experts, call: BackwardCall) -> tuple[Dim, ...]:
    """Return the axes before the features of what the MLPs keep."""
    rows = _computed_rows(op, call)
    return (rows["experts"], rows["sequences"] * rows["places"]) if op.limited else (rows["pairs"],)


def _sum_of_bias(op: Experts, rows: dict[str, Dim], features: Dim, name: str) -> Term:
    """Return the additions of the gradient of a bias: to the row of its expert, or over the slots of each."""
    if not op.limited:
        return Term.of("add", f"gradient of {name}", **rows, features=features)
    sums = rows["sequences"] * rows["places"] - 1
    return Term.of("add", f"gradient of {name}", experts=op.experts, sums=sums, features=features)
