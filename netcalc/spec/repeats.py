"""``repeat:`` — one call node for every run of equal iterations, however long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Body, CallNode, OpNode, Value, join, types_of
from netcalc.opdef import Operation
from netcalc.spec.calls import emit_call, prepare_call
from netcalc.spec.evaluate import evaluate, evaluate_expression, names_in
from netcalc.spec.inputs import resolve_value
from netcalc.spec.lines import Line
from netcalc.spec.operations import elaborate_operation
from netcalc.spec.scope import BodyBuilder, Frame, Named, Poisoned
from netcalc.spec.ties import tie_call

if TYPE_CHECKING:
    from netcalc.spec.elaborate import Elaborator

__all__ = ["elaborate_repeat", "same_body"]

MAX_TIMES = 100_000_000


class Repetition(NamedTuple):
    """How often, what the loop variables are called, and whether the iterations can differ by them."""

    indices: Sequence[int]
    index_name: str
    item_name: str | None
    items: Sequence[Any]
    varies: bool

    @property
    def times(self) -> int:
        """How many iterations there are."""
        return len(self.indices)

    def variables(self, turn: int) -> dict[str, Any]:
        """The loop variables of one iteration."""
        index = self.indices[turn]
        return {self.index_name: index} | ({self.item_name: self.items[index]} if self.item_name else {})


def elaborate_repeat(walk: Elaborator, line: Line, frame: Frame, current: Value | None) -> Value | None:
    """Elaborates a repeated line; returns the value after its last iteration."""
    repetition = _read(walk, line, frame)
    line = walk.resolved(line, frame)
    target, name = line.target, walk.given_name(line, frame)
    if target == "sequence" and name is None:
        return _splice(walk, line, repetition, frame, current)
    numbering_on = name is None and frame.numbered
    if numbering_on:
        base, start = frame.prefix, frame.counter[0]
        frame.counter[0] += repetition.times
    else:
        path = join(frame.prefix, name) if name else frame.builder.unique(join(frame.prefix, target))
        base, start = walk.claim(path, line, frame), 0
    shared = _shared(walk, line, frame)
    last: CallNode | None = None
    done = 0
    if repetition.varies:
        walk.spend(repetition.times, line.modifiers["repeat"])
    while done < repetition.times:
        inner = Frame(frame.builder, frame.prefix, parent=frame, variables=repetition.variables(done))
        with walk.freezing(line, inner):
            with walk.inside(f"in iteration {done} of {repetition.times:,}", line.cursor, walk.home):
                body, inputs = _iteration(walk, line, target, inner, current, last)
                steady = _steady(body)
                # an iteration that leaves every type as it was stands for all that follow it
                covers = repetition.times - done if steady and not repetition.varies else 1
                if shared and done == 0:
                    covers = 1
                if last is not None and steady and not (shared and done == 1) and _continues(last, body, inputs):
                    last.times += covers
                else:
                    last = emit_call(walk, line, frame, base, body, inputs, None if shared else start + done)
                    last.times = covers
                    if shared and done > 0:
                        last.shares = tie_call(last, line, frame, walk.main, to=base)
            current = last.outputs[0]
            done += covers
    walk.define(line, frame, _result(last, current, line))
    return current


def same_body(a: Body, b: Body) -> bool:
    """Whether two bodies are the same network with the same names."""
    if a is b:
        return True
    if a.block != b.block or len(a.nodes) != len(b.nodes) or a.input_types != b.input_types:
        return False
    paired: dict[int, Value | None] = {id(x): y for x, y in zip(a.inputs, b.inputs, strict=True) if x is not None}
    for one, other in zip(a.nodes, b.nodes, strict=True):
        if not _same_node(one, other):
            return False
        fed = [None if x is None else paired.get(id(x)) for x in one.inputs]
        if len(fed) != len(other.inputs) or any(x is not y for x, y in zip(fed, other.inputs, strict=True)):
            return False
        paired |= {id(x): y for x, y in zip(one.outputs, other.outputs, strict=True)}
    return [paired.get(id(x)) for x in a.outputs] == list(b.outputs)


def _same_node(one: Any, other: Any) -> bool:
    if isinstance(one, OpNode) and isinstance(other, OpNode):
        return (one.name, one.op, one.params, one.ties, one.frozen) == (
            other.name,
            other.op,
            other.params,
            other.ties,
            other.frozen,
        )
    if isinstance(one, CallNode) and isinstance(other, CallNode):
        mine = (one.name, one.times, one.start, one.shares)
        return mine == (other.name, other.times, other.start, other.shares) and same_body(one.body, other.body)
    return False


def _read(walk: Elaborator, line: Line, frame: Frame) -> Repetition:
    cursor = line.modifiers["repeat"]
    scope, known = walk.scope(frame)
    index, item, items = "index", None, ()
    if isinstance(cursor.data, dict):
        unknown = set(cursor.data) - {"times", "each", "as", "index"}
        if unknown or ("times" in cursor.data) == ("each" in cursor.data):
            hint = "repeat: 3, or {times: 3, index: i}, or {each: [64, 128], as: width}"
            raise NetcalcError(Diagnostic("E107", "repeat: should say times or each", cursor.span, hint=hint))
        for key in ("as", "index"):
            if not str(cursor.data.get(key, key)).isidentifier() or isinstance(cursor.data.get(key), bool):
                message = f"{key}: should be a name of letters, digits and '_'"
                raise NetcalcError(Diagnostic("E104", message, cursor[key].span))
        index = str(cursor.data.get("index", "index"))
        if "each" in cursor.data:
            items = evaluate_expression(cursor["each"], scope, known)
            items = evaluate(cursor["each"], scope, known) if isinstance(items, list) else items
            if not isinstance(items, (list, tuple)):
                raise NetcalcError(Diagnostic("E104", "each: should be a list", cursor["each"].span))
            item, times = str(cursor.data.get("as", "item")), len(items)
        else:
            times = _times(evaluate_expression(cursor["times"], scope, known), line)
    else:
        times = _times(evaluate_expression(cursor, scope, known), line)
    others = {k: v for k, v in line.cursor.data.items() if k not in ("repeat", "name")}
    varies = bool(names_in(others) & {index, item})
    repetition = Repetition(range(times), index, item, items, varies)
    return _where_it_holds(walk, line, frame, repetition)


def _where_it_holds(walk: Elaborator, line: Line, frame: Frame, repetition: Repetition) -> Repetition:
    when = line.modifier("when")
    if when is None:
        return repetition
    if not names_in(when.data, bare=True) & {repetition.index_name, repetition.item_name}:
        return repetition if walk.holds(line, frame) else repetition._replace(indices=())
    walk.spend(repetition.times, when)
    kept = [
        turn
        for turn in range(repetition.times)
        if walk.holds(line, Frame(frame.builder, parent=frame, variables=repetition.variables(turn)))
    ]
    return repetition._replace(indices=kept)


def _times(value: Any, line: Line) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TIMES:
        span = line.modifiers["repeat"].span
        message = f"repeat: should be a whole number from 0 to {MAX_TIMES:,}, not {value}"
        raise NetcalcError(Diagnostic("E104", message, span))
    return value


def _shared(walk: Elaborator, line: Line, frame: Frame) -> bool:
    share = line.modifier("share")
    return share is not None and bool(evaluate_expression(share, *walk.scope(frame)))


def _iteration(
    walk: Elaborator, line: Line, target: str, frame: Frame, current: Value | None, last: CallNode | None
) -> tuple[Body, list[Value | None]]:
    """The body of one iteration and what it is called with."""
    carried = () if last is None else last.outputs
    declared = ops.find(target)
    if target == "sequence" or declared is not None:
        return _anonymous(walk, line, declared, frame, current, last is None)
    if last is not None and len(carried) > len(last.inputs):
        raise NetcalcError(_unlike(line, last))
    body, inputs = prepare_call(walk, line, walk.block(target, line), frame, current, carried)
    if len(body.outputs) > 1 and not _steady(body):
        raise NetcalcError(_unlike(line, CallNode("", body, tuple(inputs), body.outputs)))
    return body, inputs


def _anonymous(
    walk: Elaborator, line: Line, declared: type[Operation] | None, frame: Frame, current: Value | None, first: bool
) -> tuple[Body, list[Value | None]]:
    """A repeated operation, join or sequence as a body of its own; what it uses from outside becomes inputs."""
    source = line.modifier("from")
    if first and source is not None and isinstance(source.data, str):
        current = resolve_value(source.data, source, frame, current)
    if current is not None and current.type is None:
        raise Poisoned
    builder = BodyBuilder(line.target, outer=frame)
    carried = None if current is None else Value(current.type, "in", current.span)
    if carried is not None:
        builder.inputs.append(carried)
    result: Value | None
    if declared is None:
        if line.args is None or not isinstance(line.args.data, list):
            raise NetcalcError(Diagnostic("E107", "sequence: should be a list of lines", line.cursor.span))
        result = walk.lines(line.args, Frame(builder, numbered=True), carried)
    else:
        kept = {k: v for k, v in line.modifiers.items() if k == "from" and not isinstance(v.data, str)}
        result = elaborate_operation(walk, line._replace(modifiers=kept), declared, Frame(builder), carried, path="")
    if result is None or result.type is None:
        raise Poisoned
    body = Body(line.target, tuple(builder.inputs), tuple(builder.nodes), (result,))
    outside = [outer for outer, _ in builder.captured.values()]
    return body, [*([] if current is None else [current]), *outside]


def _splice(walk: Elaborator, line: Line, repetition: Repetition, frame: Frame, current: Value | None) -> Value | None:
    """An unnamed repeated sequence: its lines once for each iteration, in the parent's place."""
    if line.args is None or not isinstance(line.args.data, list):
        raise NetcalcError(Diagnostic("E107", "sequence: should be a list of lines", line.cursor.span))
    walk.spend(repetition.times, line.modifiers["repeat"])
    known = len(walk.problems)
    for turn in range(repetition.times):
        variables = repetition.variables(turn)
        inner = Frame(frame.builder, frame.prefix, frame.numbered, frame, {}, variables, {}, frame.counter)
        with walk.freezing(line, inner):
            current = walk.lines(line.args, inner, current)
        if len(walk.problems) > known:  # what is wrong with one is wrong with the next
            raise Poisoned
    return current


def _steady(body: Body) -> bool:
    """Whether what the body returns is, in its types, what it takes first."""
    outputs = types_of(body.outputs)
    return len(outputs) <= len(body.inputs) and outputs == body.input_types[: len(outputs)]


def _continues(last: CallNode, body: Body, inputs: Sequence[Value | None]) -> bool:
    fed = len(body.outputs)
    return tuple(inputs[fed:]) == last.inputs[fed:] and same_body(last.body, body) and _steady(last.body)


def _unlike(line: Line, call: CallNode) -> Diagnostic:
    gives = ", ".join(str(v.type) for v in call.body.outputs)
    takes = ", ".join("nothing" if v is None else str(v.type) for v in call.body.inputs)
    message = (
        f"a repeated block's outputs become the first inputs of its next call: it returns {gives} and takes {takes}"
    )
    return Diagnostic("E403", message, line.cursor.span, hint="list under outputs only what goes into the next call")


def _result(last: CallNode | None, current: Value | None, line: Line) -> Named:
    if last is None or len(last.outputs) == 1:
        return Named.single(current, line.cursor.span)
    outputs: Mapping[str, Value | None] = {str(i): value for i, value in enumerate(last.outputs)}
    return Named(outputs, line.cursor.span)
