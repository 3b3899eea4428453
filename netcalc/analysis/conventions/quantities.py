"""Quantities of a network by which formulas of papers state work, derived from its operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.ir import Body, CallNode, OpNode, Program


class Quantities:
    """Quantities of a network, each derived when it is read."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def members(self) -> Mapping[str, Any]:
        """Return the attributes in expressions, which are computed when they are read."""
        return _Members(self)

    @cached_property
    def _embedding(self) -> OpNode:
        """The first table of tokens; NetcalcError (E701) if there is none."""
        found = next((node for node in _operations(self._program.main) if node.op.name == "embedding"), None)
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


_QUANTITIES: Mapping[str, Callable[[Quantities], Dim]] = {
    "tokens": lambda network: network.tokens,
    "vocabulary": lambda network: network.vocabulary,
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
