"""Position biases of attention scores, for ``attn_mask``."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from netcalc.dims import Dim, equal, product, required
from netcalc.models import BeforeValidator, WithJsonSchema, model_validator
from netcalc.opdef import (
    Buffer,
    Context,
    Example,
    Init,
    Operation,
    Param,
    RuleError,
    Size,
    SizeOrZero,
    Term,
    attr,
    ports,
    require_float,
    whole_number,
)
from netcalc.ops import operation
from netcalc.ops._lists import Sizes
from netcalc.tensor_type import TensorType

#: A whole number of at least 2, which may be symbolic.
_AtLeastTwo = Annotated[
    Any, BeforeValidator(partial(whole_number, least=2)), WithJsonSchema({"type": "integer", "minimum": 2})
]


class _Table(Operation):
    """Base of biases that depend only on sizes and parameters, and take no arithmetic on the input."""

    kernel_suffices = "built from sizes or a small table: little work, done once if no input is involved"
    cost_rule = "none: a table look-up; adding the bias is work of attention"

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


class _Window(_Table):
    """Base of biases for each pair of positions in a window, looked up in a table with a row for each offset."""

    window_size: Sizes = attr("positions along each axis of the window", min_length=1)
    class_token: bool = attr("add a position in front of the window", default=False)
    persistent: bool = attr("keep the index in checkpoints, as torchvision does", default=True)

    @property
    def rows(self) -> Dim:
        """Number of rows of the table."""
        return product(2 * side - 1 for side in self.window_size) + 3 * self.class_token

    @property
    def places(self) -> Dim:
        """Number of positions of the window."""
        return product(self.window_size) + int(self.class_token)

    def index(self) -> Buffer:
        """Return the buffer with the table row of each pair of positions."""
        shape = (self.places * self.places,)
        return Buffer("relative_position_index", shape, Init.of("table"), "int64", persistent=self.persistent)


@operation
class RelativePositionBias(_Window):
    """A learned bias for each head and each offset between two positions of a window, as in Swin.

    The window has any number of axes (Swin has 2, Video Swin 3), and its N positions are in row-major order.  The
    output is (num_heads, N, N).  ``class_token`` adds a position in front, with three additional rows of the table, as
    in BEiT.
    """

    name = "relative_position_bias"
    reference = "Liu et al. 2021, arXiv:2103.14030; torchvision.models.swin_transformer"
    inputs = ()
    shape_rule = "→ (num_heads, N, N), N = product of window_size (+ 1 with class_token)"
    param_rule = (
        "relative_position_bias_table Π(2·w − 1)·num_heads (3 rows more with class_token), "
        "buffer relative_position_index N²"
    )
    example = Example((), {"window_size": [2, 3], "num_heads": 4})
    usage = (
        "scores: [64, 3, 49, 49]",
        "- {name: bias, relative_position_bias: {window_size: [7, 7], num_heads: 3}}",
        "- {from: [scores, bias], add: {}}",
    )

    num_heads: Size = attr("attention heads")

    def infer(self, ctx: Context) -> TensorType:
        return TensorType((self.num_heads, self.places, self.places), ctx.dtype)

    def params(self, ctx: Context) -> Sequence[Param]:
        init = Init.of("truncated_normal", mean=0.0, std=0.02, a=-2.0, b=2.0)
        return (Param("relative_position_bias_table", (self.rows, self.num_heads), init, ctx.dtype), self.index())


@operation
class RelativePositionLookup(_Window):
    """relative_position_bias with a computed table instead of a learned one, as in Swin V2.

    The table has a row for each offset, with a number for each head.
    """

    name = "relative_position_lookup"
    reference = "Liu et al. 2021, arXiv:2111.09883, section 3.3; torchvision ShiftedWindowAttentionV2"
    inputs = ports("table")
    shape_rule = "(Π(2·w − 1), num_heads) → (num_heads, N, N), N = product of window_size (+ 1 with class_token)"
    param_rule = "buffer relative_position_index N²"
    example = Example(((15, 4),), {"window_size": [2, 3]})
    usage = ("- {name: table, parameter: [169, 3]}", "- relative_position_lookup: {window_size: [7, 7]}")

    def infer(self, ctx: Context, table: TensorType) -> TensorType:
        if table.rank != 2 or not equal(table.shape[0], self.rows):
            raise RuleError(f"{self.name} takes a table of {self.rows} rows, and this one is {table}")
        return table.with_shape(table.shape[1], self.places, self.places)

    def params(self, ctx: Context, table: TensorType) -> Sequence[Param]:
        return (self.index(),)


@operation
class RelativeCoordinates(_Table):
    """The offsets between two positions of a window on a logarithmic scale, from which Swin V2 computes its bias.

    An offset d along an axis of w positions gives z = 8·d/(w − 1), between −8 and 8, and the result is
    sign(z)·log₂(1 + |z|)/3.  ``pretrained_window_size`` is the w of an earlier training with another window.
    """

    name = "relative_coordinates"
    view = True
    reference = "Liu et al. 2021, arXiv:2111.09883, section 3.3; torchvision ShiftedWindowAttentionV2"
    inputs = ()
    shape_rule = "→ (1, 2·w₁ − 1, 2·w₂ − 1, …, axes)"
    param_rule = "buffer relative_coords_table"
    example = Example((), {"window_size": [2, 3]})
    usage = (
        "- relative_coordinates: {window_size: [8, 8]}",
        "- linear: 512",
        "- relu",
        "- linear: {out: 3, bias: false}",
    )

    window_size: Sizes = attr("positions along each axis of the window", min_length=1)
    pretrained_window_size: Sizes | None = attr(
        "positions along each axis in an earlier training, at least 2", default=None
    )
    persistent: bool = attr("keep the table in checkpoints, as torchvision does", default=True)

    def infer(self, ctx: Context) -> TensorType:
        axes, earlier = len(self.window_size), self.pretrained_window_size
        if earlier is not None and len(earlier) != axes:
            raise RuleError(f"{self.name}: the window has {axes} axes, and the earlier one {len(earlier)}")
        if earlier is not None and any(side < 2 for side in earlier):
            raise RuleError(f"{self.name}: a pretrained window of one position along an axis has no offsets along it")
        return TensorType((1, *(2 * side - 1 for side in self.window_size), axes), ctx.dtype)

    def params(self, ctx: Context) -> Sequence[Param]:
        shape = self.infer(ctx).shape
        return (Buffer("relative_coords_table", shape, Init.of("table"), ctx.dtype, persistent=self.persistent),)


class _Bias(_Table):
    num_heads: Size = attr("attention heads")


class _Distance(_Bias):
    """Base of biases by the distance of query and key; inputs (…, length, features) give the lengths."""

    inputs = ports("query", "key?")

    alignment: Literal["upper_left", "lower_right"] = attr(
        "query i has the position of key i, or the last query has the position of the last key (cached keys)",
        default="upper_left",
    )
    offset: SizeOrZero = attr("position of the first query, if there is no key input; keys begin at 0", default=0)

    def reads_values(self) -> bool:
        return False

    def lengths(self, ctx: Context, query: TensorType, key: TensorType | None) -> tuple[Dim, Dim]:
        """Return the numbers of queries and keys; without ``key`` the keys end where the queries do."""
        require_float(query, self.name)
        if query.rank < 2 or (key is not None and key.rank < 2):
            raise RuleError(f"{self.name} takes (…, length, features), and these are {query} and {key or query}")
        queries = query.shape[-2]
        if key is None:
            return queries, queries if self.offset == 0 else ctx.size(
                "keys", "offset + L", offset=self.offset, L=queries
            )
        if self.offset != 0:
            raise RuleError(
                f"{self.name}: an offset is for queries without a key input",
                hint="alignment: lower_right gives the last query the position of the last key",
            )
        return queries, key.shape[-2]


@operation
class T5PositionBias(_Distance):
    """A learned bias for each head and each bucket of distances: first one distance each, then logarithmic ranges.

    The output is (1, num_heads, queries, keys).  With ``bidirectional`` (an encoder) half of the buckets are for keys
    after the query; otherwise (a decoder) all buckets are for keys before it.
    """

    name = "t5_position_bias"
    reference = "Raffel et al. 2019, arXiv:1910.10683, section 2.1; transformers T5Attention"
    shape_rule = "(…, L, _), (…, S, _) → (1, num_heads, L, S); S = offset + L without a key"
    param_rule = "weight num_buckets·num_heads"
    example = Example(((1, 5, 8),), {"num_heads": 2})
    usage = (
        "query: [1, 8, 128, 64]",
        "- {name: bias, t5_position_bias: {num_heads: 8}}",
        "- {from: {query: query, attn_mask: bias}, scaled_dot_product_attention: {}}",
    )

    num_buckets: _AtLeastTwo = attr("rows of the table", default=32)
    max_distance: _AtLeastTwo = attr("distance from which on the last bucket is used", default=128)
    bidirectional: bool = attr("use separate buckets for keys before and after the query", default=True)

    @property
    def exact(self) -> Dim:
        """Number of distances per side that have a bucket of their own."""
        buckets: Dim = self.num_buckets
        return buckets // (4 if self.bidirectional else 2)

    @model_validator(mode="after")
    def _enough_buckets(self) -> Self:
        if not (required(self.exact, ">=", 1) and required(self.exact, "<", self.max_distance)):
            raise ValueError(
                f"{self.num_buckets} buckets have {self.exact} exact distances, "
                f"which must be at least 1 and below max_distance"
            )
        return self

    def infer(self, ctx: Context, query: TensorType, key: TensorType | None = None) -> TensorType:
        return query.with_shape(1, self.num_heads, *self.lengths(ctx, query, key))

    def params(self, ctx: Context, query: TensorType, key: TensorType | None = None) -> Sequence[Param]:
        return (Param("weight", (self.num_buckets, self.num_heads), Init.of("normal", mean=0.0, std=1.0)),)


@operation
class AlibiBias(_Distance):
    """A fixed slope for each head times the distance of query and key: −slope·|i − j|.

    The output is (num_heads, queries, keys).  Without ``per_query`` it is slope·j of (num_heads, 1, keys), as in BLOOM;
    under a causal mask both give the same softmax.  The slopes are 2^(−max_bias·h/num_heads).  A number of heads
    between two powers of two has the slopes of the smaller power, then every other slope of the larger one.
    """

    name = "alibi_bias"
    reference = "Press et al. 2021, arXiv:2108.12409; transformers build_alibi_tensor"
    shape_rule = "(…, L, _), (…, S, _) → (num_heads, L, S), or (num_heads, 1, S); S = offset + L without a key"
    example = Example(((1, 5, 8),), {"num_heads": 2})
    usage = (
        "query: [1, 8, 128, 64]",
        "- {name: bias, alibi_bias: {num_heads: 8}}",
        "- from: {query: query, attn_mask: bias}",
        "  scaled_dot_product_attention: {causal: true}",
    )

    max_bias: float = attr("exponent of the last slope", default=8.0, gt=0)
    per_query: bool = attr("use distances from each query; otherwise the positions of the keys", default=True)

    def infer(self, ctx: Context, query: TensorType, key: TensorType | None = None) -> TensorType:
        queries, keys = self.lengths(ctx, query, key)
        return query.with_shape(self.num_heads, queries if self.per_query else 1, keys)
