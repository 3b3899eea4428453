"""Elaboration of a line that is an operation: attributes, branches, inputs, inferred types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, Related, RuleError, Span, clipped
from netcalc.dims import Poly, UndecidedError, assumptions, value_at
from netcalc.ir import OpNode, Value, join
from netcalc.ir.build import build_node, infer
from netcalc.limits import MAX_MESSAGE
from netcalc.opdef import Operation
from netcalc.spec.computed import computed_body
from netcalc.spec.cursor import Cursor
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate
from netcalc.spec.line_inputs import start_value, with_taken
from netcalc.spec.line_syntax import Line
from netcalc.spec.modifiers import claim_path, define_outputs, line_name
from netcalc.spec.scope import Outputs, Poisoned, Scope
from netcalc.spec.ties import tie_operation
from netcalc.spec.validation import diagnose
from netcalc.tensor_type import TensorType

__all__ = ["add_operation", "elaborate_operation"]


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
    inputs = with_taken(declared.inputs, taken or {}, line, declared.name, scope, current, branches)
    lines = attributes.pop(declared.lines_attribute, None) if declared.lines_attribute else None
    computed = None if lines is None or lines.data is None else computed_body(elaboration, lines, scope)
    values = {name: evaluate(value, scope) for name, value in attributes.items()}
    if computed is not None and declared.lines_attribute is not None:
        (values[declared.lines_attribute],) = computed.output_types
    op = _instantiate(declared, values, line)
    if anonymous and not branches:
        path = ""
    else:
        path = _path(scope, line_name(line, scope), declared.name, is_join=bool(branches))
    claim_path(path, line, scope)
    if any(value is not None and value.type is None for value in inputs):
        raise Poisoned
    node = _build(elaboration, op, inputs, path, line.target_span)
    node.ties, node.computed = tie_operation(node, line, scope, elaboration.main), computed
    elaboration.expansion.add(node, scope.body)
    ports = [port.name for port in declared.outputs]
    if declared.outputs[0].variadic:
        ports = [str(i) for i in range(len(node.outputs))]
    outputs = Outputs(dict(zip(ports, node.outputs, strict=False)), line.cursor.span)
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
        message = f"{declared.name}: attributes should be a mapping"
        hint = f"write `{declared.name}: {{attribute: value}}`"
        raise NetcalcError(Diagnostic("E107", message, line.args.span, hint=hint))
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
            raise NetcalcError(Diagnostic("E303", f"the branch {label!r} has no input and no lines", cursor.span))
    return values


def _instantiate(declared: type[Operation], attributes: Mapping[str, Any], line: Line) -> Operation:
    try:
        return declared.model_validate(attributes)
    except ValidationError as error:
        place = line.args if line.args is not None else line.cursor
        if declared.shorthand and line.args is not None and not isinstance(line.args.data, dict):
            place = place.replaced({declared.shorthand: place.data})
        diagnostics = diagnose(error, place, declared, noun=f"{declared.name} attribute")
        raise NetcalcError(diagnostics) from None


def _path(scope: Scope, name: str | None, operation: str, *, is_join: bool) -> str:
    """Return the path of an operation; an unnamed join takes no number of a sequence, as its branches do."""
    if is_join and name is None:
        return scope.body.unique(join(scope.prefix, operation))
    return scope.path_of_line(name, operation)


def add_operation(
    elaboration: Elaboration, op: Operation, inputs: Sequence[Value | None], path: str, scope: Scope, span: Span | None
) -> OpNode:
    """Append an operation that no line applies to the scope's body and return its node."""
    scope.body.paths[path] = span
    node = _build(elaboration, op, inputs, path, span)
    elaboration.expansion.add(node, scope.body)
    return node


def _build(
    elaboration: Elaboration, op: Operation, inputs: Sequence[Value | None], path: str, span: Span | None
) -> OpNode:
    """Return the node of an operation; the errors of its rules get their place and the input shapes."""
    try:
        node = build_node(op, inputs, elaboration.ctx, path, frozen=elaboration.frozen, span=span)
        _note_costs(elaboration, node)
        return node
    except UndecidedError as error:
        hint = "give the size a value with --set, or a default in dims"
        raise NetcalcError(Diagnostic("E404", f"{op.name}: {error.message}", span, hint=hint)) from None
    except NetcalcError as error:  # of a size that is too large, which has no place yet
        raise error.at(span) from None
    except RuleError as error:
        raise NetcalcError(_misfit(elaboration, error, op, inputs, span)) from None
    except ZeroDivisionError:
        raise NetcalcError(Diagnostic("E401", f"{op.name} divides by a size, and the size is 0", span)) from None


def _note_costs(elaboration: Elaboration, node: OpNode) -> None:
    """Record what the cost rules of an operation on symbolic sizes assume; costs are computed when a view asks."""
    types = (*filter(None, node.input_types), *node.output_types)
    if any(isinstance(size, Poly) for type_ in types for size in type_.shape):
        for rule in (node.op.cost, node.op.expected_cost):
            with suppress(UndecidedError):  # a view that needs the cost reports it
                rule(elaboration.ctx, node.input_types, node.output_types)


def _misfit(
    elaboration: Elaboration, error: RuleError, op: Operation, inputs: Sequence[Value | None], span: Span | None
) -> Diagnostic:
    """Return the diagnostic of a shape or type error, with the type and origin of every input."""
    labels = [port.name for port in op.inputs]
    if len(labels) < len(inputs):
        labels = labels[:-1] + [f"{labels[-1]}[{i}]" for i in range(len(inputs) - len(labels) + 1)]
    present = [(label, v, v.type) for label, v in zip(labels, inputs, strict=False) if v is not None and v.type]
    width = max((len(label) for label, _, _ in present), default=0)
    shapes = _aligned_shapes([type_ for _, _, type_ in present])
    related = tuple(
        Related(f"{label:<{width}}  {shape} {type_.dtype}, from {value.name}", value.span)
        for (label, value, type_), shape in zip(present, shapes, strict=True)
    )
    decided = _decided(elaboration, op, inputs)
    hint = error.hint or _working_fix(elaboration, error, inputs)
    return Diagnostic(error.code, clipped(error.message, MAX_MESSAGE) + decided, span, related, hint=hint)


def _decided(elaboration: Elaboration, op: Operation, inputs: Sequence[Value | None]) -> str:
    """Return the assumption about symbolic sizes from which an error of a rule follows, as text; empty for none."""
    with assumptions() as made, suppress(RuleError):
        build_node(op, inputs, elaboration.ctx, "")
    if not made:
        return ""
    claim = made[-1]
    try:
        left, right = value_at(claim.left, {}), value_at(claim.right, {})
    except UndecidedError:
        return f"; {claim} is assumed, as a size has no default"
    if claim.relation != "!=":
        return f"; {claim} at the default sizes"
    return f"; {claim.left} and {claim.right} are not equal at the default sizes: {left} and {right}"


def _working_fix(elaboration: Elaboration, error: RuleError, inputs: Sequence[Value | None]) -> str | None:
    """Return the hint of the first fix whose shape rule gives the shape that it promises."""
    for fix in error.fixes:
        declared, value = ops.find(fix.op), inputs[fix.port]
        if declared is None or value is None or value.type is None:
            continue
        try:
            results = infer(declared.model_validate(fix.attrs), (value.type,), elaboration.ctx)
        except (RuleError, ValidationError, UndecidedError):
            continue
        if results[0].shape == fix.shape:
            return fix.hint
    return None


def _aligned_shapes(types: Sequence[TensorType]) -> list[str]:
    """Return the shapes as text, their last axes aligned."""
    rank = max((t.rank for t in types), default=0)
    rows = [[""] * (rank - t.rank) + [str(size) for size in t.shape] for t in types]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [size.rjust(width) for size, width in zip(row, widths, strict=True)]
        lines.append(
            "".join(("×" if i and row[i - 1] else " " if i else "") + c for i, c in enumerate(cells)) or "scalar"
        )
    return lines
