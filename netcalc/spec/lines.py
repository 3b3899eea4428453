"""Elaboration of lists of lines: each line becomes nodes of the body and names in the scope."""

from __future__ import annotations

from netcalc import ops
from netcalc.diagnostics import NetcalcError, TooLargeError
from netcalc.ir import Value
from netcalc.spec.adapters import require_linear
from netcalc.spec.block_calls import elaborate_call, with_absent
from netcalc.spec.cursor import Cursor
from netcalc.spec.eager import require_node
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.inlining import elaborate_inline, is_inline
from netcalc.spec.line_inputs import start_value
from netcalc.spec.line_syntax import SEQUENCE, Line, read_line
from netcalc.spec.modifiers import condition_holds, define_outputs, line_name, lists_among, output_names
from netcalc.spec.operations import elaborate_operation
from netcalc.spec.patching import elaborate_inserted, patched_line, patching
from netcalc.spec.repeats import elaborate_repeat
from netcalc.spec.scope import Outputs, Poisoned, Scope
from netcalc.spec.sequences import elaborate_sequence
from netcalc.spec.targets import TargetNames, block_of, resolve_target


def elaborate_lines(elaboration: Elaboration, cursor: Cursor, scope: Scope, current: Value | None) -> Value | None:
    """Elaborate a list of lines, each applied to the value of the one before; return the last value.

    The error of a line is recorded, and elaboration continues with a value of unknown type in its place.
    """
    outer = scope.current
    for item in cursor.elements():
        if isinstance(item.data, dict) and isinstance(item.data.get("name"), str):
            scope.later.setdefault(item.data["name"], item["name"].span)
    for item in cursor.elements():
        elaboration.budget.spend(1, item)
        scope.current = None if current is None else Outputs.single(current)
        before = len(scope.body.nodes)
        try:
            current = _elaborate_line(elaboration, item, scope, current)
        except TooLargeError as error:
            raise error.at(item.span) from None
        except NetcalcError as error:
            elaboration.reporter.report(error.at(item.span), scope.arguments_in_force())
            current = _poison(item, scope)
        except Poisoned:
            current = _poison(item, scope)
        elaboration.see(item, scope, current, before)
    scope.current = outer
    return current


def _elaborate_line(elaboration: Elaboration, cursor: Cursor, scope: Scope, current: Value | None) -> Value | None:
    if not scope.patches:
        return _apply(elaboration, read_line(cursor, TargetNames(elaboration, scope)), scope, current)
    edit = patched_line(elaboration, cursor, scope)
    current = elaborate_inserted(elaboration, edit.before, scope, current)
    scope.current = None if current is None else Outputs.single(current)
    if edit.removed:
        _skip(elaboration, edit.line, scope, current)
    else:
        with patching(elaboration, edit, cursor, scope):
            current = _apply(elaboration, edit.line, scope, current)
    return elaborate_inserted(elaboration, edit.after, scope, current)


def _apply(elaboration: Elaboration, line: Line, scope: Scope, current: Value | None) -> Value | None:
    if "repeat" in line.modifiers:
        require_linear(line)
        return elaborate_repeat(elaboration, line, scope, current)
    if not condition_holds(line, scope):
        _skip(elaboration, line, scope, current)
        return current
    line = resolve_target(line, scope)
    require_linear(line)
    with elaboration.freezing(line, scope):
        inline = is_inline(line, scope)
        if line.target == SEQUENCE:
            require_node(line)
            return elaborate_sequence(elaboration, line, scope, current)
        declared = ops.find(line.target)
        if declared is not None:
            return elaborate_operation(elaboration, line, declared, scope, current)
        if inline:
            require_node(line)
            block = block_of(elaboration, line, scope)
            present = elaborate_inline(elaboration, line, block, scope, current)
            outputs = Outputs(with_absent(block, present), line.cursor.span)
            define_outputs(line, scope, outputs, lists_among(outputs.by_port))
            return outputs.first
        return elaborate_call(elaboration, line, block_of(elaboration, line, scope), scope, current)


def _skip(elaboration: Elaboration, line: Line, scope: Scope, current: Value | None) -> None:
    """Give a line's names to its input, as its ``when`` is false, except names that an earlier line has.

    The names of an operation or block without inputs stand for an absent value.
    """
    declared = ops.find(line.target)
    block = None if declared is not None else elaboration.block(line.target, scope.home)
    has_inputs = bool(declared.inputs) if declared is not None else block is None or bool(block.decl.inputs)
    value = start_value(line, scope, current) if has_inputs else None
    for name in (line_name(line, scope), *output_names(line)):
        if isinstance(name, (str, int)):
            outputs = Outputs.single(value, line.cursor.span)._replace(skipped=True)
            scope.defined.setdefault(str(name), outputs)


def _poison(item: Cursor, scope: Scope) -> Value:
    """Return a value of unknown type for a line with an error, and give it the names that the line defines.

    What depends on the value is skipped, so that an error is reported once.
    """
    value = Value(None, "an earlier error", item.span)
    data = item.data if isinstance(item.data, dict) else {}
    labels = data.get("as")
    for name in (data.get("name"), *(labels if isinstance(labels, list) else [labels])):
        if isinstance(name, str):
            scope.defined[name] = Outputs.single(value, item.span)
    if "name" not in data:
        scope.body.failed |= {item.data} if isinstance(item.data, str) else data.keys()
    return value
