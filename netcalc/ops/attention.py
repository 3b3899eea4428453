"""Scaled dot-product attention as one operation, since fused kernels never store the scores."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from netcalc.dims import Dim, Poly, divided, equal, product
from netcalc.dtypes import holds, promote
from netcalc.models import BeforeValidator, WithJsonSchema, model_validator
from netcalc.opdef import (
    Context,
    Example,
    Operation,
    Reach,
    RuleError,
    Term,
    aligned,
    attr,
    every,
    ports,
    position,
    require_float,
    require_some,
    same_shape,
)
from netcalc.ops import operation
from netcalc.ops._attention_pattern import (
    Blocks,
    PairCounts,
    band,
    banded_with_globals,
    tiled_band,
    tiled_with_globals,
)
from netcalc.ops._broadcast import broadcast, expands
from netcalc.tensor_type import TensorType

Alignment = Literal["upper_left", "lower_right"]


def _is_side(side: Any) -> bool:
    return isinstance(side, Poly) or (type(side) is int and side >= 0)


def _read_window(value: Any) -> Any:
    sides = tuple(value) if isinstance(value, (list, tuple)) else (value, value)
    if len(sides) != 2 or any(side is not None and not _is_side(side) for side in sides):
        raise ValueError("should be a whole number, or [left, right] with null for no bound")
    return tuple(None if side is None else position(side) for side in sides)


_SIDE = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}
_Window = Annotated[
    tuple[Any, Any],
    BeforeValidator(_read_window),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "array", "items": _SIDE, "minItems": 2, "maxItems": 2}]}
    ),
]


@operation
class ScaledDotProductAttention(Operation):
    """softmax(Q·Kᵀ·scale + mask)·V over (…, heads, length, head_dim); leading axes broadcast.

    ``attn_mask`` broadcasts to (…, heads, queries, keys).  A boolean mask is true for the pairs that may attend; a
    floating-point mask is added to the scores.  ``key_padding_mask`` of (batch, keys) is true where a key is padding.
    ``sinks`` holds one score per head that takes part in every softmax and whose weight is dropped.  A query that may
    attend to no key gives zeros.

    With ``alignment: upper_left`` query i has the position of key i; with ``lower_right``, for keys from a cache, the
    last query has the position of the last key.  Masks do not reduce the work: all scores are computed.  With
    ``sparse`` the kernel skips the pairs that the fixed pattern hides, and only the remaining pairs are work: those
    within ``causal``, ``window`` and ``global_tokens``, or the blocks of ``blocks``.

    ``composed`` says that the reference computes scores, softmax and products in several operations, whatever kernel of
    attention is at hand; only memory in eager mode follows from it.

    A window of W keys that ends at the query, as in Mistral, is ``window: [W - 1, 0]``.  Longformer's attention window
    W is ``window: W // 2``.  BigBird's pattern is ``blocks: {size: 64, band: 1, global_blocks: 1, random: 3}``.
    """

    name = "scaled_dot_product_attention"
    channel_axis = -1
    takes_empty = True
    reference = (
        "torch.nn.functional.scaled_dot_product_attention; Vaswani et al. 2017, arXiv:1706.03762; windows: "
        "arXiv:2004.05150, blocks: arXiv:2007.14062, softcap: arXiv:2408.00118, sinks: gpt-oss, arXiv:2508.10925"
    )
    inputs = ports("query", "key = query", "value = key", "attn_mask?", "key_padding_mask?", "sinks?")
    outputs = ports("output", "weights?")
    shape_rule = "(…, H, L, E), (…, H, S, E), (…, H, S, V) → (…, H, L, V)"
    cost_rule = "H·L·S·(E + V) MACs, H·L·S muls for the scale, and the softmax; with sparse, kept pairs for L·S"
    example = Example(((1, 2, 5, 8), (1, 2, 5, 8), (1, 2, 5, 8)), {"causal": True})
    usage = (
        "query: [1, 12, 256, 64]",
        "memory: [1, 12, 100, 64]",
        "- {name: own, scaled_dot_product_attention: {causal: true}}",
        "- {name: crossed, from: [own, memory], scaled_dot_product_attention: {}}",
    )

    causal: bool = attr("hide the keys after the query's position", default=False)
    alignment: Alignment = attr("corner of the score matrix where query and key positions agree", default="upper_left")
    scale: float | None = attr("factor of the scores; by default 1/√head_dim", default=None)
    dropout: float = attr("probability of dropping an attention weight in training", default=0.0, ge=0, le=1)
    enable_gqa: bool = attr(
        "share each key and value head among several query heads (grouped-query attention)", default=False
    )
    window: _Window | None = attr(
        "keys visible to each side of the query: one number, or [left, right] with null for no bound", default=None
    )
    global_tokens: int = attr(
        "number of first positions that are exempt from the window, as queries and as keys", default=0, ge=0
    )
    blocks: Blocks | None = attr("block-sparse pattern of queries and keys", default=None)
    sparse: bool = attr("skip the pairs that the fixed pattern hides", default=False)
    softcap: float | None = attr("cap c of the scores: c·tanh(score/c)", default=None, gt=0)
    return_weights: bool = attr("also return the attention weights", default=False)
    composed: bool = attr("the reference computes the products in several operations", default=False)

    @model_validator(mode="after")
    def _globals_need_a_window(self) -> Self:
        if self.global_tokens and self.window is None:
            raise ValueError("global_tokens are exempt from a window, and there is no window")
        return self

    def infer(
        self,
        ctx: Context,
        query: TensorType,
        key: TensorType,
        value: TensorType,
        attn_mask: TensorType | None = None,
        key_padding_mask: TensorType | None = None,
        sinks: TensorType | None = None,
    ) -> TensorType | tuple[TensorType, ...]:
        require_float(query, "attention")
        if not query.dtype == key.dtype == value.dtype:
            types = f"{query.dtype}, {key.dtype} and {value.dtype}"
            raise RuleError(f"query, key and value must have one type, and these are {types}", code="E402")
        if self.scale is not None and not holds(promote(query.dtype, "float32"), self.scale):
            raise RuleError(f"scale {self.scale} is beyond the numbers of {query.dtype} arithmetic", code="E402")
        if min(query.rank, key.rank, value.rank) < 2:
            raise RuleError(f"attention takes (…, heads, length, head_dim), and these are {query}, {key} and {value}")
        if not equal(query.shape[-1], key.shape[-1]):
            raise RuleError(f"query and key differ in head_dim: {query} against {key}")
        if not equal(key.shape[-2], value.shape[-2]):
            raise RuleError(f"key and value differ in length: {key} against {value}")
        require_some(key.shape[-2], f"attention over the keys of {key}")
        require_some(key.shape[-1], f"attention over the features of {key}")
        scores, result = self.leading(ctx, query, key, value)
        queries, keys = query.shape[-2], key.shape[-2]
        if attn_mask is not None:
            self._check_mask(attn_mask, (*scores, queries, keys), query)
        if key_padding_mask is not None:
            expected = (*scores[:-1], keys)
            if key_padding_mask.dtype != "bool":
                raise RuleError("key_padding_mask holds booleans, true at padding", code="E402")
            if not key_padding_mask.rank or not expands(key_padding_mask.shape, expected):
                raise RuleError(f"key_padding_mask should be (batch, keys) {TensorType(expected)}: {key_padding_mask}")
        if sinks is not None:
            require_float(sinks, "sinks")
            if not same_shape(sinks.shape, scores[-1:]):
                raise RuleError(f"sinks must be one number per head, {TensorType(scores[-1:])}, and these are {sinks}")
        if self.blocks:
            self.kept(queries, keys)
        output = query.with_shape(*result, queries, value.shape[-1])
        return (output, query.with_shape(*scores, queries, keys)) if self.return_weights else output

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        query, key, value, *others = inputs
        if self.enable_gqa or self.causal or self.window or self.blocks or output.shape[-2] != query.shape[-2]:
            return None
        reads = [list(aligned(x, output)) for x in (query, key, value)]
        reads[0][-1] = reads[1][-1] = reads[1][-2] = reads[2][-2] = "all"
        return [*map(tuple, reads), *(every(x, "unknown") for x in others)]

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        query, key, value, attn_mask, _, sinks = [*inputs, None, None, None][:6]
        leading, result = ({"batch": product(s[:-1]), "heads": product(s[-1:])} for s in self.leading(ctx, *inputs[:3]))
        queries, keys = query.shape[-2], key.shape[-2]
        computed = self.kept(queries, keys) if self.sparse else None

        def each(extra: int = 0) -> dict[str, Dim]:
            """Return the number of scores, with ``extra`` more per query, as factors."""
            if computed:
                return {**leading, "pairs": computed.pairs + extra * computed.rows}
            name = {-1: "keys_less_one", 0: "keys", 1: "keys_and_sink"}[extra]
            return {**leading, "queries": queries, name: keys + extra}

        pairs = {"pairs": computed.pairs} if computed else {"queries": queries, "keys": keys}
        terms = [Term.of("mac", "scores", **each(), head_dim=query.shape[-1])]
        if self.scale != 1:
            terms.append(Term.of("mul", "scale", **each()))
        if self.softcap is not None:
            terms += (Term.of(kind, "softcap", **each()) for kind in ("div", "transcendental", "mul"))
        if attn_mask is not None and attn_mask.is_float:
            terms.append(Term.of("add", "mask", **each()))
        sink = 0 if sinks is None else 1
        terms += (
            Term.of("compare", "softmax max", **each(sink - 1)),
            Term.of("add", "softmax shift", **each(sink)),
            Term.of("transcendental", "softmax exp", **each(sink)),
            Term.of("add", "softmax sum", **each(sink - 1)),
            Term.of("div", "softmax normalize", **each()),
        )
        if ctx.training and self.dropout:
            terms += (Term.of("compare", "dropout mask", **each()), Term.of("mul", "dropout", **each()))
        return (*terms, Term.of("mac", "values", **result, **pairs, value_dim=value.shape[-1]))

    def leading(
        self, ctx: Context, query: TensorType, key: TensorType, value: TensorType
    ) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
        """Return the axes before the last two, of the scores and of the result."""
        before = [x.shape[:-2] for x in (query, key, value)]
        if self.enable_gqa:
            if not all(before):
                raise RuleError(f"grouped heads need an axis of heads, and these are {query}, {key} and {value}")
            heads = before[0][-1]
            for what, shape in (("key", before[1]), ("value", before[2])):
                if divided(heads, shape[-1]) is None:
                    raise RuleError(f"{shape[-1]} {what} heads do not divide {heads} query heads")
            ctx.size("query heads of a key head", "H//K", H=heads, K=before[1][-1])
            before[1:] = [(*shape[:-1], heads) for shape in before[1:]]
        try:
            scores = broadcast("attention", before[:2])
            return scores, broadcast("attention", [scores, before[2]])
        except RuleError as why:
            grouped = len({shape[-1:] for shape in before}) > 1 and not self.enable_gqa
            hint = "enable_gqa: true lets a key head serve several query heads" if grouped else None
            raise RuleError(f"before length and head_dim, {why.message}", hint=hint) from None

    def _check_mask(self, mask: TensorType, scores: tuple[Dim, ...], query: TensorType) -> None:
        if mask.dtype not in ("bool", "float32", query.dtype):
            raise RuleError(f"attn_mask is bool, float32 or {query.dtype} as the query, not {mask.dtype}", code="E402")
        if not expands(mask.shape, scores):
            raise RuleError(f"attn_mask {mask} does not broadcast to the scores, {TensorType(scores)}")

    def kept(self, queries: Dim, keys: Dim) -> PairCounts:
        """Return the pairs that a kernel computes if it skips hidden pairs."""
        lower_right = self.alignment == "lower_right"
        if self.blocks:
            return self.blocks.kept(queries, keys, lower_right=lower_right)
        shift = keys - queries if lower_right else 0
        left, right = self.window or (None, None)
        if self.global_tokens:
            return banded_with_globals(queries, keys, shift, (left, right), self.global_tokens, causal=self.causal)
        return band(queries, keys, shift, left, 0 if self.causal else right)

    @property
    def is_patterned(self) -> bool:
        """True if a fixed pattern hides pairs, whatever masks are given."""
        return self.causal or self.window is not None or self.blocks is not None

    def tiled(self, queries: Dim, keys: Dim, size: int) -> Dim:
        """Return the pairs in tiles of ``size`` queries and keys that have a pair of the pattern; or in its blocks."""
        if self.blocks:
            return self.kept(queries, keys).pairs
        shift = keys - queries if self.alignment == "lower_right" else 0
        left, right = self.window or (None, None)
        if self.global_tokens:
            window, tokens = (left, right), self.global_tokens
            return tiled_with_globals(queries, keys, shift, window, tokens, causal=self.causal, size=size)
        return tiled_band(queries, keys, shift, left, 0 if self.causal else right, size)

    def macs_of_a_pair(self, ctx: Context, inputs: Sequence[Any]) -> Dim:
        """Return the MACs of a query and a key in both products, over all heads."""
        query, key, value = inputs[:3]
        scores, result = self.leading(ctx, query, key, value)
        macs: Dim = product(scores) * query.shape[-1] + product(result) * value.shape[-1]
        return macs
