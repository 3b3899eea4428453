"""Mixtures of experts: selecting k experts for each token, and computing the selected experts.

Shared experts, which every token uses, are a separate MLP whose output is added.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from netcalc import ops
from netcalc.dims import Dim, SymbolicReal, UndecidedError, equal, minimum, product
from netcalc.dtypes import INTEGERS
from netcalc.models import BeforeValidator, PlainSerializer, ValidationError, WithJsonSchema, model_validator
from netcalc.opdef import (
    ZEROS,
    Buffer,
    Context,
    Domain,
    Example,
    Init,
    Operation,
    Param,
    RuleError,
    Size,
    Term,
    attr,
    ports,
    require_float,
    same_shape,
)
from netcalc.ops import operation
from netcalc.ops.activation import Sigmoid
from netcalc.ops.softmax import Softmax
from netcalc.ops.sorting import selection
from netcalc.tensor_type import TensorType


@operation
class TopKRouter(Operation):
    """The k experts of each token and their weights, from the logits of a router.

    The logits come from a linear layer with one output per expert.  ``order: score_first`` scores all experts and then
    selects (Switch, Mixtral, DeepSeek, Qwen); ``select_first`` selects by the logits and scores the selected experts
    (GPT-OSS, Llama 4).  ``normalize`` divides the selected weights by their sum, and ``scale`` multiplies the result.

    With ``groups`` the experts form groups, and only experts of the ``top_groups`` best groups can be selected.  The
    score of a group is the score of its best expert (DeepSeek-V2) or the sum of its two best (DeepSeek-V3).
    ``correction_bias`` adds a buffer to the scores for the selection only, not to the weights (load balancing in
    DeepSeek-V3).

    Experts are in decreasing order of their scores; of equal scores the smaller index comes first.
    """

    name = "top_k_router"
    kernel_suffices = "sorts few scores: NumPy's sort gains nothing from tiles"
    reference = "Shazeer et al. 2017, arXiv:1701.06538; DeepSeek-AI 2024, arXiv:2405.04434, arXiv:2412.19437"
    inputs = ports("logits")
    outputs = ports("weights", "indices")
    shorthand = "k"
    shape_rule = "(…, experts) → (…, k) weights, (…, k) indices in int64"
    param_rule = "none; with correction_bias a buffer of one number per expert"
    cost_rule = "per token: the scores, and n − 1 + (k − 1)·(⌈log₂ n⌉ − 1) comparisons of n experts"
    example = Example(((3, 8),), {"k": 2, "normalize": True})
    usage = (
        "x: [64, 512]",
        "- linear: {out: 8, bias: false}",
        "- {top_k_router: {k: 2, normalize: true}, as: [weights, experts]}",
    )

    k: Size = attr("experts per token")
    scoring: Literal["softmax", "sigmoid"] = attr("function that turns logits into scores", default="softmax")
    order: Literal["score_first", "select_first"] = attr(
        "score all experts before the selection, or only the selected ones after it", default="score_first"
    )
    normalize: bool = attr("divide the selected weights by their sum", default=False)
    eps: float = attr("added to that sum", default=0.0, ge=0)
    scale: float = attr("factor of the weights", default=1.0)
    groups: Size = attr("number of groups of experts", default=1)
    top_groups: Size = attr("number of groups from which experts are selected", default=1)
    group_score: Literal["max", "top2_sum"] = attr(
        "score of a group: its best expert, or the sum of its two best", default="max"
    )
    correction_bias: bool = attr("add a buffer to the scores for the selection", default=False)

    def infer(self, ctx: Context, logits: TensorType) -> tuple[TensorType, TensorType]:
        require_float(logits, self.name)
        if logits.rank < 1:
            raise RuleError("top_k_router takes logits for each expert, and its input is a scalar")
        experts = logits.shape[-1]
        each = ctx.size("experts in a group", "experts // groups", experts=experts, groups=self.groups)
        if not equal(each * self.groups, experts):
            raise RuleError(f"top_k_router: {self.groups} groups do not divide {experts} experts")
        if self.top_groups > self.groups:
            raise RuleError(f"top_k_router: top_groups {self.top_groups} exceeds the {self.groups} groups")
        if self.groups > 1 and self.group_score == "top2_sum" and each < 2:
            raise RuleError(
                "top_k_router: group_score top2_sum needs groups of at least 2 experts", hint="set group_score: max"
            )
        choices = ctx.size("experts to choose from", "top_groups * each", top_groups=self.top_groups, each=each)
        if self.k > choices:
            raise RuleError(f"top_k_router: k is {self.k}, and a token selects from {choices} experts")
        selected = logits.with_shape(*logits.shape[:-1], self.k)
        return selected, selected.with_dtype("int64")

    def params(self, ctx: Context, logits: TensorType) -> Sequence[Param]:
        return (Buffer("e_score_correction_bias", logits.shape[-1:], ZEROS),) if self.correction_bias else ()

    def score(self) -> Operation:
        """Return the operation that turns logits into scores."""
        return Softmax() if self.scoring == "softmax" else Sigmoid()

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (logits,) = inputs
        weights = outputs[0]
        experts = logits.shape[-1]
        tokens = product(logits.shape[:-1])
        scored = logits if self.order == "score_first" else weights
        terms = [*self.score().cost(ctx, (scored,), (scored,))]
        if self.correction_bias:
            terms.append(Term.of("add", "correction bias", tokens=tokens, experts=experts))
        if self.groups > 1:
            terms += self._group_terms(tokens, experts // self.groups)
        terms.append(Term.of("compare", "selection", tokens=tokens, comparisons=selection(experts, self.k)))
        if self.normalize:
            terms.append(Term.of("add", "weight sum", tokens=tokens, others=self.k - 1))
            if self.eps:
                terms.append(Term.of("add", "eps", tokens=tokens))
            terms.append(Term.of("div", "normalize", tokens=tokens, k=self.k))
        if self.scale != 1:
            terms.append(Term.of("mul", "scale", tokens=tokens, k=self.k))
        return terms

    def _group_terms(self, tokens: Dim, each: Dim) -> Sequence[Term]:
        rows = {"tokens": tokens, "groups": self.groups}
        scores = (
            (Term.of("compare", "group score", **rows, others=each - 1),)
            if self.group_score == "max"
            else (
                Term.of("compare", "group score", **rows, comparisons=selection(each, 2)),
                Term.of("add", "group score", **rows),
            )
        )
        best = Term.of("compare", "group selection", tokens=tokens, comparisons=selection(self.groups, self.top_groups))
        return (*scores, best)


def _activation(value: Any) -> Any:
    """Return the operation for ``silu`` or ``{gelu: {approximate: tanh}}``."""
    if isinstance(value, Operation):
        return value
    name, attrs = next(iter(value.items())) if isinstance(value, Mapping) and len(value) == 1 else (value, {})
    activations = (*ops.FAMILIES["rectifier"], *ops.FAMILIES["activation"])
    if name not in activations:
        raise ValueError(f"should be an activation: {', '.join(activations)}")
    declared = ops.find(name)
    assert declared is not None
    try:
        return declared(**(attrs or {}))
    except (TypeError, ValidationError):
        raise ValueError(f"{name} does not take {attrs}") from None


def _written_activation(activation: Operation) -> Any:
    attrs = activation.model_dump(exclude_defaults=True)
    return {activation.name: attrs} if attrs else activation.name


#: An activation by name, or as a mapping from its name to its attributes.
Activation = Annotated[
    Any,
    BeforeValidator(_activation),
    PlainSerializer(_written_activation),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "minProperties": 1, "maxProperties": 1}]}),
]


@operation
class Experts(Operation):
    """The weighted sum of the MLPs of the selected experts for each token.

    The inputs are the tokens, and the weights and indices of the k experts of each token, from top_k_router.  An
    expert is ``down(activation(gate(x)) * up(x))`` if gated and ``down(activation(up(x)))`` otherwise.  The weights of
    all experts are stacked as in transformers; gate and up are one tensor with the gate rows first, or alternating if
    ``interleaved``.  GPT-OSS clamps both at ``limit`` and adds ``up_shift`` to up; Llama 4 has ``weights_on: input``.

    Without a capacity every (token, expert) pair is computed, so that the work is tokens·k MLPs for any routing.

    With a capacity an expert takes at most that many tokens of a sequence (the axis before the features): first by the
    rank of the choice, then by position.  Pairs beyond the capacity contribute nothing (Switch, GShard).  All slots are
    computed, used or not, so that the executed work is slots·experts MLPs; the useful work is the work on the pairs
    within the capacity under even routing.  ``capacity_factor`` c gives ⌈c·k·tokens/experts⌉ slots.
    """

    name = "experts"
    channel_axis = -1
    kernel_suffices = "the rows of each expert depend on the router's choice, which is known only at run time"
    reference = "Jiang et al. 2024, arXiv:2401.04088; capacity: Fedus et al. 2021, arXiv:2101.03961"
    inputs = ports("input", "weights", "indices")
    shape_rule = "(…, d), (…, k), (…, k) → (…, d)"
    param_rule = "experts × (3·hidden·d gated, 2·hidden·d plain; bias 2·hidden + d, hidden + d)"
    cost_rule = "tokens·k MLPs (with a capacity: experts·slots MLPs), k·d muls and (k − 1)·d adds per token"
    example = Example(((3, 8), (3, 2), TensorType((3, 2), "int64")), {"experts": 4, "hidden": 16, "activation": "silu"})
    usage = (
        "x: [64, 256]",
        "- linear: {out: 8, bias: false}",
        "- {top_k_router: 2, as: [weights, indices]}",
        "- {from: [x, weights, indices], experts: {experts: 8, hidden: 512}}",
    )

    experts: Size = attr("number of experts")
    hidden: Size = attr("hidden features per expert")
    activation: Activation = attr("activation, by name or with its attributes", default="silu")
    gated: bool = attr("multiply a second projection by the activated gate", default=True)
    bias: bool = attr("add learned biases", default=False)
    interleaved: bool = attr("gate and up rows alternate", default=False)
    limit: float | None = attr("upper limit of gate, and limit of |up|", default=None, gt=0)
    up_shift: float = attr("added to up before the product", default=0.0)
    weights_on: Literal["output", "input"] = attr(
        "factor of the weights: the output or the input of the experts", default="output"
    )
    capacity: Size | None = attr("largest number of tokens of a sequence per expert", default=None)
    capacity_factor: float | None = attr(
        "capacity as a multiple of an even share", default=None, gt=0, allow_inf_nan=False
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.capacity is not None and self.capacity_factor is not None:
            raise ValueError("takes capacity or capacity_factor, not both")
        if not self.gated and (self.interleaved or self.limit is not None or self.up_shift):
            raise ValueError("interleaved, limit and up_shift require gated experts")
        return self

    def infer(self, ctx: Context, x: TensorType, weights: TensorType, indices: TensorType) -> TensorType:
        require_float(x, self.name)
        require_float(weights, "experts (its weights)")
        if indices.dtype not in INTEGERS:
            raise RuleError(f"experts takes integer indices, and these are {indices.dtype}", code="E402")
        alike = same_shape(weights.shape, indices.shape) and same_shape(weights.shape[:-1], x.shape[:-1])
        if x.rank < 1 or not weights.rank or not alike:
            raise RuleError(
                f"experts takes k weights and indices for each token: input {x}, weights {weights}, indices {indices}"
            )
        if self.limited:
            if x.rank < 2:
                raise RuleError(f"experts with a capacity takes a sequence of tokens, and its input is one token: {x}")
            self.places(ctx, x.shape[-2], weights.shape[-1])
        unit = TensorType((self.hidden,), x.dtype)
        if self.activation.infer(ctx, unit) != unit or self.activation.params(ctx, unit):
            raise RuleError(f"experts takes an activation without parameters, and this one is {self.activation.name}")
        return x

    def domains(self, *inputs: TensorType) -> Sequence[Domain | None]:
        return (None, None, Domain(0, self.experts))

    @property
    def limited(self) -> bool:
        """True if an expert has a capacity."""
        return self.capacity is not None or self.capacity_factor is not None

    def places(self, ctx: Context, tokens: Dim, k: Dim) -> Any:
        """Return the capacity of an expert: the number of tokens of a sequence."""
        if self.capacity is not None:
            return ctx.size("places", "min(capacity, tokens)", capacity=self.capacity, tokens=tokens)
        if isinstance(self.capacity_factor, SymbolicReal):
            raise UndecidedError(f"the capacity of experts is undecided at a capacity_factor of {self.capacity_factor}")
        factor = Fraction(str(self.capacity_factor))
        return ctx.size(
            "places",
            "min(ceil_div(p*k*tokens, q*experts), tokens)",
            p=factor.numerator,
            q=factor.denominator,
            k=k,
            tokens=tokens,
            experts=self.experts,
        )

    def params(self, ctx: Context, x: TensorType, weights: TensorType, indices: TensorType) -> Sequence[Param]:
        d, hidden = x.shape[-1], self.hidden
        first, rows = ("gate_up_proj", 2 * hidden) if self.gated else ("up_proj", hidden)

        def uniform(fan_in: Dim) -> Init:
            return Init.of("fan_in_uniform", fan_in=fan_in)

        params = [Param(first, (self.experts, rows, d), uniform(d))]
        if self.bias:
            params.append(Param(f"{first}_bias", (self.experts, rows), uniform(d)))
        params.append(Param("down_proj", (self.experts, d, hidden), uniform(hidden)))
        if self.bias:
            params.append(Param("down_proj_bias", (self.experts, d), uniform(hidden)))
        return params

    def active(self, param: Param, inputs: Sequence[TensorType]) -> Dim:
        _, weights, _ = inputs
        return minimum(weights.shape[-1], self.experts) * product(param.shape[1:])

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        x, weights, _ = inputs
        if not self.limited:
            return self.expected_cost(ctx, inputs, outputs)
        tokens, k = x.shape[-2], weights.shape[-1]
        sequences = product(x.shape[:-2])
        places = self.places(Context(), tokens, k)
        return (
            Term.of("add", "place", sequences=sequences, others=k * tokens - 1, experts=self.experts),
            Term.of("compare", "capacity", sequences=sequences, pairs=k * tokens),
            Term.of("add", "index", sequences=sequences, pairs=k * tokens),
            *self._mlp_terms(x, {"sequences": sequences, "experts": self.experts, "places": places}),
            *self._combination_terms(x, k),
        )

    def expected_cost(
        self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]
    ) -> Sequence[Term]:
        x, weights, _ = inputs
        k = weights.shape[-1]
        tokens = x.shape[-2] if x.rank > 1 else 1
        pairs = k * tokens
        if self.limited:
            pairs = minimum(pairs, self.experts * self.places(Context(), tokens, k))
        rows = {"sequences": product(x.shape[:-2]), "pairs": pairs}
        return (*self._mlp_terms(x, rows), *self._combination_terms(x, k))

    def _mlp_terms(self, x: TensorType, rows: Mapping[str, Dim]) -> Sequence[Term]:
        d, hidden = x.shape[-1], self.hidden
        wide = 2 * hidden if self.gated else hidden
        inner = x.with_shape(product(rows.values()), hidden)
        terms = [Term.of("mac", "gate and up" if self.gated else "up", **rows, features=wide, in_features=d)]
        if self.bias:
            terms.append(Term.of("add", "bias", **rows, features=wide))
        if self.limit is not None:
            terms.append(Term.of("compare", "limit", **rows, hidden=hidden, bounds=3))
        terms += self.activation.cost(Context(), (inner,), (inner,))
        if self.up_shift:
            terms.append(Term.of("add", "up shift", **rows, hidden=hidden))
        if self.gated:
            terms.append(Term.of("mul", "gate", **rows, hidden=hidden))
        terms.append(Term.of("mac", "down", **rows, out_features=d, hidden=hidden))
        if self.bias:
            terms.append(Term.of("add", "bias", **rows, out_features=d))
        return terms

    def _combination_terms(self, x: TensorType, k: Dim) -> Sequence[Term]:
        tokens, d = product(x.shape[:-1]), x.shape[-1]
        return (
            Term.of("mul", "weights", tokens=tokens, k=k, features=d),
            Term.of("add", "combination", tokens=tokens, others=k - 1, features=d),
        )
