"""Arithmetic between tensors, element by element, with broadcasting."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, WithJsonSchema

from netcalc.dims import Dim, Poly, product
from netcalc.dtypes import FLOATS, INTEGERS, DType, holds, result_type
from netcalc.opdef import Context, Example, Fix, Kind, Operation, RuleError, Term, attr, ports
from netcalc.ops import operation
from netcalc.ops._broadcast import broadcast
from netcalc.tensor_type import TensorType


def number(value: Any) -> Any:
    """Return ``value`` if it is a number, which may be symbolic; ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Poly)):
        raise ValueError("should be a number")
    return value


#: A number, which may be symbolic; it broadcasts to every shape and never widens a tensor.
Number = Annotated[Any, BeforeValidator(number), WithJsonSchema({"type": "number"})]


class Combination(Operation):
    """What all of them share: broadcasting, the type of the result, and one unit of ``kind`` for each element."""

    inputs = ports("input", "other?")
    shape_rule = "broadcast: sizes are equal or 1, aligned from the last axis"
    cost_rule = "one an element of the output"
    kind: ClassVar[Kind] = "compare"

    def numbers(self) -> tuple[Any, ...]:
        """The bare numbers among the operands."""
        value = getattr(self, "value", None)
        return () if value is None else (value,)

    def result(self, dtype: DType) -> DType:
        """The type of the result of arithmetic in ``dtype``; RuleError where there is none."""
        return dtype

    def infer(self, ctx: Context, *inputs: TensorType | None) -> TensorType:
        tensors = [x for x in inputs if x is not None]
        operands = len(tensors) + len(self.numbers())
        variadic = self.inputs[0].variadic
        if operands < 2:
            raise RuleError(
                f"{self.name} takes two operands, and there is one",
                code="E303",
                hint="name both inputs with 'from'" + (", or give a 'value'" if hasattr(self, "value") else ""),
            )
        if operands > 2 and not variadic:
            raise RuleError(f"{self.name} takes a second input or a value, and both are given", code="E303")
        shape = broadcast(self.name, [x.shape for x in tensors], self.fixes(tensors))
        dtype, rank = tensors[0].dtype, tensors[0].rank
        for x in tensors[1:]:
            dtype, rank = result_type([(dtype, rank), (x.dtype, x.rank)]), max(rank, x.rank)
        return TensorType(shape, self.result(result_type([(dtype, rank)], *self.numbers())))

    def fixes(self, tensors: Sequence[TensorType]) -> Iterator[Fix]:
        """Remedies for shapes that do not fit."""
        yield from ()

    def cost(self, ctx: Context, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return tuple(
            term
            for operands, elements in self.applications(inputs)
            for term in self.work(operands, elements, outputs[0].dtype)
        )

    def applications(self, inputs: Sequence[TensorType | None]) -> list[tuple[int, Dim]]:
        """How often two operands meet in how many elements: from left to right, the number last."""
        shapes = [x.shape for x in inputs if x is not None]
        so_far = shapes[0]
        found: list[tuple[int, Dim]] = []
        for shape in [*shapes[1:], *(() for _ in self.numbers())]:
            so_far = broadcast(self.name, [so_far, shape])
            elements = product(so_far)
            if found and found[-1][1] == elements:
                found[-1] = (found[-1][0] + 1, elements)
            else:
                found.append((1, elements))
        return found

    def work(self, times: int, elements: Dim, dtype: DType) -> Sequence[Term]:
        """The work of combining that many elements so many times."""
        return (Term.of(self.kind, self.name, times=times, elements=elements),)


class _Variadic(Combination):
    """An operation that takes any number of tensors, and a number."""

    inputs = ports("inputs*")
    combines = True
    shorthand = "value"
    cost_rule = "one an element for each operand after the first"

    value: Number | None = attr("a number, as one more operand", default=None)


class _Pair(Combination):
    """An operation on two tensors, or on a tensor and a number, in this order or the other."""

    shorthand = "value"

    value: Number | None = attr("a number, in the second tensor's place", default=None)
    reverse: bool = attr("swap the operands: value − input, input ** other turned round", default=False)


@operation
class Add(_Variadic):
    """The sum of tensors, and of a number if one is given: residual joins, biases, masks.

    Tensors are added from left to right.  Bools are added as in PyTorch: the sum of two is their "or".
    """

    name = "add"
    reference = "torch.add"
    example = Example(((2, 3, 4), (1, 3, 1)))
    kind = "add"

    def fixes(self, tensors: Sequence[TensorType]) -> Iterator[Fix]:
        """A projection that brings one side of a residual join to the shape of the other."""
        if len(tensors) != 2 or tensors[0].rank != tensors[1].rank:
            return
        for port, side in ((1, tensors[1]), (0, tensors[0])):
            goal = tensors[1 - port].shape
            if side.rank in (2, 3) and side.shape[:-1] == goal[:-1]:
                yield _projection(port, "linear", {"out": goal[-1]}, goal)
            elif side.rank in (3, 4, 5):
                for stride in (1, 2, 4, 8):
                    attrs = {"out": goal[1], "kernel": 1, "stride": stride}
                    yield _projection(port, f"conv{side.rank - 2}d", attrs, goal)


def _projection(port: int, op: str, attrs: dict[str, Any], goal: tuple[Dim, ...]) -> Fix:
    written = ", ".join(f"{name}: {value}" for name, value in attrs.items())
    return Fix(f"give input {port + 1} a projection: {op}: {{{written}}}", op, attrs, port, goal)


@operation
class Sub(_Pair):
    """input − other, or input − value; ``reverse`` gives other − input."""

    name = "sub"
    combines = True
    reference = "torch.sub"
    example = Example(((2, 3),), {"value": 1.0, "reverse": True})
    kind = "add"

    def infer(self, ctx: Context, *inputs: TensorType | None) -> TensorType:
        if any(x is not None and x.dtype == "bool" for x in inputs):
            raise RuleError("sub takes numbers, and an input is bool", code="E402", hint="invert a mask by logical_not")
        return super().infer(ctx, *inputs)


@operation
class Mul(_Variadic):
    """The product of tensors, and of a number if one is given: gates, scales, masks."""

    name = "mul"
    reference = "torch.mul"
    example = Example(((2, 3),), {"value": 0.5})
    kind = "mul"


@operation
class Div(_Pair):
    """input / other; between whole numbers the result is float32, unless rounded.

    ``rounding: floor`` rounds the quotient down and ``trunc`` towards zero; both keep whole numbers whole.
    """

    name = "div"
    combines = True
    reference = "torch.div"
    cost_rule = "one division an element; trunc: 1 add more, of whole numbers 1 division and 1 add more"
    example = Example(((2, 3),), {"value": 2.0})
    kind = "div"

    rounding: Literal["floor", "trunc"] | None = attr("round the quotient down, or towards zero", default=None)

    def result(self, dtype: DType) -> DType:
        if self.rounding is None:
            return dtype if dtype in FLOATS else "float32"
        if dtype == "bool":
            raise RuleError("div rounds numbers, and its inputs are bool", code="E402")
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
class Pow(_Pair):
    """input ** other, or input ** value; with ``reverse``, other ** input.

    A square is one multiplication and a cube two; any other power is a transcendental function.
    """

    name = "pow"
    reference = "torch.pow"
    cost_rule = "one power an element; exponent 2: 1 multiplication, 3: 2 multiplications"
    example = Example(((2, 3),), {"value": 3})
    kind = "transcendental"

    @property
    def multiplications(self) -> int | None:
        """How many multiplications give the power, where they do."""
        return int(self.value) - 1 if not self.reverse and self.value in (2, 3) else None

    def result(self, dtype: DType) -> DType:
        if dtype == "bool":
            raise RuleError("pow takes numbers, and its operands are bool", code="E402")
        if dtype in INTEGERS and self.value is not None and not self.reverse and self.value < 0:
            raise RuleError("pow: whole numbers have no negative powers", code="E402", hint="cast to float32 first")
        return dtype

    def work(self, times: int, elements: Dim, dtype: DType) -> Sequence[Term]:
        if self.multiplications is None:
            return super().work(times, elements, dtype)
        return (Term.of("mul", "products", times=self.multiplications, elements=elements),)


@operation
class Minimum(_Variadic):
    """The smallest of the operands, element by element; NaN where one of them is."""

    name = "minimum"
    reference = "torch.minimum"
    example = Example(((2, 3), (3,)))


@operation
class Maximum(_Variadic):
    """The largest of the operands, element by element; NaN where one of them is."""

    name = "maximum"
    reference = "torch.maximum"
    example = Example(((2, 3), (3,)))


def require_held(value: Any, dtype: DType, what: str) -> None:
    """RuleError (E402) unless the type has that number."""
    if not isinstance(value, Poly) and not holds(dtype, value):
        raise RuleError(f"{what}: {value} is out of the range of {dtype}", code="E402")
