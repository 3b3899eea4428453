"""Bytes that the operations of a program read and write, without unrolling repeats.

An operation with multiply-adds is a kernel: it reads its operands and parameters once and writes its results once.
Every other operation is fused into a kernel beside it: it has the largest of its operands at hand, reads the others
unless its results hold them too, reads its parameters, and writes nothing.  With ``unfused`` it is a kernel of its own,
as in an eager framework.  Views and what does nothing in inference move no bytes, and neither do buffers, which kernels
compute or keep at hand.

Parameters are read in the form in which they are stored; of a table of embeddings the rows of the ids, and of experts
those that the tokens can reach.  Attention keeps its scores at hand, or as ``eager`` writes and reads them twice.  It
reads only keys and values within its window.

What is computed again in the backward pass is a second forward pass: of layers, or of the core of attention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from netcalc.analysis.cost import Analysis
from netcalc.analysis.recomputation import NO_RECOMPUTATION, Recomputation
from netcalc.dims import Dim, integer, product
from netcalc.dtypes import INEXACT, ITEMSIZE, PARTS, DType
from netcalc.ir import Body, CallNode, OpNode, Value, dtype_of, stored_bytes
from netcalc.opdef import Param, Term
from netcalc.options import AttentionKernel
from netcalc.tensor_type import TensorType

if TYPE_CHECKING:
    from netcalc.analysis.backward_work import BackwardWork

ATTENTION = "scaled_dot_product_attention"
EXPERTS = "experts"
#: Multiplications of Winograd's F(4×4, 3×3) for each of a direct convolution: 36 for 16 elements of 9 products each
#: (Lavin and Gray 2016, arXiv:1509.09308).
_WINOGRAD = (36, 144)
#: Passes over the scores of attention whose kernel stores them: scores and weights are written and read.
_SCORE_PASSES = 2

#: For each input of a body, True if it lies outside the pass, as inputs of the program do.
Flags: TypeAlias = tuple[bool, ...]


class Within(NamedTuple):
    """Place of a body: flags of its inputs, and True inside of a layer that is computed again."""

    flags: Flags
    twice: bool = False


class Transfer(NamedTuple):
    """Bytes that an operation reads or writes of one tensor.

    ``outside`` is True for what lies in memory before the pass begins or after it ends: parameters, gradients of them,
    states of an optimizer, inputs of the program and caches.
    """

    bytes: int
    written: bool = False
    outside: bool = False


class Effort(NamedTuple):
    """Work and traffic of one execution of an operation.

    ``macs`` are by element type of the arithmetic, and ``least`` those of the fastest algorithm that is taken into
    account: Winograd's for convolutions, if it is.
    """

    macs: Mapping[str, int]
    least: Mapping[str, int]
    transfers: tuple[Transfer, ...]

    @property
    def read(self) -> int:
        """Bytes that are read."""
        return sum(transfer.bytes for transfer in self.transfers if not transfer.written)

    @property
    def written(self) -> int:
        """Bytes that are written."""
        return sum(transfer.bytes for transfer in self.transfers if transfer.written)


#: No work and no bytes.
NO_EFFORT = Effort({}, {}, ())


class Share(NamedTuple):
    """The part of a device that shares positions and experts with others, beyond what its program says."""

    positions: int = 1
    """Devices whose keys and values all positions of the program see in turn, a part at a time."""
    experts: int = 1
    """Devices among which experts are divided, each of which takes the tokens of all for its own."""


#: A device that shares none of both.
WHOLE = Share()


class _Held(NamedTuple):
    """Memory behind a value: its bytes, and True if it lies outside the pass."""

    bytes: int
    outside: bool


class _Evaluated(NamedTuple):
    """A body on inputs of certain flags: efforts of its operations and flags of its calls, by the id of the node.

    The efforts are those of a pass and of an update.
    """

    efforts: Mapping[int, tuple[Effort, Effort]]
    calls: Mapping[int, Within]
    outputs: Flags


class Traffic:
    """Efforts of the operations of an analysed program, with its backward pass and update if these are counted."""

    def __init__(
        self,
        analysis: Analysis,
        attention: AttentionKernel = "sdpa-cpu",
        unfused: bool = False,
        winograd: bool = False,
        again: Recomputation = NO_RECOMPUTATION,
        share: Share = WHOLE,
    ) -> None:
        self._analysis = analysis
        self._backward = analysis.backward
        self._dtype = analysis.program.dtype
        self._training = analysis.program.training
        self._stores_scores = attention == "eager"
        self._unfused = unfused
        self._winograd = winograd
        self._again = again if analysis.backward is not None else NO_RECOMPUTATION
        self._share = share
        self._known: dict[tuple[int, Within], _Evaluated] = {}

    def efforts(self, body: Body, within: Within, node: OpNode) -> tuple[Effort, Effort]:
        """Return the effort of an operation in a body, in a pass and in the update of its parameters.

        Raises:
            UndecidedError: if a size is symbolic.
        """
        return self._evaluated(body, within).efforts[id(node)]

    def inside(self, body: Body, within: Within, call: CallNode) -> Within:
        """Return what a call in a body is within."""
        return self._evaluated(body, within).calls[id(call)]

    def _evaluated(self, body: Body, within: Within) -> _Evaluated:
        key = id(body), within
        if key not in self._known:
            self._known[key] = self._evaluate(body, within)
        return self._known[key]

    def _evaluate(self, body: Body, within: Within) -> _Evaluated:
        flags, twice = within
        held: dict[Value, _Held] = {}
        for value, outside in zip(body.inputs, flags, strict=True):
            if value is not None:
                held[value] = _Held(_size(value.known_type), outside)
        used = {value for node in body.nodes for value in node.inputs}.union(body.outputs)
        efforts: dict[int, tuple[Effort, Effort]] = {}
        calls: dict[int, Within] = {}
        for node in body.nodes:
            operands = [None if value is None else held[value] for value in node.inputs]
            if isinstance(node, CallNode):
                # what an iteration hands on is made in the pass
                inside = tuple(
                    one is not None and one.outside and number >= node.carried for number, one in enumerate(operands)
                )
                calls[id(node)] = Within(inside, twice or self._again.covers(node))
                outputs = self._evaluated(node.body, calls[id(node)]).outputs
                held |= {v: _Held(_size(v.known_type), o) for v, o in zip(node.outputs, outputs, strict=True)}
            else:
                efforts[id(node)], results = self._operation(node, operands, used, twice)
                held |= zip(node.outputs, results, strict=True)
        return _Evaluated(efforts, calls, tuple(held[value].outside for value in body.outputs))

    def _operation(
        self, node: OpNode, operands: Sequence[_Held | None], used: set[Value | None], twice: bool
    ) -> tuple[tuple[Effort, Effort], list[_Held]]:
        """Return the efforts of an operation, and the memory behind its results."""
        sizes = [_size(type_) for type_ in node.output_types]
        present = [one for one in operands if one is not None]
        if node.op.view or (node.op.no_op_in_inference and not self._training):
            if not present:  # the operation's own parameter
                return (NO_EFFORT, NO_EFFORT), [_Held(self._parameter_bytes(node, p), True) for p in node.params[:1]]
            return (NO_EFFORT, NO_EFFORT), [_Held(min(size, present[0].bytes), present[0].outside) for size in sizes]
        macs = _macs(self._analysis.terms(node, expected=True))
        is_kernel = macs > 0 or self._unfused
        moved = [Transfer(self._parameter_bytes(node, p), outside=True) for p in node.params if not p.is_buffer]
        if is_kernel:
            moved += self._kernel(node, operands, used)
            results = [_Held(size, False) for size in sizes]
        else:
            moved += _beside(_distinct(node, operands), sum(sizes))
            behind = sum(one.bytes for one in present)
            outside = max(present, default=_Held(0, False)).outside
            results = [_Held(min(size, behind) if present else size, outside) for size in sizes]
        kept = _kept_share(node, self._share.positions)
        work = macs * kept[0] // kept[1]
        if twice or (self._again.selective and node.op.name == ATTENTION):
            work, moved = 2 * work, [*moved, *moved]
        more, further = self._backward_effort(node, operands, kept)
        least = (work + more) * _WINOGRAD[0] // _WINOGRAD[1] if self._winograd and _has_tiles(node) else work + more
        type_ = _arithmetic(node, self._dtype)
        counted, fewest = ({type_: macs} if macs else {} for macs in (work + more, least))
        return (Effort(counted, fewest, (*moved, *further)), self._update_effort(node, type_)), results

    def _kernel(self, node: OpNode, operands: Sequence[_Held | None], used: set[Value | None]) -> Iterator[Transfer]:
        """Yield what a kernel reads of its operands and writes of its results."""
        within = _keys_within(node)
        for one in _distinct(node, operands, within):
            yield Transfer(one.bytes, outside=one.outside)
        yield from self._others_keys(node, operands)
        for value in node.outputs:
            if value in used:
                yield Transfer(_size(value.known_type), written=True)
        if node.op.name == ATTENTION and self._stores_scores:
            yield from self._scores(node)

    def _others_keys(self, node: OpNode, operands: Sequence[_Held | None]) -> Iterator[Transfer]:
        """Yield the keys and values of the devices that hold other positions, which attention reads too."""
        if node.op.name == ATTENTION:
            for one in (self._share.positions - 1) * [one for one in operands[1:3] if one is not None]:
                yield Transfer(one.bytes)

    def _scores(self, node: OpNode) -> Iterator[Transfer]:
        query, key = node.input_types[0], node.input_types[1] or node.input_types[0]
        assert query is not None and key is not None
        size = integer(product(query.shape[:-1]) * key.shape[-2]) * ITEMSIZE[query.dtype]
        for _ in range(_SCORE_PASSES):
            yield Transfer(size, written=True)
            yield Transfer(size)

    # -- training ---------------------------------------------------------------------------------------

    def _backward_effort(
        self, node: OpNode, operands: Sequence[_Held | None], kept: tuple[int, int]
    ) -> tuple[int, tuple[Transfer, ...]]:
        """Return multiply-adds and transfers of the backward pass of an operation."""
        backward = self._backward
        if backward is None:
            return 0, ()
        macs = _macs(backward.terms(node)) * kept[0] // kept[1]
        moved = list(self._backward_transfers(backward, node, operands, macs > 0 or self._unfused))
        return macs, tuple(moved)

    def _update_effort(self, node: OpNode, dtype: str) -> Effort:
        """Return the effort of the update of the parameters of an operation."""
        backward = self._backward
        if backward is None or backward.optimizer is None:
            return NO_EFFORT
        macs = _macs(backward.update(node))
        counted = {dtype: macs} if macs else {}
        return Effort(counted, counted, tuple(self._update(backward, node)))

    def _backward_transfers(
        self, backward: BackwardWork, node: OpNode, operands: Sequence[_Held | None], is_kernel: bool
    ) -> Iterator[Transfer]:
        flow = backward.flow.of(node)
        if not flow.wanted:
            return
        for param in node.params:
            if param.name in flow.wanted:
                size = self._gradient_bytes(node, param)
                yield Transfer(size, written=True, outside=True)
        if not is_kernel:
            return
        for type_, given in zip(node.output_types, flow.given, strict=True):
            if given:
                yield Transfer(_size(type_))
        for saved in backward.saved(node):
            if saved.kind == "input":
                one = operands[saved.index]
                yield Transfer(_size(saved.type) if one is None else one.bytes, outside=one is not None and one.outside)
            elif saved.kind == "parameter":
                param = next(p for p in node.params if p.name == saved.parameter)
                yield Transfer(0 if param.is_buffer else self._parameter_bytes(node, param), outside=True)
            elif saved.kind == "output" or node.op.name != ATTENTION:
                yield Transfer(_size(saved.type))
        for source in flow.wanted:
            wanted = node.input_types[source] if isinstance(source, int) else None
            if wanted is not None:
                yield Transfer(_size(wanted), written=True)
        if node.op.name == ATTENTION and self._stores_scores:
            yield from self._scores(node)

    def _update(self, backward: BackwardWork, node: OpNode) -> Iterator[Transfer]:
        """Yield what the update of the parameters of an operation moves: parameters, gradients and states."""
        from netcalc.analysis.optimizers import is_table

        optimizer, flow = backward.optimizer, backward.flow.of(node)
        assert optimizer is not None
        for param in node.params:
            if param.name not in flow.wanted or param.name in flow.added:
                continue
            dtype = dtype_of(param, node, self._dtype)
            size = self._own(node, integer(param.elements)) * ITEMSIZE[dtype]
            states = optimizer.kept(param.shape, is_table(node))
            kept = sum(
                self._own(node, integer(product(s.shape(param.shape)))) * ITEMSIZE[s.dtype or dtype] for s in states
            )
            yield Transfer(size + size + kept, outside=True)
            yield Transfer(size + kept, written=True, outside=True)

    # -- parameters -------------------------------------------------------------------------------------

    def _parameter_bytes(self, node: OpNode, param: Param) -> int:
        """Return the bytes that are read of a parameter."""
        stored, elements = integer(stored_bytes(param, node, self._dtype)), integer(param.elements)
        return -(-stored * self._elements_read(node, param) // elements) if elements else 0

    def _gradient_bytes(self, node: OpNode, param: Param) -> int:
        return self._elements_read(node, param) * ITEMSIZE[dtype_of(param, node, self._dtype)]

    def _elements_read(self, node: OpNode, param: Param) -> int:
        """Return the elements that are read of a parameter, of experts those of the device."""
        return min(_elements_read(node, param), self._own(node, integer(param.elements)))

    def _own(self, node: OpNode, size: int) -> int:
        """Return the share of a size that belongs to the experts of the device."""
        return -(-size // self._share.experts) if node.op.name == EXPERTS else size


def _elements_read(node: OpNode, param: Param) -> int:
    """Return the elements that are read of a parameter."""
    elements = integer(param.elements)
    if node.op.looks_up:
        return min(elements, sum(integer(type_.elements) for type_ in node.output_types))
    active = integer(node.op.active(param, node.input_types))
    first = node.input_types[0] if node.input_types else None
    tokens = 1 if first is None else integer(product(first.shape[:-1]))
    return min(elements, active * max(tokens, 1)) if active < elements else elements


def _distinct(node: OpNode, operands: Sequence[_Held | None], within: int | None = None) -> list[_Held]:
    """Return the memory behind the different operands of a node, the largest first.

    Of keys and values only so many rows as ``within`` says.
    """
    found: dict[Value, _Held] = {}
    for number, (value, one) in enumerate(zip(node.inputs, operands, strict=True)):
        if value is not None and one is not None:
            rows = integer(value.known_type.shape[-2]) if within is not None and number in (1, 2) else None
            part = one if not rows or within is None else one._replace(bytes=one.bytes * min(rows, within) // rows)
            found[value] = part
    return sorted(found.values(), key=lambda one: -one.bytes)


def _beside(operands: Sequence[_Held], size: int) -> Iterator[Transfer]:
    """Yield what an operation reads beside its largest operand, where its results of ``size`` bytes do not hold it."""
    left = max(sum(one.bytes for one in operands) - size, 0)
    for one in operands[1:]:
        yield Transfer(min(one.bytes, left), outside=one.outside)
        left -= min(one.bytes, left)


def _keys_within(node: OpNode) -> int | None:
    """Return the number of keys that the queries of an attention can see; None for all."""
    op: Any = node.op
    if op.name != ATTENTION or op.window is None or op.global_tokens:
        return None
    left, right = op.window
    right = 0 if op.causal else right
    query = node.input_types[0]
    if left is None or right is None or query is None:
        return None
    return int(left + right) + integer(query.shape[-2])


def _kept_share(node: OpNode, parts: int) -> tuple[int, int]:
    """Return the pairs that a kernel of attention computes which skips those that its pattern hides, and all pairs.

    With ``parts`` queries and keys are an equal share of those of all positions, and the pairs are a share of theirs.
    """
    op: Any = node.op
    if op.name != ATTENTION or op.sparse:
        return 1, 1
    query, key = node.input_types[0], node.input_types[1] or node.input_types[0]
    assert query is not None and key is not None
    queries, keys = integer(query.shape[-2]), integer(key.shape[-2])
    if not queries * keys:
        return 1, 1
    return integer(op.kept(queries * parts, keys * parts).pairs) // parts, queries * keys


def _has_tiles(node: OpNode) -> bool:
    """Return True for a convolution that Winograd's algorithm computes."""
    op: Any = node.op
    return bool(op.name == "conv2d" and op.kernel == (3, 3) and op.stride == op.dilation == (1, 1) and op.groups == 1)


def _arithmetic(node: OpNode, dtype: DType) -> str:
    """Return the element type of the arithmetic: that of the first floating-point operand, or ``dtype``."""
    types = [type_.dtype for type_ in node.input_types if type_ is not None and type_.dtype in INEXACT]
    own = types[0] if types else dtype
    return PARTS.get(own, own)


def _macs(terms: Iterable[Term]) -> int:
    return sum(integer(term.count) for term in terms if term.kind == "mac")


def _size(type_: TensorType) -> int:
    """Return the bytes of a tensor."""
    elements: Dim = type_.elements
    return integer(elements) * ITEMSIZE[type_.dtype]
