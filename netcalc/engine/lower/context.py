"""Turning nodes into steps: what every lowering needs, and the table of lowerings by operation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from netcalc.analysis.walk import dtype_of
from netcalc.dims import value_at
from netcalc.engine.graph import Graph, Node, Tensor
from netcalc.engine.lower.parallelism import Parallelism
from netcalc.engine.step import Constant, Step, cuts
from netcalc.engine.storage import Slot, Store, dense
from netcalc.ir import Program
from netcalc.numerics.kernels import Array
from netcalc.numerics.numpy_dtypes import is_half, numpy_dtype
from netcalc.numerics.parameters import Parameters
from netcalc.opdef import Param

__all__ = ["Lower", "Lowering", "lowering", "lowering_for", "wide_dtype"]


def wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that arithmetic on this one is done in: float32 for the halves, as PyTorch does."""
    return np.dtype(np.float32) if is_half(dtype) else dtype


class Lowering:
    """Where tensors lie so far, and the steps and constants so far."""

    def __init__(self, program: Program, parallelism: Parallelism, graph: Graph) -> None:
        self.parallelism = parallelism
        self.tuning = tuning = parallelism.tuning
        #: What the program returns, which is handed out in the order of its axes.
        self.outputs = set(graph.outputs)
        self.steps: list[Step] = []
        self.constants: list[Constant] = []
        #: Stores of what is computed once, from constants alone.
        self.kept: list[Store] = []
        #: Stores whose content is the same in every run.
        self.fixed: set[Store] = set()
        self._slots: dict[Tensor, Slot] = {}
        self._program = program
        self._parameters: Parameters | None = None
        self._weights: dict[str, Slot] = {}
        self._made: dict[Hashable, Slot] = {}
        self._users = Counter(owner for node in graph.nodes for owner in node.instance.owners.values())
        self._spare = max(tuning.transformed_fraction * self._declared(graph), tuning.transformed_bytes)

    def _declared(self, graph: Graph) -> int:
        """The bytes of all parameters."""
        sizes = {
            node.instance.owners[param.name]: math.prod(self.shape(node, param.name))
            * self._dtype(node, param).itemsize
            for node in graph.nodes
            for param in node.instance.node.params
        }
        return sum(sizes.values())

    def afford(self, nbytes: int) -> bool:
        """Whether a transformed parameter may take so many bytes more than it has; those are then spent.

        Layers come in their order: the first, which have the most places for each parameter, gain the most.
        """
        possible = nbytes <= self._spare
        self._spare -= nbytes if possible else 0
        return possible

    # -- tensors ------------------------------------------------------------------------------------

    def slot(self, tensor: Tensor) -> Slot:
        """Where a tensor lies."""
        return self._slots[tensor]

    def new(self, tensor: Tensor, order: Sequence[int] | None = None) -> Slot:
        """A place in the arena for a tensor, its axes in this order in memory."""
        self._slots[tensor] = self.room(tensor.shape, tensor.dtype, order)
        return self._slots[tensor]

    def room(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: Sequence[int] | None = None) -> Slot:
        """A place in the arena for something that only steps know of."""
        return _slot(shape, dtype, order)

    def place(self, tensor: Tensor, slot: Slot) -> None:
        """Says that a tensor is a view of what lies elsewhere."""
        self._slots[tensor] = slot

    def keep(self, tensor: Tensor) -> Slot:
        """A place of its own for a tensor that is computed once."""
        slot = self.new(tensor)
        self.kept.append(slot.store)
        self.fixed.add(slot.store)
        return slot

    # -- parameters ---------------------------------------------------------------------------------

    @contextmanager
    def reading(self, parameters: Parameters) -> Iterator[None]:
        """Says where parameters come from, as long as they are read."""
        self._parameters = parameters
        try:
            yield
        finally:
            self._parameters = None

    def param(self, node: Node, name: str) -> Param | None:
        """A parameter's declaration; None if the operation has none of this name."""
        return next((p for p in node.instance.node.params if p.name == name), None)

    def shape(self, node: Node, name: str) -> tuple[int, ...]:
        """The shape of a parameter."""
        param = self.param(node, name)
        assert param is not None
        return tuple(value_at(size, {}) for size in param.shape)

    def _dtype(self, node: Node, param: Param) -> np.dtype[Any]:
        return numpy_dtype(dtype_of(param, node.instance.node, self._program.dtype))

    def fetch(self, node: Node, name: str) -> Array:
        """A parameter's numbers, while :meth:`reading` says where they come from."""
        param = self.param(node, name)
        assert param is not None and self._parameters is not None
        return self._parameters.fetch(node.instance, param)

    def shared(self, node: Node, name: str) -> bool:
        """Whether other operations use the same parameter."""
        return self._users[node.instance.owners[name]] > 1

    def stored(self, node: Node, name: str) -> Slot:
        """A parameter as it is; a tied one lies in one place."""
        param = self.param(node, name)
        assert param is not None
        key = node.instance.owners[name]
        if key not in self._weights:
            shape, dtype = self.shape(node, name), self._dtype(node, param)
            self._weights[key] = slot = _slot(shape, dtype)
            self._declare(Constant(slot, load=lambda: self.fetch(node, name)))
        return self._weights[key]

    def made(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], load: Callable[[], Array], key: Hashable = None
    ) -> Slot:
        """An array that is made once; ``load`` gives its elements in their order.  Those of one key are one."""
        if key is not None and key in self._made:
            return self._made[key]

        def fill(out: Array) -> None:
            array = load()
            np.copyto(out.reshape(array.shape), array, casting="same_kind")

        slot = self.filled(shape, dtype, fill)
        if key is not None:
            self._made[key] = slot
        return slot

    def filled(self, shape: tuple[int, ...], dtype: np.dtype[Any], fill: Callable[[Array], None]) -> Slot:
        """An array that ``fill`` sets the elements of, once."""
        slot = _slot(shape, dtype)
        self._declare(Constant(slot, fill=fill))
        return slot

    def _declare(self, constant: Constant) -> None:
        self.constants.append(constant)
        self.fixed.add(constant.slot.store)

    def ones(self, count: int, dtype: np.dtype[Any]) -> Slot:
        """So many ones."""
        return self.made((count,), dtype, lambda: np.ones(count, dtype), key=("ones", count, dtype))

    # -- steps --------------------------------------------------------------------------------------

    def emit(self, step: Step) -> None:
        """Appends a step."""
        self.steps.append(step)

    def rows(self, node: Node, slot: Slot, order: Sequence[int], lead: int = -1) -> Slot:
        """The tensor as (rows, columns), a copy where its bytes lie otherwise.

        The first ``lead`` axes of ``order`` are the rows, the others the columns; by default the columns are the last.
        """
        turned = slot.permuted(order)
        columns = math.prod(turned.shape[lead:])
        wanted = (turned.elements // max(columns, 1), columns)
        flat = turned.reshaped(wanted)
        if flat is None or (columns > 1 and flat.strides[1] != slot.dtype.itemsize):
            flat = self.copied(node, turned).reshaped(wanted)
            assert flat is not None
        return flat

    def wide(self, node: Node, slot: Slot) -> Slot:
        """The tensor in the type that arithmetic is done in."""
        dtype = wide_dtype(slot.dtype)
        return slot if dtype == slot.dtype else self.copied(node, slot, dtype)

    def copied(self, node: Node, slot: Slot, dtype: np.dtype[Any] | None = None) -> Slot:
        """A copy without gaps, the axes in their own order; in another type where one is given."""
        target = self.room(slot.shape, dtype or slot.dtype)
        axis = next((axis for axis, size in enumerate(slot.shape) if size > 1), None)
        ranges = [(0, 1)] if axis is None else cuts(slot.shape[axis], self.parallelism.pass_jobs(slot.elements))

        def bind(index: int, scratch: Sequence[Array]) -> Callable[[], None]:
            source, goal = slot.array(), target.array()
            if axis is not None:
                part = (slice(None),) * axis + (slice(*ranges[index]),)
                source, goal = source[part], goal[part]
            return lambda: np.copyto(goal, source)

        self.emit(Step(node, (slot,), (target,), len(ranges), bind, what="copy"))
        return target


def _slot(shape: tuple[int, ...], dtype: np.dtype[Any], order: Sequence[int] | None = None) -> Slot:
    """A tensor without gaps in a store of its own."""
    return Slot(Store(math.prod(shape) * dtype.itemsize), shape, dense(shape, dtype.itemsize, order), dtype)


Lower: TypeAlias = Callable[[Lowering, Node], bool]
_lowerings: dict[str, Lower] = {}
_MODULES = (
    "attention",
    "conv.dispatch",
    "elementwise",
    "embedding",
    "global_pool",
    "group_norm",
    "linear",
    "copies",
    "norm",
    "pool",
    "recurrent",
    "rotary",
    "softmax",
    "views",
)


def lowering(*names: str) -> Callable[[Lower], Lower]:
    """Registers the lowering of operations: it emits steps and returns True, or declines the node with False."""

    def register(function: Lower) -> Lower:
        _lowerings.update(dict.fromkeys(names, function))
        return function

    return register


def lowering_for(name: str) -> Lower | None:
    """The lowering of an operation; None where only its kernel runs it."""
    _import_all()
    return _lowerings.get(name)


@cache
def _import_all() -> None:
    """Imports the modules that register lowerings, whichever of them were imported before."""
    for module in _MODULES:
        import_module(f"netcalc.engine.lower.{module}")
