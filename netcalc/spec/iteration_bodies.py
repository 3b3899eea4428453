"""Bodies of single iterations of a repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Body, CallNode, Value
from netcalc.opdef import Operation
from netcalc.spec.block_calls import bind_call, with_absent
from netcalc.spec.cursor import Cursor
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.library import Block
from netcalc.spec.line_inputs import is_absent, resolve_value, start_value
from netcalc.spec.line_syntax import SEQUENCE, Line
from netcalc.spec.operations import elaborate_operation
from netcalc.spec.patches import below
from netcalc.spec.repeat_values import Streams, is_optional
from netcalc.spec.scope import Outputs, PartialBody, Poisoned, Scope
from netcalc.spec.targets import block_of


class Turn(NamedTuple):
    """An iteration at a path: the inputs that it takes, and the call of the iteration before, None for the first."""

    path: str
    streams: Streams
    taken: Mapping[str, Value | None]
    last: CallNode | None


def iteration_body(
    elaboration: Elaboration, line: Line, scope: Scope, current: Value | None, turn: Turn
) -> tuple[Body, list[Value | None]]:
    """Return the body of an iteration and its inputs."""
    declared = ops.find(line.target)
    if line.target == SEQUENCE or declared is not None:
        return _anonymous_body(elaboration, line, declared, scope, current, turn)
    block = block_of(elaboration, line, scope)
    carried: list[Value | None] = []
    if turn.last is not None and current is not None:
        carried = [current, *_carried(block, turn.last, turn.streams)[1:]]
        open_inputs = len(turn.last.inputs) - len(turn.taken)
        if len(carried) > open_inputs:
            raise NetcalcError(too_many_outputs(line, line.target, len(carried), open_inputs))
    body, inputs = bind_call(elaboration, line, block, scope, current, turn.path, carried, turn.taken)
    if None in body.result_types:
        raise Poisoned
    return body, inputs


def _carried(block: Block, last: CallNode, streams: Streams) -> list[Value | None]:
    """Return the outputs of an iteration that the next one receives, None for an absent one before others."""
    outputs = with_absent(block, dict(zip(last.body.ports, last.outputs, strict=False)))
    if None not in outputs.values():
        return [*streams.carried(last.body.ports, last.outputs)]
    carried = streams.carried(list(outputs), list(outputs.values()))
    while carried and carried[-1] is None:  # the inputs at the end are those that the line names
        carried.pop()
    return carried


def _anonymous_body(
    elaboration: Elaboration,
    line: Line,
    declared: type[Operation] | None,
    scope: Scope,
    current: Value | None,
    turn: Turn,
) -> tuple[Body, list[Value | None]]:
    """Return a body for one iteration of an operation or sequence; values from outside become inputs."""
    if turn.last is None:
        current = start_value(line, scope, current)
    if current is not None and current.type is None:
        raise Poisoned
    partial = PartialBody(line.target, scope.home, outer=scope)
    inner = Scope(partial, scope.settings, numbered=declared is None, patches=below(scope.patches, turn.path))
    inner.default_dtype = scope.default_dtype
    carried = None if current is None else Value(current.type, "in", current.span)
    if carried is not None:
        partial.inputs.append(carried)
    own = {name: None if value is None else Value(value.type, name, value.span) for name, value in turn.taken.items()}
    partial.inputs += own.values()
    if declared is None:
        inner.defined |= {name: Outputs.single(value) for name, value in own.items()}
        result = elaboration.lines(line.sequence(), inner, carried)
        outputs = collected_values(turn.streams, inner, result)
    else:
        # a single name under `from` is the input of the first iteration only
        modifiers = {
            key: value
            for key, value in line.modifiers.items()
            if key == "repeat" or (key == "from" and not isinstance(value.data, str))
        }
        operation = line._replace(modifiers=modifiers)
        result = elaborate_operation(elaboration, operation, declared, inner, carried, anonymous=True, taken=own)
        named = zip((port.name for port in declared.outputs), partial.nodes[-1].outputs, strict=False)
        outputs = {port: value for port, value in named if port in turn.streams.collected}
    if result is None or result.type is None:
        raise Poisoned
    captured = [outer for outer, _ in partial.captured.values()]
    first = next((name for name, value in outputs.items() if value is result), "output")
    others = {name: value for name, value in outputs.items() if name != first}
    body = partial.finish((result, *others.values()), ports=(first, *others) if turn.streams else ())
    inputs = [*([] if current is None else [current]), *turn.taken.values(), *captured]
    return elaboration.distinct(body), inputs


def collected_values(streams: Streams, scope: Scope, current: Value | None) -> dict[str, Value]:
    """Return the values that are collected from an iteration of a sequence, by name."""
    values = {name: _collected_value(name, cursor, scope, current) for name, cursor in streams.collected.items()}
    return {name: value for name, value in values.items() if value is not None}


def _collected_value(name: str, cursor: Cursor, scope: Scope, current: Value | None) -> Value | None:
    if is_optional(cursor) and is_absent(name, scope):
        return None
    return resolve_value(name, cursor, scope, current)


def too_many_outputs(line: Line, name: str, outputs: int, inputs: int) -> Diagnostic:
    """Return the diagnostic of a repeated block with more outputs than the next iteration takes inputs."""
    message = (
        f"a repeated block's outputs become the first inputs of its next call, but {name} returns {outputs} values "
        f"and takes {inputs}"
    )
    hint = "list under outputs only the values that the next call takes, or collect the others"
    return Diagnostic("E403", message, line.cursor.span, hint=hint)
