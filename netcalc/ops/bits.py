"""Operations on the bits of integers, which of bools are logic, and the bits of any elements as another type."""

from collections.abc import Sequence

from netcalc.dtypes import FLOATS, INTEGERS, ITEMSIZE, DType
from netcalc.opdef import Context, Example, Operation, RuleError, Term, attr
from netcalc.ops import operation
from netcalc.ops.arithmetic import Pair, Variadic
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


class _Shift(Pair):
    """Base of shifts of the bits of integers by other integers."""

    kernel_suffices = _WHOLE
    usage = ("codes: {shape: [32, 16], dtype: int64, range: [0, 256]}", "- $op: 2")

    def result(self, dtype: DType) -> DType:
        if dtype not in INTEGERS:
            raise RuleError(f"{self.name} takes integers, and this is {dtype}", code="E402")
        return dtype


@operation
class BitwiseLeftShift(_Shift):
    """The bits moved to the left: 5 by 2 gives 20.

    Bits that leave the type are lost, so that a shift by its width or more, or a negative one, gives 0.
    """

    name = "bitwise_left_shift"
    example = Example((TensorType((2, 3), "int64"),), {"value": 2})


@operation
class BitwiseRightShift(_Shift):
    """The bits moved to the right: 20 by 2 gives 5, and −5 by 1 gives −3.

    Copies of the sign move in, so that a shift by the width of the type or more, or a negative one, gives 0 or −1.
    """

    name = "bitwise_right_shift"
    example = Example((TensorType((2, 3), "int64"),), {"value": 2})


@operation
class Bitcast(Operation):
    """The same bits as elements of another type of the same size: 1.0 gives 1065353216 as int32."""

    name = "bitcast"
    takes_empty = True
    takes_complex = True
    view = True
    reference = "torch.Tensor.view"
    shorthand = "dtype"
    shape_rule = "unchanged"
    cost_rule = "none: data moves"
    example = Example(((2, 3),), {"dtype": "int32"})
    usage = ("x: [32, 256]", "- bitcast: int32")

    dtype: DType = attr("element type of the result")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if ITEMSIZE[x.dtype] != ITEMSIZE[self.dtype]:
            sizes = f"{8 * ITEMSIZE[x.dtype]} bits, and {self.dtype} has {8 * ITEMSIZE[self.dtype]}"
            raise RuleError(f"bitcast: an element of {x.dtype} has {sizes}", code="E402")
        if self.dtype == "bool" != x.dtype:
            raise RuleError(f"bitcast: not all bits of {x.dtype} are truth values", code="E402")
        return x.with_dtype(self.dtype)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()
