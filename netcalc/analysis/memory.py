"""Prediction of the memory that the reference executor uses, in bytes.

The executor evaluates the nodes in order, fetches the parameters of a node just before it, and releases a value after
its last use. The peak is computed once for each body, so that a stack of a million equal layers takes the time of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.liveness import dying
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, OpNode, Program, Value, dtype_of, join

__all__ = ["Memory", "memory"]

#: Temporaries of a kernel, in units of its largest array: widened copies, centred inputs, squares.
_TEMPORARIES = 3
#: Bytes of windows that the kernel of a windowed operation copies at a time.
_SLAB = 32 << 20


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of one forward pass, in bytes.

    ``weights`` and ``buffers`` are totals, tied ones counted once. ``activations`` is the peak of program inputs and
    live values. ``peak`` is the peak of the executor, reached at the operation ``peak_at``: live values, the parameters
    of that operation, and an allowance for the temporaries of its kernel.
    """

    weights: int
    buffers: int
    activations: int
    peak: int
    peak_at: str


def memory(program: Program) -> Memory:
    """Return the memory that a forward pass uses.

    Raises:
        UndecidedError: a size is symbolic; see :func:`netcalc.ir.specialise.specialise`.
    """
    analysis = Analysis(program, CONVENTIONS["netcalc"])
    most = _Peaks(analysis).body(program.main, (False,) * len(program.main.inputs))
    held, total = _bytes(program.main.inputs), analysis.total
    weights, buffers = integer(total.weight_bytes), integer(total.buffer_bytes)
    return Memory(weights, buffers, held + most.live, held + most.peak, most.at)


@dataclass(frozen=True, slots=True)
class _Most:
    """Peak bytes of live values, and of everything with the path of the operation where it is reached."""

    live: int = 0
    peak: int = 0
    at: str = ""

    def beside(self, held: int, name: str = "") -> _Most:
        """Return the peak with ``held`` further bytes alive, seen from the body that calls ``name``."""
        return _Most(held + self.live, held + self.peak, join(name, self.at))

    def __or__(self, other: _Most) -> _Most:
        worst = max(self, other, key=lambda most: most.peak)
        return _Most(max(self.live, other.live), worst.peak, worst.at)


class _Peaks:
    """Peaks of bodies, without the bytes that their callers hold.

    ``owned`` marks the inputs that the caller hands over: they count in the body, which releases them after their last
    use.
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
        """Return the peak over the first iteration, the last, and those between.

        Inputs of all iterations can be released only in the last one; a carried value is owned by the iteration that
        receives it.
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
        return sum(integer(p.elements) * ITEMSIZE[dtype_of(p, node, default)] for p in node.params)

    def _temporaries(self, node: OpNode) -> int:
        """Return an allowance for the temporaries of the node's kernel, from its tensors and its work."""
        types = [type_ for type_ in (*node.input_types, *node.output_types) if type_ is not None]
        sizes = [integer(t.elements) for t in types]
        width = max((ITEMSIZE[t.dtype] for t in types), default=0)
        work = [(term.kind, integer(term.count)) for term in self._analysis.terms(node)]
        # each exponential or root is an element of some temporary: attention scores, say
        largest = max([*sizes, *(count for kind, count in work if kind == "transcendental")], default=0)
        columns = min(_SLAB, width * sum(n for _, n in work)) if node.op.windowed else 0
        return _TEMPORARIES * largest * width + columns


def _bytes(values: Iterable[Value | None]) -> int:
    """Return the bytes of distinct values."""
    types = [value.known_type for value in dict.fromkeys(values) if value is not None]
    return sum(integer(type_.elements) * ITEMSIZE[type_.dtype] for type_ in types)
