"""The report of ``netcalc export``: a network that was written to a file of another format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from netcalc.results import Result, recorded

#: Origin of the weights in a file: a checkpoint, initializers, or none, for a file of the architecture alone.
WrittenWeights: TypeAlias = Literal["stored", "drawn", "none"]


@recorded(
    "model", "path", "format", "bytes", "params", "weights", "data", "data_bytes", "opset", "nodes", name="export"
)
@dataclass(frozen=True, slots=True)
class Exported(Result):
    """A network in a file of another format."""

    model: str
    """Name of the spec."""
    path: str
    """The file."""
    format: str
    """Format of the file: `onnx`, or `pytorch` for code."""
    bytes: int
    """Bytes of the file."""
    params: int
    """Elements of the parameters in the network; a tied one counts once."""
    weights: WrittenWeights = "none"
    """Origin of the weights in the file: `stored`, `drawn` or `none`."""
    data: str | None = None
    """The file beside it that has the data of weights, if there is one."""
    data_bytes: int = 0
    """Bytes of that file."""
    opset: int | None = None
    """Version of ONNX's operators, of an ONNX file."""
    nodes: int | None = None
    """Nodes of the graph, of an ONNX file."""
