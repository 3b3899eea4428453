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
from netcalc.opdef import Operation
from netcalc.spec.block_calls import add_call, bind_call
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate_expression
from netcalc.spec.iterations import Iterations, read_iterations
from netcalc.spec.line_inputs import start_value
from netcalc.spec.line_syntax import SEQUENCE, Line
from netcalc.spec.modifiers import claim_path, define_outputs, line_name
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
    name = line_name(line, scope)
    if line.target == SEQUENCE and name is None:
        return _unrolled_sequence(elaboration, line, iterations, scope, current)
    paths = _paths(line, scope, name, iterations.times)
    loop_names = {iterations.index_name, iterations.item_name}
    iterations = iterations._replace(varies=iterations.varies or uses_names(scope.patches, paths.base, loop_names))
    if iterations.varies:
        elaboration.budget.spend(iterations.times, line.modifiers["repeat"])
    with scope.body.adding_iterations():
        call, current = _iterate(elaboration, line, iterations, paths, scope, current)
    define_outputs(line, scope, _outputs(call, current, line))
    return current


def _iterate(
    elaboration: Elaboration, line: Line, iterations: Iterations, paths: _Paths, scope: Scope, current: Value | None
) -> tuple[CallNode | None, Value | None]:
    """Add the calls of all iterations; return the last call and the value after it."""
    call: CallNode | None = None
    done = 0
    while done < iterations.times:
        inner = scope.child(variables=iterations.variables(done))
        path = paths.instance(done)
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
                and not (paths.shared and done == 1)
                and _continues(call, body, inputs, None if paths.shared else paths.start + done)
            )
            if call is not None and folds:
                call.times += count
            else:
                start = None if paths.shared else paths.start + done
                call = add_call(elaboration, edit.line, scope, paths.base, body, inputs, start)
                call.times = count
                if paths.shared and done > 0:
                    call.shares = share_with_first(call, paths.base, line, scope)
        current = _inserted(elaboration, edit.after, inner, path, call.outputs[0])
        done += count
    return call, current


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
    """Paths of the iterations: ``base`` with numbers from ``start``, or ``base`` alone if weights are shared."""

    base: str
    start: int
    shared: bool

    def instance(self, iteration: int) -> str:
        """Return the path of an iteration."""
        return self.base if self.shared else f"{self._stem}{self.start + iteration}"

    def same_until(self, scope: Scope, iteration: int, times: int) -> int:
        """Return the first later iteration to which other patches may apply, or ``times``."""
        if self.shared or not scope.patches:
            return times
        return same_until(scope.patches, self._stem, self.start + iteration, self.start + times) - self.start

    @property
    def _stem(self) -> str:
        return self.base + "." if self.base and not self.base.endswith(("_", "-")) else self.base


def _paths(line: Line, scope: Scope, name: str | None, times: int) -> _Paths:
    share = line.modifier("share")
    if name is None and scope.numbered:  # the iterations continue the numbering of the sequence
        base, start = scope.prefix, scope.counter[0]
        scope.counter[0] += times
    else:
        path = join(scope.prefix, name) if name else scope.body.unique(join(scope.prefix, line.target))
        base, start = claim_path(path, line, scope), 0
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
        raise NetcalcError(_not_repeatable(line, last.body))
    body, inputs = bind_call(elaboration, line, block_of(elaboration, line, scope), scope, current, path, carried)
    if None in types_of(body.outputs):
        raise Poisoned
    if len(body.outputs) > 1 and not body.repeatable:
        raise NetcalcError(_not_repeatable(line, body))
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
    partial = PartialBody(line.target, scope.body.home, outer=scope)
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


def _unrolled_sequence(
    elaboration: Elaboration, line: Line, iterations: Iterations, scope: Scope, current: Value | None
) -> Value | None:
    """Elaborate the lines of an unnamed repeated sequence once for each iteration, in the enclosing list."""
    lines = line.sequence()
    elaboration.budget.spend(iterations.times, line.modifiers["repeat"])
    errors_before = len(elaboration.reporter.diagnostics)
    for i in range(iterations.times):
        inner = scope.child(variables=iterations.variables(i))
        inner.numbered, inner.counter = scope.numbered, scope.counter
        with elaboration.freezing(line, inner):
            current = elaboration.lines(lines, inner, current)
        if len(elaboration.reporter.diagnostics) > errors_before:  # the next iteration would repeat them
            raise Poisoned
    return current


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


def _not_repeatable(line: Line, body: Body) -> Diagnostic:
    outputs = ", ".join(map(str, types_of(body.outputs)))
    inputs = ", ".join("nothing" if t is None else str(t) for t in body.input_types)
    message = f"a repeated block's outputs become the first inputs of its next call, but it returns {outputs}"
    hint = "list under outputs only the values that the next call takes"
    return Diagnostic("E403", f"{message} and takes {inputs}", line.cursor.span, hint=hint)


def _outputs(call: CallNode | None, current: Value | None, line: Line) -> Outputs:
    if call is None or len(call.outputs) == 1:
        return Outputs.single(current, line.cursor.span)
    return Outputs({str(i): value for i, value in enumerate(call.outputs)}, line.cursor.span)
