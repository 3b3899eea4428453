"""Positions as a bias of the attention scores, for ``attn_mask``."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import model_validator

from netcalc.dims import Dim, product
from netcalc.opdef import (
    Buffer,
    Context,
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
)
from netcalc.ops import operation
from netcalc.ops._lists import Sizes
from netcalc.tensor_type import TensorType


class _Table(Operation):
    """What only sizes and parameters decide: looking it up, or scaling fixed distances, is no work."""

    cost_rule = "none: looked up in a table; adding a bias is attention's work"

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


class _Window(_Table):
    """Something for each pair of places in a window, found by an index into a table with a row for each offset."""

    window_size: Sizes = attr("places along each axis of the window", min_length=1)
    class_token: bool = attr("one more place, in front of the window", default=False)
    persistent: bool = attr("keep the index in checkpoints, as torchvision does", default=True)

    @property
    def rows(self) -> Dim:
        """Rows of the table."""
        return product(2 * side - 1 for side in self.window_size) + 3 * self.class_token

    @property
    def places(self) -> Dim:
        """Places of the window."""
        return product(self.window_size) + int(self.class_token)

    def index(self) -> Buffer:
        """The row of each pair of places."""
        shape = (self.places * self.places,)
        return Buffer("relative_position_index", shape, Init.of("table"), "int64", persistent=self.persistent)


@operation
class RelativePositionBias(_Window):
    """A learned bias for each head and each offset between two places of a window, as in Swin.

    The window has any number of axes (Swin has 2, Video Swin 3); its N places count row by row.  The output is
    (num_heads, N, N).  ``class_token`` puts one more place in front, with three rows of the table of its own, as in
    BEiT.
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

    num_heads: Size = attr("attention heads")

    def infer(self, ctx: Context) -> TensorType:
        return TensorType((self.num_heads, self.places, self.places), ctx.dtype)

    def params(self, ctx: Context) -> Sequence[Param]:
        init = Init.of("truncated_normal", mean=0.0, std=0.02, a=-2.0, b=2.0)
        return (Param("relative_position_bias_table", (self.rows, self.num_heads), init, ctx.dtype), self.index())


@operation
class RelativePositionLookup(_Window):
    """relative_position_bias from a table that is computed, and not learned itself: Swin V2's.

    The table has a row for each offset, the last axis of each row being the heads.
    """

    name = "relative_position_lookup"
    reference = "Liu et al. 2021, arXiv:2111.09883, section 3.3; torchvision ShiftedWindowAttentionV2"
    inputs = ports("table")
    shape_rule = "(Π(2·w − 1), num_heads) → (num_heads, N, N), N = product of window_size (+ 1 with class_token)"
    param_rule = "buffer relative_position_index N²"
    example = Example(((15, 4),), {"window_size": [2, 3]})

    def infer(self, ctx: Context, table: TensorType) -> TensorType:
        if table.rank != 2 or table.shape[0] != self.rows:
            raise RuleError(f"{self.name} takes a table of {self.rows} rows, and this one is {table}")
        return table.with_shape(table.shape[1], self.places, self.places)

    def params(self, ctx: Context, table: TensorType) -> Sequence[Param]:
        return (self.index(),)


@operation
class RelativeCoordinates(_Table):
    """The offsets between two places of a window, on a logarithmic scale: what Swin V2 computes its bias from.

    An offset d along an axis of w places is 8·d/(w − 1), between −8 and 8, and of that sign·log₂(1 + |·|)/3.  With
    ``pretrained_window_size`` w is what it was in an earlier training, so that a larger window goes on from there.
    """

    name = "relative_coordinates"
    view = True
    reference = "Liu et al. 2021, arXiv:2111.09883, section 3.3; torchvision ShiftedWindowAttentionV2"
    inputs = ()
    shape_rule = "→ (1, 2·w₁ − 1, 2·w₂ − 1, …, axes)"
    param_rule = "buffer relative_coords_table"
    example = Example((), {"window_size": [2, 3]})

    window_size: Sizes = attr("places along each axis of the window", min_length=1)
    pretrained_window_size: Sizes | None = attr("those of an earlier training, at least 2", default=None)
    persistent: bool = attr("keep the table in checkpoints, as torchvision does", default=True)

    def infer(self, ctx: Context) -> TensorType:
        axes, earlier = len(self.window_size), self.pretrained_window_size
        if earlier is not None and len(earlier) != axes:
            raise RuleError(f"{self.name}: the window has {axes} axes, and the earlier one {len(earlier)}")
        if earlier is not None and any(side < 2 for side in earlier):
            raise RuleError(f"{self.name}: a window of one place along an axis has learned no offsets along it")
        return TensorType((1, *(2 * side - 1 for side in self.window_size), axes), ctx.dtype)

    def params(self, ctx: Context) -> Sequence[Param]:
        shape = self.infer(ctx).shape
        return (Buffer("relative_coords_table", shape, Init.of("table"), ctx.dtype, persistent=self.persistent),)


class _Bias(_Table):
    num_heads: Size = attr("attention heads")


class _Distance(_Bias):
    """A bias by the distance of query and key; the lengths are those of (…, length, features)."""

    inputs = ports("query", "key?")

    alignment: Literal["upper_left", "lower_right"] = attr(
        "query i stands at key i, or the last query at the last key (keys from a cache)", default="upper_left"
    )

    def lengths(self, query: TensorType, key: TensorType | None) -> tuple[Dim, Dim]:
        """How many queries and keys there are; without ``key`` the queries are the keys."""
        require_float(query, self.name)
        key = query if key is None else key
        if query.rank < 2 or key.rank < 2:
            raise RuleError(f"{self.name} takes (…, length, features), and these are {query} and {key}")
        return query.shape[-2], key.shape[-2]


@operation
class T5PositionBias(_Distance):
    """A learned bias for each head and each bucket of distances: exact at first, then in logarithmic steps.

    The output is (1, num_heads, queries, keys).  Half of the buckets is for keys after the query if
    ``bidirectional`` (an encoder); otherwise all are for keys before it (a decoder).
    """

    name = "t5_position_bias"
    reference = "Raffel et al. 2019, arXiv:1910.10683, section 2.1; transformers T5Attention"
    shape_rule = "(…, L, _), (…, S, _) → (1, num_heads, L, S)"
    param_rule = "weight num_buckets·num_heads"
    example = Example(((1, 5, 8),), {"num_heads": 2})

    num_buckets: int = attr("rows of the table", default=32, ge=2)
    max_distance: int = attr("distance from which on all share the last bucket", default=128, ge=2)
    bidirectional: bool = attr("tell keys after the query from keys before it", default=True)

    @property
    def exact(self) -> int:
        """How many distances on a side have a bucket each."""
        return self.num_buckets // (4 if self.bidirectional else 2)

    @model_validator(mode="after")
    def _enough_buckets(self) -> Self:
        if not 1 <= self.exact < self.max_distance:
            raise ValueError(
                f"{self.num_buckets} buckets keep {self.exact} exact distances; "
                f"takes at least 1, and fewer than max_distance"
            )
        return self

    def infer(self, ctx: Context, query: TensorType, key: TensorType | None = None) -> TensorType:
        return query.with_shape(1, self.num_heads, *self.lengths(query, key))

    def params(self, ctx: Context, query: TensorType, key: TensorType | None = None) -> Sequence[Param]:
        return (Param("weight", (self.num_buckets, self.num_heads), Init.of("normal", mean=0.0, std=1.0)),)


@operation
class AlibiBias(_Distance):
    """A fixed slope for each head times the distance of query and key: −slope·|i − j|.

    The output is (num_heads, queries, keys).  Without ``per_query`` it is slope·j, of (num_heads, 1, keys), as in
    BLOOM: under a causal mask the softmax cannot tell the two apart.  Slopes are 2^(−max_bias·h/num_heads); for
    head counts between powers of two, those of the power below, then every other one of the power above.
    """

    name = "alibi_bias"
    reference = "Press et al. 2021, arXiv:2108.12409; transformers build_alibi_tensor"
    shape_rule = "(…, L, _), (…, S, _) → (num_heads, L, S), or (num_heads, 1, S)"
    example = Example(((1, 5, 8),), {"num_heads": 2})

    max_bias: float = attr("exponent of the last slope", default=8.0, gt=0)
    per_query: bool = attr("distances from each query; otherwise the keys' own positions", default=True)

    def infer(self, ctx: Context, query: TensorType, key: TensorType | None = None) -> TensorType:
        queries, keys = self.lengths(query, key)
        return query.with_shape(self.num_heads, queries if self.per_query else 1, keys)
