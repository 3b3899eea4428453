"""Comparison and logic between tensors, element by element, and choosing by their outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, WithJsonSchema

from netcalc.dtypes import DType, result_type
from netcalc.ir import TensorType
from netcalc.opdef import Context, Example, Operation, Port, RuleError, Term, attr, operation, ports
from netcalc.ops.broadcast import broadcast
from netcalc.ops.combine import Combination, number, require_held


def _scalar(value: Any) -> Any:
    return value if isinstance(value, bool) else number(value)


#: A number, true or false.
Scalar = Annotated[Any, BeforeValidator(_scalar), WithJsonSchema({"type": ["number", "boolean"]})]


class _Comparison(Combination):
    """A comparison with a second tensor or a number; the result is bool."""

    shorthand: ClassVar[str | None] = "value"
    example: ClassVar[Example] = Example(((2, 3),), {"value": 0})

    value: Scalar | None = attr("a number, in the second tensor's place", default=None)

    def result(self, dtype: DType) -> DType:
        return "bool"


@operation
class Equal(_Comparison):
    """Where input = other, or input = value."""

    name: ClassVar[str] = "equal"
    source: ClassVar[str] = "torch.eq"


@operation
class NotEqual(_Comparison):
    """Where input ≠ other, or input ≠ value: a padding mask is ``not_equal: 0`` on token ids."""

    name: ClassVar[str] = "not_equal"
    source: ClassVar[str] = "torch.ne"


@operation
class Less(_Comparison):
    """Where input < other, or input < value."""

    name: ClassVar[str] = "less"
    source: ClassVar[str] = "torch.lt"


@operation
class LessEqual(_Comparison):
    """Where input ≤ other, or input ≤ value."""

    name: ClassVar[str] = "less_equal"
    source: ClassVar[str] = "torch.le"


@operation
class Greater(_Comparison):
    """Where input > other, or input > value."""

    name: ClassVar[str] = "greater"
    source: ClassVar[str] = "torch.gt"


@operation
class GreaterEqual(_Comparison):
    """Where input ≥ other, or input ≥ value."""

    name: ClassVar[str] = "greater_equal"
    source: ClassVar[str] = "torch.ge"


class _Logical(Combination):
    """Logic between tensors of any type, where what is not zero is true; the result is bool."""

    inputs: ClassVar[tuple[Port, ...]] = ports("inputs*")
    cost_rule: ClassVar[str] = "one an element for each operand after the first"
    example: ClassVar[Example] = Example((TensorType((2, 3), "bool"), TensorType((3,), "bool")))

    def result(self, dtype: DType) -> DType:
        return "bool"


@operation
class LogicalAnd(_Logical):
    """True where all of the inputs are."""

    name: ClassVar[str] = "logical_and"
    source: ClassVar[str] = "torch.logical_and"


@operation
class LogicalOr(_Logical):
    """True where one of the inputs is."""

    name: ClassVar[str] = "logical_or"
    source: ClassVar[str] = "torch.logical_or"


@operation
class LogicalNot(Operation):
    """True where the input is zero or false."""

    name: ClassVar[str] = "logical_not"
    source: ClassVar[str] = "torch.logical_not"
    shape_rule: ClassVar[str] = "as the input"
    cost_rule: ClassVar[str] = "one an element"
    example: ClassVar[Example] = Example((TensorType((2, 3), "bool"),))

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return x.with_dtype("bool")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", self.name, elements=outputs[0].elements),)


@operation
class Where(Operation):
    """Elements of ``input`` where the condition is true, of ``other`` elsewhere; all three broadcast."""

    name: ClassVar[str] = "where"
    source: ClassVar[str] = "torch.where"
    inputs: ClassVar[tuple[Port, ...]] = ports("condition", "input", "other")
    shape_rule: ClassVar[str] = "broadcast: sizes are equal or 1, aligned from the last axis"
    cost_rule: ClassVar[str] = "none: data is selected"
    example: ClassVar[Example] = Example((TensorType((2, 3), "bool"), (2, 3), (3,)))

    def infer(self, ctx: Context, condition: TensorType, x: TensorType, other: TensorType) -> TensorType:
        _require_bool(condition, "where", "condition")
        shape = broadcast(self.name, [condition.shape, x.shape, other.shape])
        return TensorType(shape, result_type([(x.dtype, x.rank), (other.dtype, other.rank)]))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


@operation
class MaskedFill(Operation):
    """``value`` where the mask is true, the input elsewhere; both broadcast.  The input's type stays.

    Attention masks fill with ``-.inf``, which is how YAML writes −∞.
    """

    name: ClassVar[str] = "masked_fill"
    source: ClassVar[str] = "torch.masked_fill"
    inputs: ClassVar[tuple[Port, ...]] = ports("input", "mask")
    shorthand: ClassVar[str | None] = "value"
    shape_rule: ClassVar[str] = "broadcast: sizes are equal or 1, aligned from the last axis"
    cost_rule: ClassVar[str] = "none: data is selected"
    example: ClassVar[Example] = Example(((2, 3), TensorType((3,), "bool")), {"value": 0.0})

    value: Scalar = attr("what the masked elements become")

    def infer(self, ctx: Context, x: TensorType, mask: TensorType) -> TensorType:
        _require_bool(mask, "masked_fill", "mask")
        require_held(self.value, x.dtype, self.name)
        return x.with_shape(*broadcast(self.name, [x.shape, mask.shape]))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


def _require_bool(x: TensorType, what: str, port: str) -> None:
    if x.dtype != "bool":
        raise RuleError(
            f"{what} takes a bool {port}, and this one is {x.dtype}", code="E402", hint="compare it: not_equal: 0"
        )
