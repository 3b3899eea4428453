"""Inputs of models: their types, with sizes that the file leaves open as dims of the spec."""

from __future__ import annotations

import re
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, default_of, symbol
from netcalc.dtypes import DTYPES
from netcalc.formats.graph.model import Graph
from netcalc.formats.keras.problems import clipped
from netcalc.tensor_type import TensorType

#: Names and default sizes of open axes between batch and channels, by their number.
_OPEN = {1: (("length", 16),), 2: (("height", 224), ("width", 224)), 3: (("depth", 16), ("height", 64), ("width", 64))}
_OTHER = 16


class Dims:
    """The open sizes of a model, each declared with a default, since the file has none."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._symbols: dict[str, Dim] = {}

    def batch(self) -> Dim:
        """Return the size of the batch, which all inputs share."""
        return self._symbols["batch"] if "batch" in self._symbols else self._new("batch", 1)

    def open(self, axis: int, rank: int, owner: str) -> Dim:
        """Return the size of an axis of an input that the file leaves open."""
        listed = _OPEN.get(rank - 2, ())
        name, default = listed[axis - 1] if 0 < axis <= len(listed) else (f"{owner}_{axis}", _OTHER)
        if rank == 2 and axis == 1:
            name, default = "length", _OTHER
        if name in self._symbols:
            name = f"{owner}_{name}"
        while name in self._symbols:
            name = f"{name}_"
        return self._new(name, default)

    def remark(self) -> str | None:
        """Return a remark that names the sizes besides the batch whose defaults are netcalc's, if there are any."""
        sizes = ", ".join(f"{name}={default_of(size)}" for name, size in self._symbols.items() if name != "batch")
        if not sizes:
            return None
        return f"the file leaves sizes open, and these are netcalc's: {sizes}; --set gives others"

    def _new(self, name: str, default: int) -> Dim:
        self._symbols[name] = symbol(name, default)
        self._graph.dims[name] = default  # type: ignore[assignment]
        return self._symbols[name]


def input_type(shape: Any, dtype: Any, dims: Dims, owner: str) -> TensorType:
    """Return the type of an input with the axes in the order of Keras.

    Raises:
        RuleError: it has no shape, or an element type that netcalc lacks.
    """
    if not isinstance(shape, list) or not all(size is None or (type(size) is int and size > 0) for size in shape):
        what = "the file does not have the shape of its input" if shape is None else f"its shape is {clipped(shape)}"
        raise RuleError(f"{what}; build the model with keras.Input before it is saved")
    if isinstance(dtype, dict):
        config = dtype.get("config")
        dtype = config.get("name") if isinstance(config, dict) else None
    dtype = "float32" if dtype is None else dtype
    if dtype not in DTYPES:
        raise RuleError(f"netcalc has no tensors of type {clipped(dtype)}")
    sizes: list[Dim] = []
    for axis, size in enumerate(shape):
        sizes.append(size if size is not None else dims.batch() if axis == 0 else dims.open(axis, len(shape), owner))
    return TensorType(tuple(sizes), dtype)


def identifier(name: str, default: str) -> str:
    """Return a name of letters, digits and underscores that does not begin with a digit."""
    word = re.sub(r"\W+", "_", name).strip("_") or default
    return word if not word[0].isdigit() else f"{default}_{word}"
