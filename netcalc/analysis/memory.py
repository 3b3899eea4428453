"""What running a program takes, in bytes, before anything is allocated.

The reference executor goes through the nodes in order, fetches a node's parameters when it comes to the node, and
lets a value go after its last use.  Its peak is found body by body and memoised, so that a stack of a million equal
layers costs what one costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.liveness import dying
from netcalc.dims import value_at
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, OpNode, Program, Value, dtype_of, join

__all__ = ["Memory", "memory"]

#: Temporaries of a kernel, in units of its largest array: widened copies, centred inputs, squares.
_TEMPORARIES = 3
#: Bytes of windows that the kernel of a windowed operation copies at a time.
_SLAB = 32 << 20


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes.

    ``weights`` and ``buffers`` are all of them, tied ones once.  ``activations`` is the most that inputs and values
    take at one time.  ``peak`` is the most that the executor holds at one time, at the operation ``peak_at``: live
    values, that operation's own parameters, and an allowance for the temporaries of its kernel.
    """

    weights: int
    buffers: int
    activations: int
    peak: int
    peak_at: str


def memory(program: Program) -> Memory:
    """What the program takes at its sizes.

    Raises:
        UndecidedError: where a symbolic size has no value.
    """
    analysis = Analysis(program, CONVENTIONS["netcalc"])
    most = _Peaks(analysis).body(program.main, (False,) * len(program.main.inputs))
    held, total = _bytes(program.main.inputs), analysis.total
    weights, buffers = value_at(total.weight_bytes, {}), value_at(total.buffer_bytes, {})
    return Memory(weights, buffers, held + most.live, held + most.peak, most.at)


@dataclass(frozen=True, slots=True)
class _Most:
    """The most bytes of live values, and of everything, with where that is."""

    live: int = 0
    peak: int = 0
    at: str = ""

    def beside(self, held: int, name: str = "") -> _Most:
        """The same while ``held`` bytes more are alive, seen from the body that calls ``name``."""
        return _Most(held + self.live, held + self.peak, join(name, self.at))

    def __or__(self, other: _Most) -> _Most:
        worst = max(self, other, key=lambda most: most.peak)
        return _Most(max(self.live, other.live), worst.peak, worst.at)


class _Peaks:
    """The most that a body takes while it runs, beyond what its caller holds.

    ``owned`` says which inputs the caller has handed over: those count here, and go after their last use.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._known: dict[tuple[Body, tuple[bool, ...]], _Most] = {}
        self._dying: dict[Body, list[tuple[Value, ...]]] = {}

    def body(self, body: Body, owned: tuple[bool, ...]) -> _Most:
        key = body, owned
        if key not in self._known:
            self._known[key] = self._run(body, owned)
        return self._known[key]

    def _run(self, body: Body, owned: tuple[bool, ...]) -> _Most:
        if body not in self._dying:
            self._dying[body] = dying(body)
        held = {value for value, mine in zip(body.inputs, owned, strict=True) if mine and value is not None}
        size = _bytes(held)
        most = _Most(size, size)
        for node, dead in zip(body.nodes, self._dying[body], strict=True):
            if isinstance(node, CallNode):
                given = [value in held and value in dead and node.inputs.count(value) == 1 for value in node.inputs]
                handed = _bytes(value for value, mine in zip(node.inputs, given, strict=True) if mine)
                most |= self._call(node, given).beside(size - handed, node.instance(0))
            else:
                live = size + _bytes(node.outputs)
                most |= _Most(live, live + self._parameters(node) + self._temporaries(node), node.name)
            new = {value for value in node.outputs if value not in held}
            gone = (held | new).intersection(dead)
            size += _bytes(new) - _bytes(gone)
            held = (held | new) - gone
        return most

    def _call(self, node: CallNode, given: Sequence[bool]) -> _Most:
        """The most over the first call, the last, and those between.

        What every call takes can go only in the last one; what one call feeds the next is the next one's own.
        """
        carried = node.carried
        calls = {(True, False), (False, True), (False, False)} if node.times > 1 else {(True, True)}
        most = _Most()
        for first, last in sorted(calls):
            owned = tuple((mine or not first) if i < carried else (mine and last) for i, mine in enumerate(given))
            waiting = zip(node.inputs, given, owned, strict=True)
            most |= self.body(node.body, owned).beside(_bytes(v for v, mine, passed in waiting if mine and not passed))
        return most

    def _parameters(self, node: OpNode) -> int:
        default = self._analysis.program.dtype
        return sum(value_at(p.elements, {}) * ITEMSIZE[dtype_of(p, node, default)] for p in node.params)

    def _temporaries(self, node: OpNode) -> int:
        """An allowance for the temporaries of the node's kernel, from its tensors and its work."""
        types = [type_ for type_ in (*node.input_types, *node.output_types) if type_ is not None]
        sizes = [value_at(t.elements, {}) for t in types]
        width = max((ITEMSIZE[t.dtype] for t in types), default=0)
        work = [(term.kind, value_at(term.count, {})) for term in self._analysis.terms(node)]
        # each exponential or root is an element of some temporary: attention scores, say
        largest = max([*sizes, *(count for kind, count in work if kind == "transcendental")], default=0)
        columns = min(_SLAB, width * sum(n for _, n in work)) if node.op.windowed else 0
        return _TEMPORARIES * largest * width + columns


def _bytes(values: Iterable[Value | None]) -> int:
    """The bytes of distinct values."""
    types = [value.known_type for value in dict.fromkeys(values) if value is not None]
    return sum(value_at(type_.elements, {}) * ITEMSIZE[type_.dtype] for type_ in types)
