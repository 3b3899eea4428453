"""Record of a forward pass: its tensors, the operations that have a gradient, and segments that are computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from netcalc.analysis.layout import Layout, Storage
from netcalc.dtypes import DType
from netcalc.ir import OpNode
from netcalc.ops.backward import BackwardCall
from netcalc.tensor_type import TensorType

#: A place in a program: positions of nodes in bodies, and after that of a call the number of the iteration.
Place: TypeAlias = tuple[int, ...]


@dataclass(eq=False, slots=True)
class Tensor:
    """A value of the pass: its type and where it lies, and True if its gradient is wanted."""

    type: TensorType
    layout: Layout
    wanted: bool

    @property
    def storage(self) -> Storage:
        """The memory that it lies in."""
        return self.layout.storage


class Recorded(NamedTuple):
    """An operation of the forward pass that has a gradient.

    ``owners`` are the paths of its parameters, ``stored`` the element types of these.  ``again`` are the bytes that are
    computed once more instead of being kept, and ``unpacked`` those of weights that are stored in other forms.
    """

    place: Place | None
    node: OpNode
    inputs: Sequence[Tensor | None]
    outputs: Sequence[Tensor]
    call: BackwardCall
    saved: Sequence[Storage]
    owners: Mapping[str, str]
    stored: Mapping[str, DType]
    again: int
    unpacked: int


class Segment(NamedTuple):
    """A part of the network that is computed again in the backward pass, of which its inputs are kept."""

    inputs: Sequence[Tensor | None]
    outputs: Sequence[Tensor]
    run: Callable[[Sequence[Tensor | None]], list[Tensor]]
