"""The form in which a parameter is stored: quantized, pruned, or in another element type than the network's."""

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from netcalc.dims import Dim


class StoredTensor(NamedTuple):
    """A tensor of a stored parameter: its values, or scales, zero points, tables or indices that belong to them.

    ``formula`` gives the bytes, by sizes that have the values ``sizes``.  ``dtype`` is the type of an element, or the
    type of a word that holds several, and ``bits`` the bits of an element.
    """

    role: str
    dtype: str
    bits: int
    bytes: Dim
    formula: str
    sizes: tuple[tuple[str, Dim], ...]


class Sparsity(NamedTuple):
    """The elements of a parameter that are removed, and how those that are kept are found.

    ``pattern`` (n, m) keeps n of m neighbors along the input features; None removes a share of the whole tensor.
    ``zeros`` is that share, and ``layout`` the layout of the index of the elements: ``pairs``, ``bitmap`` or ``csr``.
    """

    zeros: Fraction
    layout: str
    pattern: tuple[int, int] | None = None

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"{self.pattern[0]}:{self.pattern[1]}"
        return f"{float(self.zeros):g}-{self.layout}"


@dataclass(frozen=True, slots=True)
class Storage:
    """The form in which a parameter is stored.

    Args:
        scheme: name of the scheme, or of the element type if the parameter stays in full precision.
        tensors: the tensors that are stored, the values first.
        shape: the parameter as a stack of matrices: their number, rows and columns.  Groups lie along the columns.
        block: elements that share a scale, by rows and columns; empty if all do, or if there is no scale.
        settings: what the name of the scheme gives, such as bits and group, by name.
        sparsity: the elements that are removed; None for none.
        assigned: the assignment that chose the scheme, as written; empty if none did.
        kept: the reason why it is not the scheme that was assigned, or is not pruned; empty if there is none.
        source: the origin of the layout.
        is_own: True if the checkpoint of the model is stored so; its numbers are rounded already.
    """

    scheme: str
    tensors: tuple[StoredTensor, ...]
    shape: tuple[Dim, Dim, Dim]
    block: tuple[int, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    sparsity: Sparsity | None = None
    assigned: str = ""
    kept: str = ""
    source: str = ""
    is_own: bool = False

    @property
    def bytes(self) -> Dim:
        """The bytes of all tensors."""
        return reduce(add, (tensor.bytes for tensor in self.tensors), 0)
