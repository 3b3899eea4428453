"""Elaboration of ``tie:`` and ``share:``, by which a line uses the weights of an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.diagnostics import Diagnostic, NetcalcError, Related
from netcalc.ir import CallNode, Node, OpNode, Tie, call_at, join, parameter_at, parameter_signature
from netcalc.opdef import Param
from netcalc.spec.cursor import Cursor
from netcalc.spec.line_syntax import Line
from netcalc.spec.scope import PartialBody, Scope


def is_absolute(line: Line) -> bool:
    """Return True if the line may use weights from outside its block, by a path from the top of the spec."""
    cursor = line.modifier("tie")
    return cursor is not None and "/" in str(cursor.data)


def tie_operation(node: OpNode, line: Line, scope: Scope, main: PartialBody) -> dict[str, Tie]:
    """Return the ties of an operation's parameters by name; NetcalcError (E304) if names or shapes do not match."""
    cursor = line.modifier("tie")
    if cursor is None:
        return {}
    params = {param.name: param for param in node.params}
    if cursor.data is None or isinstance(cursor.data, (list, bool)):
        raise cursor.error("E107", "tie: should be the path of a layer, or a mapping from parameter to path")
    if isinstance(cursor.data, dict):
        pairs = [(name, str(item.data), item) for name, item in cursor.items()]
    else:
        pairs = [(name, join(str(cursor.data), name), cursor) for name in params]
    ties: dict[str, Tie] = {}
    for name, path, item in pairs:
        if name not in params:
            hint = f"its parameters are: {', '.join(params) or 'none'}"
            raise item.key_error("E304", f"{node.op.name} has no parameter {name!r} to tie", hint)
        tie, owner = _find_parameter(path, item, scope, main)
        if owner.shape != params[name].shape:
            message = f"cannot tie {name!r}, which is {_shape(params[name])}, to {path!r}, which is {_shape(owner)}"
            raise item.error("E304", message, "tied parameters must have the same shape")
        ties[name] = tie
    return ties


def tie_call(node: CallNode, line: Line, scope: Scope, main: PartialBody) -> Tie | None:
    """Return the tie of a call to an earlier one, or None; NetcalcError (E304) if their parameters differ."""
    cursor = line.modifier("tie")
    if cursor is None:
        return None
    if not isinstance(cursor.data, str):
        raise cursor.error("E304", "a block can be tied only as a whole: tie: should be the path of an earlier block")
    for tie, nodes in _candidates(cursor.data, scope, main):
        other = call_at(nodes, tie.target)
        if other is None:
            continue
        if parameter_signature(other.body) != parameter_signature(node.body):
            related = (Related("the other is called here", other.span),)
            message = f"cannot tie to {cursor.data!r}: its parameters have other names or shapes"
            raise NetcalcError(Diagnostic("E304", message, cursor.span, related))
        return tie
    raise NetcalcError(_no_such_path(cursor.data, cursor))


def share_with_first(node: CallNode, path: str, line: Line, scope: Scope) -> Tie:
    """Return the tie of a later iteration to the first, which is called at ``path`` in the same body."""
    first = call_at(scope.body.nodes, path)
    if first is not None and parameter_signature(first.body) != parameter_signature(node.body):
        message = "share: the iterations have parameters of different names or shapes"
        raise line.modifiers["share"].key_error("E304", message)
    return Tie(path)


def _find_parameter(path: str, cursor: Cursor, scope: Scope, main: PartialBody) -> tuple[Tie, Param]:
    for tie, nodes in _candidates(path, scope, main):
        place = parameter_at(nodes, tie.target)
        if place is not None:
            return tie, place[1]
    raise NetcalcError(_no_such_path(path, cursor))


def _no_such_path(path: str, cursor: Cursor) -> Diagnostic:
    hint = "a path starts in the block at hand, or with '/' at the top of the spec"
    return Diagnostic("E304", f"no earlier line has {path!r} to tie to", cursor.span, hint=hint)


def _candidates(path: str, scope: Scope, main: PartialBody) -> Iterator[tuple[Tie, Sequence[Node]]]:
    """Yield the targets that a path may mean: from the top, or from each sequence around the line, innermost first."""
    if path.startswith("/"):
        yield Tie(path[1:], absolute=True), main.nodes
        return
    for enclosing in scope.enclosing():
        if enclosing.body is not scope.body:
            return
        yield Tie(join(enclosing.prefix, path)), scope.body.nodes


def _shape(param: Param) -> str:
    return "×".join(map(str, param.shape)) if param.shape else "a scalar"
