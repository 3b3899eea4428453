"""Rules of functions of each element, of one tensor, or of two, one of which may be a number."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.graph.model import Value, operation_named
from netcalc.formats.torch.operators import Rule, operator
from netcalc.formats.torch.operators._operands import operator_and_in_place


def function(operation: str, build: Builder, input: Value, **settings: Any) -> Value:
    """Add an operation on one tensor whose attributes have the names of the operator's arguments."""
    fields = operation_named(operation).model_fields
    attributes = {name: unless_default(value, fields[name].default) for name, value in settings.items()}
    return build.line(operation, [input], attributes)


def register_functions(*operations: str, rule: Rule = function, **others: str) -> None:
    """Register a rule for operations of the same names as their operators, some with another name in PyTorch too."""
    for operation, name in [*((operation, operation) for operation in (*operations, *others)), *others.items()]:
        register = operator if name.startswith("special_") else operator_and_in_place
        register(f"aten.{name}.default")(partial(rule, operation))
