"""Rounding to whole numbers, and remainders of division."""

from collections.abc import Sequence

from netcalc.dtypes import DType
from netcalc.opdef import Context, Example, RuleError, Term
from netcalc.ops import operation
from netcalc.ops.arithmetic import Pair
from netcalc.ops.elementwise import Function
from netcalc.tensor_type import TensorType


class _Rounding(Function):
    """Base of functions that round; integers stay as they are."""

    cost_rule = "1 add per element; none for integers"
    takes_bool = False
    usage = ("x: [32, 256]", "- $op")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        return (Term.of("add", self.name, elements=x.elements),) if x.is_float else ()


@operation
class Floor(_Rounding):
    """The largest whole number that is not above x."""

    name = "floor"


@operation
class Ceil(_Rounding):
    """The smallest whole number that is not below x."""

    name = "ceil"


@operation
class Round(_Rounding):
    """The nearest whole number; halves become the even one."""

    name = "round"


@operation
class Trunc(_Rounding):
    """x without its fraction: rounded towards zero."""

    name = "trunc"


class _Remainder(Pair):
    """Base of remainders."""

    combines = True
    example = Example(((2, 3),), {"value": 0.5})
    usage = ("angle: [32, 256]", "- $op: 6.2832")
    kind = "div"

    def result(self, dtype: DType) -> DType:
        if dtype == "bool":
            raise RuleError(f"{self.name} takes numbers, and its operands are bool", code="E402")
        return dtype


@operation
class Remainder(_Remainder):
    """input − other·⌊input / other⌋: the remainder with the sign of the divisor, as % in Python."""

    name = "remainder"


@operation
class Fmod(_Remainder):
    """input − other·trunc(input / other): the remainder with the sign of the dividend, as fmod in C."""

    name = "fmod"
