"""Presentations of the reference of operations and blocks: the list, and the page of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from netcalc import ops
from netcalc.reference.blocks import ReferenceList, block_reference
from netcalc.reference.operation_list import OperationList, OperationPage
from netcalc.reference.operations import Listed, OperationReference, reference
from netcalc.render.blocks import block_markdown, block_page
from netcalc.render.operations import operation_markdown, operation_page, operations_data, operations_table
from netcalc.render.page import Page
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Table
from netcalc.render.tree import by_group


class _Operations(Presentation[OperationList]):
    listed = "operations"
    columns = keys_of("name", "family", "source")
    names = staticmethod(attrgetter("name", "family"))

    def rows(self, result: OperationList, view: View) -> Sequence[Listed]:
        return result.entries

    def page(self, result: OperationList, rows: Selected[Listed], view: View) -> Page:
        table = operations_table(rows.shown, len(rows.others))
        yield table if view.selection.active else table._replace(rows=by_group(table.rows, 1))

    def markdown(self, result: OperationList, rows: Selected[Listed], view: View) -> Iterator[str]:
        for number, (family, entries) in enumerate(groupby(rows.shown, lambda entry: entry.family)):
            yield from ("", f"## {family}") if number else (f"## {family}",)
            for entry in entries:
                yield ""
                yield from _markdown(entry)

    def data(self, result: OperationList, rows: Selected[Listed], view: View) -> Table:
        return operations_data(rows.shown)

    def record(self, result: OperationList, rows: Selected[Listed]) -> Mapping[str, Any]:
        from netcalc.records.writing import record

        operations = [reference(op) for op in (ops.find(entry.name) for entry in rows.shown) if op is not None]
        blocks = [block_reference(entry.name) for entry in rows.shown if ops.find(entry.name) is None]
        return record(ReferenceList(tuple(operations), tuple(blocks)))


class _Operation(Presentation[OperationPage]):
    selected_list = listed = ""

    def page(self, result: OperationPage, rows: Selected[Any], view: View) -> Page:
        return operation_page(result.page) if isinstance(result.page, OperationReference) else block_page(result.page)

    def markdown(self, result: OperationPage, rows: Selected[Any], view: View) -> Iterator[str]:
        return _markdown(result.entry)

    def data(self, result: OperationPage, rows: Selected[Any], view: View) -> Table:
        return operations_data([result.entry])

    def record(self, result: OperationPage, rows: Selected[Any]) -> Mapping[str, Any]:
        from netcalc.records.writing import record

        return record(result.page, "operation" if isinstance(result.page, OperationReference) else "block")


def _markdown(entry: Listed) -> Iterator[str]:
    """Return the section of an operation or block."""
    declared = ops.find(entry.name)
    return operation_markdown(reference(declared)) if declared else block_markdown(block_reference(entry.name))


PRESENTATIONS: Mapping[str, Presentation[Any]] = {"OperationList": _Operations(), "OperationPage": _Operation()}
