"""Arguments and results of rules: numbers, element types, attributes, and in-place variants of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import DTYPES, DType
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import Rule, RuleT, operator


def operator_and_in_place(*overloads: str) -> Callable[[RuleT], RuleT]:
    """Return a decorator that registers a rule, and its in-place variants, whose result keeps the type of the input."""

    def register(rule: RuleT) -> RuleT:
        names = [overload.split(".") for overload in overloads]
        operator(*(f"{namespace}.{name}_.{kind}" for namespace, name, kind in names))(in_place(rule))
        return operator(*overloads)(rule)

    return register


def in_place(rule: Rule) -> Rule:
    """Return the rule of an in-place variant of an operator: the result has the type of the input."""

    def kept(build: Builder, input: Value, **arguments: Any) -> Value:
        result: Value = rule(build, input=input, **arguments)
        return cast(build, result, input.type.dtype)

    return kept


def dtype_of(dtype: Any) -> DType | None:
    """Return the name of an element type of PyTorch; None for None.

    Raises:
        RuleError: netcalc has no such type.
    """
    if dtype is None:
        return None
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise RuleError(f"there is no element type {name}")
    return name


def with_unused(rule: Rule) -> Rule:
    """Return the rule of an operator with further results, which only gradients use, behind the result of a rule."""

    def several(build: Builder, **arguments: Any) -> tuple[Value | None, ...]:
        return rule(build, **arguments), *(None,) * 8

    return several
