"""Elementwise functions of one tensor."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from netcalc.dtypes import INEXACT, DType, real_of, result_type
from netcalc.models import model_validator
from netcalc.opdef import Context, Example, Operation, Reach, RuleError, Term, aligned, attr
from netcalc.ops import operation
from netcalc.ops._elementwise import COMPLEX_EXP, COMPLEX_LOG, Elementwise
from netcalc.ops.arithmetic import Number, require_held
from netcalc.tensor_type import TensorType


class Function(Elementwise):
    """Base of functions of each element that also take integers."""

    example = Example(((2, 3),))
    usage = ("x: [32, 256]", "- $op")
    #: True if integers become float32.
    to_float: ClassVar[bool] = False
    takes_bool: ClassVar[bool] = True

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if x.dtype == "bool" and not self.takes_bool:
            raise RuleError(f"{self.name} takes numbers, and its input is bool", code="E402")
        return x.with_dtype("float32") if self.to_float and x.dtype not in INEXACT else x


class FloatFunction(Function):
    """Base of functions with fractional values: integers and bools become float32."""

    work = {"transcendental": 1}
    to_float = True
    usage = ("x: {shape: [32, 256], range: [0.1, 0.9]}", "- $op")


@operation
class Exp(FloatFunction):
    """eˣ."""

    name = "exp"
    complex_work = COMPLEX_EXP


@operation
class Log(FloatFunction):
    """The natural logarithm; of complex numbers the one with an imaginary part between −π and π."""

    name = "log"
    partial = True
    complex_work = COMPLEX_LOG


@operation
class Sqrt(FloatFunction):
    """The square root; of complex numbers the one with a real part that is not negative."""

    name = "sqrt"
    partial = True
    # |z|, then √((|z| + a)/2) and b over twice that
    complex_work = {"mul": 4, "add": 2, "transcendental": 2, "div": 1}


@operation
class Rsqrt(FloatFunction):
    """1/√x, as a square root and a division."""

    name = "rsqrt"
    partial = True
    work = {"transcendental": 1, "div": 1}


@operation
class Reciprocal(FloatFunction):
    """1/x."""

    name = "reciprocal"
    work = {"div": 1}
    complex_work = {"mul": 2, "add": 2, "div": 2}


@operation
class Sin(FloatFunction):
    """The sine."""

    name = "sin"
    complex_work = {"transcendental": 4, "mul": 2}


@operation
class Cos(FloatFunction):
    """The cosine."""

    name = "cos"
    complex_work = {"transcendental": 4, "mul": 2, "add": 1}


@operation
class Square(Function):
    """x²; the square of a bool is an int64."""

    name = "square"
    work = {"mul": 1}
    complex_work = {"mul": 4, "add": 2}

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return x.with_dtype("int64") if x.dtype == "bool" else x


@operation
class Abs(Function):
    """|x|; of complex numbers √(a² + b²), a real number."""

    name = "abs"
    work = {"compare": 1}
    complex_work = {"mul": 2, "add": 1, "transcendental": 1}
    takes_bool = False

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return super().infer(ctx, x).with_dtype(real_of(x.dtype))


@operation
class Neg(Function):
    """−x."""

    name = "neg"
    work = {"add": 1}
    complex_work = {"add": 2}
    takes_bool = False


@operation
class Sign(Function):
    """−1 for negative elements, 0 for zero and NaN, 1 for positive elements."""

    name = "sign"
    work = {"compare": 1}


@operation
class Clamp(Function):
    """The elements limited to the range from ``min`` to ``max``; if min > max, every element becomes max.

    An integer tensor becomes float32 if a bound is not a whole number.
    """

    name = "clamp"
    cost_rule = "1 comparison per element for each bound"
    example = Example(((2, 3),), {"min": 0.0, "max": 6.0})
    usage = ("x: [32, 256]", "- clamp: {min: 0.0, max: 6.0}")

    min: Number | None = attr("lower bound", default=None)
    max: Number | None = attr("upper bound", default=None)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if not self.bounds():
            raise ValueError("clamp needs min, max or both")
        return self

    def bounds(self) -> tuple[Any, ...]:
        """Return the bounds that are set."""
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
    """The same elements in another type: integers drop the fraction, and nonzero values become true.

    Real types drop the imaginary part of complex numbers.
    """

    name = "cast"
    takes_empty = True
    takes_complex = True
    kernel_suffices = "changes the type of a tensor: a single NumPy call"
    reference = "torch.Tensor.to"
    shorthand = "dtype"
    shape_rule = "unchanged"
    cost_rule = "none: data moves"
    example = Example(((2, 3),), {"dtype": "float16"})
    usage = ("x: [32, 256]", "- cast: float16")

    dtype: DType = attr("element type of the result")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return x.with_dtype(self.dtype)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [aligned(x, output) for x in inputs]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()
