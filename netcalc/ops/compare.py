"""Elementwise comparison and logic, and selection by a condition."""

from collections.abc import Sequence
from typing import Annotated, Any

from netcalc.dtypes import DType, result_type
from netcalc.models import BeforeValidator, WithJsonSchema
from netcalc.opdef import Context, Example, Operation, RuleError, Term, attr, ports
from netcalc.ops import operation
from netcalc.ops._broadcast import broadcast
from netcalc.ops.arithmetic import Combination, WithNumber, number, require_held
from netcalc.tensor_type import TensorType


def _scalar(value: Any) -> Any:
    return value if isinstance(value, bool) else number(value)


#: A number, true or false.
Scalar = Annotated[Any, BeforeValidator(_scalar), WithJsonSchema({"type": ["number", "boolean"]})]

#: Reason for running comparisons and logic by their kernels.
_MASKS = "gives a mask, mostly of positions or ids, which is small"


class _Comparison(WithNumber):
    """Base of comparisons with a second tensor or a number; the result is bool."""

    kernel_suffices = _MASKS
    example = Example(((2, 3),), {"value": 0})
    usage = ("x: [32, 10]", "y: [32, 10]", "- {from: [x, y], $op: {}}")

    value: Scalar | None = attr("number in place of the second tensor", default=None)

    def result(self, dtype: DType) -> DType:
        return "bool"


@operation
class Equal(_Comparison):
    """True where input = other, or input = value."""

    name = "equal"
    takes_complex = True
    reference = "torch.eq"


@operation
class NotEqual(_Comparison):
    """True where input ≠ other, or input ≠ value: ``not_equal: 0`` on token ids is a padding mask."""

    name = "not_equal"
    takes_complex = True
    reference = "torch.ne"


@operation
class Less(_Comparison):
    """True where input < other, or input < value."""

    name = "less"
    reference = "torch.lt"


@operation
class LessEqual(_Comparison):
    """True where input ≤ other, or input ≤ value."""

    name = "less_equal"
    reference = "torch.le"


@operation
class Greater(_Comparison):
    """True where input > other, or input > value."""

    name = "greater"
    reference = "torch.gt"


@operation
class GreaterEqual(_Comparison):
    """True where input ≥ other, or input ≥ value."""

    name = "greater_equal"
    reference = "torch.ge"


class _Logical(Combination):
    """Base of logic between tensors of any type, where nonzero is true; the result is bool."""

    kernel_suffices = _MASKS
    inputs = ports("inputs*")
    example = Example((TensorType((2, 3), "bool"), TensorType((3,), "bool")))
    usage = ("a: {shape: [1, 128], dtype: bool}", "b: {shape: [1, 128], dtype: bool}", "- {from: [a, b], $op: {}}")

    def result(self, dtype: DType) -> DType:
        return "bool"


@operation
class LogicalAnd(_Logical):
    """True where all inputs are true."""

    name = "logical_and"


@operation
class LogicalOr(_Logical):
    """True where at least one input is true."""

    name = "logical_or"


@operation
class LogicalNot(Operation):
    """True where the input is zero or false."""

    name = "logical_not"
    takes_empty = True
    kernel_suffices = _MASKS
    reference = "torch.logical_not"
    shape_rule = "as the input"
    cost_rule = "1 comparison per element"
    example = Example((TensorType((2, 3), "bool"),))
    usage = ("mask: {shape: [1, 128], dtype: bool}", "- logical_not")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return x.with_dtype("bool")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", self.name, elements=outputs[0].elements),)


@operation
class Where(Operation):
    """The elements of ``input`` where the condition is true, and of ``other`` elsewhere; all three broadcast."""

    name = "where"
    takes_empty = True
    takes_complex = True
    kernel_suffices = "selects elements by a mask: a single NumPy call"
    reference = "torch.where"
    inputs = ports("condition", "input", "other")
    shape_rule = "broadcast: sizes are equal or 1, aligned from the last axis"
    cost_rule = "none: data moves"
    example = Example((TensorType((2, 3), "bool"), (2, 3), (3,)))
    usage = (
        "condition: {shape: [1, 128, 1], dtype: bool}",
        "x: [1, 128, 768]",
        "y: [768]",
        "- {from: [condition, x, y], where: {}}",
    )

    def infer(self, ctx: Context, condition: TensorType, x: TensorType, other: TensorType) -> TensorType:
        _require_bool(condition, "where", "condition")
        shape = broadcast(self.name, [condition.shape, x.shape, other.shape])
        return TensorType(shape, result_type([(x.dtype, x.rank), (other.dtype, other.rank)]))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


@operation
class MaskedFill(Operation):
    """``value`` where the mask is true, the input elsewhere; both broadcast.

    The result has the type of the input.  Attention masks fill with −∞, ``-.inf`` in YAML.
    """

    name = "masked_fill"
    takes_empty = True
    takes_complex = True
    kernel_suffices = "selects elements by a mask: a single NumPy call"
    reference = "torch.masked_fill"
    inputs = ports("input", "mask")
    shorthand = "value"
    shape_rule = "broadcast: sizes are equal or 1, aligned from the last axis"
    cost_rule = "none: data moves"
    example = Example(((2, 3), TensorType((3,), "bool")), {"value": 0.0})
    usage = (
        "scores: [1, 8, 128, 128]",
        "padding: {shape: [1, 1, 1, 128], dtype: bool}",
        "- {from: [scores, padding], masked_fill: -1.0e+9}",
        "- softmax",
    )

    value: Scalar = attr("new value of the masked elements")

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
