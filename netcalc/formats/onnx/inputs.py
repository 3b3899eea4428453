"""Inputs of ONNX graphs: their types, with named sizes as dims of the spec."""

from __future__ import annotations

import re

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, default_of, symbol
from netcalc.formats.graph.model import Graph
from netcalc.formats.onnx.elements import dtype_named
from netcalc.formats.onnx.messages import ValueInfo
from netcalc.formats.onnx.naming import identifier
from netcalc.tensor_type import TensorType

#: Sums and products of names and numbers, as exporters write sizes that depend on others.
_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|\d+|[+*-])")
#: Default sizes: of the axes of images, and of other axes.
_IMAGE, _OTHER = 224, 16


class Dims:
    """The named sizes of a graph, each declared with a default, since the file has none."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._symbols: dict[str, Dim] = {}
        self._names: dict[str, str] = {}

    def size(self, text: str, default: int) -> Dim:
        """Return the size that a text names, which may be a sum or product of names and numbers."""
        if (size := self._expression(text, default)) is not None:
            return size
        return self._symbol(text, default)

    def remark(self) -> str | None:
        """Return a remark that names the sizes whose defaults are netcalc's, if there are any."""
        if not self._symbols:
            return None
        sizes = ", ".join(f"{name}={default_of(size)}" for name, size in self._symbols.items())
        return f"the file leaves sizes open, and these are netcalc's: {sizes}; --set gives others"

    def _expression(self, text: str, default: int) -> Dim | None:
        tokens = _TOKEN.findall(text)
        if len(tokens) < 3 or len(tokens) > 99 or "".join(tokens) != re.sub(r"\s", "", text):
            return None
        if any((token in "+*-") != bool(place % 2) for place, token in enumerate(tokens)):
            return None
        total: Dim = 0
        sign, term = 1, self._term(tokens[0], default)
        for operator, token in zip(tokens[1::2], tokens[2::2], strict=False):
            if operator == "*":
                term = term * self._term(token, default)
                continue
            total = total + sign * term
            sign, term = (1 if operator == "+" else -1), self._term(token, default)
        return total + sign * term

    def _term(self, token: str, default: int) -> Dim:
        return int(token) if token.isdigit() else self._symbol(token, default)

    def _symbol(self, text: str, default: int) -> Dim:
        if text not in self._names:
            name = base = identifier(text, "size")
            number = 0
            while name in self._symbols:
                number += 1
                name = f"{base}_{number}"
            self._names[text] = name
            self._symbols[name] = symbol(name, default)
            self._graph.dims[name] = default  # type: ignore[assignment]
        return self._symbols[self._names[text]]


def input_type(info: ValueInfo, dims: Dims) -> TensorType:
    """Return the type of an input.

    Raises:
        RuleError: it is no tensor, or has an element type that netcalc lacks, or no known number of axes.
    """
    if info.kind is None:
        raise RuleError("it is no tensor")
    if info.shape is None:
        raise RuleError("the number of its axes is not known")
    dtype = dtype_named(info.kind)
    is_image = len(info.shape) in (4, 5) and dtype.startswith("float")
    sizes: list[Dim] = []
    for axis, size in enumerate(info.shape):
        if isinstance(size, int) and size >= 0:
            sizes.append(size)
            continue
        default = 1 if axis == 0 else _IMAGE if is_image and axis > 1 else _OTHER
        name = size if isinstance(size, str) else ("batch" if axis == 0 else f"{identifier(info.name, 'input')}_{axis}")
        sizes.append(dims.size(name, default))
    return TensorType(tuple(sizes), dtype)
