"""Operations on the bits of integers, which of bools are logic."""

from collections.abc import Sequence

from netcalc.dtypes import FLOATS, DType
from netcalc.opdef import Context, Example, Operation, RuleError, Term
from netcalc.ops import operation
from netcalc.ops.arithmetic import Variadic
from netcalc.tensor_type import TensorType

#: Reason for running them by their kernels.
_WHOLE = "of integers: tiles hold floating-point numbers"


def _require_whole(name: str, dtype: DType) -> None:
    if dtype in FLOATS:
        raise RuleError(f"{name} takes integers or bools, and this is {dtype}", code="E402")


class _Bitwise(Variadic):
    """Base of operations on the bits of several integers."""

    kernel_suffices = _WHOLE
    combines = False
    example = Example((TensorType((2, 3), "int64"),), {"value": 6})
    usage = ("codes: {shape: [32, 16], dtype: int64, range: [0, 256]}", "- $op: 15")

    def result(self, dtype: DType) -> DType:
        _require_whole(self.name, dtype)
        return dtype


@operation
class BitwiseAnd(_Bitwise):
    """The bits that are set in all operands: 6 and 3 give 2."""

    name = "bitwise_and"


@operation
class BitwiseOr(_Bitwise):
    """The bits that are set in an operand: 6 and 3 give 7."""

    name = "bitwise_or"


@operation
class BitwiseXor(_Bitwise):
    """The bits that are set in one operand of two: 6 and 3 give 5."""

    name = "bitwise_xor"


@operation
class BitwiseNot(Operation):
    """Every bit inverted: 6 gives −7 in a signed type."""

    name = "bitwise_not"
    takes_empty = True
    kernel_suffices = _WHOLE
    reference = "torch.bitwise_not"
    shape_rule = "unchanged"
    cost_rule = "1 comparison per element"
    example = Example((TensorType((2, 3), "int64"),))
    usage = ("codes: {shape: [32, 16], dtype: int64, range: [0, 256]}", "- bitwise_not")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        _require_whole(self.name, x.dtype)
        return x

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", self.name, elements=outputs[0].elements),)
