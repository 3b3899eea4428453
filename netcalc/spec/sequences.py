"""Elaboration of ``sequence``: a group of lines."""

from __future__ import annotations

from netcalc.ir import Value, join
from netcalc.spec.eager import hold
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.line_inputs import resolve_value
from netcalc.spec.line_syntax import Line
from netcalc.spec.modifiers import claim_path, define_outputs, line_name, module_of
from netcalc.spec.scope import Outputs, Scope


def elaborate_sequence(elaboration: Elaboration, line: Line, scope: Scope, current: Value | None) -> Value | None:
    """Elaborate the lines of a sequence and return the last value.

    A named sequence is a level of paths, and its values are visible outside under ``name.value``; the lines of an
    unnamed one belong to the enclosing list.  In eager mode the code that calls a named one, a module, holds its input.
    """
    lines = line.sequence()
    cursor = line.modifier("from")
    if cursor is not None:
        if not isinstance(cursor.data, (str, int)):
            raise cursor.error("E303", "a sequence takes one input, so from: should be a name")
        current = resolve_value(str(cursor.data), cursor, scope, current)
    name = line_name(line, scope)
    inner = scope
    if name is not None:
        inner = scope.child(sequence=claim_path(join(scope.prefix, name), line, scope))
        inner.module = module_of(line, inner.prefix, scope)
    before = len(scope.body.nodes)
    result = elaboration.lines(lines, inner, current)
    if name is not None and current is not None and current.type is not None:
        hold(scope.body.nodes[before:], current)
    define_outputs(line, scope, Outputs.single(result, line.cursor.span))
    if name is not None:
        for local, outputs in inner.defined.items():
            scope.defined[f"{name}.{local}"] = outputs
    return result
