"""One line that is an operation: its attributes, its inputs or branches, its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, Related, RuleError
from netcalc.dims import UndecidedError
from netcalc.ir import OpNode, Value, join
from netcalc.ir.build import build_node, infer
from netcalc.opdef import Operation
from netcalc.spec.document import diagnose
from netcalc.spec.evaluate import evaluate
from netcalc.spec.inputs import resolve_inputs, resolve_value
from netcalc.spec.lines import Line
from netcalc.spec.scope import Frame, Named, Poisoned
from netcalc.spec.source import Cursor
from netcalc.spec.ties import tie_operation
from netcalc.tensor_type import TensorType

if TYPE_CHECKING:
    from netcalc.spec.elaborate import Elaborator

__all__ = ["elaborate_operation"]


def elaborate_operation(
    walk: Elaborator,
    line: Line,
    declared: type[Operation],
    frame: Frame,
    current: Value | None,
    path: str | None = None,
) -> Value | None:
    """Elaborates an operation; returns its first output.  ``path`` is its place in the body, if not to be derived."""
    attributes, branches = _split_arguments(line, declared)
    values = _branch_values(walk, branches, line, frame, current)
    inputs = resolve_inputs(line, declared.inputs, frame, current, values, declared.name)
    attrs = {k: evaluate(v, *walk.scope(frame)) for k, v in attributes.items()}
    op = _instantiate(declared, attrs, line)
    name = walk.given_name(line, frame)
    if path is None or branches:
        numbered = frame.numbered and not branches and path is None
        path = frame.take_name(name, declared.name) if numbered or name else None
        path = path or frame.builder.unique(join(frame.prefix, declared.name))
    walk.claim(path, line, frame)
    node = _build(walk, op, inputs, path, line)
    outputs = node.outputs
    node.ties = tie_operation(node, line, frame, walk.main)
    frame.builder.nodes.append(node)
    names = [port.name for port in declared.outputs][: len(outputs)]
    if declared.outputs[0].variadic:
        names = [str(i) for i in range(len(outputs))]
    walk.define(line, frame, Named(dict(zip(names, outputs, strict=True)), line.cursor.span))
    return outputs[0]


def _split_arguments(line: Line, declared: type[Operation]) -> tuple[dict[str, Cursor], dict[str, Cursor]]:
    """(attributes, branches): a list of lines under a key that is no attribute is a branch."""
    if line.args is None:
        return {}, {}
    data = line.args.data
    if isinstance(data, dict):
        fields = declared.model_fields
        branches = {
            k: v
            for k, v in line.args.items()
            if k not in fields and isinstance(v.data, list) and all(isinstance(i, (str, dict)) for i in v.data)
        }
        return {k: v for k, v in line.args.items() if k not in branches}, branches
    variadic = bool(declared.inputs) and declared.inputs[0].variadic
    if variadic and isinstance(data, list) and data and all(isinstance(item, list) for item in data):
        return {}, {str(i): branch for i, branch in enumerate(line.args.elements())}
    if declared.shorthand is None:
        raise NetcalcError(
            Diagnostic(
                "E107",
                f"{declared.name} takes its attributes as a mapping",
                line.args.span,
                hint=f"write `{declared.name}: {{attribute: value}}`",
            )
        )
    return {declared.shorthand: line.args}, {}


def _branch_values(
    walk: Elaborator, branches: Mapping[str, Cursor], line: Line, frame: Frame, current: Value | None
) -> dict[str, Value | None]:
    """The value of each branch; every branch starts from the join's input."""
    if not branches:
        return {}
    source = line.modifier("from")
    if source is not None and isinstance(source.data, str):
        current = resolve_value(source.data, source, frame, current)
    values: dict[str, Value | None] = {}
    for label, cursor in branches.items():
        values[label] = walk.lines(cursor, frame, current)
        if values[label] is None:
            raise NetcalcError(Diagnostic("E303", f"the branch {label!r} has no input and no lines", cursor.span))
    return values


def _instantiate(declared: type[Operation], attrs: Mapping[str, Any], line: Line) -> Operation:
    try:
        return declared.model_validate(attrs)
    except ValidationError as error:
        at = line.args if line.args is not None else line.cursor
        if declared.shorthand and line.args is not None and not isinstance(line.args.data, dict):
            at = Cursor({declared.shorthand: at.data}, at.path, at.spans)
        found = diagnose(error, at, declared, what=f"{declared.name} attribute")
        raise NetcalcError(found) from None


def _build(walk: Elaborator, op: Operation, inputs: list[Value | None], path: str, line: Line) -> OpNode:
    """Return the node of a line; the errors of its rules are given the line's place."""
    span = (line.args or line.cursor).key_span
    if any(value is not None and value.type is None for value in inputs):
        raise Poisoned
    try:
        return build_node(op, inputs, walk.ctx, path, frozen=walk.freeze, span=span)
    except RuleError as error:
        raise NetcalcError(_misfit(walk, error, op, inputs, span)) from None
    except UndecidedError as error:
        hint = "give the size a value with --set, or a default in dims"
        raise NetcalcError(Diagnostic("E404", f"{op.name}: {error}", span, hint=hint)) from None


def _misfit(walk: Elaborator, error: RuleError, op: Operation, inputs: list[Value | None], span: Any) -> Diagnostic:
    labels = [port.name for port in op.inputs]
    if len(labels) < len(inputs):
        labels = labels[:-1] + [f"{labels[-1]}[{i}]" for i in range(len(inputs) - len(labels) + 1)]
    present = [(label, v, v.type) for label, v in zip(labels, inputs, strict=False) if v is not None and v.type]
    width = max((len(label) for label, _, _ in present), default=0)
    shown = _aligned([kind for _, _, kind in present])
    related = tuple(
        Related(f"{label:<{width}}  {shape} {kind.dtype}, from {value.name}", value.span)
        for (label, value, kind), shape in zip(present, shown, strict=True)
    )
    return Diagnostic(error.code, error.message, span, related, hint=error.hint or _working_fix(walk, error, inputs))


def _working_fix(walk: Elaborator, error: RuleError, inputs: list[Value | None]) -> str | None:
    """The first remedy that works, tried on the shape rule itself."""
    for fix in error.fixes:
        declared, value = ops.find(fix.op), inputs[fix.port]
        if declared is None or value is None or value.type is None:
            continue
        try:
            results = infer(declared.model_validate(fix.attrs), (value.type,), walk.ctx)
        except (RuleError, ValidationError, UndecidedError):
            continue
        if results[0].shape == fix.shape:
            return fix.hint
    return None


def _aligned(types: Sequence[TensorType]) -> list[str]:
    """The shapes with their sizes axis under axis, counted from the last."""
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
