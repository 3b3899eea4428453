"""Triangles: of a tensor, and as attention masks."""

from typing import Literal

from netcalc.dtypes import FLOATS, DType
from netcalc.opdef import Context, Example, RuleError, Size, attr
from netcalc.ops import operation
from netcalc.ops._lists import Whole
from netcalc.ops._movement import Movement
from netcalc.tensor_type import TensorType


class _Triangle(Movement):
    shorthand = "diagonal"
    shape_rule = "unchanged"
    example = Example(((4, 5),), {"diagonal": 1})

    diagonal: Whole = attr("the diagonal where the triangle ends: 0 the main one, 1 above it, -1 below", default=0)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if x.rank < 2:
            raise RuleError(f"{self.name} takes matrices, at least 2 dimensions, and this input is {x}")
        return x


@operation
class Tril(_Triangle):
    """The lower triangle of the last two axes, up to a diagonal; zeros elsewhere."""

    name = "tril"
    reference = "torch.tril"


@operation
class Triu(_Triangle):
    """The upper triangle of the last two axes, from a diagonal on; zeros elsewhere."""

    name = "triu"
    reference = "torch.triu"


@operation
class CausalMask(Movement):
    """The mask of queries that see no key after them: true where a query may attend.

    A floating-point ``dtype`` gives a mask that is added to the scores, of 0 and −∞.  Query i stands at key i
    (``alignment: upper_left``), or the last query at the last key (``lower_right``, for keys from a cache).  With
    ``window`` a query sees only that many keys before its own.

    scaled_dot_product_attention has all of this as attributes; the mask is for what is made of other operations.
    """

    name = "causal_mask"
    reference = "torch.nn.attention.bias; Transformer.generate_square_subsequent_mask"
    inputs = ()
    shorthand = "queries"
    shape_rule = "→ (queries, keys)"
    example = Example((), {"queries": 4})

    queries: Size = attr("how many queries")
    keys: Size | None = attr("how many keys; as many as queries unless given", default=None)
    alignment: Literal["upper_left", "lower_right"] = attr(
        "which corner of the matrix the diagonal starts from", default="upper_left"
    )
    window: int | None = attr("how many keys before its own a query sees; null: all", default=None, ge=0)
    dtype: DType = attr("bool, or the floating-point type of a mask that is added", default="bool")

    def infer(self, ctx: Context) -> TensorType:
        if self.dtype != "bool" and self.dtype not in FLOATS:
            raise RuleError(f"a causal mask is boolean or of floating point, and not {self.dtype}", code="E402")
        return TensorType((self.queries, self.queries if self.keys is None else self.keys), self.dtype)
