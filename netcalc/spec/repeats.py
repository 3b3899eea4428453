"""Elaboration of ``repeat:``, with one call node for each run of equal iterations, however long.

If an iteration returns the types that it takes and the line uses no loop variable, the remaining iterations are equal
to it and are not elaborated.  Otherwise iterations are elaborated one by one, and adjacent equal ones are folded into
one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Body, CallNode, Value, join, types_of
from netcalc.opdef import Operation, ports
from netcalc.spec.block_calls import add_call, bind_call
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate_expression
from netcalc.spec.inlining import elaborate_inline, is_inline
from netcalc.spec.iterations import Iterations, read_iterations
from netcalc.spec.line_inputs import Inputs, start_value
from netcalc.spec.line_syntax import SEQUENCE, Line
from netcalc.spec.modifiers import claim_path, define_labels, define_outputs, line_name
from netcalc.spec.operations import elaborate_operation
from netcalc.spec.patches import Patch, below, same_until, uses_names
from netcalc.spec.patching import Edit, elaborate_inserted, patched_iteration, patching
from netcalc.spec.scope import Outputs, PartialBody, Poisoned, Scope
from netcalc.spec.targets import block_of, resolve_target
from netcalc.spec.ties import share_with_first

__all__ = ["elaborate_repeat"]


def elaborate_repeat(elaboration: Elaboration, line: Line, scope: Scope, current: Value | None) -> Value | None:
    """Elaborate a repeated line and return the value after its last iteration."""
    iterations = read_iterations(line, scope, elaboration.budget)
    line = resolve_target(line, scope)
    inline = is_inline(line, scope)
    if inline or (line.target == SEQUENCE and "name" not in line.modifiers):
        return _in_place(elaboration, line, iterations, scope, current, inline=inline)
    paths = _paths(line, scope, iterations)
    loop_names = {iterations.index_name, iterations.item_name}
    if paths.base is not None and uses_names(scope.patches, paths.base, loop_names):
        iterations = iterations._replace(varies=True)
    if iterations.varies:
        elaboration.budget.spend(iterations.times, line.modifiers["repeat"])
    with scope.body.adding_iterations():
        call, current = _iterate(elaboration, line, iterations, paths, scope, current)
    outputs = _outputs(call, current, line) if call is not None else _passed(elaboration, line, scope, current)
    if iterations.named:
        define_labels(line, scope, [Outputs.single(value) for value in outputs.by_port.values()])
    else:
        define_outputs(line, scope, outputs)
    return outputs.first


def _iterate(
    elaboration: Elaboration, line: Line, iterations: Iterations, paths: _Paths, scope: Scope, current: Value | None
) -> tuple[CallNode | None, Value | None]:
    """Add the calls of all iterations; return the last call and the value after it."""
    call: CallNode | None = None
    first_path = ""
    done = 0
    while done < iterations.times:
        inner = scope.child(variables=iterations.variables(done))
        path = paths.instance(done, line, inner)
        edit = Edit(line) if paths.shared else patched_iteration(elaboration, line, inner, path)
        current = _inserted(elaboration, edit.before, inner, path, current)
        if edit.removed:
            done += 1
            continue
        inner.current = None if current is None else Outputs.single(current)
        where = f"in iteration {done} of {iterations.times:,}"
        with (
            elaboration.freezing(edit.line, inner),
            elaboration.reporter.inside(where, line.cursor.key_span),
            patching(elaboration, edit, line.cursor, inner),
        ):
            body, inputs = _iteration(elaboration, edit.line, inner, current, call, path)
            first_of_shared = paths.shared and done == 0  # the other iterations tie to it
            count = 1
            if body.repeatable and not iterations.varies and not first_of_shared and not (edit.before or edit.after):
                count = paths.same_until(scope, done, iterations.times) - done
            folds = (
                call is not None
                and not iterations.named
                and not (paths.shared and done == 1)
                and _continues(call, body, inputs, None if paths.shared else paths.start + done)
            )
            if call is not None and folds:
                call.times += count
            else:
                call = _add_iteration(elaboration, edit.line, paths, done, path, scope, body, inputs)
                call.times = count
                if paths.shared and done > 0:
                    call.shares = share_with_first(call, first_path, line, scope)
                first_path = call.name if done == 0 else first_path
                if iterations.named:
                    scope.defined[str(line_name(line, inner))] = _outputs(call, call.outputs[0], line)
        current = _inserted(elaboration, edit.after, inner, path, call.outputs[0])
        done += count
    return call, current


def _add_iteration(
    elaboration: Elaboration,
    line: Line,
    paths: _Paths,
    number: int,
    path: str,
    scope: Scope,
    body: Body,
    inputs: list[Value | None],
) -> CallNode:
    """Append the call of an iteration, whose path is ``path``."""
    if paths.base is None:
        return add_call(elaboration, line, scope, claim_path(path, line, scope), body, inputs)
    start = None if paths.shared else paths.start + number
    return add_call(elaboration, line, scope, paths.base, body, inputs, start)


def _inserted(
    elaboration: Elaboration, patches: tuple[Patch, ...], scope: Scope, path: str, current: Value | None
) -> Value | None:
    """Elaborate the lines that patches insert beside the iteration at ``path``; return the last value."""
    if not patches:
        return current
    beside = scope.child()
    beside.prefix = path.rpartition(".")[0]
    return elaborate_inserted(elaboration, patches, beside, current)


class _Paths(NamedTuple):
    """Paths of the iterations: ``base`` with numbers from ``start``, or ``base`` alone if weights are shared.

    ``base`` is None if the name uses the loop variable, so that each iteration has a path of its own.
    """

    base: str | None
    start: int
    shared: bool

    def instance(self, iteration: int, line: Line, scope: Scope) -> str:
        """Return the path of an iteration."""
        if self.base is None:
            return join(scope.prefix, str(line_name(line, scope)))
        return self.base if self.shared else f"{self._stem}{self.start + iteration}"

    def same_until(self, scope: Scope, iteration: int, times: int) -> int:
        """Return the first later iteration to which other patches may apply, or ``times``."""
        if self.shared or not scope.patches:
            return times
        return same_until(scope.patches, self._stem, self.start + iteration, self.start + times) - self.start

    @property
    def _stem(self) -> str:
        base = self.base or ""
        return base + "." if base and not base.endswith(("_", "-")) else base


def _paths(line: Line, scope: Scope, iterations: Iterations) -> _Paths:
    base: str | None
    start, name = iterations.start, None if iterations.named else line_name(line, scope)
    share = line.modifier("share")
    if iterations.named:
        base = None
    elif name is None and scope.numbered:  # the iterations continue the numbering of the sequence
        base, start = scope.prefix, scope.counter[0]
        scope.counter[0] += iterations.times
    else:
        path = join(scope.prefix, name) if name else scope.body.unique(join(scope.prefix, line.target))
        base = claim_path(path, line, scope)
    return _Paths(base, start, share is not None and bool(evaluate_expression(share, scope)))


def _iteration(
    elaboration: Elaboration, line: Line, scope: Scope, current: Value | None, last: CallNode | None, path: str
) -> tuple[Body, list[Value | None]]:
    """Return the body of the iteration at ``path`` and its inputs; ``last`` is the call of the iteration before."""
    declared = ops.find(line.target)
    if line.target == SEQUENCE or declared is not None:
        return _anonymous_body(elaboration, line, declared, scope, current, path, is_first=last is None)
    carried = () if last is None or current is None else (current, *last.outputs[1:])
    if last is not None and len(carried) > len(last.inputs):
        raise NetcalcError(_too_many_outputs(line, line.target, len(carried), len(last.inputs)))
    body, inputs = bind_call(elaboration, line, block_of(elaboration, line, scope), scope, current, path, carried)
    if None in types_of(body.outputs):
        raise Poisoned
    return body, inputs


def _anonymous_body(
    elaboration: Elaboration,
    line: Line,
    declared: type[Operation] | None,
    scope: Scope,
    current: Value | None,
    path: str,
    *,
    is_first: bool,
) -> tuple[Body, list[Value | None]]:
    """Return a body for one iteration of an operation or sequence; values from outside become inputs."""
    if is_first:
        current = start_value(line, scope, current)
    if current is not None and current.type is None:
        raise Poisoned
    partial = PartialBody(line.target, scope.home, outer=scope)
    inner = Scope(partial, scope.settings, numbered=declared is None, patches=below(scope.patches, path))
    carried = None if current is None else Value(current.type, "in", current.span)
    if carried is not None:
        partial.inputs.append(carried)
    if declared is None:
        result = elaboration.lines(line.sequence(), inner, carried)
    else:
        # a single name under `from` is the input of the first iteration only
        modifiers = {k: v for k, v in line.modifiers.items() if k == "from" and not isinstance(v.data, str)}
        operation = line._replace(modifiers=modifiers)
        result = elaborate_operation(elaboration, operation, declared, inner, carried, anonymous=True)
    if result is None or result.type is None:
        raise Poisoned
    captured = [outer for outer, _ in partial.captured.values()]
    body = elaboration.distinct_bodies.distinct(partial.finish((result,)))
    return body, [*([] if current is None else [current]), *captured]


def _in_place(
    elaboration: Elaboration, line: Line, iterations: Iterations, scope: Scope, current: Value | None, *, inline: bool
) -> Value | None:
    """Elaborate an unnamed repeated sequence or an inlined block once for each iteration, in the enclosing list."""
    if "share" in line.modifiers:
        message = "share: requires a name, since the lines of an unnamed sequence have paths of their own"
        raise NetcalcError(Diagnostic("E107", message, line.modifiers["share"].key_span))
    elaboration.budget.spend(iterations.times, line.modifiers["repeat"])
    errors_before = len(elaboration.reporter.diagnostics)
    if iterations.times == 0:
        outputs = _passed(elaboration, line, scope, current)
    else:
        outputs = Outputs.single(current if inline else start_value(line, scope, current))
    for i in range(iterations.times):
        inner = scope.child(variables=iterations.variables(i))
        inner.numbered, inner.counter = scope.numbered, scope.counter
        with elaboration.freezing(line, inner):
            if inline:
                block = block_of(elaboration, line, inner)
                carried = list(outputs.by_port.values()) if i > 0 else []
                if len(carried) > len(block.decl.inputs):
                    raise NetcalcError(_too_many_outputs(line, block.name, len(carried), len(block.decl.inputs)))
                outputs = Outputs(elaborate_inline(elaboration, line, block, inner, current, carried))
            else:
                outputs = Outputs.single(elaboration.lines(line.sequence(), inner, outputs.first))
        if len(elaboration.reporter.diagnostics) > errors_before:  # the next iteration would repeat them
            raise Poisoned
    define_labels(line, scope, [Outputs.single(value) for value in outputs.by_port.values()])
    return outputs.first


def _passed(elaboration: Elaboration, line: Line, scope: Scope, current: Value | None) -> Outputs:
    """Return the outputs of a repeat without iterations, which passes on the values that the first one would take."""
    current = start_value(line, scope, current)
    if line.target == SEQUENCE or ops.find(line.target) is not None:
        return Outputs.single(current, line.cursor.span)
    block = block_of(elaboration, line, scope)
    count = len(block.decl.outputs or ["output"])
    if count == 1 and not isinstance(getattr(line.modifier("from"), "data", None), (list, dict)):
        return Outputs.single(current, line.cursor.span)
    inputs = Inputs(line, ports(*block.decl.inputs), block.name, scope, current).resolve({})
    values = inputs[:count]
    return Outputs({str(i): value for i, value in enumerate(values)}, line.cursor.span)


def _continues(call: CallNode, body: Body, inputs: Sequence[Value | None], number: int | None) -> bool:
    """Return True if the iteration with a number can be added to the call before it."""
    carried = len(body.outputs)
    return (
        (call.start is None or call.start + call.times == number)
        and tuple(inputs[:carried]) == call.outputs
        and body.repeatable
        and call.body.repeatable
        and tuple(inputs[carried:]) == call.inputs[carried:]
        and call.body is body
    )


def _too_many_outputs(line: Line, name: str, outputs: int, inputs: int) -> Diagnostic:
    message = (
        f"a repeated block's outputs become the first inputs of its next call, but {name} returns {outputs} values "
        f"and takes {inputs}"
    )
    hint = "list under outputs only the values that the next call takes, or collect the others"
    return Diagnostic("E403", message, line.cursor.span, hint=hint)


def _outputs(call: CallNode, current: Value | None, line: Line) -> Outputs:
    if len(call.outputs) == 1:
        return Outputs.single(current, line.cursor.span)
    return Outputs({str(i): value for i, value in enumerate(call.outputs)}, line.cursor.span)
