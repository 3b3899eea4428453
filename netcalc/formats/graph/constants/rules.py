"""Rules by which the elements of an operation's outputs follow from the elements of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from netcalc.dims import Dim
from netcalc.formats.graph.constants.expressions import Call, Expression, Number, call, index, substituted
from netcalc.tensor_type import TensorType


@dataclass(frozen=True, slots=True)
class Case:
    """An operation with constant inputs.

    Attributes:
        name: name of the operation.
        op: the operation, whose attributes have their defaults.
        operands: the elements of the inputs that are given.
        inputs, outputs: types of the inputs that are given, and of the outputs.
    """

    name: str
    op: Any
    operands: tuple[Expression, ...]
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """Sizes of the first output."""
        return self.outputs[0].shape

    def axis(self, axis: int, rank: int | None = None) -> int:
        """Return an axis of the first input, or of a tensor of ``rank`` axes, counted from the front."""
        return axis % (len(self.inputs[0].shape) if rank is None else rank)


#: A rule returns the elements of the first output or of each output, None if it cannot tell.
Rule: TypeAlias = Callable[[Case], "Expression | list[Expression] | None"]

#: Rules by the name of the operation.
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operations."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def moved(case: Case, places: Mapping[int, Dim], operand: int = 0, output: int = 0) -> Expression:
    """Return the elements of an input at the given places; an axis without one keeps its index."""
    sizes = case.outputs[output].shape
    indices = {axis: index(axis, sizes) for axis in range(min(len(case.inputs[operand].shape), len(sizes)))}
    return substituted(case.operands[operand], {**indices, **places})


def spread(case: Case, operand: int) -> Expression:
    """Return an input broadcast to the shape of the output."""
    return broadcast(case.operands[operand], case.inputs[operand].shape, case.sizes)


def broadcast(expression: Expression, shape: Sequence[Dim], sizes: Sequence[Dim]) -> Expression:
    """Return the elements of a tensor of one shape broadcast to another."""
    if shape == sizes:
        return expression
    places = {axis: index(axis + len(sizes) - len(shape), sizes) for axis in range(len(shape))}
    return substituted(expression, places)


def opaque(case: Case) -> Expression:
    """Return an elementwise function of the inputs of which no more is known."""
    operands = [spread(case, operand) for operand in range(len(case.operands))]
    settings = tuple(sorted((name, repr(value)) for name, value in case.op if value is not None))
    return Call(f"@{case.name}", tuple(operands), settings)


def over_cases(function: Callable[[Expression], Expression], value: Expression) -> Expression:
    """Return a function of an expression, taken inside its cases."""
    if isinstance(value, Call) and value.function == "where":
        condition, *cases = value.operands
        return call("where", (condition, *(over_cases(function, case) for case in cases)))
    return function(value)


def over_pairs(function: Callable[[Expression, Expression], Expression], a: Expression, b: Expression) -> Expression:
    """Return a function of two expressions, taken inside the cases of both."""
    return over_cases(lambda first: over_cases(lambda other: function(first, other), b), a)


def as_cases(value: Expression, kind: str) -> Expression:
    """Return a truth value as a number of another kind."""
    cases = (1, 0) if kind == "int" else (Number("float", 1.0), Number("float", 0.0))
    return call("where", (value, *cases))
