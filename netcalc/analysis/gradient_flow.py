"""Gradients that each operation of a program receives and computes in a backward pass, without unrolling repeats.

An operation computes the gradients of inputs that depend on a trained parameter, and of its own trained parameters; and
it does so only if a gradient of one of its outputs arrives.  Iterations of a repeat may differ in this: the input of
the first one may need no gradient.  :func:`gradient_flow` returns an equivalent program in which each operation has one
:class:`Flow`: calls are split into runs of equal iterations, and bodies are copied for each flow.

Gradients of a tensor that is used k times are added, k − 1 times.  Each addition belongs to a use of the tensor: to all
but the first in order of execution, and to all for an output of the network, whose gradient comes from the loss too.
A parameter that is tied or shared is used at each of its paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from netcalc.analysis.gradient_passes import Arrived, Flags, Passes, Run, require_runs
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.ir import Body, CallNode, Node, OpNode, Program, Value, join, parameter_at
from netcalc.ops.backward import Source

#: Message for a network without an output that has a gradient.
NO_START = "the network has no floating-point output to start a backward pass from"


class Flow(NamedTuple):
    """Gradients at an operation: those that it computes, and the outputs of which one arrives.

    ``added`` are the inputs and parameters whose gradient is added to the gradient of another use.
    """

    wanted: frozenset[Source] = frozenset()
    given: Flags = ()
    added: frozenset[Source] = frozenset()


@dataclass(frozen=True, slots=True)
class GradientFlow:
    """A program in which each operation has one flow; ``flows`` has them by the id of the node."""

    program: Program
    flows: Mapping[int, Flow]

    def of(self, node: OpNode) -> Flow:
        """Return the flow of an operation of the program."""
        return self.flows[id(node)]


def gradient_flow(program: Program, inputs: Iterable[str] = (), output: str | None = None) -> GradientFlow:
    """Return the gradients of a backward pass.

    Args:
        program: the program, which is not changed.
        inputs: names of inputs whose gradients are computed beside the gradients of all trained parameters.
        output: name of the output from which the pass starts; None for all floating-point outputs.

    Raises:
        NetcalcError: E502 for a name that is no floating-point input or output, or without such an output.
    """
    _require_output(program, output)
    names = frozenset(inputs)
    floats = [spec.name for spec in program.inputs if spec.type.is_float]
    for name in sorted(names.difference(floats)):
        hint = did_you_mean(name, floats)
        raise NetcalcError(Diagnostic("E502", f"no floating-point input is called {name!r}", hint=hint))
    passes = Passes(program)
    wants = tuple(spec.name in names for spec in program.inputs)
    outputs = passes.forward(program.main, wants).outputs
    chosen = [output is None or name == output for name in program.output_names]
    arrived = tuple(
        Arrived.LOSS if wanted and start else Arrived.NOTHING for wanted, start in zip(outputs, chosen, strict=True)
    )
    copier = _Copier(program, passes)
    # an input that is an output has a gradient of the loss
    used = tuple(arrival is Arrived.LOSS for arrival in passes.backward(program.main, wants, arrived).inputs)
    state = _State(tuple(range(len(wants))), used)
    main = copier.body(program.main, wants, arrived, state).body
    _free_first_uses(main, main, copier.flows, set(), set(copier.tracked))
    return GradientFlow(replace(program, main=main), copier.flows)


def _require_output(program: Program, output: str | None) -> None:
    """Raise NetcalcError (E502) for a name that is no floating-point output, or if there is none."""
    floats = [name for name, type_ in program.output_types.items() if type_.is_float]
    if not floats:
        raise NetcalcError(Diagnostic("E502", NO_START))
    if output is not None and output not in floats:
        message = f"there is no floating-point output {output!r} to start a backward pass from"
        raise NetcalcError(Diagnostic("E502", message, hint=did_you_mean(output, floats)))


def _free_first_uses(
    body: Body, main: Body, flows: dict[int, Flow], freed: set[tuple[Body, str]], visited: set[Body]
) -> None:
    """Let the first use of a parameter add nothing where its owner has no gradient, such as one that is frozen."""
    visited.add(body)
    for node in body.nodes:
        if isinstance(node, CallNode):
            if node.body not in visited:
                _free_first_uses(node.body, main, flows, freed, visited)
            continue
        for name, tie in node.ties.items():
            if name not in flows[id(node)].added:
                continue
            scope = main if tie.absolute else body
            owner = parameter_at(scope.nodes, tie.target)
            owned = owner is not None and owner[1].name in flows[id(owner[0])].wanted
            if not owned and (scope, tie.target) not in freed:
                freed.add((scope, tie.target))
                flow = flows[id(node)]
                flows[id(node)] = flow._replace(added=flow.added - {name})


class _State(NamedTuple):
    """State of a body's inputs: which are one tensor, and which tensors have been used before.

    ``weights`` are the paths of its parameters that have been used, if other calls share them; None otherwise.
    """

    tensors: tuple[int, ...]  # numbers from 0, in order of first appearance
    used: Flags  # by number
    weights: frozenset[str] | None = None


class _Copied(NamedTuple):
    """A copy of a body, the tensors that its outputs are, and which tensors and parameters have been used after it.

    The tensors of the inputs precede those that the body makes.
    """

    body: Body
    outputs: tuple[int, ...]
    used: Flags
    weights: frozenset[str]


class _Uses:
    """Uses so far in a body: its tensors by value, and its parameters by path if ``tracked``."""

    def __init__(self, body: Body, state: _State) -> None:
        self.tensors: dict[Value | None, int] = dict(zip(body.inputs, state.tensors, strict=True))
        self.used = list(state.used)
        self.weights = set(state.weights or ())
        self.tracked = state.weights is not None
        calls = [node for node in body.nodes if isinstance(node, CallNode)]
        self._owners = {call.shares.target for call in calls if call.shares is not None}

    def weights_in(self, node: CallNode, prefix: str) -> frozenset[str] | None:
        """Return the paths of used parameters inside a call, if calls share its weights or those around it."""
        if not self.tracked and node.shares is None and node.name not in self._owners:
            return None
        return frozenset(path[len(prefix) :] for path in self.weights if path.startswith(prefix))


#: A node of a copy before it is made: the flow of an operation, or pieces of a call, each a body and a number of times.
_Plan: TypeAlias = "Flow | tuple[tuple[Body, int], ...]"


class _Copier:
    """Copies of bodies by flow; bodies whose operations have equal flows are one copy."""

    def __init__(self, program: Program, passes: Passes) -> None:
        self.flows: dict[int, Flow] = {}
        self._program = program
        self._passes = passes
        self._known: dict[Any, _Copied] = {}
        self._copies: dict[tuple[Body, tuple[_Plan, ...], bool], Body] = {}
        self.tracked: set[Body] = set()

    def body(self, body: Body, wants: Flags, arrived: tuple[Arrived, ...], state: _State) -> _Copied:
        """Return the copy of a body for its flags and the state of its inputs."""
        key = body, wants, arrived, state
        if key not in self._known:
            self._known[key] = self._body(body, wants, arrived, state)
        return self._known[key]

    def _body(self, body: Body, wants: Flags, arrived: tuple[Arrived, ...], state: _State) -> _Copied:
        wanted = self._passes.forward(body, wants).operations
        arrivals = self._passes.backward(body, wants, arrived)
        uses = _Uses(body, state)
        plans: list[_Plan] = []
        for position, node in enumerate(body.nodes):
            if isinstance(node, OpNode):
                at_outputs = arrivals.operations[position]
                plans.append(_flow(node, wanted[position], at_outputs, uses))
                for value, origin in zip(node.outputs, at_outputs, strict=True):
                    uses.tensors[value] = len(uses.used)
                    uses.used.append(origin is Arrived.LOSS)
            else:
                plans.append(self._call(node, arrivals.calls[position], uses))
        outputs = tuple(uses.tensors[value] for value in body.outputs)
        copy = self._copy(body, tuple(plans), uses.tracked)
        return _Copied(copy, outputs, tuple(uses.used), frozenset(uses.weights))

    def _call(self, node: CallNode, runs: Sequence[Run], uses: _Uses) -> tuple[tuple[Body, int], ...]:
        """Return the copies that the iterations of a call take, with their numbers."""
        numbers = [-1 if value is None else uses.tensors[value] for value in node.inputs]
        pieces: list[tuple[Body, int]] = []
        done = 0
        for run in runs:
            end = done + run.times
            while done < end:
                prefix = (node.instance(done) if node.shares is None else node.shares.target) + "."
                weights = uses.weights_in(node, prefix)
                state, order = _state(numbers, uses.used, weights)
                copied = self.body(node.body, run.wants, run.arrived, state)
                first_new = len(uses.used)
                following = _outputs_after(copied, order, uses.used)
                following += numbers[len(following) :] if node.times > 1 else []
                if weights is not None:
                    uses.weights |= {prefix + path for path in copied.weights}
                # each output is a new tensor, or the one that the input was
                alike = all(new >= first_new or new == old for new, old in zip(following, numbers, strict=False))
                alike &= weights is None or (node.start is None and copied.weights == weights)
                times = end - done if alike and _state(following, uses.used, weights)[0] == state else 1
                if pieces and pieces[-1][0] is copied.body:
                    pieces[-1] = copied.body, pieces[-1][1] + times
                else:
                    pieces.append((copied.body, times))
                require_runs(self._program, pieces)
                done, numbers = done + times, following
        uses.tensors.update(zip(node.outputs, numbers, strict=False))
        return tuple(pieces)

    def _copy(self, body: Body, plans: tuple[_Plan, ...], tracked: bool) -> Body:
        key = body, plans, tracked and any(isinstance(node, OpNode) and bool(node.ties) for node in body.nodes)
        if key not in self._copies:
            nodes: list[Node] = []
            for node, plan in zip(body.nodes, plans, strict=True):
                if isinstance(node, CallNode):
                    assert not isinstance(plan, Flow)
                    nodes.extend(_split(node, plan))
                    continue
                assert isinstance(plan, Flow)
                nodes.append(replace(node))
                self.flows[id(nodes[-1])] = plan
            self._copies[key] = replace(body, nodes=tuple(nodes))
            if tracked:
                self.tracked.add(self._copies[key])
        return self._copies[key]


def _flow(node: OpNode, wanted: frozenset[Source], arrived: tuple[Arrived, ...], uses: _Uses) -> Flow:
    """Return the flow of an operation, and mark the tensors and parameters that it uses."""
    if not wanted or not any(arrived):
        return Flow()
    added: set[Source] = set()
    for source in sorted(source for source in wanted if isinstance(source, int)):
        number = uses.tensors[node.inputs[source]]
        if uses.used[number]:
            added.add(source)
        uses.used[number] = True
    for name in (source for source in wanted if isinstance(source, str)):
        tie = node.ties.get(name)
        path = join(node.name, name) if tie is None else tie.target
        if path in uses.weights or (tie is not None and not uses.tracked):
            added.add(name)
        if uses.tracked:
            uses.weights.add(path)
    return Flow(wanted, tuple(map(bool, arrived)), frozenset(added))


def _state(numbers: Sequence[int], used: Sequence[bool], weights: frozenset[str] | None) -> tuple[_State, list[int]]:
    """Return the state of a body for the tensors at its inputs, -1 for none, and their numbers in its order."""
    order = list(dict.fromkeys(numbers))
    tensors = tuple(order.index(number) for number in numbers)
    return _State(tensors, tuple(number >= 0 and used[number] for number in order), weights), order


def _outputs_after(copied: _Copied, order: Sequence[int], used: list[bool]) -> list[int]:
    """Mark the tensors that a call used, and return the numbers of its outputs; new tensors are appended."""
    for number, is_used in zip(order, copied.used, strict=False):
        if number >= 0:
            used[number] = is_used
    numbers = dict(enumerate(order))
    for tensor in copied.outputs:
        if tensor not in numbers:
            numbers[tensor] = len(used)
            used.append(copied.used[tensor])
    return [numbers[tensor] for tensor in copied.outputs]


def _split(node: CallNode, pieces: Sequence[tuple[Body, int]]) -> Iterable[CallNode]:
    """Yield a call for each piece of a call's iterations, each with the outputs of the one before it."""
    inputs, done = node.inputs, 0
    carried = node.carried
    for body, times in pieces:
        last = done + times == node.times
        outputs = node.outputs if last else tuple(Value(v.type, v.name, v.span) for v in node.outputs)
        start = None if node.start is None else node.start + done
        yield replace(node, body=body, inputs=inputs, outputs=outputs, times=times, start=start)
        inputs, done = outputs + inputs[carried:], done + times
