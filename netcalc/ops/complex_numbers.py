"""Complex numbers, their parts, and their polar form."""

from collections.abc import Sequence

from netcalc.dtypes import DType, complex_of, real_of
from netcalc.opdef import Context, Example, Operation, Reach, RuleError, Term, Window, aligned, ports
from netcalc.ops import operation
from netcalc.ops._broadcast import broadcast
from netcalc.ops._elementwise import Work, per, terms
from netcalc.ops._movement import Movement
from netcalc.tensor_type import TensorType

#: Inputs of examples.
_NUMBERS = TensorType((2, 3), "complex64")
_POLAR: Work = {"transcendental": 2, "mul": 2}
_DECLARED = "z: {shape: [32, 256], dtype: complex64}"


def _require_complex(x: TensorType, what: str) -> None:
    if not x.is_complex:
        raise RuleError(f"{what} takes complex numbers, and its input is {x.dtype}", code="E402")


class _Part(Movement):
    """Base of operations that take a part of each number, as a view."""

    takes_empty = True
    view = True
    shape_rule = "unchanged"
    example = Example((_NUMBERS,))
    usage = (_DECLARED, "- $op")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        _require_complex(x, self.name)
        return x.with_dtype(real_of(x.dtype))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [aligned(x, output) for x in inputs]


@operation
class Real(_Part):
    """The real parts of complex numbers."""

    name = "real"
    reference = "torch.real"


@operation
class Imag(_Part):
    """The imaginary parts of complex numbers."""

    name = "imag"
    reference = "torch.imag"


@operation
class ViewAsReal(Movement):
    """Complex numbers as pairs of their parts along a last axis of size 2."""

    name = "view_as_real"
    takes_empty = True
    view = True
    reference = "torch.view_as_real"
    shape_rule = "(…) → (…, 2)"
    example = Example((_NUMBERS,))
    usage = (_DECLARED, "- view_as_real")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        _require_complex(x, self.name)
        return TensorType((*x.shape, 2), real_of(x.dtype))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [tuple(Window(axis) for axis in range(x.rank)) for x in inputs]


@operation
class ViewAsComplex(Movement):
    """Pairs of real and imaginary parts along the last axis as complex numbers."""

    name = "view_as_complex"
    takes_empty = True
    view = True
    reference = "torch.view_as_complex"
    shape_rule = "(…, 2) → (…)"
    example = Example(((2, 3, 2),))
    usage = ("x: [32, 256, 2]", "- view_as_complex")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        _require_parts(x, self.name)
        if not x.rank or x.shape[-1] != 2:
            raise RuleError(f"view_as_complex takes pairs along the last axis, and its input is {x}")
        return TensorType(x.shape[:-1], complex_of(x.dtype))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [(*(Window(axis) for axis in range(output.rank)), "all") for _ in inputs]


def _require_parts(x: TensorType, what: str) -> None:
    """Raise RuleError (E402) unless numbers can be parts of complex ones."""
    if x.dtype not in ("float32", "float64"):
        raise RuleError(f"{what} takes numbers of float32 or float64, and these are {x.dtype}", code="E402")


class _OfTwo(Operation):
    """Base of operations that make complex numbers of two tensors, which broadcast."""

    takes_empty = True
    takes_complex = True
    counts_parts = True
    kernel_suffices = "makes complex numbers: a few NumPy calls"
    shape_rule = "broadcast: sizes are equal or 1, aligned from the last axis"
    example = Example(((2, 3), (2, 3)))

    def infer(self, ctx: Context, x: TensorType, other: TensorType) -> TensorType:
        for tensor in (x, other):
            _require_parts(tensor, self.name)
        if x.dtype != other.dtype:
            raise RuleError(
                f"{self.name} takes parts of one type, and these are {x.dtype} and {other.dtype}", code="E402"
            )
        return TensorType(broadcast(self.name, [x.shape, other.shape]), complex_of(x.dtype))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [aligned(x, output) for x in inputs]


@operation
class Complex(_OfTwo):
    """Complex numbers of real and imaginary parts: real + i·imag."""

    name = "complex"
    reference = "torch.complex"
    inputs = ports("real", "imag")
    cost_rule = "none: data moves"
    usage = ("a: [32, 256]", "b: [32, 256]", "- {from: [a, b], complex: {}}")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


@operation
class Polar(_OfTwo):
    """Complex numbers of absolute values and angles: abs·(cos(angle) + i·sin(angle))."""

    name = "polar"
    reference = "torch.polar"
    inputs = ports("abs", "angle")
    cost_rule = per("output element", _POLAR)
    usage = ("size: [32, 256]", "angle: [32, 256]", "- {from: [size, angle], polar: {}}")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return terms(_POLAR, self.name, elements=outputs[0].elements)


class _Function(Operation):
    """Base of functions of complex numbers only."""

    takes_empty = True
    takes_complex = True
    counts_parts = True
    kernel_suffices = "a function of complex numbers: a single NumPy call"
    shape_rule = "unchanged"
    example = Example((_NUMBERS,))
    usage = (_DECLARED, "- $op")

    def result(self, dtype: DType) -> DType:
        """Return the element type of the result."""
        return dtype

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        _require_complex(x, self.name)
        return x.with_dtype(self.result(x.dtype))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [aligned(x, output) for x in inputs]


@operation
class Conj(_Function):
    """The complex conjugates: numbers with the imaginary part negated."""

    name = "conj"
    reference = "torch.conj"
    cost_rule = per("element", {"add": 1})

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("add", "imaginary part", elements=inputs[0].elements),)


@operation
class Angle(_Function):
    """The angles of complex numbers in the plane, between −π and π."""

    name = "angle"
    reference = "torch.angle"
    cost_rule = per("element", {"transcendental": 1})

    def result(self, dtype: DType) -> DType:
        return real_of(dtype)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("transcendental", "angle", elements=inputs[0].elements),)
