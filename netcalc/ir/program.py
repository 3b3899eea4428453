"""Programs: a set of bodies, each a flat list of nodes in single assignment.

A body is elaborated once for each distinct combination of block, arguments and input types, and may be called many
times. Names are relative to the enclosing body; :mod:`netcalc.analysis.walk` gives full paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic, Span
from netcalc.dims import Assumption, Dim, Poly
from netcalc.dtypes import INEXACT, ITEMSIZE, DType
from netcalc.ir.applied import Applied
from netcalc.ir.caches import Caches
from netcalc.ir.checkpoint import CheckpointMap
from netcalc.opdef import Operation, Param
from netcalc.tensor_type import TensorType


@dataclass(eq=False, slots=True)
class Value:
    """A tensor of a body, named after the layer or input that produces it.

    ``span`` is the place in the spec that produces it.  ``type`` is None only while a spec with errors is elaborated:
    the layers that depend on such a value are skipped, and no program is returned.
    """

    type: TensorType | None
    name: str
    span: Span | None = None

    @property
    def known_type(self) -> TensorType:
        """The type, which every value of a finished program has."""
        assert self.type is not None, f"{self.name} has no type"
        return self.type


def types_of(values: Iterable[Value | None]) -> tuple[TensorType | None, ...]:
    """Return the type of each value, with None for an input that is not given."""
    return tuple([None if value is None else value.type for value in values])


class _Typed:
    """Input and output types of a node or body."""

    __slots__ = ()
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]

    @property
    def input_types(self) -> tuple[TensorType | None, ...]:
        """The input types, with None for an optional input that is not given."""
        return types_of(self.inputs)

    @property
    def result_types(self) -> tuple[TensorType | None, ...]:
        """The output types, with None for one that is unknown because of an error."""
        return types_of(self.outputs)

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        """The output types."""
        return tuple([value.known_type for value in self.outputs])


class Tie(NamedTuple):
    """Path of the parameter that is used in place of one's own, from the enclosing body or from the root."""

    target: str
    absolute: bool = False


@dataclass(eq=False, slots=True)
class OpNode(_Typed):
    """Application of an operation.

    ``name`` is the path within the body; it is empty for the single operation of a repeat. ``ties`` gives, by name, the
    parameters that another operation owns; ``frozen`` excludes the parameters from training. ``computed`` gives the
    initial value of a buffer: a body without inputs and parameters.  ``module`` is the path of the module that the node
    is a call of, if that is not its own: from the enclosing body, or from the root with a leading slash.  ``applied``
    is None for a node that is not as it was built.

    In PyTorch's eager mode the reference writes the output over the first input if ``inplace``, and its variables hold
    the values in ``holds`` meanwhile, used or not.
    """

    name: str
    op: Operation
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    params: tuple[Param, ...] = ()
    ties: Mapping[str, Tie] = field(default_factory=dict)
    frozen: bool = False
    span: Span | None = None
    computed: Body | None = None
    inplace: bool = False
    holds: tuple[Value, ...] = ()
    module: str = ""
    applied: Applied | None = field(default=None, init=False, repr=False)


@dataclass(eq=False, slots=True)
class CallNode(_Typed):
    """Call of a body, repeated ``times`` times.

    The outputs of an iteration are the first inputs of the next; the other inputs are the same for all. The path of an
    iteration is ``name`` itself, or ``name.start``, ``name.start+1``, … if ``start`` is given; a name that ends in
    ``_`` or ``-`` is followed by the number without a dot. With ``shares`` all iterations use the weights of that call.
    ``holds`` are values that the reference's variables hold during all iterations in PyTorch's eager mode.  ``module``
    is as for an operation.
    """

    name: str
    body: Body
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    times: int = 1
    start: int | None = None
    shares: Tie | None = None
    span: Span | None = None
    holds: tuple[Value, ...] = ()
    module: str = ""

    @property
    def carried(self) -> int:
        """Number of first inputs that an iteration receives from the one before it."""
        return len(self.body.outputs) if self.times > 1 else 0

    @property
    def results(self) -> tuple[Value, ...]:
        """The outputs without inner values that paths refer to."""
        return self.outputs[: len(self.outputs) - self.body.exposed]

    def instance(self, index: int) -> str:
        """Return the relative path of one instance."""
        if self.start is None:
            return self.name
        return f"{self.stem}{self.start + index}"

    def locate(self, path: str) -> tuple[int, str] | None:
        """Return the instance that ``path`` leads to and the rest of the path below it, or None if it leads elsewhere.

        Iterations that share their weights have one path, which leads to the last of them.
        """
        if self.start is None:
            if path == self.name:
                return self.times - 1, ""
            return (self.times - 1, path[len(self.name) + 1 :]) if path.startswith(self.name + ".") else None
        if not path.startswith(self.stem):
            return None
        number, _, rest = path[len(self.stem) :].partition(".")
        is_instance = number.isdecimal() and self.start <= int(number) < self.start + self.times
        return (int(number) - self.start, rest) if is_instance else None

    def inside(self, path: str) -> str | None:
        """Return the rest of ``path`` below an instance of the call, or None if it leads elsewhere."""
        located = self.locate(path)
        return None if located is None else located[1]

    @property
    def stem(self) -> str:
        """The part of each instance's path before its number."""
        return self.name + "." if self.name and not self.name.endswith(("_", "-")) else self.name


Node: TypeAlias = OpNode | CallNode


@dataclass(eq=False, slots=True)
class Body(_Typed):
    """A block elaborated for certain arguments and input types.

    ``ports`` are the names of its declared outputs. The last ``exposed`` outputs are inner values that paths refer to.
    A finished body does not change, and programs may share it. ``derived`` is what analyses have found out about it and
    need again, by their own keys.
    """

    block: str
    inputs: tuple[Value | None, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    checkpoint: CheckpointMap = field(default_factory=CheckpointMap)
    ports: tuple[str, ...] = ()
    exposed: int = 0
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def repeatable(self) -> bool:
        """True if the outputs have the types of the first inputs, so that an iteration can feed the next."""
        return types_of(self.outputs) == self.input_types[: len(self.outputs)]


class InputSpec(NamedTuple):
    """A program input: its type, and the range that random values are drawn from or the default value.

    Integers outside the range are refused, except ``also``: the label of positions that a loss leaves out.
    """

    name: str
    type: TensorType
    low: float | None = None
    high: float | None = None
    default: float | None = None
    also: int | None = None


@dataclass(eq=False, slots=True)
class Loss:
    """The loss of a network: a body that takes outputs of the network and inputs of its own, and returns a scalar.

    ``sources`` are the names of the outputs and inputs that the body takes, in order.
    """

    body: Body
    sources: tuple[str, ...]
    inputs: tuple[InputSpec, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


class InitRule(NamedTuple):
    """An initializer of a spec, as written, for parameters whose paths match a pattern.

    With ``operation`` the pattern is one of names of parameters, such as ``weight``, of the operations whose names
    match ``operation``.
    """

    pattern: str
    text: str
    place: Span | None = None
    operation: str = ""


@dataclass(eq=False, slots=True)
class Program:
    """An elaborated network; ``main`` is the body of the spec's own layers.

    The names in the reference's checkpoint may have or lack ``checkpoint_prefix``, and tensors whose names match a
    pattern of ``checkpoint_ignore`` are of no use.  They may lack the parameters ``added``; their published element
    type is ``checkpoint_dtype``.  ``caches`` are the inputs and outputs that decoding passes on from step to step;
    ``first_step`` is the program of the first step, whose parameters a checkpoint may hold too.  ``assigned`` are the
    assignments by which parameters are stored in other forms than their element type, see :mod:`netcalc.ir.storage`:
    options and the checkpoint assign them, the latter as ``stored_as`` says in words.  No line reads the inputs
    ``unread``.  The buffers ``constants`` have values that are too long for a spec.
    """

    name: str
    main: Body
    inputs: tuple[InputSpec, ...]
    output_names: tuple[str, ...]
    training: bool = False
    dtype: DType = "float32"
    checkpoint_dtype: DType | None = None
    init: tuple[InitRule, ...] = ()  # the first that matches wins
    about: str = ""
    source: str = ""
    origin_notes: tuple[str, ...] = ()  # remarks on how the model was read
    work_notes: tuple[str, ...] = ()  # remarks of the spec on the work that is counted
    storage_notes: tuple[str, ...] = ()  # remarks on the form in which parameters are stored
    architecture: str = ""  # model type in configurations of Hugging Face
    dims: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    unread: tuple[str, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    symbolic: tuple[str, ...] = ()  # names of dims and vars that stay symbols, as they were asked for
    checkpoint_prefix: str = ""
    checkpoint_ignore: tuple[str, ...] = ()  # patterns of names
    added: frozenset[str] = frozenset()  # paths of parameters
    caches: Caches = field(default_factory=Caches)
    first_step: Program | None = None
    assigned: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # by option
    stored_as: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict)  # arrays by path

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what is counted."""
        return (*self.origin_notes, *self.storage_notes, *self.work_notes)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the dims and vars that are symbols, dims without a size among them."""
        unset = (name for name, size in self.dims.items() if isinstance(size, Poly))
        return tuple(dict.fromkeys((*self.symbolic, *unset)))

    @property
    def input_types(self) -> Mapping[str, TensorType]:
        """Types of the inputs by name."""
        return {spec.name: spec.type for spec in self.inputs}

    @property
    def output_types(self) -> Mapping[str, TensorType]:
        """Types of the outputs by name."""
        return dict(zip(self.output_names, self.main.output_types, strict=True))


def join(prefix: str, name: str) -> str:
    """Return the path of ``name`` under ``prefix``; either may be empty."""
    return f"{prefix}.{name}" if prefix and name else prefix or name


def dtype_of(param: Param, node: OpNode, default: DType) -> DType:
    """Return the element type of a parameter: its own, the type of the first floating-point input, or ``default``."""
    if param.dtype is not None:
        return param.dtype
    return next((t.dtype for t in node.input_types if t is not None and t.dtype in INEXACT), default)


def stored_bytes(param: Param, node: OpNode, default: DType) -> Dim:
    """Return the bytes that a parameter is stored in."""
    if param.storage is not None:
        return param.storage.bytes
    return param.elements * ITEMSIZE[dtype_of(param, node, default)]


def parameter_at(nodes: Sequence[Node], path: str) -> tuple[OpNode, Param] | None:
    """Return the parameter at a path relative to these nodes with its operation, or None if there is none."""
    for node in nodes:
        if isinstance(node, OpNode):
            for param in node.params:
                if join(node.name, param.name) == path:
                    return node, param
        else:
            rest = node.inside(path)
            parameter = None if rest is None else parameter_at(node.body.nodes, rest)
            if parameter is not None:
                return parameter
    return None


def call_at(nodes: Sequence[Node], path: str) -> CallNode | None:
    """Return the first call at a path relative to these nodes, or None if there is none."""
    for node in nodes:
        if isinstance(node, CallNode):
            rest = node.inside(path)
            if rest == "":
                return node
            call = None if rest is None else call_at(node.body.nodes, rest)
            if call is not None:
                return call
    return None


def operation_with_parameters(nodes: Iterable[Node], *, owned: bool = False) -> OpNode | None:
    """Return the first operation that has parameters, also in bodies that are called, or None if there is none.

    With ``owned`` tied parameters do not count.
    """
    for node in nodes:
        if isinstance(node, OpNode):
            if len(node.params) > (len(node.ties) if owned else 0):
                return node
        elif not owned or node.shares is None:
            operation = operation_with_parameters(node.body.nodes, owned=owned)
            if operation is not None:
                return operation
    return None


def parameter_signature(body: Body) -> list[tuple[str, Any, int]]:
    """Return names and shapes of the parameters in a body; a repeat is one entry with its number of iterations.

    Equal iterations are one entry also if they are in several calls.
    """
    entries: list[tuple[str, Any, int]] = []
    following = ""  # path of the iteration after the last entry
    for node in body.nodes:
        if isinstance(node, OpNode):
            entries += ((join(node.name, param.name), param.shape, 1) for param in node.params)
        elif node.shares is None:
            inner, first = parameter_signature(node.body), node.instance(0)
            if entries and first == following and entries[-1][1] == inner:
                path, _, times = entries.pop()
                entries.append((path, inner, times + node.times))
            else:
                entries.append((first, inner, node.times))
            following = node.instance(node.times) if node.start is not None else ""
            continue
        following = ""
    return entries
