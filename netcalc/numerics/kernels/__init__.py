"""NumPy kernels, one module a family, mirroring :mod:`netcalc.ops`.

A kernel is a plain NumPy function::

    @kernel("linear")
    def linear(op, run, x, *, weight, bias=None):
        ...

It takes the operation (its attributes), the :class:`Run` in force, the input arrays (None for an absent optional
input) and the parameters and buffers by name, and returns the output array, or a tuple of them.  The arithmetic is
written in NumPy's ufuncs (operators, ``np.exp``, ``np.matmul``, ``np.add.reduce`` …), so that the same code run on
:class:`~netcalc.numerics.tally.Tallied` arrays counts itself; no einsum, ``np.dot`` or ``np.cumsum``, which bypass
them.

Parameters and buffers that a formula gives (``Init.of("table")``: position tables, index tables) come from a
function registered beside the kernel; :func:`initial_for` finds it::

    @initial("sinusoidal_positions")
    def table(op, name, shape):
        ...  # the content of the parameter or buffer ``name``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from netcalc import ops
from netcalc.numerics.numpy_dtypes import is_half
from netcalc.opdef import Kind

Array: TypeAlias = NDArray[Any]
Kernel: TypeAlias = Callable[..., Any]
Initial: TypeAlias = Callable[[Any, str, tuple[int, ...]], Array]

_kernels: dict[str, Kernel] = {}
_initials: dict[str, Initial] = {}


@dataclass(slots=True)
class Run:
    """What a kernel may know and change beyond its arrays."""

    training: bool = False
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng())  # np.random is imported on use
    #: Buffers that the kernel updated (running statistics), by name; the runner stores them.
    updates: dict[str, Array] = field(default_factory=dict)
    #: Counts work that NumPy does outside its ufuncs (a sort, say); None when nothing is tallied.
    count: Callable[[Kind, int], None] | None = None

    def note(self, kind: Kind, times: int) -> None:
        """Notes work of a NumPy routine that is no ufunc."""
        if self.count is not None:
            self.count(kind, times)


def kernel(name: str) -> Callable[[Kernel], Kernel]:
    """Registers the kernel of an operation."""

    def register(function: Kernel) -> Kernel:
        _kernels[name] = function
        return function

    return register


def kernel_for(name: str) -> Kernel | None:
    """The kernel of an operation; imports its family.  None where the operation has none."""
    import_module(f"netcalc.numerics.kernels.{ops.family(name)}")
    return _kernels.get(name)


def wide(x: Array) -> Array:
    """``x`` in the precision its arithmetic is done in: float32 for float16 and bfloat16, as PyTorch does."""
    return x.astype(np.float32) if is_half(x.dtype) else x


def initial(name: str) -> Callable[[Initial], Initial]:
    """Registers the formula of an operation's tables, ``(op, parameter's name, shape) -> array``."""

    def register(function: Initial) -> Initial:
        _initials[name] = function
        return function

    return register


def initial_for(name: str) -> Initial | None:
    """The formula of an operation's tables; imports its family.  None where the operation has no tables."""
    import_module(f"netcalc.numerics.kernels.{ops.family(name)}")
    return _initials.get(name)


def like(x: Array, array: Array) -> Array:
    """``array`` as the same kind of array as ``x``; for results of ``np.pad``, ``np.zeros`` and others that drop it."""
    return array.view(type(x))


def apply(op: Any, run: Run, inputs: tuple[Array | None, ...], params: Mapping[str, Array]) -> tuple[Array, ...]:
    """One operation's outputs, always as a tuple.  Infinities and NaNs are values here, as in PyTorch, not warnings."""
    function = kernel_for(op.name)
    if function is None:
        raise LookupError(op.name)
    with np.errstate(all="ignore"):
        result = function(op, run, *inputs, **params)
    # a ufunc gives a NumPy scalar for a result without axes
    return tuple(np.asanyarray(part) for part in (result if isinstance(result, tuple) else (result,)))
