"""Nodes of operations: their types are inferred, and the errors of their rules get a place and the shapes of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, Related, RuleError, Span, clipped, written
from netcalc.dims import Poly, UndecidedError, assumptions, keeps_formulas, value_at
from netcalc.ir import OpNode, Value
from netcalc.ir.build import build_node, infer
from netcalc.limits import MAX_MESSAGE
from netcalc.models import ValidationError
from netcalc.opdef import Operation
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.scope import Scope
from netcalc.tensor_type import TensorType


def add_operation(
    elaboration: Elaboration, op: Operation, inputs: Sequence[Value | None], path: str, scope: Scope, span: Span | None
) -> OpNode:
    """Append an operation that no line applies to the scope's body and return its node."""
    scope.body.paths[path] = span
    node = build_operation(elaboration, op, inputs, path, span)
    elaboration.expansion.add(node, scope.body)
    return node


def build_operation(
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
    if keeps_formulas() or any(isinstance(size, Poly) for type_ in types for size in type_.shape):
        is_expected = type(node.op).expected_cost is Operation.expected_cost
        for rule in (node.op.cost,) if is_expected else (node.op.cost, node.op.expected_cost):
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
    decided = _assumption_behind(elaboration, op, inputs)
    hint = _channels_hint(op, inputs) or error.hint or _working_fix(elaboration, error, inputs)
    if hint is None and error.code == "E402":
        hint = _declaration_that_works(elaboration, op, inputs)
    return Diagnostic(error.code, clipped(error.message, MAX_MESSAGE) + decided, span, related, hint=hint)


def _channels_hint(op: Operation, inputs: Sequence[Value | None]) -> str | None:
    """Return the hint of an operation on images whose input looks as if its channels were the last axis."""
    type_ = inputs[0].type if op.windowed and inputs and inputs[0] is not None else None
    if type_ is None or not type_.looks_channels_last:
        return None
    axis = type_.rank - getattr(op, "axes", 2) - 1
    order = [type_.rank - 1, *range(type_.rank - 1)]
    declared = "`layout: channels_last` on an input says that they are its last axis"
    remedy = declared if axis else f"`permute: {order}` before it moves them from the last axis"
    return f"the operation takes axis {axis} of {_aligned_shapes([type_])[0]} as channels; {remedy}"


def _assumption_behind(elaboration: Elaboration, op: Operation, inputs: Sequence[Value | None]) -> str:
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


def _declaration_that_works(elaboration: Elaboration, op: Operation, inputs: Sequence[Value | None]) -> str | None:
    """Return how to declare an input of the network, which declares no element type, so that the operation takes it."""
    types = tuple(None if value is None else value.type for value in inputs)
    declarations = elaboration.loaded.cursor.at(("inputs",))
    names = {value.span: value.name for value in elaboration.main.inputs if value is not None and value.span}
    for place, value in enumerate(inputs):
        name = None if value is None or value.span is None else names.get(value.span)
        data = declarations.at((name,)).data if name is not None and name in declarations.data else None
        if data is None or (isinstance(data, dict) and "dtype" in data):
            continue
        for dtype in ("int64", "bool"):
            changed = tuple(replace(t, dtype=dtype) if t and i == place else t for i, t in enumerate(types))
            try:
                infer(op, changed, elaboration.ctx)
            except (RuleError, UndecidedError):
                continue
            domain = dict(enumerate(op.domains(*changed))).get(place)
            range_ = {} if domain is None else {"range": [domain.low, domain.high]}
            declared = {**(data if isinstance(data, dict) else {"shape": data}), "dtype": dtype, **range_}
            return f"declare the input as `{name}: {written(declared, quoted='${' in written(declared))}`"
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
