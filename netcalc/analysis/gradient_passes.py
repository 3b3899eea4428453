"""The two passes that decide which gradients flow: forward, which values have one, and backward, which arrive.

Both go through the bodies of a program, each body once for each combination of flags at its inputs and outputs.  The
iterations of a call are runs of equal flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dtypes import FLOATS
from netcalc.ir import Body, CallNode, OpNode, Program, Value, dtype_of
from netcalc.limits import MAX_UNROLLED
from netcalc.ops.backward import NO_GRADIENT, BackwardCall, Source, declaration, require_real

Flags: TypeAlias = tuple[bool, ...]


class Arrived(IntEnum):
    """Origin of the gradient of a value: none arrives, one of later operations, or one of the loss too."""

    NOTHING = 0
    LATER = 1
    LOSS = 2


class Run(NamedTuple):
    """Iterations of a call with equal flags: ``wants`` of its inputs, ``arrived`` at its outputs."""

    times: int
    wants: Flags
    arrived: tuple[Arrived, ...] = ()


class _Wants(NamedTuple):
    """Result of the forward pass over a body: the flags of its outputs, and what each node wants."""

    outputs: Flags
    operations: Mapping[int, frozenset[Source]]  # by position in the body
    calls: Mapping[int, tuple[Run, ...]]


class _Arrivals(NamedTuple):
    """Result of the backward pass over a body: what arrives at its inputs, and at the outputs of each node."""

    inputs: tuple[Arrived, ...]
    operations: Mapping[int, tuple[Arrived, ...]]
    calls: Mapping[int, tuple[Run, ...]]


class Passes:
    """Both passes over the bodies of a program, with their results by body and flags."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._wants: dict[tuple[Body, Flags], _Wants] = {}
        self._arrivals: dict[tuple[Body, Flags, tuple[Arrived, ...]], _Arrivals] = {}

    # -- forward --------------------------------------------------------------------------------------

    def forward(self, body: Body, flags: Flags) -> _Wants:
        """Return which values of a body have a gradient, by the flags of its inputs."""
        key = body, flags
        if key not in self._wants:
            self._wants[key] = self._forward(body, flags)
        return self._wants[key]

    def _forward(self, body: Body, flags: Flags) -> _Wants:
        wants: dict[Value | None, bool] = dict(zip(body.inputs, flags, strict=True))
        operations: dict[int, frozenset[Source]] = {}
        calls: dict[int, tuple[Run, ...]] = {}
        for position, node in enumerate(body.nodes):
            inputs = tuple(value is not None and wants[value] for value in node.inputs)
            if isinstance(node, OpNode):
                operations[position], outputs = self._operation(node, inputs)
            else:
                calls[position], outputs = self._forward_call(node, inputs)
            wants.update(zip(node.outputs, outputs, strict=True))
        return _Wants(tuple(wants[value] for value in body.outputs), operations, calls)

    def _operation(self, node: OpNode, inputs: Flags) -> tuple[frozenset[Source], Flags]:
        """Return the gradients that an operation computes if one arrives, and which outputs have one."""
        sources: set[Source] = {number for number, wanted in enumerate(inputs) if wanted}
        if not node.frozen:
            sources |= {p.name for p in node.params if p.trainable and dtype_of(p, node, self._program.dtype) in FLOATS}
        trained = [dtype_of(p, node, self._program.dtype) for p in node.params if p.trainable and not node.frozen]
        require_real(node.op.name, sources, (*node.input_types, *node.output_types), trained, node.span)
        nothing = frozenset[Source](), (False,) * len(node.outputs)
        if not sources:
            return nothing
        declared = declaration(node.op)
        if declared is None:
            if node.op.name not in NO_GRADIENT:
                message = f"the operation {node.op.name} has no backward pass"
                raise NetcalcError(Diagnostic("E604", message, node.span))
            return nothing
        wanted = frozenset(sources)
        call = backward_call(node, wanted, (True,) * len(node.outputs), self._program.training)
        flows = declared.differentiable(node.op, call)
        types = node.output_types
        return wanted, tuple(flow and type_.dtype in FLOATS for flow, type_ in zip(flows, types, strict=True))

    def _forward_call(self, node: CallNode, flags: Flags) -> tuple[tuple[Run, ...], Flags]:
        runs: list[Run] = []
        remaining, outputs = node.times, flags[:0]
        while remaining:
            outputs = self.forward(node.body, flags).outputs
            following = outputs + flags[len(outputs) :] if node.times > 1 else flags
            times = remaining if following == flags else 1
            runs.append(Run(times, flags))
            require_runs(self._program, runs)
            remaining, flags = remaining - times, following
        return tuple(runs), outputs

    # -- backward -------------------------------------------------------------------------------------

    def backward(self, body: Body, flags: Flags, arrived: tuple[Arrived, ...]) -> _Arrivals:
        """Return where gradients arrive in a body, by the flags of its inputs and what arrives at its outputs."""
        key = body, flags, arrived
        if key not in self._arrivals:
            self._arrivals[key] = self._backward(body, flags, arrived)
        return self._arrivals[key]

    def _backward(self, body: Body, flags: Flags, arrived: tuple[Arrived, ...]) -> _Arrivals:
        wants = self.forward(body, flags)
        arrivals: dict[Value, Arrived] = {}
        _merge(arrivals, body.outputs, arrived)
        operations: dict[int, tuple[Arrived, ...]] = {}
        calls: dict[int, tuple[Run, ...]] = {}
        for position in reversed(range(len(body.nodes))):
            node = body.nodes[position]
            at_outputs = tuple(arrivals.get(value, Arrived.NOTHING) for value in node.outputs)
            if isinstance(node, OpNode):
                operations[position] = at_outputs
                if any(at_outputs):
                    sources = (node.inputs[s] for s in wants.operations[position] if isinstance(s, int))
                    _merge(arrivals, [value for value in sources if value is not None], None)
            else:
                calls[position], at_inputs = self._backward_call(node, wants.calls[position], at_outputs)
                _merge(arrivals, node.inputs, at_inputs)
        inputs = tuple(Arrived.NOTHING if v is None else arrivals.get(v, Arrived.NOTHING) for v in body.inputs)
        return _Arrivals(inputs, operations, calls)

    def _backward_call(
        self, node: CallNode, runs: Sequence[Run], arrived: tuple[Arrived, ...]
    ) -> tuple[tuple[Run, ...], tuple[Arrived, ...]]:
        """Return the runs by what arrives too, in order of execution, and what arrives at the inputs."""
        backward_runs: list[Run] = []
        carried = node.carried
        inputs = (Arrived.NOTHING,) * len(node.inputs)
        for run in reversed(runs):
            remaining = run.times
            while remaining:
                at_inputs = self.backward(node.body, run.wants, arrived).inputs
                inputs = tuple(map(max, inputs, at_inputs))
                before = at_inputs[:carried] if carried else arrived
                times = remaining if before == arrived else 1
                backward_runs.append(Run(times, run.wants, arrived))
                require_runs(self._program, backward_runs)
                remaining, arrived = remaining - times, before
        first = arrived if carried else inputs[:0]
        return tuple(reversed(backward_runs)), first + inputs[len(first) :]


def _merge(arrivals: dict[Value, Arrived], values: Sequence[Value | None], arrived: Sequence[Arrived] | None) -> None:
    """Add what arrives at values; a gradient of a later operation if ``arrived`` is None."""
    for value, arrival in zip(values, arrived or [Arrived.LATER] * len(values), strict=True):
        if value is not None:
            arrivals[value] = max(arrivals.get(value, Arrived.NOTHING), arrival)


def backward_call(node: OpNode, wanted: frozenset[Source], given: tuple[bool, ...], training: bool) -> BackwardCall:
    """Return the description of the backward pass of an operation."""
    return BackwardCall(node.input_types, node.output_types, node.params, wanted, given, training)


def require_runs(program: Program, runs: Sequence[object]) -> None:
    """Raise NetcalcError (E603) if the iterations of a call differ in their gradients too often."""
    if len(runs) > MAX_UNROLLED:
        message = f"the iterations of a repeat in {program.name} differ in their gradients over {MAX_UNROLLED:,} times"
        raise NetcalcError(Diagnostic("E603", message))
