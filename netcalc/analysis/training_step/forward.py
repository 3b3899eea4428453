"""The forward pass of a step, which keeps what the backward pass needs, and the memory at each of its moments."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cache, partial

from netcalc.analysis.activations.execution import Execution
from netcalc.analysis.layout import Layout, Storage
from netcalc.analysis.liveness import dying
from netcalc.analysis.precisions import AS_COUNTED, Precision
from netcalc.analysis.recomputation import NO_RECOMPUTATION, Recomputation
from netcalc.analysis.saved import storage_of
from netcalc.analysis.training_step.cuts import CutProgram, Extent
from netcalc.analysis.training_step.ledger import Ledger, Live
from netcalc.analysis.training_step.record import Place, Recorded, Segment, Tensor
from netcalc.analysis.training_step.types import cast_node, in_types
from netcalc.dims import integer
from netcalc.dtypes import FLOATS, ITEMSIZE, DType
from netcalc.ir import Body, CallNode, OpNode, Tie, dtype_of, join
from netcalc.ops.backward import BackwardCall, Saved, Source, declaration
from netcalc.ops.eager import work_bytes

#: Name among the operations that keep memory of the inputs of what is computed again.
RECOMPUTED = "inputs of recomputed layers"
_ATTENTION = "scaled_dot_product_attention"


class Forward:
    """A forward pass of a program; ``moments`` are the bytes that are live, by pass, place and number of the moment.

    Args:
        cut: the program.
        rules: the execution.
        precision: element types.
        recomputation: parts that are computed again in the backward pass.
    """

    def __init__(
        self,
        cut: CutProgram,
        rules: Execution,
        precision: Precision = AS_COUNTED,
        recomputation: Recomputation = NO_RECOMPUTATION,
    ) -> None:
        self.program = cut.program
        self._extents = cut.extents
        self._rules = rules
        self._precision = precision
        self._recomputation = recomputation
        self._ledger = Ledger()
        self._dying = cache(partial(dying, held=True))
        self._tables: dict[tuple[str, Saved], Storage] = {}
        self._casts: dict[str, Storage] = {}
        self._record: list[Recorded | Segment] = []
        self._recording = True
        self._pass = "forward"
        self._owners: dict[str, str] = {}
        self._counted: set[Storage] = set()
        self.moments: dict[Hashable, Live] = {}
        self.kept: dict[str, list[int]] = {}

    def forward(self, *, noted: bool = True) -> list[Tensor]:
        """Run the forward pass, and return the outputs of the program, which stay live.

        Unless ``noted``, the memory at its moments is not looked at.
        """
        inputs = [Tensor(spec.type, Layout.new(spec.type), False) for spec in self.program.inputs]
        for tensor in inputs:
            self._ledger.hold(tensor.storage)
        outputs = self._body(self.program.main, inputs, () if noted else None, "", "")
        self._forget_casts()
        return outputs

    def _forget_casts(self) -> None:
        """Release the casts of weights that autocast holds, as at its end."""
        for storage in self._casts.values():
            self._ledger.release(storage)
        self._casts.clear()

    def mark(self, kind: str, place: Place | None, number: int, work: int = 0) -> None:
        """Note the memory of a moment, unless its iteration is one of many."""
        if place is not None:
            self.moments[kind, place, number] = self._ledger.live(work)

    # -- bodies --------------------------------------------------------------------------------------

    def _body(
        self, body: Body, arguments: Sequence[Tensor | None], place: Place | None, prefix: str, owner: str
    ) -> list[Tensor]:
        """Run a body, and return its outputs, each held once for the caller."""
        ledger = self._ledger
        values = {v: argument for v, argument in zip(body.inputs, arguments, strict=True) if v is not None}
        for tensor in values.values():
            if tensor is not None:
                ledger.hold(tensor.storage)
        for position, (node, dead) in enumerate(zip(body.nodes, self._dying(body), strict=True)):
            inputs = [None if value is None else values[value] for value in node.inputs]
            here = None if place is None else (*place, position)
            if isinstance(node, CallNode):
                outputs = self._call(node, inputs, here, prefix, owner)
            else:
                outputs = self._operation(node, inputs, here, prefix, owner)
            values.update(zip(node.outputs, outputs, strict=True))
            for value in dead:
                tensor = values.pop(value, None)
                if tensor is not None:
                    ledger.release(tensor.storage)
        results = [tensor for value in body.outputs if (tensor := values[value]) is not None]
        for tensor in results:
            ledger.hold(tensor.storage)
        for tensor in values.values():
            if tensor is not None:
                ledger.release(tensor.storage)
        return results

    def _call(
        self, node: CallNode, inputs: Sequence[Tensor | None], place: Place | None, prefix: str, owner: str
    ) -> list[Tensor]:
        """Run the iterations of a call, by segments if they are computed again."""
        extent = self._extents.get(id(node))
        layered = self._recomputation.covers(node) and not (extent is not None and extent.cycle)
        if not self._recording or not layered:
            return self._iterations(node, inputs, place, prefix, owner, range(node.times))
        arguments, outputs = list(inputs), list[Tensor]()
        for start in range(0, node.times, self._recomputation.every):
            numbers = range(start, min(start + self._recomputation.every, node.times))
            run = partial(self._run_again, node, place, prefix, owner, numbers)
            self._recording = False
            previous, outputs = outputs, self._iterations(node, arguments, place, prefix, owner, numbers)
            self._recording = True
            kept = list(arguments)
            for storage in {tensor.storage for tensor in kept if tensor is not None}:
                self._keep(storage, RECOMPUTED)
            self._record.append(Segment(kept, outputs, run))
            for tensor in previous:
                self._ledger.release(tensor.storage)
            arguments[: node.carried] = outputs[: node.carried]
        return outputs

    def _run_again(
        self,
        node: CallNode,
        place: Place | None,
        prefix: str,
        owner: str,
        numbers: range,
        inputs: Sequence[Tensor | None],
    ) -> list[Tensor]:
        return self._iterations(node, inputs, place, prefix, owner, numbers)

    def _iterations(
        self,
        node: CallNode,
        inputs: Sequence[Tensor | None],
        place: Place | None,
        prefix: str,
        owner: str,
        numbers: range,
    ) -> list[Tensor]:
        extent = self._extents.get(id(node)) or Extent(node.times, node.times, 1, 0)
        arguments, outputs = list(inputs), list[Tensor]()
        for index in numbers:
            name = node.instance(index)
            number = extent.position(index)
            here = None if place is None or number is None else (*place, number)
            inner = join(owner, name) if node.shares is None else _target(node.shares, owner)
            previous, outputs = outputs, self._body(node.body, arguments, here, join(prefix, name), inner)
            for tensor in previous:
                self._ledger.release(tensor.storage)
            arguments[: node.carried] = outputs[: node.carried]
        return outputs

    # -- operations ----------------------------------------------------------------------------------

    def _operation(
        self, node: OpNode, given: Sequence[Tensor | None], place: Place | None, prefix: str, owner: str
    ) -> list[Tensor]:
        """Run an operation, and return its outputs, each held once."""
        stored: Mapping[str, DType] = {p.name: dtype_of(p, node, self.program.dtype) for p in node.params}
        inputs = given
        if self._precision.autocast is not None:
            inputs = self._cast_inputs(node, given, place)
            node = in_types(node, [None if t is None else t.type for t in inputs], self.program, self._precision)
        layouts = [None if tensor is None else tensor.layout for tensor in inputs]
        made = self._rules.results(node, layouts)
        known = {layout.storage for layout in layouts if layout is not None}
        new = {layout.storage for layout in made if layout.storage not in known and not layout.storage.parameter}
        size = sum(storage.nbytes for storage in new)
        owners = self._owned(node, prefix, owner)
        self._cast_weights(node, owners, stored)
        unpacked = _unpacked_bytes(node, stored)
        for number, moment in enumerate(self._rules.moments(node, layouts, made) if place is not None else ()):
            work = work_bytes(moment.work) + size * moment.outputs + unpacked
            self.mark(self._pass, place, number, work)
        for layout in made:
            self._ledger.hold(layout.storage)
        call, flows = self._gradients(node, inputs)
        outputs = [
            Tensor(type_, layout, flow and type_.dtype in FLOATS)
            for type_, layout, flow in zip(node.output_types, made, flows, strict=True)
        ]
        if call is not None and self._recording:
            saved, again = self._saved(node, inputs, made, call, owners)
            self._record.append(Recorded(place, node, inputs, outputs, call, saved, owners, stored, again, unpacked))
        for before, after in zip(given, inputs, strict=True):
            if after is not None and after is not before:
                self._ledger.release(after.storage)
        return self._returned(node, given, outputs, place)

    def _returned(
        self, node: OpNode, given: Sequence[Tensor | None], outputs: list[Tensor], place: Place | None
    ) -> list[Tensor]:
        """Return outputs in the type that the first input had before autocast, where the operation returns them so."""
        autocast, first = self._precision.autocast, given[0] if given else None
        if autocast is None or node.op.name not in autocast.returned or first is None:
            return outputs
        found: list[Tensor] = []
        for number, tensor in enumerate(outputs):
            if tensor.type.dtype == first.type.dtype:
                found.append(tensor)
                continue
            at = None if place is None else (*place, -1 - len(given) - number)
            found += self._operation(cast_node(tensor.type, first.type.dtype, self.program), [tensor], at, "", "")
            self._ledger.release(tensor.storage)
        return found

    def _cast_inputs(
        self, node: OpNode, inputs: Sequence[Tensor | None], place: Place | None
    ) -> Sequence[Tensor | None]:
        """Return the inputs in the element types that autocast gives them, each cast held once."""
        autocast = self._precision.autocast
        dtype = None if autocast is None else autocast.of(node.op.name)
        if dtype is None:
            return inputs
        cast: list[Tensor | None] = []
        for number, tensor in enumerate(inputs):
            if tensor is None or tensor.type.dtype not in FLOATS or tensor.type.dtype in (dtype, "float64"):
                cast.append(tensor)
                continue
            at = None if place is None else (*place, -1 - number)
            cast += self._operation(cast_node(tensor.type, dtype, self.program), [tensor], at, "", "")
        return cast

    def _cast_weights(self, node: OpNode, owners: Mapping[str, str], stored: Mapping[str, DType]) -> None:
        """Hold the casts of trained weights until autocast forgets them."""
        autocast = self._precision.autocast
        if autocast is None or autocast.of(node.op.name) != autocast.dtype or node.frozen:
            return
        for param in node.params:
            if stored[param.name] != "float32" or not param.trainable or owners[param.name] in self._casts:
                continue
            storage = Storage(integer(param.elements) * ITEMSIZE[autocast.dtype])
            self._casts[owners[param.name]] = storage
            self._ledger.hold(storage)

    def _gradients(self, node: OpNode, inputs: Sequence[Tensor | None]) -> tuple[BackwardCall | None, Sequence[bool]]:
        """Return the backward pass of an operation, None if it has none, and the outputs through which it flows."""
        sources: set[Source] = {number for number, tensor in enumerate(inputs) if tensor is not None and tensor.wanted}
        if not node.frozen:
            sources |= {p.name for p in node.params if p.trainable and dtype_of(p, node, self.program.dtype) in FLOATS}
        declared = declaration(node.op) if sources else None
        if declared is None:
            return None, (False,) * len(node.outputs)
        every = (True,) * len(node.outputs)
        training = self.program.training
        call = BackwardCall(node.input_types, node.output_types, node.params, frozenset(sources), every, training)
        return call, declared.differentiable(node.op, call)

    # -- what is kept --------------------------------------------------------------------------------

    def _saved(
        self,
        node: OpNode,
        inputs: Sequence[Tensor | None],
        made: Sequence[Layout],
        call: BackwardCall,
        owners: Mapping[str, str],
    ) -> tuple[list[Storage], int]:
        """Keep what an operation saves; return it, and the bytes that are computed again instead."""
        layouts = [None if tensor is None else tensor.layout for tensor in inputs]
        kept: list[Storage] = []
        again: set[Storage] = set()
        selective = self._recomputation.selective and node.op.name == _ATTENTION
        for saved in self._rules.saves(node, layouts, call):
            storage = self._storage(node, saved, layouts, made, owners)
            if selective and saved.kind == "kept" and not storage.parameter:
                again.add(storage)
            else:
                kept.append(storage)
        if selective:
            kept += [tensor.storage for tensor in inputs[:3] if tensor is not None]
        for storage in kept:
            self._keep(storage, node.op.name)
        return kept, sum(storage.nbytes for storage in again)

    def _storage(
        self,
        node: OpNode,
        saved: Saved,
        layouts: Sequence[Layout | None],
        made: Sequence[Layout],
        owners: Mapping[str, str],
    ) -> Storage:
        """Return the memory of a tensor that is saved: under mixed precision that of a cast, or of 8-bit operands."""
        autocast = self._precision.autocast
        if saved.kind == "parameter" and autocast is not None and autocast.of(node.op.name) == autocast.dtype:
            cast = self._casts.get(owners[saved.parameter])
            return cast or Storage(integer(saved.type.elements) * ITEMSIZE[autocast.dtype])
        if self._precision.scaled and node.op.name == "linear" and saved.kind in ("input", "parameter"):
            return Storage(integer(saved.type.elements))
        return storage_of(node, saved, layouts, made, self._tables)

    def _keep(self, storage: Storage, by: str) -> None:
        """Keep memory for the backward pass, counted for the first that keeps it."""
        if self._pass == "forward" and not storage.parameter and storage not in self._counted:
            self._counted.add(storage)
            counts = self.kept.setdefault(by, [0, 0])
            counts[0] += 1
            counts[1] += storage.nbytes
        self._ledger.keep(storage)

    def _owned(self, node: OpNode, prefix: str, owner: str) -> Mapping[str, str]:
        """Return the path of the tensor of each parameter of an operation."""
        used: dict[str, str] = {}
        for param in node.params:
            path = join(join(prefix, node.name), param.name)
            tie = node.ties.get(param.name)
            target = join(join(owner, node.name), param.name) if tie is None else _target(tie, owner)
            used[param.name] = self._owners.get(target, target)
            if used[param.name] != path:
                self._owners[path] = used[param.name]
        return used


def _target(tie: Tie, owner: str) -> str:
    return tie.target if tie.absolute else join(owner, tie.target)


def _unpacked_bytes(node: OpNode, stored: Mapping[str, DType]) -> int:
    """Return the bytes of weights that are stored in another form, in the type in which they are computed with."""
    packed = [param for param in node.params if param.storage is not None]
    return sum(integer(param.elements) * ITEMSIZE[stored[param.name]] for param in packed)
