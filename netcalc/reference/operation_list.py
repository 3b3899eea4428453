"""Lists of operations and blocks, and the page of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.reference.blocks import BlockReference, block_reference, listed_block
from netcalc.reference.operations import Listed, OperationReference, listed_operation, reference
from netcalc.results import Result
from netcalc.spec.foreign_names import suggested_operation
from netcalc.spec.shipped import shipped_blocks


@dataclass(frozen=True, slots=True)
class OperationList(Result):
    """Operations and shipped blocks."""

    entries: tuple[Listed, ...]

    def __iter__(self) -> Iterator[Listed]:
        """Yield the operations and blocks."""
        return iter(self.entries)

    def __len__(self) -> int:
        """Return their number."""
        return len(self.entries)


@dataclass(frozen=True, slots=True)
class OperationPage(Result):
    """The page of an operation or block."""

    entry: Listed
    page: OperationReference | BlockReference


def listed_operations(word: str | None = None) -> OperationList:
    """Return all operations and blocks, or those that mention a word; NetcalcError (E102) if none does."""
    entries = [*map(listed_operation, ops.every().values()), *map(listed_block, shipped_blocks())]
    if word is not None:
        entries = [entry for entry in entries if word.lower() in " ".join(entry).lower()]
        if not entries:
            raise NetcalcError(Diagnostic("E102", f"no operation or block mentions {word!r}"))
    return OperationList(tuple(entries))


def operation_names() -> list[str]:
    """Return the names of all operations and blocks that have a page."""
    return [*ops.names(), *shipped_blocks()]


def operation_page(name: str) -> OperationPage:
    """Return the page of an operation or block; NetcalcError (E102) if there is none of that name."""
    declared = ops.find(name)
    if declared is not None:
        return OperationPage(listed_operation(declared), reference(declared))
    if name in shipped_blocks():
        return OperationPage(listed_block(name), block_reference(name))
    hint = suggested_operation(name, operation_names()).hint
    hint = hint or "`netcalc ops --search WORD` looks for one"
    raise NetcalcError(Diagnostic("E102", f"unknown operation or block {name!r}", hint=hint))
