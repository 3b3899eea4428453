"""Elementwise arithmetic between tensors, with broadcasting."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from netcalc.dims import Dim, Poly, product
from netcalc.dtypes import COMPLEX, FLOATS, INEXACT, INTEGERS, DType, holds, result_type
from netcalc.models import BeforeValidator, WithJsonSchema
from netcalc.opdef import Context, Example, Fix, Kind, Operation, RuleError, Term, attr, on_complex, ports
from netcalc.ops import operation
from netcalc.ops._broadcast import broadcast
from netcalc.ops._elementwise import COMPLEX_POWER, name_torch_function, per, terms
from netcalc.tensor_type import TensorType


def number(value: Any) -> Any:
    """Return ``value`` if it is a number, which may be symbolic; ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Poly)):
        raise ValueError("should be a number")
    return value


#: A number, which may be symbolic; it broadcasts to every shape, and does not change a tensor's precision.
Number = Annotated[Any, BeforeValidator(number), WithJsonSchema({"type": "number"})]


class Combination(Operation):
    """Base of elementwise operations on several tensors: broadcasting, result type, work of one ``kind``.

    A function of PyTorch of the same name is the reference unless the class names another.
    """

    takes_empty = True
    inputs = ports("input", "other?")
    shape_rule = "broadcast: sizes are equal or 1, aligned from the last axis"
    kind: ClassVar[Kind] = "compare"

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Derive the cost rule from ``kind`` and the reference from the name, where the class has none of its own."""
        super().__init_subclass__(**keywords)
        name_torch_function(cls)
        if "name" in cls.__dict__ and "cost_rule" not in cls.__dict__:
            others = " for each operand after the first" if cls.inputs[0].variadic else ""
            cls.cost_rule = per("output element", {cls.kind: 1}) + others

    #: PyTorch rounds a number to the element type of the tensors first, which matters for 16-bit types, but for
    #: products and quotients.
    rounds_number: ClassVar[bool] = True

    def numbers(self) -> tuple[Any, ...]:
        """Return the operands that are numbers rather than tensors."""
        return ()

    @property
    def swaps(self) -> bool:
        """True if the operands are combined from the last to the first; a number follows the tensors."""
        return False

    def result(self, dtype: DType) -> DType:
        """Return the type of the result for operands of type ``dtype``; RuleError if it is not supported."""
        return dtype

    def infer(self, ctx: Context, *inputs: TensorType | None) -> TensorType:
        tensors = [x for x in inputs if x is not None]
        operands = len(tensors) + len(self.numbers())
        variadic = self.inputs[0].variadic
        takes_number = isinstance(self, WithNumber)
        takes = f"takes 2 {'or more ' if variadic else ''}inputs" + (", or 1 and a value" if takes_number else "")
        if operands < 2:
            hint = "name both inputs with 'from'" + (", or give a 'value'" if takes_number else "")
            raise RuleError(f"{self.name} {takes}, got 1", code="E303", hint=hint)
        if operands > 2 and not variadic:
            raise RuleError(f"{self.name} {takes}, got 2 and a value", code="E303")
        shape = broadcast(self.name, [x.shape for x in tensors], self.fixes(tensors))
        dtype, rank = tensors[0].dtype, tensors[0].rank
        for x in tensors[1:]:
            dtype, rank = result_type([(dtype, rank), (x.dtype, x.rank)]), max(rank, x.rank)
        common = result_type([(dtype, rank)], *self.numbers())
        misfit = next(
            (n for n in self.numbers() if common in INTEGERS and not isinstance(n, Poly) and not holds("int64", n)),
            None,
        )
        if misfit is not None:
            raise RuleError(f"{self.name}: {misfit} does not fit int64", code="E402")
        return TensorType(shape, self.result(common))

    def fixes(self, tensors: Sequence[TensorType]) -> Iterator[Fix]:
        """Suggest fixes for shapes that do not broadcast."""
        yield from ()

    def cost(self, ctx: Context, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return tuple(
            term
            for operands, elements in self.applications(inputs)
            for term in self.work(operands, elements, outputs[0].dtype)
        )

    def applications(self, inputs: Sequence[TensorType | None]) -> list[tuple[int, Dim]]:
        """Return (number of pairwise operations, elements of each), from left to right, the number last."""
        shapes = [x.shape for x in inputs if x is not None]
        so_far = shapes[0]
        counts: list[tuple[int, Dim]] = []
        for shape in [*shapes[1:], *(() for _ in self.numbers())]:
            so_far = broadcast(self.name, [so_far, shape])
            elements = product(so_far)
            if counts and counts[-1][1] == elements:
                counts[-1] = (counts[-1][0] + 1, elements)
            else:
                counts.append((1, elements))
        return counts

    def work(self, times: int, elements: Dim, dtype: DType) -> Sequence[Term]:
        """Return the work of ``times`` pairwise operations on ``elements`` elements."""
        return (Term.of(self.kind, self.name, times=times, elements=elements),)


class WithNumber(Combination):
    """Base of operations of which one operand may be a number."""

    shorthand = "value"

    value: Number | None = attr("number in place of the second tensor", default=None)

    def numbers(self) -> tuple[Any, ...]:
        return () if self.value is None else (self.value,)


class Variadic(WithNumber):
    """Base of operations on any number of tensors, and a number."""

    inputs = ports("inputs*")
    combines = True

    value: Number | None = attr("number as an additional operand", default=None)


class Pair(WithNumber):
    """Base of operations on two tensors, or on a tensor and a number, in either order."""

    reverse: bool = attr("swap the operands: value − input instead of input − value", default=False)

    @property
    def swaps(self) -> bool:
        return self.reverse


@operation
class Add(Variadic):
    """The sum of tensors, and of ``value`` if set: residual connections, biases, masks.

    Tensors are added from left to right.  As in PyTorch the sum of two bools is their "or".
    """

    name = "add"
    takes_complex = True
    example = Example(((2, 3, 4), (1, 3, 1)))
    usage = (
        "x: [1, 64, 28, 28]",
        "- add:",
        "    shortcut: []",
        "    residual: [{conv2d: {out: 64, kernel: 3, padding: 1}}, relu]",
        "- add: 1.0",
    )
    kind = "add"

    def fixes(self, tensors: Sequence[TensorType]) -> Iterator[Fix]:
        """Suggest a projection of one branch of a residual connection to the shape of the other."""
        if len(tensors) != 2 or tensors[0].rank != tensors[1].rank:
            return
        for port, side in ((1, tensors[1]), (0, tensors[0])):
            target = tensors[1 - port].shape
            if side.rank in (2, 3) and side.shape[:-1] == target[:-1]:
                yield _projection(port, "linear", {"out": target[-1]}, target)
            elif side.rank in (3, 4, 5):
                for stride in (1, 2, 4, 8):
                    attrs = {"out": target[1], "kernel": 1, "stride": stride}
                    yield _projection(port, f"conv{side.rank - 2}d", attrs, target)


def _projection(port: int, op: str, attrs: dict[str, Any], target: tuple[Dim, ...]) -> Fix:
    written = ", ".join(f"{name}: {value}" for name, value in attrs.items())
    return Fix(f"give input {port + 1} a projection: {op}: {{{written}}}", op, attrs, port, target)


@operation
class Sub(Pair):
    """input − other, or input − value; ``reverse`` gives other − input."""

    name = "sub"
    takes_complex = True
    combines = True
    example = Example(((2, 3),), {"value": 1.0, "reverse": True})
    usage = ("x: [32, 10]", "mean: [10]", "- {from: [x, mean], sub: {}}")
    kind = "add"

    def infer(self, ctx: Context, *inputs: TensorType | None) -> TensorType:
        if any(x is not None and x.dtype == "bool" for x in inputs):
            raise RuleError("sub takes numbers, and an input is bool", code="E402", hint="invert a mask by logical_not")
        return super().infer(ctx, *inputs)


@operation
class Mul(Variadic):
    """The product of tensors, and of ``value`` if set: gates, scales, masks."""

    name = "mul"
    takes_complex = True
    example = Example(((2, 3),), {"value": 0.5})
    usage = (
        "x: [1, 128, 768]",
        "- mul:",
        "    values: [{linear: 2048}]",
        "    gate: [{linear: 2048}, sigmoid]",
        "- mul: 0.5",
    )
    kind = "mul"
    rounds_number = False


@operation
class Div(Pair):
    """input / other, or input / value; a quotient of integers is float32 unless it is rounded.

    ``rounding: floor`` rounds the quotient down and ``trunc`` towards zero; quotients of integers stay integers.
    """

    name = "div"
    takes_complex = True
    combines = True
    cost_rule = "1 div per output element; with trunc 1 more add, for integers 1 more div and 1 more add"
    example = Example(((2, 3),), {"value": 2.0})
    usage = ("x: [32, 10]", "scale: {shape: [10], range: [1, 2]}", "- {from: [x, scale], div: {}}")
    kind = "div"
    rounds_number = False

    rounding: Literal["floor", "trunc"] | None = attr("round the quotient down, or towards zero", default=None)

    def result(self, dtype: DType) -> DType:
        if self.rounding is None:
            return dtype if dtype in INEXACT else "float32"
        if dtype == "bool" or dtype in COMPLEX:
            raise RuleError(f"div rounds real numbers, and its inputs are {dtype}", code="E402")
        return dtype

    def work(self, times: int, elements: Dim, dtype: DType) -> Sequence[Term]:
        quotient = Term.of("div", "quotient", elements=elements)
        if self.rounding != "trunc":
            return (quotient,)
        if dtype in FLOATS:
            return (quotient, Term.of("add", "rounding", elements=elements))
        remainder = Term.of("div", "remainder", elements=elements)
        return (remainder, Term.of("add", "remainder", elements=elements), quotient)


@operation
class Pow(Pair):
    """input ** other, or input ** value; with ``reverse``, other ** input.

    A square counts as 1 multiplication and a cube as 2; any other power is a transcendental function, and of complex
    numbers exp(other·log(input)).
    """

    name = "pow"
    takes_complex = True
    counts_parts = True
    kernel_suffices = "squares, cubes and other powers each take different NumPy calls"
    cost_rule = "1 power per output element; 1 mul for exponent 2, 2 muls for exponent 3"
    example = Example(((2, 3),), {"value": 3})
    usage = ("x: [32, 256]", "- pow: 2")
    kind = "transcendental"

    @property
    def multiplications(self) -> int | None:
        """Number of multiplications that compute the power, or None."""
        return int(self.value) - 1 if not self.reverse and self.value in (2, 3) else None

    def result(self, dtype: DType) -> DType:
        if dtype == "bool":
            raise RuleError("pow takes numbers, and its operands are bool", code="E402")
        if dtype in INTEGERS and self.value is not None and not self.reverse and self.value < 0:
            raise RuleError("pow: whole numbers have no negative powers", code="E402", hint="cast to float32 first")
        return dtype

    def work(self, times: int, elements: Dim, dtype: DType) -> Sequence[Term]:
        if self.multiplications is not None:
            products = (Term.of("mul", "products", times=self.multiplications, elements=elements),)
            return on_complex(products) if dtype in COMPLEX else products
        return (
            terms(COMPLEX_POWER, "pow", elements=elements) if dtype in COMPLEX else super().work(times, elements, dtype)
        )


@operation
class Minimum(Variadic):
    """The elementwise minimum of the operands; NaN where an operand is NaN."""

    name = "minimum"
    example = Example(((2, 3), (3,)))
    usage = ("x: [32, 10]", "y: [32, 10]", "- {from: [x, y], minimum: {}}", "- minimum: 1")


@operation
class Maximum(Variadic):
    """The elementwise maximum of the operands; NaN where an operand is NaN."""

    name = "maximum"
    example = Example(((2, 3), (3,)))
    usage = ("x: [32, 10]", "y: [32, 10]", "- {from: [x, y], maximum: {}}", "- maximum: 0")


def require_held(value: Any, dtype: DType, what: str) -> None:
    """Raise RuleError (E402) unless the type can represent the number."""
    if not isinstance(value, Poly) and not holds(dtype, value):
        raise RuleError(f"{what}: {value} is out of the range of {dtype}", code="E402")
