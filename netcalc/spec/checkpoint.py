"""Places of parameters in a reference's checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import CheckpointLocation
from netcalc.spec.cursor import Cursor
from netcalc.spec.document import CheckpointDecl
from netcalc.spec.evaluate import evaluate_size
from netcalc.spec.reporter import Reporter
from netcalc.spec.scope import Scope

__all__ = ["checkpoint_locations"]


def checkpoint_locations(
    reporter: Reporter, declared: Mapping[str, CheckpointDecl | str], cursor: Cursor, scope: Scope
) -> Iterator[tuple[str, CheckpointLocation]]:
    """Yield (parameter, place in the reference's checkpoint) for each entry under ``checkpoint``."""
    for path, decl in declared.items():
        if isinstance(decl, str):
            yield path, CheckpointLocation(decl)
            continue
        location = reporter.guard(_checkpoint_location, decl, cursor["checkpoint"][path], scope)
        if location is not None:
            yield path, location


def _checkpoint_location(decl: CheckpointDecl, cursor: Cursor, scope: Scope) -> CheckpointLocation:
    index, count = decl.chunk
    if not 0 <= index < count:
        message = f"chunk [{index}, {count}] is out of range: the index should be from 0 to {count - 1}"
        raise NetcalcError(Diagnostic("E104", message, cursor.at(("chunk",)).span))
    stack = None if decl.stack is None else _stack(decl, cursor["stack"], scope)
    return CheckpointLocation(decl.name, index, count, decl.axis, decl.transpose, stack)


def _stack(decl: CheckpointDecl, cursor: Cursor, scope: Scope) -> int:
    value = evaluate_size(cursor, scope)
    if not isinstance(value, int) or decl.name.count("{}") != 1:
        hint = "write {} once in the name, in place of the number of each tensor"
        raise NetcalcError(Diagnostic("E104", "stack: should be a number of tensors", cursor.span, hint=hint))
    return value
