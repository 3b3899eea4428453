"""Functions of one tensor, element by element."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from pydantic import model_validator

from netcalc.dtypes import DType, result_type
from netcalc.opdef import Context, Example, Kind, Operation, RuleError, Term, attr
from netcalc.ops import operation
from netcalc.ops.arithmetic import Number, require_held
from netcalc.tensor_type import TensorType


class _Function(Operation):
    """A function of each element: the shape stays, and each element costs ``kinds``."""

    elementwise = True
    shape_rule = "as the input"
    cost_rule = "one an element"
    example = Example(((2, 3),))
    kinds: ClassVar[tuple[Kind, ...]]
    #: Whether whole numbers become float32, and whether bools are taken.
    to_float: ClassVar[bool] = False
    takes_bool: ClassVar[bool] = True

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if x.dtype == "bool" and not self.takes_bool:
            raise RuleError(f"{self.name} takes numbers, and its input is bool", code="E402")
        return x.with_dtype("float32") if self.to_float and not x.is_float else x

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return tuple(Term.of(kind, self.name, elements=outputs[0].elements) for kind in self.kinds)


class _FloatFunction(_Function):
    """A function whose values are no whole numbers: int and bool tensors become float32."""

    kinds: ClassVar[tuple[Kind, ...]] = ("transcendental",)
    to_float = True


@operation
class Exp(_FloatFunction):
    """eˣ."""

    name = "exp"
    reference = "torch.exp"


@operation
class Log(_FloatFunction):
    """The natural logarithm."""

    name = "log"
    reference = "torch.log"


@operation
class Sqrt(_FloatFunction):
    """The square root."""

    name = "sqrt"
    reference = "torch.sqrt"


@operation
class Rsqrt(_FloatFunction):
    """1/√x: a root and a division."""

    name = "rsqrt"
    reference = "torch.rsqrt"
    cost_rule = "one root and one division an element"
    kinds = ("transcendental", "div")


@operation
class Reciprocal(_FloatFunction):
    """1/x."""

    name = "reciprocal"
    reference = "torch.reciprocal"
    kinds = ("div",)


@operation
class Sin(_FloatFunction):
    """The sine."""

    name = "sin"
    reference = "torch.sin"


@operation
class Cos(_FloatFunction):
    """The cosine."""

    name = "cos"
    reference = "torch.cos"


@operation
class Square(_Function):
    """x²; the square of a bool is an int64."""

    name = "square"
    reference = "torch.square"
    kinds = ("mul",)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return x.with_dtype("int64") if x.dtype == "bool" else x


@operation
class Abs(_Function):
    """|x|."""

    name = "abs"
    reference = "torch.abs"
    kinds = ("compare",)
    takes_bool = False


@operation
class Neg(_Function):
    """−x."""

    name = "neg"
    reference = "torch.neg"
    kinds = ("add",)
    takes_bool = False


@operation
class Sign(_Function):
    """−1, 0 or 1, as the element is negative, zero (or NaN) or positive."""

    name = "sign"
    reference = "torch.sign"
    kinds = ("compare",)


@operation
class Clamp(_Function):
    """The elements held between ``min`` and ``max``; where min > max, everything becomes max.

    Bounds that are no whole numbers make whole numbers float32, as in any arithmetic with them.
    """

    name = "clamp"
    reference = "torch.clamp"
    cost_rule = "one comparison an element for each bound"
    example = Example(((2, 3),), {"min": 0.0, "max": 6.0})

    min: Number | None = attr("the lower bound", default=None)
    max: Number | None = attr("the upper bound", default=None)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if not self.bounds():
            raise ValueError("clamp needs min, max or both")
        return self

    def bounds(self) -> tuple[Any, ...]:
        """The bounds that are given."""
        return tuple(bound for bound in (self.min, self.max) if bound is not None)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        dtype = result_type([(x.dtype, x.rank)], *self.bounds())
        for bound in self.bounds():
            require_held(bound, dtype, self.name)
        return x.with_dtype(dtype)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", "clamp", bounds=len(self.bounds()), elements=outputs[0].elements),)


@operation
class Cast(Operation):
    """The same elements in another type: floats lose their fraction, what is not zero becomes true."""

    name = "cast"
    reference = "torch.Tensor.to"
    shorthand = "dtype"
    shape_rule = "as the input"
    cost_rule = "none: data is copied"
    example = Example(((2, 3),), {"dtype": "float16"})

    dtype: DType = attr("the type of the elements")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return x.with_dtype(self.dtype)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()
