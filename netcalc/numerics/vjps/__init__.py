"""Vector-Jacobian products, one module a family, mirroring :mod:`netcalc.numerics.kernels`.

A product is a plain NumPy function::

    @vjp("linear")
    def linear(op, back, gradient):
        return {0: …, "weight": …, "bias": …}

It takes the operation (its attributes), the :class:`Back`, and the gradient of the loss by each output: None for an
output that the loss does not depend on.  It returns the gradients that ``back.wanted`` names and no others: by the
position of an input, or by the name of a parameter.  Each has the shape of its tensor; its element type may be wider.
A product must not modify the gradients that it receives, since others may share them.

As kernels, products are written in NumPy's ufuncs, so that they count their own work on tallied arrays, and call no
rule of the operation.  Adding the gradients of a tensor that is used more than once is the tape's work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.opdef import Kind
from netcalc.ops.backward import Source, gradient_modules
from netcalc.registry import Registry
from netcalc.tensor_type import TensorType

__all__ = ["VJPS", "Back", "Gradients", "Product", "apply_vjp", "vjp"]

Gradients: TypeAlias = dict[Source, Array]
Product: TypeAlias = Callable[..., Gradients]

VJPS: Registry[Product] = Registry("vector-Jacobian product", gradient_modules("netcalc.numerics.vjps"))
#: Decorator that registers a product under the names of its operations.
vjp = VJPS.register


@dataclass(slots=True)
class Back:
    """The state of a product.

    ``saved`` are the saved tensors by name; ``inputs`` the shapes and element types of the inputs, None for one that is
    absent, and ``outputs`` the same of the outputs; ``training`` is the mode of the forward pass.
    """

    wanted: frozenset[Source]
    saved: Mapping[str, Array]
    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    training: bool = False
    #: Counts work that NumPy does outside its ufuncs; None when nothing is tallied.
    count: Callable[[Kind, int], None] | None = None

    def wants(self, *sources: Source) -> bool:
        """Return True if the gradient of one of these inputs and parameters is wanted."""
        return any(source in self.wanted for source in sources)

    def among(self, *sources: Source) -> list[Source]:
        """Return the inputs and parameters among these whose gradient is wanted."""
        return [source for source in sources if source in self.wanted]

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Return the shape of an input that is present."""
        type_ = self.inputs[index]
        assert type_ is not None
        return tuple(int(size) for size in type_.shape)

    def only(self, gradients: Mapping[Source, Callable[[], Array]]) -> Gradients:
        """Return those gradients that are wanted; the others are not computed."""
        return {source: compute() for source, compute in gradients.items() if source in self.wanted}

    def note(self, kind: Kind, times: int) -> None:
        """Count work of a NumPy routine that is not a ufunc."""
        if self.count is not None:
            self.count(kind, times)


def apply_vjp(op: Any, back: Back, gradients: tuple[Array | None, ...]) -> Gradients:
    """Run the product of an operation; infinities and NaNs are ordinary values and raise no warning.

    Raises:
        LookupError: if the operation has no product.
    """
    function = VJPS.get(op.name)
    if function is None:
        raise LookupError(op.name)
    with np.errstate(all="ignore"):
        results = function(op, back, *gradients)
    if set(results) != back.wanted:
        raise LookupError(f"{op.name}: gradients of {sorted(map(str, results))} for {sorted(map(str, back.wanted))}")
    return {source: np.asanyarray(gradient) for source, gradient in results.items()}
