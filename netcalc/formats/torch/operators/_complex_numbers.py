"""Complex tensors, as pairs of real ones: rotations by positions, and Fourier transforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import DType
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import Rule, operator
from netcalc.formats.torch.operators._elementwise import combined
from netcalc.formats.torch.operators._operands import cast, constant_value


@dataclass(frozen=True)
class Complex:
    """A complex tensor: its two parts, or the result of a Fourier transform, whose imaginary part is None."""

    real: Value
    imag: Value | None

    @property
    def parts(self) -> tuple[Value, Value]:
        """The real and the imaginary part; RuleError if the latter is not known."""
        if self.imag is None:
            raise RuleError("the imaginary part of a Fourier transform cannot be expressed")
        return self.real, self.imag


#: Types of the parts of complex numbers.
PARTS: dict[str, DType] = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}

#: Operators that move elements, and act on the parts separately.
_PARTWISE = frozenset(
    [
        *("view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "transpose", "permute", "movedim", "t"),
        *("expand", "expand_as", "repeat", "repeat_interleave", "slice", "select", "narrow", "index", "index_select"),
        *("cat", "concat", "stack", "clone", "contiguous", "alias", "detach", "roll", "flip", "neg", "sum", "mean"),
    ]
)


def rule_for(overload: str, rule: Rule, arguments: Mapping[str, Any]) -> Rule:
    """Return the rule of an operator, or what stands for it where one of its arguments is complex."""
    if not any(_is_complex(value) for value in arguments.values()):
        return rule
    name = overload.split(".")[1].rstrip("_")
    if name == "_assert_tensor_metadata":
        return rule
    complex_rule = _RULES.get(name)
    if complex_rule is not None:
        return complex_rule
    if name not in _PARTWISE:
        raise RuleError("there is no such operation on complex numbers")

    def by_parts(build: Builder, **arguments: Any) -> Complex:
        real, imag = (rule(build, **{key: _side(value, index) for key, value in arguments.items()}) for index in (0, 1))
        return Complex(real, imag)

    return by_parts


def _is_complex(value: Any) -> bool:
    return any(map(_is_complex, value)) if isinstance(value, list) else isinstance(value, (Complex, complex))


def _side(value: Any, index: int) -> Any:
    if isinstance(value, list):
        return [_side(item, index) for item in value]
    return value.parts[index] if isinstance(value, Complex) else value


@operator("aten.view_as_complex.default", "aten.view_as_complex_copy.default")
def view_as_complex(build: Builder, input: Value) -> Complex:
    real, imag = (build.line("select", [input], {"axis": -1, "index": index}) for index in (0, 1))
    return Complex(real, imag)


@operator("aten.complex.default")
def complex_of(build: Builder, real: Value, imag: Value) -> Complex:
    return Complex(real, imag)


@operator("aten.polar.default")
def polar(build: Builder, abs: Value, angle: Value) -> Complex:
    real, imag = (_scaled(build, build.line(function, [angle]), abs) for function in ("cos", "sin"))
    return Complex(real, imag)


def _scaled(build: Builder, value: Value, factor: Value) -> Value:
    """Return a product with a tensor, which is often one of ones."""
    return value if constant_value(build, factor) == 1 else build.line("mul", [value, factor])


def _real(build: Builder, input: Complex) -> Value:
    return input.real


@operator("aten.imag.default")
def imag(build: Builder, input: Complex) -> Value:
    return input.parts[1]


@operator("aten.view_as_real.default", "aten.view_as_real_copy.default")
def view_as_real(build: Builder, input: Complex) -> Value:
    return build.line("stack", input.parts, {"axis": -1})


def _abs(build: Builder, input: Complex) -> Value:
    squares = [build.line("square", [part]) for part in input.parts]
    return build.line("sqrt", [build.line("add", squares)])


@operator("aten._conj.default")
def conjugate(build: Builder, input: Complex) -> Complex:
    real, imag = input.parts
    return Complex(real, build.line("neg", [imag]))


def _product(build: Builder, input: Any, other: Any) -> Complex:
    if isinstance(other, complex):
        return _times_number(build, input, other)
    if not isinstance(input, Complex) or not isinstance(other, Complex):
        factor, (real, imag) = (other, input.parts) if isinstance(input, Complex) else (input, other.parts)
        return Complex(combined(build, "mul", real, factor), combined(build, "mul", imag, factor))
    (a, b), (c, d) = input.parts, other.parts
    products = {pair: build.line("mul", pair) for pair in ((a, c), (b, d), (a, d), (b, c))}
    return Complex(
        build.line("sub", [products[a, c], products[b, d]]), build.line("add", [products[a, d], products[b, c]])
    )


def _times_number(build: Builder, input: Any, number: complex) -> Complex:
    """Return the product with a complex number."""
    if not isinstance(input, Complex):
        return Complex(*(combined(build, "mul", input, part) for part in (number.real, number.imag)))
    (ac, ad), (bc, bd) = (_times_number(build, part, number).parts for part in input.parts)
    return Complex(build.line("sub", [ac, bd]), build.line("add", [ad, bc]))


def _exponential(build: Builder, input: Complex) -> Complex:
    real, imag = input.parts
    size = build.line("exp", [real])
    cosine, sine = (build.line(function, [imag]) for function in ("cos", "sin"))
    return Complex(build.line("mul", [size, cosine]), build.line("mul", [size, sine]))


@operator("aten.angle.default")
def angle(build: Builder, input: Complex | Value) -> Value:
    if isinstance(input, Value):
        raise RuleError("angles of real numbers are not expressible")
    real, imag = input.parts
    return build.line("atan2", [imag, real])


def _difference(build: Builder, input: Any, other: Any, alpha: Any) -> Complex:
    if alpha != 1 or not isinstance(input, Complex) or not isinstance(other, Complex):
        raise RuleError("complex numbers are subtracted from complex numbers only")
    real, imag = (build.line("sub", pair) for pair in zip(input.parts, other.parts, strict=True))
    return Complex(real, imag)


def _sum(build: Builder, input: Any, other: Any, alpha: Any) -> Complex:
    if alpha != 1 or not isinstance(input, Complex) or not isinstance(other, Complex):
        raise RuleError("complex numbers are added to complex numbers only")
    real, imag = (build.line("add", pair) for pair in zip(input.parts, other.parts, strict=True))
    return Complex(real, imag)


def _converted(build: Builder, input: Complex, **arguments: Any) -> Any:
    dtype = str(arguments.get("dtype")).removeprefix("torch.")
    if dtype in ("None", "complex64", "complex128"):
        real, imag = (cast(build, part, "float64" if dtype == "complex128" else None) for part in input.parts)
        return Complex(real, imag)
    raise RuleError("complex numbers as real ones cannot be expressed")


#: Rules by the names of their operators, for complex arguments.
_RULES: dict[str, Rule] = {
    "real": _real,
    "imag": imag,
    "view_as_real": view_as_real,
    "view_as_real_copy": view_as_real,
    "abs": _abs,
    "conj": conjugate,
    "_conj": conjugate,
    "conj_physical": conjugate,
    "mul": _product,
    "add": _sum,
    "sub": _difference,
    "exp": _exponential,
    "angle": angle,
    "to": _converted,
}
