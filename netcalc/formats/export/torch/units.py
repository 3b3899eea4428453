"""Units of code: bodies of a program with their small helpers inlined and their ties resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from netcalc.dims import UndecidedError
from netcalc.ir import Body, CallNode, OpNode, Value
from netcalc.ir.program import Node, dtype_of, operation_with_parameters
from netcalc.opdef import Operation, Param
from netcalc.ops.creation import Parameter
from netcalc.tensor_type import TensorType

#: Operations of a body without parameters that is written in place of its call.
_SMALL = 14


@dataclass(eq=False)
class OpStep:
    """An operation; ``reused`` if the module at its path belongs to an earlier step."""

    name: str
    op: Operation
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    params: tuple[Param, ...] = ()
    computed: Unit | None = None
    reused: bool = False
    path: str = ""

    @property
    def owns(self) -> bool:
        """True if the step has parameters or buffers of its own."""
        return bool(self.params)


@dataclass(eq=False)
class CallStep:
    """Call of a unit, ``times`` times on its own results; ``start`` is the first index in the list at its path."""

    name: str
    unit: Unit
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    times: int | Any = 1
    start: int | None = None
    reused: bool = False

    @property
    def owns(self) -> bool:
        """True if there are parameters or buffers below the path."""
        return not self.unit.is_function


@dataclass(eq=False)
class LoopStep:
    """Calls of the members of a list from ``start``, each on the results of the one before it."""

    name: str
    units: list[tuple[Unit, int | Any]]
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    start: int
    stem: str = ""

    @property
    def owns(self) -> bool:
        """True: lists have modules."""
        return True


@dataclass(eq=False)
class BorrowStep:
    """A parameter of another module, which a later step uses."""

    name: str
    outputs: tuple[Value, ...]
    inputs: tuple[Value | None, ...] = ()
    owns: bool = False


Step: TypeAlias = OpStep | CallStep | LoopStep | BorrowStep


@dataclass(eq=False)
class Unit:
    """A class or function to be: its inputs, steps and outputs; ``around`` names the unit around a group of steps."""

    base: str
    inputs: tuple[Value | None, ...]
    steps: list[Step]
    outputs: tuple[Value, ...]
    is_function: bool = False
    around: str = ""
    shapes: dict[Any, Any] = field(default_factory=dict)


class Builder:
    """Units of the bodies of a program, each made once; ``group`` puts steps with common paths in inner units.

    With ``varied``, whole samples are dropped with a probability that differs between layers, and one of 0 is kept.
    """

    def __init__(self, group: Callable[[Unit], None], *, varied: bool = False) -> None:
        self._group = group
        self.varied = varied
        self._units: dict[int, Unit] = {}
        self._kept: list[Body] = []

    def unit(self, body: Body, base: str) -> Unit:
        """Return the unit of a body; ``base`` names the unit of a body that is no block."""
        known = self._units.get(id(body))
        if known is None:
            self._kept.append(body)
            steps, outputs = _Expansion(self).expanded(body)
            known = Unit(body.block or base, body.inputs, steps, outputs, is_free(body) and not drops(body))
            self._group(known)
            self._units[id(body)] = known
        return known


def is_free(body: Body) -> bool:
    """Return True for a body without parameters and buffers."""
    return operation_with_parameters(body.nodes) is None


def drops(body: Body) -> bool:
    """Return True for a body with dropout, which depends on the mode of a module."""
    return any(drops(node.body) if isinstance(node, CallNode) else _probability(node.op) > 0 for node in body.nodes)


def drops_samples(body: Body) -> bool:
    """Return True for a body in which whole samples are dropped with some probability."""
    return any(
        drops_samples(node.body)
        if isinstance(node, CallNode)
        else node.op.name == "stochastic_depth" and _probability(node.op) > 0
        for node in body.nodes
    )


def _probability(op: Any) -> float:
    if op.name in ("dropout", "stochastic_depth"):
        return float(op.p)
    return float(op.dropout) if op.name == "scaled_dot_product_attention" else 0.0


class _Expansion:
    """The steps of one body."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._same: dict[Value, Value] = {}
        self._steps: list[Step] = []
        self._owners: dict[str, OpStep] = {}

    def expanded(self, body: Body) -> tuple[list[Step], tuple[Value, ...]]:
        self._add_all(body.nodes)
        return self._steps, tuple(self._of(value) for value in body.outputs)

    def _of(self, value: Value) -> Value:
        while value in self._same:
            value = self._same[value]
        return value

    def _inputs(self, values: Iterable[Value | None]) -> tuple[Value | None, ...]:
        return tuple(None if value is None else self._of(value) for value in values)

    def _add_all(self, nodes: Iterable[Node], copies: Mapping[Value, Value] | None = None) -> None:
        for node in nodes:
            if isinstance(node, OpNode):
                self._add_operation(node)
            else:
                self._add_call(node)

    def _add_operation(self, node: OpNode) -> None:
        inputs = self._inputs(node.inputs)
        if is_identity(node) and not (self._builder.varied and node.op.name == "stochastic_depth"):
            source = inputs[0]
            assert source is not None
            self._same[node.outputs[0]] = source
            return
        step = OpStep(node.name, node.op, inputs, node.outputs, node.params, path=node.name)
        if node.ties:
            self._tie(step, node)
        if node.computed is not None:
            step.computed = self._builder.unit(node.computed, node.name.rpartition(".")[2])
        for param in step.params:
            self._owners.setdefault(f"{node.name}.{param.name}" if param.name else node.name, step)
        self._steps.append(step)

    def _tie(self, step: OpStep, node: OpNode) -> None:
        """Use the module that owns all parameters, or take tied parameters as inputs."""
        owners = {name: self._owners.get(tie.target) for name, tie in node.ties.items()}
        first = next(iter(owners.values()))
        alone = len(owners) == len(node.params) and all(owner is first for owner in owners.values())
        if first is not None and alone and first.op == node.op:
            step.name, step.reused, step.params = first.name, True, ()
            return
        given = list(step.inputs) + [None] * 8
        ports = ["weight", "bias"] if node.op.name in ("embedding",) else [port.name for port in node.op.inputs[1:]]
        for name, tie in node.ties.items():
            param = next(param for param in node.params if param.name == name)
            owner = owners[name]
            if owner is not None and owner.op.name in ("parameter", "buffer"):
                value = owner.outputs[0]
            else:
                value = Value(_type_of(param, node), tie.target)
                self._steps.append(BorrowStep(tie.target, (value,)))
            given[1 + ports.index(name)] = value
        step.params = tuple(param for param in node.params if param.name not in node.ties)
        for param in step.params:
            if param.name in ports and not param.is_buffer:
                given[1 + ports.index(param.name)] = self._own_parameter(param, node)
                step.params = tuple(other for other in step.params if other is not param)
        step.inputs = tuple(given[: max(i for i, value in enumerate(given) if value is not None) + 1])

    def _own_parameter(self, param: Param, node: OpNode) -> Value:
        """Add a parameter at the path that it has as a part of an operation whose other parameters are inputs."""
        path = f"{node.name}.{param.name}"
        value = Value(_type_of(param, node), path)
        op = Parameter(shape=param.shape, trainable=param.trainable)
        self._steps.append(OpStep(path, op, (), (value,), (param,), path=path))
        return value

    def _add_call(self, node: CallNode) -> None:
        body, start, name = node.body, node.start, node.name
        if node.times == 1 and start is None and (name == "" or (is_free(body) and _count(body) <= _SMALL)):
            self._inline(node)
            return
        inner = body.nodes[0] if len(body.nodes) == 1 and node.times == 1 and start is None else None
        if isinstance(inner, CallNode) and inner.name == "" and inner.start is not None and _passes(body, inner):
            self._loop(name, inner.body, inner.times, inner.start, node)  # the call is a list
            return
        if node.shares is not None:
            unit = self._builder.unit(body, node.shares.target.rpartition(".")[2])
            inputs = self._inputs(node.inputs)
            self._steps.append(CallStep(node.shares.target, unit, inputs, node.outputs, node.times, reused=True))
            return
        if start is None or is_free(body):
            unit = self._builder.unit(body, name.rpartition(".")[2])
            self._steps.append(CallStep(name, unit, self._inputs(node.inputs), node.outputs, node.times))
            return
        self._loop(name, body, node.times, start, node)

    def _loop(self, name: str, body: Body, times: Any, start: int, node: CallNode) -> None:
        if _is_operation(body):
            self._operations(name, body, times, start, node)
            return
        unit = self._builder.unit(body, _singular(name.rstrip("-_").rpartition(".")[2]))
        stem = name.rpartition(".")[2] if name.endswith(("-", "_")) else ""
        self._steps.append(LoopStep(name, [(unit, times)], self._inputs(node.inputs), node.outputs, start, stem))

    def _operations(self, name: str, body: Body, times: Any, start: int, node: CallNode) -> None:
        """Add the members of a list, each of which is an operation at the path of the member, as lines."""
        if not isinstance(times, int):
            raise UndecidedError(f"the number of operations of {name} is open")
        inputs = self._inputs(node.inputs)
        results: tuple[Value, ...] = ()
        for index in range(start, start + times):
            pairs = zip(body.inputs, inputs, strict=False)
            values = {inner: outer for inner, outer in pairs if inner is not None and outer is not None}
            nodes = [*_copied(body.nodes, values)]
            for made in nodes:
                if isinstance(made, OpNode) and made.params:
                    made.name = f"{name}{index}" if name.endswith(("-", "_")) else f"{name}.{index}"
            self._add_all(nodes)
            results = tuple(self._of(values[value]) for value in body.outputs)
            inputs = (*results, *inputs[len(results) :])
        self._same.update(zip(node.outputs, results, strict=True))

    def _inline(self, node: CallNode) -> None:
        """Add the lines of a body in place of its call."""
        values: dict[Value, Value] = {}
        for inner, outer in zip(node.body.inputs, node.inputs, strict=False):
            if inner is not None and outer is not None:
                values[inner] = self._of(outer)
        nodes = list(_copied(node.body.nodes, values))
        self._add_all(nodes)
        for result, outer in zip(node.body.outputs, node.outputs, strict=True):
            inner_value = self._of(values[result])
            self._same[outer] = inner_value
            if outer.name.rpartition(".")[2] and is_free(node.body) and inner_value not in node.inputs:
                inner_value.name = outer.name


def _copied(nodes: Iterable[Node], values: dict[Value, Value]) -> Iterator[Node]:
    """Yield copies of nodes, whose inputs are values of the caller."""

    def of(value: Value | None) -> Value | None:
        return None if value is None else values[value]

    for node in nodes:
        for value in node.outputs:
            values[value] = Value(value.type, value.name, value.span)
        inputs, outputs = tuple(of(value) for value in node.inputs), tuple(values[value] for value in node.outputs)
        if isinstance(node, OpNode):
            copy = OpNode(node.name, node.op, inputs, outputs, node.params, node.ties, computed=node.computed)
            yield copy
        else:
            call = (node.times, node.start, node.shares, node.span)
            yield CallNode(node.name, node.body, inputs, outputs, *call)


def is_identity(node: OpNode) -> bool:
    """Return True for an operation that returns its input as it is."""
    op: Any = node.op
    if op.name == "identity":
        return True
    if op.name in ("dropout", "stochastic_depth"):
        return bool(op.p == 0)
    if op.name in ("concat", "add", "mul") and len(node.inputs) == 1:
        return getattr(op, "value", None) is None
    return op.name == "cast" and node.input_types[0] is not None and op.dtype == node.input_types[0].dtype


def _type_of(param: Param, node: OpNode) -> TensorType:
    return TensorType(param.shape, dtype_of(param, node, "float32"))


def _is_operation(body: Body) -> bool:
    """Return True for a body of operations, of which the one with parameters is at the path of the body itself."""
    own = [node for node in body.nodes if isinstance(node, CallNode) or node.params]
    return len(own) == 1 and isinstance(own[0], OpNode) and not own[0].name


def _count(body: Body) -> int:
    """Return the number of operations in a body and what it calls; a repeat counts as many."""
    return sum(1 if isinstance(node, OpNode) else _count(node.body) if node.times == 1 else 100 for node in body.nodes)


def _passes(body: Body, inner: CallNode) -> bool:
    """Return True if a body does nothing but call another on its inputs."""
    return inner.inputs == body.inputs and inner.outputs == body.outputs


def _singular(name: str) -> str:
    return name[:-1] if len(name) > 2 and name.endswith("s") and not name.endswith("ss") else name


def values_in(steps: Sequence[Step]) -> set[Value]:
    """Return the values that steps make."""
    return {value for step in steps for value in step.outputs}
