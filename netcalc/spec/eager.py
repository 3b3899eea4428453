"""The modifier ``eager``: how PyTorch's eager mode runs a line of the reference implementation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from netcalc.diagnostics import did_you_mean, written
from netcalc.ir import CallNode, Node, OpNode, Value
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import evaluate
from netcalc.spec.line_inputs import resolve_value
from netcalc.spec.line_syntax import SEQUENCE, Line
from netcalc.spec.scope import Scope


class _Eager(NamedTuple):
    inplace: bool = False
    holds: tuple[Value, ...] = ()


def mark(node: CallNode, line: Line, scope: Scope) -> None:
    """Set the values that a call holds; NetcalcError (E104) if the call is said to work in place."""
    eager = _read(line, scope)
    if eager.inplace:
        raise line.modifiers["eager"].error("E104", "eager: only an operation works in place")
    node.holds = eager.holds


def mark_operation(node: OpNode, line: Line, scope: Scope) -> None:
    """Set the values that an operation holds, and if it works in place.

    Raises:
        NetcalcError: E104 if the result is not of the type of the first input, and the errors of the modifier.
    """
    eager = _read(line, scope)
    if eager.inplace and node.input_types[:1] != node.output_types:
        message = f"eager: {node.op.name} cannot work in place, since its result is not of the type of its input"
        raise line.modifiers["eager"].error("E104", message)
    node.inplace, node.holds = eager


def hold(nodes: Iterable[Node], value: Value) -> None:
    """Add a value to the values that each of the nodes holds."""
    for node in nodes:
        if value not in node.holds:
            node.holds += (value,)


def require_node(line: Line) -> None:
    """Raise NetcalcError (E107) if a line that is no node of its own, a sequence or inlined, has the modifier."""
    if (cursor := line.modifier("eager")) is not None:
        what = "a sequence" if line.target == SEQUENCE else "a block that is inlined"
        raise cursor.key_error("E107", f"eager: {what} has no memory of its own; its lines have")


def _read(line: Line, scope: Scope) -> _Eager:
    """Return the modifier's values; NetcalcError (E101, E104) if it is malformed, and for names as ``from``."""
    cursor = line.modifier("eager")
    if cursor is None:
        return _Eager()
    if not isinstance(cursor.data, dict):
        raise cursor.error("E104", "eager: should be a mapping with inplace and holds")
    for key, item in cursor.items():
        if key not in _Eager._fields:
            hint = did_you_mean(key, _Eager._fields)
            raise item.key_error("E101", f"eager: unknown key {key!r}", hint)
    inplace = evaluate(cursor["inplace"], scope) if "inplace" in cursor.data else False
    if not isinstance(inplace, bool):
        message = f"eager: inplace should be true or false, not {written(inplace, quoted=True)}"
        raise cursor["inplace"].error("E104", message)
    names = _names(cursor["holds"]) if "holds" in cursor.data else []
    current = None if scope.current is None else scope.current.first
    values = [resolve_value(str(name.data), name, scope, current) for name in names]
    return _Eager(inplace, tuple(dict.fromkeys(value for value in values if value is not None)))


def _names(cursor: Cursor) -> list[Cursor]:
    items = list(cursor.elements()) if isinstance(cursor.data, list) else [cursor]
    for item in items:
        if not isinstance(item.data, str):
            raise item.error("E104", f"eager: holds should name values, not {written(item.data, quoted=True)}")
    return items
