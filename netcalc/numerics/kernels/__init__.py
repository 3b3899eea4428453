"""NumPy kernels, one module a family, mirroring :mod:`netcalc.ops`.

A kernel is a plain NumPy function::

    @kernel("linear")
    def linear(op, run, x, *, weight, bias=None):
        ...

It takes the operation (its attributes), the :class:`Run`, the input arrays (None for an absent optional input), and
the parameters and buffers by name.  It returns the output array, or a tuple of them.  The arithmetic is written in
NumPy's ufuncs (operators, ``np.exp``, ``np.matmul``, ``np.add.reduce`` …), so that the same code counts its own
operations when it runs on :class:`~netcalc.numerics.tally.Tallied` arrays.  Kernels avoid ``np.einsum``, ``np.dot``
and ``np.cumsum``, which bypass the ufuncs.

Parameters and buffers with a fixed formula (``Init.of("table")``: position tables, index tables) come from a function
registered beside the kernel::

    @initial_table("sinusoidal_positions")
    def table(op, name, shape):
        ...  # the content of the parameter or buffer ``name``

An operation with the trait ``combines`` also registers the ufunc that combines its operands: ``ufunc("add")(np.add)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from netcalc import ops
from netcalc.arrays import Array, is_half
from netcalc.opdef import Kind
from netcalc.registry import Registry

Kernel: TypeAlias = Callable[..., Any]
#: ``(op, name of the parameter, shape) -> array``.
Table: TypeAlias = Callable[[Any, str, tuple[int, ...]], Array]

_MODULES = ops.modules("netcalc.numerics.kernels")
KERNELS: Registry[Kernel] = Registry("kernel", _MODULES)
#: The functions that compute the tables of an operation (``Init.of("table")``); most operations have no tables.
TABLES: Registry[Table] = Registry("table", _MODULES)
#: The ufuncs of the operations that combine two tensors.
UFUNCS: Registry[Callable[..., Any]] = Registry("ufunc", _MODULES)
#: Decorators that register a kernel, the function of a table, or a ufunc, under the names of its operations.
kernel = KERNELS.register
initial_table = TABLES.register
ufunc = UFUNCS.register


@dataclass(slots=True)
class Run:
    """The state of a run that a kernel may read and change."""

    training: bool = False
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng())  # np.random is imported on use
    #: Buffers that the kernel updated (running statistics), by name; the caller stores them.
    updates: dict[str, Array] = field(default_factory=dict)
    #: What a kernel keeps for its vector-Jacobian product besides inputs and outputs (masks, statistics), by the names
    #: of :class:`~netcalc.ops.backward.Saved`; None when there is no backward pass.
    kept: dict[str, Array] | None = None
    #: Counts work that NumPy does outside its ufuncs (a sort, say); None when nothing is tallied.
    count: Callable[[Kind, int], None] | None = None

    def keep(self, /, **arrays: Array) -> None:
        """Keep arrays for the product, if there is a backward pass."""
        if self.kept is not None:
            self.kept.update((name, np.asarray(array)) for name, array in arrays.items())

    def note(self, kind: Kind, times: int) -> None:
        """Count work of a NumPy routine that is not a ufunc."""
        if self.count is not None:
            self.count(kind, times)


def wide(x: Array) -> Array:
    """Return ``x`` in the precision of its arithmetic: float32 for float16 and bfloat16, as in PyTorch."""
    return x.astype(np.float32) if is_half(x.dtype) else x


def like(x: Array, array: Array) -> Array:
    """Return ``array`` as the array class of ``x``, which ``np.pad``, ``np.zeros`` and others drop."""
    return array.view(type(x))


def given(computed: Array | None, parameter: Array | None) -> Array:
    """Return the weight of a product in the precision of its arithmetic: an input if there is one, or the parameter."""
    weight = parameter if computed is None else computed
    assert weight is not None
    return wide(weight)


def by_port(op: Any, inputs: tuple[Array | None, ...]) -> dict[str, Array]:
    """Return the inputs that are present, by the names of their ports."""
    return {port.name: array for port, array in zip(op.inputs, inputs, strict=False) if array is not None}


def axes_of(axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Return axes counted from the front; all of them if there are none.  A scalar has no axes."""
    if not rank:
        return ()
    return tuple(axis % rank for axis in axes) if axes else tuple(range(rank))


def apply(op: Any, run: Run, inputs: tuple[Array | None, ...], params: Mapping[str, Array]) -> tuple[Array, ...]:
    """Run the kernel of an operation and return its outputs as a tuple.

    Infinities and NaNs are ordinary values, as in PyTorch, and raise no warning.
    """
    function = KERNELS.get(op.name)
    if function is None:
        raise LookupError(op.name)
    with np.errstate(all="ignore"):
        result = function(op, run, *inputs, **params)
    # a ufunc gives a NumPy scalar for a result without axes
    return tuple(np.asanyarray(part) for part in (result if isinstance(result, tuple) else (result,)))
