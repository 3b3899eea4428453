"""Quantities of a network by which formulas of papers state work, derived from its operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.dtypes import ITEMSIZE, DType
from netcalc.ir import Body, CallNode, OpNode, Program


class Quantities:
    """Quantities of a network, each derived when it is read."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def members(self) -> Mapping[str, Any]:
        """Return the attributes in expressions, which are computed when they are read."""
        return _Members(self)

    @cached_property
    def _first_table(self) -> OpNode | None:
        """The first table of tokens; None if there is none."""
        return next((node for node in _operations(self._program.main) if node.op.name == "embedding"), None)

    @property
    def _embedding(self) -> OpNode:
        """The first table of tokens; NetcalcError (E701) if there is none."""
        found = self._first_table
        if found is None:
            name = self._program.name or "the network"
            hint = "`--convention netcalc` counts any network; this formula is for language models"
            raise NetcalcError(Diagnostic("E701", f"{name} has no embedding of tokens to count by", hint=hint))
        return found

    @property
    def tokens(self) -> Dim:
        """Tokens that the network takes: the elements that the first table is asked for."""
        ids = self._embedding.input_types[0]
        assert ids is not None
        return ids.elements

    @property
    def vocabulary(self) -> Dim:
        """Rows of the first table."""
        rows: Dim = self._embedding.params[0].shape[0]
        return rows

    @cached_property
    def has_head(self) -> bool:
        """True for a language model: a linear layer has as many features as the first table has rows."""
        if self._first_table is None:
            return False
        linear = (node for node in _operations(self._program.main) if node.op.name == "linear")
        return any(node.output_types[0].shape[-1] == self.vocabulary for node in linear)

    @property
    def name(self) -> str:
        """Name of the network, which is the block of its own lines."""
        return self._program.main.block

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self._program.inputs)

    @property
    def input_bytes(self) -> Dim:
        """Bytes of the inputs."""
        total: Dim = 0
        for spec in self._program.inputs:
            total = total + spec.type.elements * ITEMSIZE[spec.type.dtype]
        return total

    @property
    def dtype(self) -> DType:
        """Element type of floating-point tensors."""
        return self._program.dtype


_QUANTITIES: Mapping[str, Callable[[Quantities], Dim | str]] = {
    "tokens": lambda network: network.tokens,
    "vocabulary": lambda network: network.vocabulary,
    "name": lambda network: network.name,
    "has_head": lambda network: network.has_head,
    "inputs": lambda network: network.inputs,
    "input_bytes": lambda network: network.input_bytes,
}


class _Members(Mapping[str, Any]):
    """The quantities by name."""

    def __init__(self, network: Quantities) -> None:
        self._network = network

    def __getitem__(self, name: str) -> Any:
        return _QUANTITIES[name](self._network)

    def __contains__(self, name: object) -> bool:
        return name in _QUANTITIES

    def __iter__(self) -> Iterator[str]:
        return iter(_QUANTITIES)

    def __len__(self) -> int:
        return len(_QUANTITIES)


def _operations(body: Body) -> Iterator[OpNode]:
    """Yield the operations of a body and of those that it calls, in order of first execution."""
    for node in body.nodes:
        if isinstance(node, CallNode):
            yield from _operations(node.body)
        else:
            yield node
