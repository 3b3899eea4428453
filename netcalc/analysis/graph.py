"""The graph of a network: boxes for operations and blocks, edges for the tensors between them.

Equal instances of a repeat are one box, as in the tables.  An edge joins the box that computes a tensor to a box that
reads it, whatever blocks are around either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.graph_options import Direction
from netcalc.ops import family
from netcalc.results import Entry, Result, recorded
from netcalc.tensor_type import TensorType

#: What a box does, which gives it its color.
Kind: TypeAlias = Literal[
    "input",
    "output",
    "block",
    "convolution",
    "product",
    "attention",
    "recurrence",
    "normalization",
    "activation",
    "pooling",
    "embedding",
    "arithmetic",
    "movement",
    "parameter",
    "loss",
    "other",
]

#: Families of operations by kind.
FAMILY_KINDS: Mapping[Kind, tuple[str, ...]] = {
    "convolution": ("conv", "conv_transpose"),
    "product": ("linear", "matmul", "experts", "linalg", "decomposition"),
    "attention": ("attention", "cache"),
    "recurrence": ("recurrent", "scan", "chunked_scan"),
    "normalization": ("batch_norm", "norm"),
    "activation": ("rectifier", "activation", "softmax", "gated_units", "dropout"),
    "pooling": (
        *("max_pool", "avg_pool", "lp_pool", "adaptive_pool", "global_pool", "blur_pool"),
        *("resize", "grid_sample", "roi_align"),
    ),
    "embedding": ("position", "rotary", "position_bias", "embed"),
    "arithmetic": (
        *("arithmetic", "compare", "elementwise", "transcendental", "rounding", "bits", "reduce", "sorting"),
        *("assignment", "complex_numbers", "fourier"),
    ),
    "movement": (
        *("shape", "axes", "expand", "concat", "slicing", "indexing", "pad", "shuffle", "fold"),
        "mask",
    ),
    "parameter": ("creation", "random"),
    "loss": ("loss", "class_loss"),
    "other": ("routing", "unknown"),
}
_KINDS: Mapping[str, Kind] = {name: kind for kind, names in FAMILY_KINDS.items() for name in names}


def kind_of(operation: str) -> Kind:
    """Return the kind of an operation.

    >>> kind_of("conv2d"), kind_of("rms_norm"), kind_of("concat")
    ('convolution', 'normalization', 'movement')
    """
    return _KINDS[family(operation)]


class GraphNode(NamedTuple):
    """A box: an operation, a block that is not opened, an input or an output; figures count one instance."""

    id: str
    """Name that edges refer to."""
    path: str
    """Path of the first instance; the name of an input or output."""
    name: str
    """The path below the group around it, with the numbers of all instances."""
    op: str
    """Name of the operation or block; `sequence` for layers under one name, `input` or `output`."""
    kind: Kind
    """Kind of operation, `block`, `input` or `output`."""
    group: str | None
    """The group around it; null outside all groups."""
    params: Dim
    """Parameters of one instance."""
    macs: Dim | None
    """Multiply-adds of one instance in a forward pass; null if they are not known."""
    times: int
    """Number of instances in one instance of the group around it."""
    repeat: int
    """Number of instances in the network."""


class GraphGroup(NamedTuple):
    """A block that is opened: the boxes whose group it is; figures count one instance."""

    id: str
    path: str
    """Path of the first instance."""
    name: str
    """The path below the group around it, with the numbers of all instances."""
    op: str
    """Name of the block; `sequence` for layers under one name."""
    group: str | None
    """The group around it; null outside all groups."""
    params: Dim
    """Parameters of one instance."""
    macs: Dim | None
    """Multiply-adds of one instance in a forward pass; null if some are not known."""
    times: int
    """Number of instances in one instance of the group around it."""
    repeat: int
    """Number of instances in the network."""
    opened_at: int
    """Least depth at which it is opened."""


@recorded("source", "target", "shape", "dtype", "back")
class GraphEdge(NamedTuple):
    """A tensor that a box computes and another one reads."""

    source: str
    target: str
    type: TensorType
    back: bool
    """True if it goes to a later instance of a box that stands before its source, as where layers alternate."""

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Shape of the tensor."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """Element type of the tensor."""
        return self.type.dtype


@recorded(
    *("spec", "convention", "depth", "levels", "direction", "show", "inputs", "outputs", "params", "macs"),
    *("nodes", "groups", "edges"),
    *(Entry("unknown", optional=True), Entry("uncounted", optional=True), Entry("assumptions", optional=True)),
    name="graph",
)
@dataclass(frozen=True, slots=True)
class GraphReport(Result):
    """Boxes, groups and edges of a network, opened to a depth."""

    spec: str
    """Name of the spec."""
    convention: str
    """Counting convention of the work."""
    depth: int
    """Levels of boxes: 1 without groups, 2 with the boxes inside the blocks of the network, and so on."""
    levels: int
    """The depth at which every block is opened."""
    direction: Direction
    """Direction of the picture: `TB`, from top to bottom, or `LR`, from left to right."""
    show: tuple[str, ...]
    """Figures in the boxes of the picture: `params`, `macs`."""
    inputs: Mapping[str, TensorType]
    """Inputs by name."""
    outputs: Mapping[str, TensorType]
    """Outputs by name."""
    params: Dim
    """Parameters of the network."""
    macs: Dim
    """Multiply-adds of a forward pass; at least these if some work is not known."""
    nodes: tuple[GraphNode, ...]
    """Inputs, boxes in order of execution, and outputs."""
    groups: tuple[GraphGroup, ...]
    """Opened blocks, each behind the one around it."""
    edges: tuple[GraphEdge, ...]
    unknown: tuple[str, ...] | None = None
    """Work that is not known; left out if there is none."""
    uncounted: tuple[str, ...] | None = None
    """Operations whose work the convention leaves out, if there are any."""
    assumptions: tuple[str, ...] | None = None
    """Claims that the results for symbolic sizes rely on, if any."""

    def to_svg(self) -> str:
        """Return the picture as the text of an SVG file; NetcalcError (E502) without the extra ``graph``."""
        return str(_presentation().svg(self))

    def to_mermaid(self) -> str:
        """Return the graph as the text of a Mermaid flowchart."""
        return "\n".join(_presentation().mermaid(self))

    def to_dot(self) -> str:
        """Return the graph in the language of Graphviz, with blocks as clusters."""
        return "\n".join(_presentation().dot(self))

    def plot(self, path: str | Path) -> None:
        """Write the picture or its text, replacing the file.

        Args:
            path: a file whose suffix says what is written: ``.svg``, ``.png``, ``.html``, ``.dot``, ``.gv`` or
                ``.mmd``.

        Raises:
            NetcalcError: E502 for another suffix, a picture without the extra ``graph``, or a file that cannot be
                written.
        """
        _presentation().write_graph(self, str(path))

    def _repr_html_(self) -> str:
        return str(_presentation().notebook(self))


def _presentation() -> Any:
    # by its name, since it lies above all results
    return import_module("netcalc.render.graphs")
