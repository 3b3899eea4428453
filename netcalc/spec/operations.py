"""Elaboration of a line that is an operation: attributes, branches, inputs, inferred types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.bounded_cache import BoundedCache
from netcalc.diagnostics import NetcalcError
from netcalc.dims import (
    RealFormula,
    SymbolicReal,
    UndecidedError,
    has_reals,
    has_symbolic_values,
    keeps_formulas,
    symbolic_names,
)
from netcalc.ir import Value, join
from netcalc.models import ValidationError
from netcalc.opdef import Operation
from netcalc.spec.adapters import adapted
from netcalc.spec.body_cache import has_symbols, hashable
from netcalc.spec.computed import computed_body
from netcalc.spec.cursor import Cursor
from netcalc.spec.eager import mark_operation
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate
from netcalc.spec.line_inputs import start_value, with_defaults, with_taken
from netcalc.spec.line_syntax import Line
from netcalc.spec.modifiers import claim_path, define_outputs, line_name, module_of
from netcalc.spec.nodes import build_operation
from netcalc.spec.scope import Outputs, Poisoned, Scope
from netcalc.spec.ties import is_absolute, tie_operation
from netcalc.spec.validation import Evaluated, diagnose

#: Operations by their attributes as they are given.
_OPERATIONS: BoundedCache[Operation] = BoundedCache(4_000)


def elaborate_operation(
    elaboration: Elaboration,
    line: Line,
    declared: type[Operation],
    scope: Scope,
    current: Value | None,
    *,
    anonymous: bool = False,
    taken: Mapping[str, Value | None] | None = None,
) -> Value | None:
    """Elaborate an operation and return its first output.

    An ``anonymous`` operation is the only one of a repeat's body; its path is empty unless it has branches.
    ``taken`` are inputs by port that the line does not give.
    """
    attributes, branch_lines = _split_arguments(line, declared)
    branches = _branch_values(elaboration, branch_lines, line, scope, current)
    bound = with_taken(declared.inputs, taken or {}, line, declared.name, scope, current, branches)
    inputs = with_defaults(declared.inputs, bound)
    lines = attributes.pop(declared.lines_attribute, None) if declared.lines_attribute else None
    computed = None if lines is None or lines.data is None else computed_body(elaboration, lines, scope)
    values = {name: evaluate(value, scope) for name, value in attributes.items()}
    if computed is not None and declared.lines_attribute is not None:
        (values[declared.lines_attribute],) = computed.output_types
    op = _instantiate(declared, values, line, scope)
    if anonymous and not branches:
        path = ""
    else:
        path = _path(scope, line_name(line, scope), declared.name, is_join=bool(branches))
    claim_path(path, line, scope)
    if any(value is not None and value.type is None for value in inputs):
        raise Poisoned
    node = build_operation(elaboration, op, inputs, path, line.target_span)
    if "lora" in line.modifiers or is_absolute(line):
        elaboration.bind_to_spec()
    node.ties, node.computed = tie_operation(node, line, scope, elaboration.main), computed
    if not anonymous:  # the iteration of a repeat is a call, which holds values outside
        mark_operation(node, line, scope)
        node.module = module_of(line, path, scope)
    elaboration.expansion.add(node, scope.body)
    ports = [port.name for port in declared.outputs]
    if declared.outputs[0].variadic:
        ports = [str(i) for i in range(len(node.outputs))]
    values_by_port = dict(zip(ports, node.outputs, strict=False))
    if (lora := line.modifier("lora")) is not None:
        values_by_port[ports[0]] = adapted(elaboration, node, lora, scope)
    outputs = Outputs(values_by_port, line.cursor.span)
    define_outputs(line, scope, outputs)
    return outputs.first


def _split_arguments(line: Line, declared: type[Operation]) -> tuple[dict[str, Cursor], dict[str, Cursor]]:
    """Return (attributes, branches); a branch is a list of lines under a key that is no attribute."""
    if line.args is None:
        return {}, {}
    data = line.args.data
    if isinstance(data, dict):
        branches = {
            key: value
            for key, value in line.args.items()
            if key not in declared.model_fields
            and isinstance(value.data, list)
            and all(isinstance(item, (str, dict)) for item in value.data)
        }
        return {key: value for key, value in line.args.items() if key not in branches}, branches
    variadic = bool(declared.inputs) and declared.inputs[0].variadic
    if variadic and isinstance(data, list) and data and all(isinstance(item, list) for item in data):
        return {}, {str(i): branch for i, branch in enumerate(line.args.elements())}
    if declared.shorthand is None:
        required = [f"{name}: …" for name, field in declared.model_fields.items() if field.is_required()]
        hint = f"write `{declared.name}: {{{', '.join(required) or 'attribute: value'}}}`"
        raise line.args.error("E107", f"{declared.name}: attributes should be a mapping", hint)
    return {declared.shorthand: line.args}, {}


def _branch_values(
    elaboration: Elaboration, branches: Mapping[str, Cursor], line: Line, scope: Scope, current: Value | None
) -> dict[str, Value | None]:
    """Elaborate the branches, each from the operation's input, and return their last values."""
    if not branches:
        return {}
    current = start_value(line, scope, current)
    values: dict[str, Value | None] = {}
    for label, cursor in branches.items():
        values[label] = elaboration.lines(cursor, scope, current)
        if values[label] is None:
            raise cursor.error("E303", f"the branch {label!r} has no input and no lines")
    return values


def _instantiate(declared: type[Operation], attributes: Mapping[str, Any], line: Line, scope: Scope) -> Operation:
    try:
        return operation_of(declared, attributes)
    except ValidationError as error:
        place = line.args if line.args is not None else line.cursor
        if declared.shorthand and line.args is not None and not isinstance(line.args.data, dict):
            place = place.under(declared.shorthand)
        wrong = {each["loc"][0] for each in error.errors() if each["loc"]}
        symbolic = symbolic_names(
            [value for name, value in attributes.items() if name in wrong and type(value) is not RealFormula]
        )
        if symbolic:
            named = [name for name in attributes if name in wrong and symbolic_names([attributes[name]])]
            if isinstance(place.data, dict) and named[0] in place.data:
                place = place[named[0]]
            hint = f"leave out --symbolic {', '.join(symbolic)}"
            message = f"{declared.name} takes numbers here, and what follows from {', '.join(symbolic)} is symbolic"
            raise place.error("E404", message, hint) from None
        diagnostics = diagnose(
            error, place, declared, f"{declared.name} attribute", Evaluated(attributes, scope, scope.place_of_var)
        )
        raise NetcalcError(diagnostics) from None


def operation_of(declared: type[Operation], attributes: Mapping[str, Any]) -> Operation:
    """Return an operation with these attributes, one for equal attributes; ValidationError if they are invalid."""
    if has_symbolic_values():
        return _sketched_operation(declared, attributes)
    key = (declared, hashable(attributes))
    try:
        operation = _OPERATIONS.get(key)
    except TypeError:  # of a value that is not hashable
        return declared.model_validate(attributes)
    if operation is None and has_symbols(attributes):  # which may leave assumptions behind
        return declared.model_validate(attributes)
    return operation if operation is not None else _OPERATIONS.put(key, declared.model_validate(attributes))


def _sketched_operation(declared: type[Operation], attributes: Mapping[str, Any]) -> Operation:
    """Return an operation of a sketch, whose attributes may be unknown numbers where these make no difference."""
    reals = {name: value for name, value in attributes.items() if isinstance(value, SymbolicReal)}
    refused = () if keeps_formulas() else [name for name in reals if name not in declared.any_real]
    if refused or has_reals([value for name, value in attributes.items() if name not in reals]):
        raise UndecidedError(f"an attribute of {declared.name} is symbolic, and a number is needed here")
    op = declared.model_validate({**attributes, **{name: real.example for name, real in reals.items()}})
    vars(op).update(reals)
    return op


def _path(scope: Scope, name: str | None, operation: str, *, is_join: bool) -> str:
    """Return the path of an operation; an unnamed join takes no number of a sequence, as its branches do."""
    if is_join and name is None:
        return scope.body.unique(join(scope.prefix, operation))
    return scope.path_of_line(name, operation)
