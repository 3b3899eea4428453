"""``tie:`` — using the weights of a layer that stands before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.diagnostics import Diagnostic, NetcalcError, Related
from netcalc.dims import Dim
from netcalc.ir import Body, CallNode, Node, OpNode, Tie, join, parameter_at
from netcalc.opdef import Param
from netcalc.spec.lines import Line
from netcalc.spec.scope import BodyBuilder, Frame
from netcalc.spec.source import Cursor

__all__ = ["tie_call", "tie_operation"]


def tie_operation(node: OpNode, line: Line, frame: Frame, main: BodyBuilder) -> dict[str, Tie]:
    """Which of an operation's parameters are whose; NetcalcError (E304) where shapes or names do not allow it."""
    cursor = line.modifier("tie")
    if cursor is None:
        return {}
    mine = {param.name: param for param in node.params}
    if cursor.data is None or isinstance(cursor.data, (list, bool)):
        message = "tie: should be the path of a layer, or a mapping from parameter to path"
        raise NetcalcError(Diagnostic("E107", message, cursor.span))
    if isinstance(cursor.data, dict):
        pairs = [(name, str(item.data), item) for name, item in cursor.items()]
    else:
        pairs = [(name, join(str(cursor.data), name), cursor) for name in mine]
    ties: dict[str, Tie] = {}
    for name, path, item in pairs:
        if name not in mine:
            names = ", ".join(mine) or "none"
            message = f"{node.op.name} has no parameter {name!r} to tie"
            raise NetcalcError(Diagnostic("E304", message, item.key_span, hint=f"its parameters are: {names}"))
        tie, owner = _find_param(path, item, frame, main)
        if owner.shape != mine[name].shape:
            message = f"{name!r} is {_shown(mine[name].shape)}, and {path!r} is {_shown(owner.shape)}"
            raise NetcalcError(Diagnostic("E304", message, item.span, hint="tied weights have the same shape"))
        ties[name] = tie
    return ties


def tie_call(node: CallNode, line: Line, frame: Frame, main: BodyBuilder, *, to: str | None = None) -> Tie | None:
    """Whose weights a call uses as a whole, or None; ``to`` names the call within the same body."""
    if to is not None:
        first = _find_call(frame.builder.nodes, to)
        if first is not None and _signature(first.body) != _signature(node.body):
            message = "share: the iterations have parameters of different names or shapes"
            raise NetcalcError(Diagnostic("E304", message, line.modifiers["share"].key_span))
        return Tie(to)
    cursor = line.modifier("tie")
    if cursor is None:
        return None
    if not isinstance(cursor.data, str):
        raise NetcalcError(Diagnostic("E304", "a block is tied to a block as a whole: tie: path", cursor.span))
    for tie, nodes in _places(cursor.data, frame, main):
        other = _find_call(nodes, tie.target)
        if other is None:
            continue
        if _signature(other.body) != _signature(node.body):
            related = (Related("the other is called here", other.span),)
            message = f"{cursor.data!r} has other parameters than this call"
            raise NetcalcError(Diagnostic("E304", message, cursor.span, related))
        return tie
    raise NetcalcError(_nothing(cursor.data, cursor))


def _find_param(path: str, cursor: Cursor, frame: Frame, main: BodyBuilder) -> tuple[Tie, Param]:
    for tie, nodes in _places(path, frame, main):
        found = parameter_at(nodes, tie.target)
        if found is not None:
            return tie, found[1]
    raise NetcalcError(_nothing(path, cursor))


def _nothing(path: str, cursor: Cursor) -> Diagnostic:
    hint = "a tie names an earlier layer of the same block, or, with a leading '/', one from the top"
    return Diagnostic("E304", f"there is no {path!r} before this line to share weights with", cursor.span, hint=hint)


def _places(path: str, frame: Frame, main: BodyBuilder) -> Iterator[tuple[Tie, Sequence[Node]]]:
    """Where a path may lead: from the root, or from each scope around the line, innermost first."""
    if path.startswith("/"):
        yield Tie(path[1:], absolute=True), main.nodes
        return
    here: Frame | None = frame
    while here is not None:
        yield Tie(join(here.prefix, path)), frame.builder.nodes
        here = here.parent


def _find_call(nodes: Sequence[Node], path: str) -> CallNode | None:
    for node in nodes:
        if isinstance(node, CallNode):
            rest = node.inside(path)
            if rest == "":
                return node
            found = None if rest is None else _find_call(node.body.nodes, rest)
            if found is not None:
                return found
    return None


def _signature(body: Body) -> list[tuple[str, tuple[Dim, ...] | list[object], int]]:
    """Names and shapes of the parameters in a body, repeats not unrolled."""
    found: list[tuple[str, tuple[Dim, ...] | list[object], int]] = []
    for node in body.nodes:
        if isinstance(node, OpNode):
            found += ((join(node.name, p.name), p.shape, 1) for p in node.params)
        elif node.shares is None:
            found.append((node.instance(0), list(_signature(node.body)), node.times))
    return found


def _shown(shape: tuple[Dim, ...]) -> str:
    return "×".join(map(str, shape)) if shape else "a scalar"
