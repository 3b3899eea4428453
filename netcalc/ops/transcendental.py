"""Further exponential, trigonometric, hyperbolic and error functions of each element."""

from netcalc.dtypes import FLOATS, DType
from netcalc.opdef import Example
from netcalc.ops import operation
from netcalc.ops.arithmetic import Pair
from netcalc.ops.elementwise import FloatFunction


@operation
class Expm1(FloatFunction):
    """eˣ − 1, precise for small x."""

    name = "expm1"


@operation
class Exp2(FloatFunction):
    """2ˣ."""

    name = "exp2"


@operation
class Log1p(FloatFunction):
    """ln(1 + x), precise for small x."""

    name = "log1p"
    partial = True


@operation
class Log2(FloatFunction):
    """The logarithm to base 2."""

    name = "log2"
    partial = True


@operation
class Log10(FloatFunction):
    """The logarithm to base 10."""

    name = "log10"
    partial = True


@operation
class Tan(FloatFunction):
    """The tangent."""

    name = "tan"


@operation
class Asin(FloatFunction):
    """The inverse sine, between −π/2 and π/2; NaN beyond −1 and 1."""

    name = "asin"
    partial = True


@operation
class Acos(FloatFunction):
    """The inverse cosine, between 0 and π; NaN beyond −1 and 1."""

    name = "acos"
    partial = True


@operation
class Atan(FloatFunction):
    """The inverse tangent, between −π/2 and π/2."""

    name = "atan"


@operation
class Sinh(FloatFunction):
    """The hyperbolic sine, (eˣ − e⁻ˣ)/2."""

    name = "sinh"


@operation
class Cosh(FloatFunction):
    """The hyperbolic cosine, (eˣ + e⁻ˣ)/2."""

    name = "cosh"


@operation
class Asinh(FloatFunction):
    """The inverse hyperbolic sine, ln(x + √(x² + 1))."""

    name = "asinh"


@operation
class Acosh(FloatFunction):
    """The inverse hyperbolic cosine, ln(x + √(x² − 1)); NaN below 1."""

    name = "acosh"
    partial = True
    usage = ("x: {shape: [32, 256], range: [1, 10]}", "- acosh")


@operation
class Atanh(FloatFunction):
    """The inverse hyperbolic tangent, ½·ln((1 + x)/(1 − x)); NaN beyond −1 and 1."""

    name = "atanh"
    partial = True


@operation
class Erf(FloatFunction):
    """The error function, 2/√π·∫ exp(−t²) from 0 to x."""

    name = "erf"


@operation
class Erfc(FloatFunction):
    """1 − erf(x), precise for large x."""

    name = "erfc"


@operation
class Erfinv(FloatFunction):
    """The inverse of the error function; NaN beyond −1 and 1."""

    name = "erfinv"
    partial = True


@operation
class Atan2(Pair):
    """The angle of the point (other, input) in the plane, between −π and π; for integers it is float32.

    It is atan(input / other) where other is positive.
    """

    name = "atan2"
    combines = True
    example = Example(((2, 3), (3,)))
    usage = ("y: [32, 256]", "x: [32, 256]", "- {from: [y, x], atan2: {}}")
    kind = "transcendental"

    def result(self, dtype: DType) -> DType:
        return dtype if dtype in FLOATS else "float32"
