"""Positions as a bias of the attention scores, for ``attn_mask``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import model_validator

from netcalc.dims import Dim, product
from netcalc.ir import TensorType
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
    operation,
    ports,
    require_float,
)
from netcalc.ops.lists import Sizes


class _Bias(Operation):
    """A bias that only sizes and parameters decide: looking it up, or scaling fixed distances, is no work."""

    cost_rule = "none: looked up in a table; adding it is attention's work"

    num_heads: Size = attr("attention heads")

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


@operation
class RelativePositionBias(_Bias):
    """A learned bias for each head and each offset between two places of a window, as in Swin.

    The window has any number of axes (Swin has 2, Video Swin 3); its N places count row by row.  The output is
    (num_heads, N, N).  ``class_token`` puts one more place in front, with three rows of the table of its own, as in
    BEiT.
    """

    name = "relative_position_bias"
    source = "Liu et al. 2021, arXiv:2103.14030; torchvision.models.swin_transformer"
    inputs = ()
    shape_rule = "→ (num_heads, N, N), N = product of window_size (+ 1 with class_token)"
    param_rule = (
        "relative_position_bias_table Π(2·w − 1)·num_heads (3 rows more with class_token), "
        "buffer relative_position_index N²"
    )
    example = Example((), {"window_size": [2, 3], "num_heads": 4})

    window_size: Sizes = attr("places along each axis of the window", min_length=1)
    class_token: bool = attr("one more place, in front of the window", default=False)
    persistent: bool = attr("keep the index in checkpoints, as torchvision does", default=True)

    def infer(self, ctx: Context) -> TensorType:
        places = self._places()
        return TensorType((self.num_heads, places, places), ctx.dtype)

    def params(self, ctx: Context) -> Sequence[Param]:
        rows = product(2 * side - 1 for side in self.window_size) + 3 * self.class_token
        init = Init.of("truncated_normal", mean=0.0, std=0.02, a=-2.0, b=2.0)
        places = self._places()
        return (
            Param("relative_position_bias_table", (rows, self.num_heads), init, ctx.dtype),
            Buffer(
                "relative_position_index", (places * places,), Init.of("table"), "int64", persistent=self.persistent
            ),
        )

    def _places(self) -> Dim:
        return product(self.window_size) + int(self.class_token)


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
    source = "Raffel et al. 2019, arXiv:1910.10683, section 2.1; transformers T5Attention"
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
    def _enough_buckets(self) -> T5PositionBias:
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
    source = "Press et al. 2021, arXiv:2108.12409; transformers build_alibi_tensor"
    shape_rule = "(…, L, _), (…, S, _) → (num_heads, L, S), or (num_heads, 1, S)"
    example = Example(((1, 5, 8),), {"num_heads": 2})

    max_bias: float = attr("exponent of the last slope", default=8.0, gt=0)
    per_query: bool = attr("distances from each query; otherwise the keys' own positions", default=True)

    def infer(self, ctx: Context, query: TensorType, key: TensorType | None = None) -> TensorType:
        queries, keys = self.lengths(query, key)
        return query.with_shape(self.num_heads, queries if self.per_query else 1, keys)
