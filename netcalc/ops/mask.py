"""Triangular parts of a tensor, and causal attention masks."""

from typing import Literal

from netcalc.dtypes import FLOATS, DType
from netcalc.opdef import Context, Example, RuleError, Size, attr
from netcalc.ops import operation
from netcalc.ops._lists import Whole
from netcalc.ops._movement import Movement
from netcalc.tensor_type import TensorType


class _Triangle(Movement):
    kernel_suffices = "selects elements by a mask: a single NumPy call"
    shorthand = "diagonal"
    shape_rule = "unchanged"
    example = Example(((4, 5),), {"diagonal": 1})
    usage = ("scores: [1, 8, 128, 128]", "- $op")

    diagonal: Whole = attr(
        "diagonal that bounds the triangle: 0 is the main one, 1 the one above, -1 the one below", default=0
    )

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if x.rank < 2:
            raise RuleError(f"{self.name} takes an input of at least 2 dimensions, and this input is {x}")
        return x


@operation
class Tril(_Triangle):
    """The lower triangle of the last two axes, up to and including a diagonal; zeros elsewhere."""

    name = "tril"
    reference = "torch.tril"


@operation
class Triu(_Triangle):
    """The upper triangle of the last two axes, from a diagonal on; zeros elsewhere."""

    name = "triu"
    reference = "torch.triu"


@operation
class CausalMask(Movement):
    """The attention mask that hides the keys after each query: true where a query may attend.

    A floating-point ``dtype`` gives a mask of 0 and −∞ that is added to the scores.  With ``alignment: upper_left``
    query i has the position of key i; with ``lower_right``, for keys from a cache, the last query has the position of
    the last key.  With ``window`` a query sees at most that many keys before its position.

    scaled_dot_product_attention has these as attributes; the mask is for attention built from other operations.
    """

    name = "causal_mask"
    kernel_suffices = "built from sizes: little work, done once if no input is involved"
    reference = "torch.nn.attention.bias; Transformer.generate_square_subsequent_mask"
    inputs = ()
    shorthand = "queries"
    shape_rule = "→ (queries, keys)"
    example = Example((), {"queries": 4})
    usage = (
        "query: [1, 8, 128, 64]",
        "- {name: mask, causal_mask: 128}",
        "- {from: {query: query, attn_mask: mask}, scaled_dot_product_attention: {}}",
    )

    queries: Size = attr("number of queries")
    keys: Size | None = attr("number of keys; by default the number of queries", default=None)
    alignment: Literal["upper_left", "lower_right"] = attr(
        "corner of the matrix where query and key positions agree", default="upper_left"
    )
    window: int | None = attr("number of earlier keys that a query sees; null is all", default=None, ge=0)
    dtype: DType = attr("bool, or the floating-point type of an additive mask", default="bool")

    def infer(self, ctx: Context) -> TensorType:
        if self.dtype != "bool" and self.dtype not in FLOATS:
            raise RuleError(f"a causal mask is bool or floating point, and this is {self.dtype}", code="E402")
        return TensorType((self.queries, self.queries if self.keys is None else self.keys), self.dtype)
