"""Elaboration of ``repeat:``, with one call node for each run of equal iterations, however long.

If an iteration returns the types that it takes and the line uses no loop variable, the remaining iterations are equal
to it and are not elaborated.  Otherwise iterations are elaborated one by one, and adjacent equal ones are folded into
one call.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from netcalc import ops
from netcalc.diagnostics import NetcalcError
from netcalc.dims import UndecidedError, assumptions, at_least, default_of, in_sketch, record, symbol
from netcalc.dims.reals import INDICES
from netcalc.ir import Body, CallNode, Value, join
from netcalc.opdef import ports
from netcalc.spec.block_calls import add_call
from netcalc.spec.eager import require_node
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate_expression
from netcalc.spec.inlining import elaborate_inline, is_inline
from netcalc.spec.iteration_bodies import Turn, collected_values, iteration_body, too_many_outputs
from netcalc.spec.iterations import Iterations, has_equal_arguments, read_iterations
from netcalc.spec.line_inputs import Inputs, start_value, with_defaults
from netcalc.spec.line_syntax import SEQUENCE, Line
from netcalc.spec.modifiers import claim_path, define_labels, define_outputs, line_name
from netcalc.spec.patches import Patch, same_until, uses_names
from netcalc.spec.patching import Edit, elaborate_inserted, patched_iteration, patching
from netcalc.spec.repeat_values import Streams, read_streams
from netcalc.spec.scope import Outputs, Poisoned, Scope
from netcalc.spec.targets import block_of, resolve_target
from netcalc.spec.ties import share_with_first

#: Longest period in which a symbolic number of iterations may take turns.
_MOST_PERIOD = 8
#: Most iterations that may be apart before others of a symbolic number.
_MOST_APART = 256
#: Last call of a repeat, and the value after it.
_Added: TypeAlias = tuple[CallNode | None, Value | None]
#: Iterations from which it pays to ask if all but the first are equal.
_FEW = 4


def elaborate_repeat(elaboration: Elaboration, line: Line, scope: Scope, current: Value | None) -> Value | None:
    """Elaborate a repeated line and return the value after its last iteration."""
    iterations = read_iterations(line, scope, elaboration.budget, symbolic=elaboration.may_count)
    line = resolve_target(line, scope)
    inline = is_inline(line, scope)
    if inline or (line.target == SEQUENCE and "name" not in line.modifiers):
        return _in_place(elaboration, line, iterations, scope, current, inline=inline)
    calls_block = line.target != SEQUENCE and ops.find(line.target) is None
    if iterations.varies and calls_block and has_equal_arguments(line, iterations, scope):
        iterations = iterations._replace(varies=False)
    paths = _paths(line, scope, iterations)
    loop_names = {iterations.index_name, iterations.item_name}
    if paths.base is not None and uses_names(scope.patches, paths.base, loop_names):
        iterations = iterations._replace(varies=True)
    base = scope.prefix if paths.base is None else paths.base
    streams = read_streams(elaboration, line, scope, current, iterations.times, base)
    if calls_block:
        streams = streams.for_inputs([port.name for port in ports(*block_of(elaboration, line, scope).decl.inputs)])
    iterations = iterations._replace(varies=iterations.varies or streams.vary)
    if iterations.varies:
        elaboration.budget.spend(_number(iterations), line.modifiers["repeat"])
    with scope.body.adding_iterations():
        repeat = _Repeat(elaboration, line, iterations, paths, streams, scope)
        call, current = repeat.counted(current) if iterations.unknown is None else repeat.uncounted(current)
    if call is not None:
        outputs = _outputs(streams.carried(call.body.ports, call.outputs), line)
    else:
        outputs = _passed_on(elaboration, line, scope, current, streams)
    results = dict(streams.results(elaboration, scope, base))
    if iterations.named:
        define_labels(line, scope, [*map(Outputs.single, outputs.by_port.values()), *results.values()])
    else:
        define_outputs(line, scope, outputs, results)
    return outputs.first


class _Repeat(NamedTuple):
    """A repeated line, whose iterations are added to the body of the scope."""

    elaboration: Elaboration
    line: Line
    iterations: Iterations
    paths: _Paths
    streams: Streams
    scope: Scope

    def counted(self, current: Value | None) -> _Added:
        """Add the calls of all iterations; return the last call and the value after it."""
        elaboration, line, iterations, paths, streams, scope = self
        call: CallNode | None = None
        first_path = ""
        done = 0
        while done < iterations.times:
            if done == 1 and self._alike_after_first():
                iterations = iterations._replace(varies=False)
            inner = scope.child(variables=iterations.variables(done))
            path = paths.instance(done, line, inner)
            edit = Edit(line) if paths.shared else patched_iteration(elaboration, line, inner, path)
            current = _elaborate_insertions(elaboration, edit.before, inner, path, current)
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
                turn = Turn(path, streams, streams.inputs(done), call)
                body, inputs = iteration_body(elaboration, edit.line, inner, current, turn)
                first_of_shared = paths.shared and done == 0  # the other iterations tie to it
                count = 1
                gives = streams.gives(body.ports)
                alone = iterations.varies or gives or first_of_shared
                if body.repeatable and not alone and not (edit.before or edit.after):
                    count = paths.same_until(scope, done, iterations.times) - done
                folds = (
                    call is not None
                    and not (iterations.named or streams.vary or gives)
                    and not (paths.shared and done == 1)
                    and _continues(call, body, inputs, None if paths.shared else paths.start + done)
                )
                if call is not None and folds:
                    call.times += count
                else:
                    call = self._add(edit.line, done, path, body, inputs)
                    call.times = count
                    if paths.shared and done > 0:
                        call.shares = share_with_first(call, first_path, line, scope)
                    first_path = call.name if done == 0 else first_path
                    if iterations.named:
                        carried = streams.carried(call.body.ports, call.outputs)
                        scope.defined[str(line_name(line, inner))] = _outputs(carried, line)
                streams.gather(body.ports, call.outputs, count)
            current = _elaborate_insertions(elaboration, edit.after, inner, path, call.outputs[0])
            done += count
        return call, current

    def _alike_after_first(self) -> bool:
        """Return True if only the arguments of the first iteration of a block differ, and there are many others."""
        line, iterations, scope = self.line, self.iterations, self.scope
        if not iterations.varies or iterations.times < _FEW or self.streams.vary or scope.patches:
            return False
        calls_block = line.target != SEQUENCE and ops.find(line.target) is None
        others = iterations._replace(start=iterations.start + 1)
        return calls_block and has_equal_arguments(line, others, scope)

    def uncounted(self, current: Value | None) -> _Added:
        """Add the calls of a symbolic number of iterations: equal but for the first ones, or by turns."""
        iterations, scope = self.iterations, self.scope
        if (
            self.paths.base is None
            or self.streams.vary
            or (scope.patches and (in_sketch() or not self._patched_alike()))
        ):
            raise _differ(iterations, own=self.streams.vary)
        if in_sketch() or not iterations.varies or self.paths.shared:
            return self._alike(current)
        reason = self._attempted(lambda: self._alike(current))
        for period in range(2, _MOST_PERIOD + 1):
            if not isinstance(reason, NetcalcError):
                return reason
            turns = self._attempted(partial(self._by_turns, current, period))
            reason = reason if isinstance(turns, NetcalcError) else turns
        if not isinstance(reason, NetcalcError):
            return reason
        apart = self._apart(current)
        if apart is None:
            raise reason
        return self._behind(current, *apart)

    def _attempted(self, elaborate: Callable[[], _Added], *, keep: bool = True) -> _Added | NetcalcError:
        """Return what calls give that a function adds, or why they cannot be added (E404), which leaves nothing.

        Nothing is left either unless ``keep``.
        """
        nodes, diagnostics = self.scope.body.nodes, self.elaboration.reporter.diagnostics
        collected = {name: len(values) for name, values in self.streams.values.items()}
        before, reported = len(nodes), diagnostics[:]
        result: _Added | NetcalcError
        try:
            with assumptions() as assumed:
                result = elaborate()
        except (NetcalcError, Poisoned) as error:
            found = [*diagnostics[len(reported) :], *(error.diagnostics if isinstance(error, NetcalcError) else ())]
            if any(each.code != "E404" for each in found):
                raise
            result = NetcalcError(found)
        if keep and not isinstance(result, NetcalcError):
            record(assumed)
            return result
        del nodes[before:]
        diagnostics[:] = reported
        for name, count in collected.items():
            del self.streams.values[name][count:]
        return result

    def _apart(self, current: Value | None) -> tuple[int, int] | None:
        """Return the least number of first iterations behind which all others take turns, and the period of these.

        None if there is no such number for which others are left at the default sizes.
        """

        def fits(first: int, period: int) -> bool:
            found = self._attempted(lambda: self._behind(current, first, period), keep=False)
            return not isinstance(found, NetcalcError)

        for period in range(1, _MOST_PERIOD + 1):
            most = min(_number(self.iterations) - period, _MOST_APART)
            if most >= 1 and fits(most, period):
                return bisect_left(range(1, most), True, key=lambda first: fits(first, period)) + 1, period
        return None

    def _behind(self, current: Value | None, first: int, period: int) -> _Added:
        """Add the calls of the first iterations, one by one, and of all others by turns."""
        iterations = self.iterations
        assert iterations.unknown is not None
        if not at_least(iterations.unknown, first):
            raise _differ(iterations)
        counted = iterations._replace(unknown=None, indices=range(iterations.start, iterations.start + first))
        last, current = self._replace(iterations=counted).counted(current)
        return self._by_turns(current, period, first, last)

    def _patched_alike(self) -> bool:
        return self.paths.same_until(self.scope, 0, 2) == 2

    def _by_turns(self, current: Value | None, period: int, first: int = 0, last: CallNode | None = None) -> _Added:
        """Add a call for each turn of a period: of the iterations whose number leaves the same remainder.

        They begin behind the ``first`` ones, of which ``last`` is the last call.
        """
        times, paths = self.iterations.times - first, self.paths
        assert paths.base is not None
        turns = []
        with assumptions() as assumed:
            for number in range(first, first + period):
                bodies = [
                    self._iteration(number + period * symbol(name, 1, 0), current, last, number) for name in INDICES
                ]
                (_, body, inputs), (_, other, others) = bodies
                if other is not body or others != inputs or not body.repeatable:
                    raise _differ(self.iterations)
                turns.append((body, inputs))
        if any(claim.names() & set(INDICES) for claim in assumed):
            raise _differ(self.iterations)
        record(assumed)
        call: CallNode | None = None
        for number, (body, inputs) in enumerate(turns):
            path = f"{paths.stem}{paths.start + first + number}"
            carried = inputs if call is None else [*call.results, *inputs[len(call.results) :]]
            if period == 1:
                call = self._add(self.line, first, path, body, list(carried))
            else:
                call = add_call(self.elaboration, self.line, self.scope, path, body, list(carried))
            call.times = (times + (period - 1 - number)) // period
            if number == 0:  # none gives anything to collect, however many there are
                self.streams.gather(body.ports, call.outputs, times)
        assert call is not None
        return call, call.outputs[0]

    def _iteration(
        self, index: Any, value: Value | None, last: CallNode | None, number: int
    ) -> tuple[str, Body, list[Value | None]]:
        """Return path, body and inputs of the iteration with an index, which may be symbolic; its path has a number."""
        elaboration, line, iterations, paths, streams, scope = self
        inner = scope.child(variables=iterations.variables(index))
        path = paths.instance(number, line, inner)
        edit = Edit(line) if paths.shared else patched_iteration(elaboration, line, inner, path)
        if edit.removed or edit.before or edit.after:
            raise _differ(iterations)
        inner.current = None if value is None else Outputs.single(value)
        with (
            elaboration.freezing(edit.line, inner),
            elaboration.reporter.inside("in an iteration", line.cursor.key_span),
            patching(elaboration, edit, line.cursor, inner),
        ):
            turn = Turn(path, streams, streams.inputs(min(number, 1)), last)
            body, inputs = iteration_body(elaboration, edit.line, inner, value, turn)
        if streams.gives(body.ports) or (last is not None and not body.repeatable):
            raise _differ(iterations, own=streams.gives(body.ports))
        return path, body, inputs

    def _alike(self, current: Value | None) -> _Added:
        """Add the calls of a symbolic number of iterations, of which all but the first have to be equal."""
        _, line, iterations, paths, streams, scope = self

        def iteration(index: Any, value: Value | None, last: CallNode | None) -> tuple[str, Body, list[Value | None]]:
            return self._iteration(index, value, last, 0 if last is None else 1)

        path, body, inputs = iteration(0, current, None)
        first = self._add(line, 0, path, body, inputs)
        streams.gather(body.ports, first.outputs, iterations.times)
        if body.repeatable and not iterations.varies and not paths.shared:
            first.times = iterations.times
            return first, first.outputs[0]
        with assumptions() as assumed:
            _, body, inputs = iteration(symbol(INDICES[0], 1), first.outputs[0], first)
            if iterations.varies:
                _, other, others = iteration(symbol(INDICES[1], 1), first.outputs[0], first)
                if other is not body or others != inputs:
                    raise _differ(iterations)
        if any(claim.names() & set(INDICES) for claim in assumed):  # that one iteration is like another
            raise _differ(iterations)
        record(assumed)
        times = iterations.times - 1
        if not paths.shared and _continues(first, body, inputs, paths.start + 1):
            first.times += times
            return first, first.outputs[0]
        call = self._add(line, 1, path, body, inputs)
        call.times = times
        if paths.shared:
            call.shares = share_with_first(call, first.name, line, scope)
        return call, call.outputs[0]

    def _add(self, line: Line, number: int, path: str, body: Body, inputs: list[Value | None]) -> CallNode:
        """Append the call of an iteration, whose path is ``path``."""
        elaboration, paths, scope = self.elaboration, self.paths, self.scope
        if paths.base is None:
            return add_call(elaboration, line, scope, claim_path(path, line, scope), body, inputs)
        start = None if paths.shared else paths.start + number
        return add_call(elaboration, line, scope, paths.base, body, inputs, start)


def _number(iterations: Iterations) -> int:
    """Return the number of iterations; of a closed form that at the default sizes, as limits do not belong to it."""
    if iterations.unknown is None or in_sketch():
        return iterations.times
    return default_of(iterations.unknown) or 1


def _differ(iterations: Iterations, *, own: bool = False) -> UndecidedError:
    """Return the error of a symbolic number of iterations that are not equal, or have values of their ``own``."""
    reason = "each iteration has values of its own, such as caches" if own else "the iterations differ"
    return UndecidedError(f"{reason}, so that their number, {iterations.unknown}, has to be known")


def _elaborate_insertions(
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
        return self.base if self.shared else f"{self.stem}{self.start + iteration}"

    def same_until(self, scope: Scope, iteration: int, times: int) -> int:
        """Return the first later iteration to which other patches may apply, or ``times``."""
        if self.shared or not scope.patches:
            return times
        return same_until(scope.patches, self.stem, self.start + iteration, self.start + times) - self.start

    @property
    def stem(self) -> str:
        """The path of an iteration before its number."""
        base = self.base or ""
        return base + "." if base and not base.endswith(("_", "-")) else base


def _paths(line: Line, scope: Scope, iterations: Iterations) -> _Paths:
    base: str | None
    start, name = iterations.start, None if iterations.named else line_name(line, scope)
    share = line.modifier("share")
    if iterations.named:
        base, start = _numbered_name(line, scope, iterations), iterations.start
    elif name is None and scope.numbered:  # the iterations continue the numbering of the sequence
        if iterations.unknown is not None:
            raise UndecidedError(
                f"names are numbered behind {iterations.unknown} iterations, whose number has to be known"
            )
        base, start = scope.prefix, scope.counter[0]
        scope.counter[0] += iterations.times
    else:
        path = join(scope.prefix, name) if name else scope.body.unique(join(scope.prefix, line.target))
        base = claim_path(path, line, scope)
    return _Paths(base, start, share is not None and bool(evaluate_expression(share, scope)))


def _numbered_name(line: Line, scope: Scope, iterations: Iterations) -> str | None:
    """Return the path before the number of a symbolic number of iterations that ``name`` numbers; None otherwise."""
    literal, is_index, rest = str(line.modifiers["name"].data).partition(f"${{{iterations.index_name}}}")
    if iterations.unknown is None or in_sketch() or not is_index or rest or "${" in literal:
        return None
    if literal and not literal.endswith((".", "_", "-")):
        return None
    return join(scope.prefix, literal.removesuffix(".")) if literal else scope.prefix


def _in_place(
    elaboration: Elaboration, line: Line, iterations: Iterations, scope: Scope, current: Value | None, *, inline: bool
) -> Value | None:
    """Elaborate an unnamed repeated sequence or an inlined block once for each iteration, in the enclosing list."""
    require_node(line)
    if "share" in line.modifiers:
        message = "share: requires a name, since the lines of an unnamed sequence have paths of their own"
        raise line.modifiers["share"].key_error("E107", message)
    elaboration.budget.spend(iterations.times, line.modifiers["repeat"])
    errors_before = len(elaboration.reporter.diagnostics)
    streams = read_streams(elaboration, line, scope, current, iterations.times, scope.prefix)
    carried: list[Value] = []
    for i in range(iterations.times):
        inner = scope.child(variables=iterations.variables(i))
        inner.numbered, inner.counter = scope.numbered, scope.counter
        with elaboration.freezing(line, inner):
            if inline:
                ports, values = _elaborate_inlined(elaboration, line, inner, current, carried, streams.inputs(i))
            else:
                inner.defined |= {name: Outputs.single(value) for name, value in streams.inputs(i).items()}
                before = carried[0] if carried else start_value(line, scope, current)
                value = elaboration.lines(line.sequence(), inner, before)
                if value is None:
                    raise Poisoned
                others = collected_values(streams, inner, value)
                ports, values = ["output", *others], [value, *others.values()]
        if len(elaboration.reporter.diagnostics) > errors_before:  # the next iteration would repeat them
            raise Poisoned
        streams.gather(ports, values)
        carried = streams.carried(ports, values)
    outputs = _outputs(carried, line) if carried else _passed_on(elaboration, line, scope, current, streams)
    results = streams.results(elaboration, scope, scope.prefix)
    define_outputs(line, scope, outputs, dict(results))
    return outputs.first


def _elaborate_inlined(
    elaboration: Elaboration,
    line: Line,
    scope: Scope,
    current: Value | None,
    carried: Sequence[Value],
    taken: Mapping[str, Value | None],
) -> tuple[list[str], list[Value]]:
    """Elaborate an iteration of an inlined block and return its ports and outputs."""
    block = block_of(elaboration, line, scope)
    open_inputs = len(block.decl.inputs) - len(taken)
    if len(carried) > open_inputs:
        raise NetcalcError(too_many_outputs(line, block.name, len(carried), open_inputs))
    outputs = elaborate_inline(elaboration, line, block, scope, current, carried, taken)
    return list(outputs), list(outputs.values())


def _passed_on(elaboration: Elaboration, line: Line, scope: Scope, current: Value | None, streams: Streams) -> Outputs:
    """Return the outputs of a repeat without iterations, which passes on the values that the first one would take."""
    if line.target == SEQUENCE or ops.find(line.target) is not None:
        return Outputs.single(start_value(line, scope, current), line.cursor.span)
    block = block_of(elaboration, line, scope)
    names = [name.rpartition(".")[2] for name in block.decl.outputs or ["output"]]
    # an output that may be absent is not passed on
    count = sum(i == 0 or not (name in streams.collected or name.endswith("?")) for i, name in enumerate(names))
    if count == 1 and not isinstance(getattr(line.modifier("from"), "data", None), (list, dict)):
        return Outputs.single(start_value(line, scope, current), line.cursor.span)
    own = [port for port in ports(*block.decl.inputs) if port.name not in streams.taken]
    return _outputs(with_defaults(own, Inputs(line, own, block.name, scope, current).resolve({}))[:count], line)


def _continues(call: CallNode, body: Body, inputs: Sequence[Value | None], number: int | None) -> bool:
    """Return True if the iteration with a number can be added to the call before it."""
    carried = len(body.result_types)
    return (
        (call.start is None or call.start + call.times == number)
        and tuple(inputs[:carried]) == call.outputs
        and body.repeatable
        and call.body.repeatable
        and tuple(inputs[carried:]) == call.inputs[carried:]
        and call.body is body
    )


def _outputs(values: Sequence[Value | None], line: Line) -> Outputs:
    """Return the outputs of a repeat, which are numbered if there are several."""
    if len(values) == 1:
        return Outputs.single(values[0], line.cursor.span)
    return Outputs({str(i): value for i, value in enumerate(values)}, line.cursor.span)
