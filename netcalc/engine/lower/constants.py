"""Constants of a plan: parameters, and arrays that are computed from them once, when they are loaded."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from netcalc.analysis.walk import dtype_of
from netcalc.arrays import Array, numpy_dtype
from netcalc.dims import integer
from netcalc.engine.graph import Graph, GraphNode
from netcalc.engine.lower.layout import Layout, new_slot
from netcalc.engine.step import Constant
from netcalc.engine.storage import Slot
from netcalc.ir import Program
from netcalc.numerics.generators import held_seed
from netcalc.numerics.parameters import Parameters
from netcalc.opdef import Param
from netcalc.weights.stored import kept_open


class Constants:
    """Constants that lowerings declare; tied parameters share one slot.

    ``declared`` lists them in the order of declaration.
    """

    def __init__(self, program: Program, graph: Graph, layout: Layout) -> None:
        self.declared: list[Constant] = []
        self._program = program
        self._graph = graph
        self._layout = layout
        self._values: Parameters | None = None
        self._intermediate: dict[Hashable, Array] = {}
        self._parameters: dict[str, Slot] = {}
        self._derived: dict[Hashable, Slot] = {}
        self._users: dict[str, list[GraphNode]] = {}
        for node in graph.nodes:
            for owner in node.instance.owners.values():
                self._users.setdefault(owner, []).append(node)

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameters as declared."""
        sizes = {
            node.instance.owners[param.name]: math.prod(self.shape(node, param.name))
            * self._dtype(node, param).itemsize
            for node in self._graph.nodes
            for param in node.instance.node.params
        }
        return sum(sizes.values())

    # -- Declarations and values of parameters -------------------------------------------------------

    def has(self, node: GraphNode, name: str) -> bool:
        """Return True if the operation has a parameter of this name."""
        return any(param.name == name for param in node.instance.node.params)

    def shape(self, node: GraphNode, name: str) -> tuple[int, ...]:
        """Return the shape of a parameter."""
        return tuple(integer(size) for size in self._param(node, name).shape)

    def users(self, node: GraphNode, name: str) -> Sequence[GraphNode]:
        """Return the operations that use a parameter, of which the node is one."""
        return self._users[node.instance.owners[name]]

    @contextmanager
    def reading(self, values: Parameters) -> Iterator[None]:
        """Provide the values of parameters to :meth:`fetch` within the context, in which their files stay open."""
        self._values = values
        try:
            with kept_open():
                yield
        finally:
            self._values = None
            self._intermediate.clear()

    def fetch(self, node: GraphNode, name: str) -> Array:
        """Return the values of a parameter; called by constants while they are loaded."""
        assert self._values is not None
        return self._values.fetch(node.instance, self._param(node, name))

    def write(self, node: GraphNode, name: str, out: Array) -> None:
        """Write the values of a parameter to ``out`` piece by piece; called by constants while they are loaded."""
        assert self._values is not None
        self._values.write(node.instance, self._param(node, name), out)

    def once(self, key: Hashable, compute: Callable[[], Array]) -> Array:
        """Return an array that several constants are derived from, computed once while they are loaded."""
        if key not in self._intermediate:
            self._intermediate[key] = compute()
        return self._intermediate[key]

    def is_transposed(self, node: GraphNode, name: str) -> bool:
        """Return True if a file has the columns of a matrix as rows; called by constants while they are loaded."""
        assert self._values is not None
        return self._values.is_transposed(node.instance, self._param(node, name))

    def write_columns(self, node: GraphNode, name: str, out: Array, start: int) -> None:
        """Write as many columns as ``out`` has, from ``start`` on, of a matrix that :meth:`is_transposed`."""
        assert self._values is not None
        self._values.write_columns(node.instance, self._param(node, name), out, start)

    # -- Slots ----------------------------------------------------------------------------------------

    def parameter(self, node: GraphNode, name: str) -> Slot:
        """Return the slot of a parameter as it is declared."""
        owner = node.instance.owners[name]
        if owner not in self._parameters:
            slot = new_slot(self.shape(node, name), self._dtype(node, self._param(node, name)))
            self._parameters[owner] = slot
            self._declare(Constant(slot, load=lambda: self.fetch(node, name)))
        return self._parameters[owner]

    def seed(self) -> Slot:
        """Return the slot of the seed of the run, for operations that draw."""

        def load() -> Array:
            assert self._values is not None
            return np.array([held_seed(self._values.seed)])

        return self.derived((1,), np.dtype(np.int64), load, key="seed of the run")

    def derived(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], load: Callable[[], Array], key: Hashable = None
    ) -> Slot:
        """Return the slot of an array that ``load`` computes once.

        Its result may have another shape of as many elements.  Constants of equal ``key`` share one slot.
        """

        def fill(out: Array) -> None:
            array = load()
            np.copyto(out.reshape(array.shape), array, casting="same_kind")

        return self.filled(shape, dtype, fill, key)

    def filled(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], fill: Callable[[Array], None], key: Hashable = None
    ) -> Slot:
        """Return the slot of an array whose elements ``fill`` sets once, in place; those of equal ``key`` share one."""
        if key is not None and key in self._derived:
            return self._derived[key]
        slot = new_slot(shape, dtype)
        self._declare(Constant(slot, fill=fill))
        if key is not None:
            self._derived[key] = slot
        return slot

    def ones(self, count: int, dtype: np.dtype[Any]) -> Slot:
        """Return the slot of a vector of ones."""
        return self.derived((count,), dtype, lambda: np.ones(count, dtype), key=("ones", count, dtype))

    def _declare(self, constant: Constant) -> None:
        self.declared.append(constant)
        self._layout.constant_stores.add(constant.slot.store)

    def _param(self, node: GraphNode, name: str) -> Param:
        return next(param for param in node.instance.node.params if param.name == name)

    def _dtype(self, node: GraphNode, param: Param) -> np.dtype[Any]:
        return numpy_dtype(dtype_of(param, node.instance.node, self._program.dtype))
