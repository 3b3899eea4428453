"""What running a program takes, in bytes, before anything is allocated.

The reference executor goes through the nodes in order, fetches a node's parameters when it comes to the node, and
lets a value go after its last use.  Its peak is found body by body and memoised, so that a stack of a million equal
layers costs what one costs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netcalc.analysis.liveness import dying
from netcalc.dims import Dim, value_at
from netcalc.dtypes import FLOATS, ITEMSIZE, DType
from netcalc.ir import Body, CallNode, OpNode, Program, TensorType, Value
from netcalc.opdef import Context, Param

__all__ = ["Memory", "memory", "parameter_dtype", "type_bytes"]


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes.

    ``weights`` and ``buffers`` are all of them, tied ones once.  ``activations`` is the most that inputs and values
    take at one time.  ``peak`` is the most that the executor holds at one time: live values, the parameters of the
    node at work, and the temporaries of its kernel.
    """

    weights: int
    buffers: int
    activations: int
    peak: int


#: Temporaries of a kernel, in units of its largest array: widened copies, centred inputs, squares.
_TEMPORARIES = 3
#: Kernels that copy windows do so a slab at a time.
_SLAB = 32 << 20


def memory(program: Program) -> Memory:
    """What the program takes at its sizes.

    Raises:
        UndecidedError: where a symbolic size has no value.
    """
    total = _Totals()
    weights, buffers = total.body(program.main)
    live, peak = _Peaks(program.training).body(program.main, (False,) * len(program.main.inputs))
    held = _sum(program.main.inputs)
    return Memory(weights, buffers, held + live, held + peak)


def type_bytes(type_: TensorType) -> int:
    """The bytes of a tensor of that type."""
    return value_at(type_.elements, {}) * ITEMSIZE[type_.dtype]


def parameter_dtype(node: OpNode, param: Param) -> DType:
    """The type of a parameter's elements: its own, or that of the operation's first floating-point tensor."""
    if param.dtype is not None:
        return param.dtype
    types = (value.type for value in (*node.inputs, *node.outputs) if value is not None and value.type is not None)
    return next((t.dtype for t in types if t.dtype in FLOATS), "float32")


def _param_bytes(node: OpNode, param: Param) -> int:
    return value_at(param.elements, {}) * ITEMSIZE[parameter_dtype(node, param)]


def _sum(values: Iterable[Value | None]) -> int:
    """The bytes of distinct values."""
    return sum(type_bytes(v.type) for v in dict.fromkeys(values) if v is not None and v.type is not None)


class _Totals:
    """(weights, buffers) of a body, tied ones left out."""

    def __init__(self) -> None:
        self._known: dict[Body, tuple[int, int]] = {}

    def body(self, body: Body) -> tuple[int, int]:
        if body not in self._known:
            weights = buffers = 0
            for node in body.nodes:
                if isinstance(node, CallNode):
                    w, b = (0, 0) if node.shares else self.body(node.body)
                    distinct = node.times if node.start is not None else 1
                    weights, buffers = weights + distinct * w, buffers + distinct * b
                    continue
                for param in node.params:
                    if param.name in node.ties:
                        continue
                    size = _param_bytes(node, param)
                    weights, buffers = (weights, buffers + size) if param.is_buffer else (weights + size, buffers)
            self._known[body] = weights, buffers
        return self._known[body]


class _Peaks:
    """(most live values, most in all) while a body runs, beyond what its caller holds.

    ``owned`` says which inputs the caller has handed over: those count here, and go after their last use.
    """

    def __init__(self, training: bool) -> None:
        self._ctx = Context(training=training)
        self._known: dict[tuple[Body, tuple[bool, ...]], tuple[int, int]] = {}
        self._dying: dict[Body, list[tuple[Value, ...]]] = {}

    def body(self, body: Body, owned: tuple[bool, ...]) -> tuple[int, int]:
        key = body, owned
        if key not in self._known:
            self._known[key] = self._run(body, owned)
        return self._known[key]

    def _run(self, body: Body, owned: tuple[bool, ...]) -> tuple[int, int]:
        held = {value for value, mine in zip(body.inputs, owned, strict=True) if mine and value is not None}
        size = _sum(held)
        most_live = most = size
        if body not in self._dying:
            self._dying[body] = dying(body)
        for node, dead in zip(body.nodes, self._dying[body], strict=True):
            if isinstance(node, CallNode):
                given = [value in held and value in dead and node.inputs.count(value) == 1 for value in node.inputs]
                inner = self._call(node, given)
                moved = _sum(value for value, mine in zip(node.inputs, given, strict=True) if mine)
                live, all_ = size - moved + inner[0], size - moved + inner[1]
            else:
                live = size + _sum(node.outputs)
                all_ = live + sum(_param_bytes(node, p) for p in node.params) + self._scratch(node)
            most_live, most = max(most_live, live), max(most, all_)
            new = {value for value in node.outputs if value not in held}
            size += _sum(new)
            held |= new
            gone = held.intersection(dead)
            size -= _sum(gone)
            held -= gone
        return most_live, most

    def _call(self, node: CallNode, given: list[bool]) -> tuple[int, int]:
        """The most of the first, a middle and the last call: only the last may let go of what every call takes."""
        carried = len(node.body.outputs)
        masks = set()
        for first, last in {(True, node.times == 1), (False, False), (False, True)} if node.times > 1 else {(True, True)}:
            masks.add(
                tuple(
                    (mine or not first) if position < carried else (mine and last)
                    for position, mine in enumerate(given)
                )
            )
        held = [value for position, value in enumerate(node.inputs) if given[position]]
        results = []
        for mask in masks:
            live, all_ = self.body(node.body, mask)
            kept = _sum(value for position, value in enumerate(node.inputs) if given[position] and not mask[position])
            results.append((live + kept, all_ + kept))
        del held
        return max(r[0] for r in results), max(r[1] for r in results)

    def _scratch(self, node: OpNode) -> int:
        """An allowance for the temporaries of the node's kernel, from its tensors and its elementwise work."""
        types = [v.type for v in (*node.inputs, *node.outputs) if v is not None and v.type is not None]
        width = max((ITEMSIZE[t.dtype] for t in types), default=0)
        terms = node.op.cost(
            self._ctx,
            [None if v is None else v.type for v in node.inputs],
            [v.type for v in node.outputs if v.type is not None],
        )
        # each application of an exponential or a root makes one element of some temporary: attention scores, say
        elements = [value_at(term.count, {}) for term in terms if term.kind == "transcendental"]
        return _TEMPORARIES * max([type_bytes(t) for t in types] + [n * width for n in elements], default=0) + _SLAB


_: Dim
