"""The backward pass of a step over the record of a forward pass, and the memory at each of its moments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from netcalc.analysis.activations.execution import Eager
from netcalc.analysis.layout import Layout, Storage
from netcalc.analysis.precisions import AS_COUNTED, Precision
from netcalc.analysis.recomputation import NO_RECOMPUTATION, Recomputation
from netcalc.analysis.training_step.cuts import CutProgram
from netcalc.analysis.training_step.forward import Forward
from netcalc.analysis.training_step.record import Recorded, Segment, Tensor
from netcalc.dims import Dim, integer
from netcalc.dtypes import ITEMSIZE, DType
from netcalc.ops.backward import BackwardCall, Source
from netcalc.ops.eager import EagerCall, declaration, work_bytes


class Trained(NamedTuple):
    """A parameter with a gradient: its shape and element type, and True for a table of embeddings."""

    shape: tuple[Dim, ...]
    dtype: DType
    table: bool

    @property
    def elements(self) -> int:
        """Number of its elements."""
        size = 1
        for extent in self.shape:
            size *= integer(extent)
        return size


class Step(Forward):
    """A forward and a backward pass; ``trained`` are the parameters that have a gradient, by the path of their owner.

    Gradients of parameters are new, unless ``accumulates``: then those of earlier passes are there, and new ones are
    added to them.
    """

    def __init__(
        self,
        cut: CutProgram,
        rules: Eager,
        precision: Precision = AS_COUNTED,
        recomputation: Recomputation = NO_RECOMPUTATION,
        *,
        accumulates: bool = False,
    ) -> None:
        super().__init__(cut, rules, precision, recomputation)
        self._eager = rules
        self._accumulates = accumulates
        self._uses: Counter[str] = Counter()
        self._awaiting: dict[str, Storage] = {}
        self.trained: dict[str, Trained] = {}

    def backward(self, starts: Iterable[Tensor]) -> None:
        """Run the backward pass from outputs of the program, with a gradient of each."""
        self._pass = "recompute"
        recorded = (entry for entry in self._record if isinstance(entry, Recorded))
        self._uses.update(
            entry.owners[source] for entry in recorded for source in entry.call.wanted if isinstance(source, str)
        )
        gradients: dict[Tensor, Storage] = {}
        for tensor in starts:
            if tensor.wanted and tensor not in gradients:
                gradients[tensor] = Layout.new(tensor.type).storage
                self._ledger.hold(gradients[tensor])
        self._run(gradients)
        self.mark("end", (), 0)

    def _run(self, gradients: dict[Tensor, Storage]) -> None:
        """Go back over the record."""
        while self._record:
            entry = self._record.pop()
            if isinstance(entry, Segment):
                self._segment(entry, gradients)
            else:
                self._backward(entry, gradients)

    def _segment(self, entry: Segment, gradients: dict[Tensor, Storage]) -> None:
        """Compute a segment again with a record, and go back over that."""
        ledger = self._ledger
        given = [gradients.pop(tensor, None) for tensor in entry.outputs]
        if not any(given):
            return
        inputs = [None if t is None else Tensor(t.type, t.layout, t.wanted) for t in entry.inputs]
        outer, self._record = self._record, []
        outputs = entry.run(inputs)
        for tensor, gradient in zip(outputs, given, strict=True):
            if gradient is not None and tensor.wanted:
                gradients[tensor] = gradient
            ledger.release(tensor.storage)
        self._forget_casts()
        self._run(gradients)
        self._record = outer
        for before, again in zip(entry.inputs, inputs, strict=True):
            if before is not None and again is not None and (gradient := gradients.pop(again, None)) is not None:
                self._add(before, gradient, gradients)
        for storage in {tensor.storage for tensor in entry.inputs if tensor is not None}:
            ledger.drop(storage)

    def _backward(self, entry: Recorded, gradients: dict[Tensor, Storage]) -> None:
        """Run the backward pass of an operation if a gradient of an output arrives."""
        ledger = self._ledger
        given = [gradients.pop(tensor, None) for tensor in entry.outputs]
        arrived = [storage for storage in given if storage is not None]
        if not arrived:
            return  # what is kept lives as long as the graph
        call = replace(entry.call, given=tuple(storage is not None for storage in given))
        forward = self._eager.call(entry.node, [None if t is None else t.layout for t in entry.inputs])
        made = {source: self._gradient(entry, forward, source, given[0]) for source in _ordered(call.wanted)}
        self._moments_of(entry, call, forward, made, arrived)
        for storage in made.values():
            ledger.hold(storage)
        for storage in arrived:
            ledger.release(storage)
        for storage in entry.saved:
            ledger.drop(storage)
        for source, storage in made.items():
            if isinstance(source, str):
                self._accumulate(entry, source, storage)
            elif (tensor := entry.inputs[source]) is not None and self._add(tensor, storage, gradients):
                self.mark("sum", entry.place, source, storage.nbytes)

    def _gradient(self, entry: Recorded, forward: EagerCall, source: Source, given: Storage | None) -> Storage:
        """Return the memory of a gradient: that of the output's gradient, or new."""
        if isinstance(source, str):
            param = next(param for param in entry.node.params if param.name == source)
            narrow = self._narrow(entry)
            return Storage(integer(param.elements) * ITEMSIZE[narrow or entry.stored[source]])
        tensor = entry.inputs[source]
        assert tensor is not None
        declared = declaration(entry.node.op)
        if given is not None and declared.passes_on(entry.node.op, forward, source):
            return given
        return Layout.new(tensor.type).storage

    def _narrow(self, entry: Recorded) -> DType | None:
        """Return the type to which an operation casts its weights; None if it does not."""
        autocast = self._precision.autocast
        narrow = autocast is not None and autocast.of(entry.node.op.name) == autocast.dtype
        return autocast.dtype if autocast is not None and narrow else None

    def _moments_of(
        self,
        entry: Recorded,
        call: BackwardCall,
        forward: EagerCall,
        made: Mapping[Source, Storage],
        arrived: list[Storage],
    ) -> None:
        if entry.place is None:
            return
        moments = declaration(entry.node.op).backward_moments(entry.node.op, forward, call)
        others = sum(storage.nbytes for storage in set(made.values()).difference(arrived))
        first = [s for s in made if isinstance(s, str) and self._is_first(entry, s)]
        direct = [s for s in first if self._gradient_bytes(entry, s) == made[s].nbytes]
        parameters = 0 if self._accumulates else sum(made[source].nbytes for source in direct)
        beside = entry.again + entry.unpacked
        for number, moment in enumerate(moments):
            live = self._ledger.live(work_bytes(moment.work) + beside + (others - parameters) * moment.outputs)
            gradients = live.gradients + parameters * moment.outputs
            self.moments["backward", entry.place, number] = live._replace(gradients=gradients)

    def _is_first(self, entry: Recorded, name: str) -> bool:
        return entry.owners[name] not in self.trained

    def _gradient_bytes(self, entry: Recorded, name: str) -> int:
        """Return the bytes of the gradient of a parameter that is passed on to the update."""
        param = next(param for param in entry.node.params if param.name == name)
        return integer(param.elements) * ITEMSIZE[self._precision.gradients or entry.stored[name]]

    def _accumulate(self, entry: Recorded, name: str, storage: Storage) -> None:
        """Make a gradient of a parameter its gradient, or add it to that of another use."""
        ledger, size = self._ledger, self._gradient_bytes(entry, name)
        first = self._is_first(entry, name)
        if first:
            param = next(param for param in entry.node.params if param.name == name)
            self.trained[entry.owners[name]] = Trained(
                tuple(param.shape), entry.stored[name], entry.node.op.name == "embedding"
            )
            if not self._accumulates:
                ledger.gradients += size
        if size != storage.nbytes and (self._narrow(entry) is not None or not first):
            self.mark("cast", entry.place, 0, 0 if first and not self._accumulates else size)
        elif not first and entry.node.op.name == "embedding":
            self.mark("cast", entry.place, 0, size)  # a gradient of another order of memory is not added in place
        self._uses[entry.owners[name]] -= 1
        if self._accumulates and self._uses[entry.owners[name]] > 0 and first:
            self._awaiting[entry.owners[name]] = storage  # added to that of earlier passes with those of other uses
            return
        ledger.release(storage)
        if self._uses[entry.owners[name]] <= 0 and (awaiting := self._awaiting.pop(entry.owners[name], None)):
            ledger.release(awaiting)

    def _add(self, tensor: Tensor, storage: Storage, gradients: dict[Tensor, Storage]) -> bool:
        """Pass a gradient to what made a tensor, or add it to that of another use; return True for a new sum."""
        before = gradients.get(tensor)
        if before is None:
            gradients[tensor] = storage
            return False
        ledger = self._ledger
        shared = ledger.is_shared(before)
        if shared:
            gradients[tensor] = Storage(storage.nbytes)
            ledger.hold(gradients[tensor])
            ledger.release(before)
        ledger.release(storage)
        return shared


def _ordered(sources: Iterable[Source]) -> list[Source]:
    return sorted(sources, key=lambda source: (isinstance(source, str), source))
