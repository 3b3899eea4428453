"""Broadcasting and conversion of operands, as NumPy and PyTorch define them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from netcalc.arrays import numpy_dtype
from netcalc.verification.references import Array, Attributes, Shape
from netcalc.verification.references._promotion import result_type


def broadcast_shape(*arrays: Array) -> Shape:
    """Return the shape to which arrays broadcast."""
    return np.broadcast_shapes(*(array.shape for array in arrays))


def broadcast_element(x: Array, index: Shape) -> Any:
    """Return the element of an array at an index of the shape to which it broadcasts, as a Python number."""
    own = index[len(index) - x.ndim :]
    return x[tuple(0 if size == 1 else place for size, place in zip(x.shape, own, strict=True))].item()


def folded_type(arrays: Sequence[Array], *numbers: Any) -> str:
    """Return the element type of arithmetic on arrays from left to right, and then on numbers."""
    first, *others = arrays
    so_far: Any = first
    for array in others:
        name = result_type(so_far, array)
        so_far = SimpleNamespace(dtype=SimpleNamespace(name=name), ndim=max(so_far.ndim, array.ndim))
    return result_type(so_far, *numbers)


def operands_of(op: Attributes, inputs: Sequence[Array | None]) -> tuple[Shape, str, Callable[[Shape], list[Any]]]:
    """Return the broadcast shape and the element type of an operation, and its operands at an index.

    The operands are the inputs that are present, and the number ``value`` if there is one.
    """
    arrays = [x for x in inputs if x is not None]
    numbers = [] if op.value is None else [op.value]

    def at(index: Shape) -> list[Any]:
        return [*(broadcast_element(x, index) for x in arrays), *numbers]

    return broadcast_shape(*arrays), folded_type(arrays, *numbers), at


def converted(value: Any, dtype: str) -> Any:
    """Return a number in an element type, as a Python number; whole numbers wrap around as in two's complement."""
    if dtype == "bool":
        return value != 0
    if "int" in dtype:
        value = value.real if isinstance(value, complex) else value
        bits = int(dtype.lstrip("uint"))
        wrapped = int(value) % 2**bits
        return wrapped - 2**bits if dtype[0] == "i" and wrapped >= 2 ** (bits - 1) else wrapped
    if "complex" not in dtype and isinstance(value, (complex, np.complexfloating)):
        value = value.real
    number = complex(value) if "complex" in dtype else float(value)
    return np.asarray(number).astype(numpy_dtype(dtype)).item()
