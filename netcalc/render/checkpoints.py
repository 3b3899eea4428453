"""Pages and tables of the content of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

from netcalc.render.numbers import bytes_text, measured, plain_numbers
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import ALWAYS, Column, Row, Share, Table
from netcalc.weights.tree import FIGURES, Group, checkpoint_rows, checkpoint_tree, tensor_group

if TYPE_CHECKING:
    from netcalc.weights.content import Checkpoint
    from netcalc.weights.packing.unpacked import Packed

#: Rows of duplicates and of copies on a page.
_SHOWN = 8
#: Files that the head of a page names.
_NAMED = 3
_COLUMNS = (
    Column("shape", "shape", ALWAYS - 4),
    Column("type", priority=ALWAYS - 3, key="dtype"),
    Column("parameters", "count", key="params"),
    Column("stored", "count", ALWAYS - 5, key="elements"),
    Column("bytes", "bytes", ALWAYS - 2),
    Column("bits each", "real", ALWAYS - 3, key="bits"),
    Column("share", "share", ALWAYS - 1),
)


class _Checkpoint(Presentation["Checkpoint"]):
    names = staticmethod(attrgetter("name", "title"))

    def rows(self, result: Checkpoint, view: View) -> Iterable[Group]:
        if view.in_full and result.depth is None:
            return map(tensor_group, result.tensors)
        if view.is_tree:
            return ()
        return checkpoint_rows(checkpoint_tree(result.tensors, unroll=result.unroll or view.in_full), result.depth)

    def keys(self, result: Checkpoint) -> Mapping[str, Callable[[Any], Any]]:
        keys = keys_of("name", "repeat") | {"dtype": attrgetter("dtypes")}
        return keys | {figure: methodcaller("figure", figure) for figure in FIGURES}

    def page(self, result: Checkpoint, rows: Selected[Group], view: View) -> Page:
        if view.is_tree:
            return _tree_page(result, checkpoint_tree(result.tensors, unroll=result.unroll), result.depth)
        return _list_page(result, rows.shown, rows.others)

    def data(self, result: Checkpoint, rows: Selected[Group], view: View) -> Table:
        """Tensors or groups with all fields, for CSV."""
        columns = [Column("name"), Column("dtype"), Column("shape", "shape")]
        columns += [Column(title) for title in (*FIGURES, "file", "repeat")]
        cells = (
            [plain_numbers(row.title), " ".join(row.dtypes), row.shape, *row.figures, " ".join(row.files), row.repeat]
            for row in rows.shown
        )
        return Table(columns, [Row(group) for group in cells])

    def recorded(self, result: Checkpoint, rows: Selected[Group]) -> Mapping[str, Any]:
        if result.depth is not None:
            return {"tensors": None, "groups": rows.shown}
        by_name = {tensor.name: tensor for tensor in result.tensors}
        return {"tensors": [by_name[row.name] for row in rows.shown]}

    def listed_in(self, result: Checkpoint) -> str:
        return "tensors" if result.depth is None else "groups"


PRESENTATIONS = {"Checkpoint": _Checkpoint()}


def _tree_page(content: Checkpoint, tree: Sequence[Group], depth: int | None = None) -> Page:
    """Page of a checkpoint with its tensors as a tree, down to a depth."""
    rows = _tree(tree, content, depth, 0, 1)
    return _groups_page(content, _table(content, rows), any(map(_repeats, tree)))


def _list_page(content: Checkpoint, shown: Sequence[Group], others: Sequence[Group]) -> Page:
    """Page of a checkpoint with selected tensors or groups by their full names."""
    rows = [Row([row.title, *_cells(row, content, 1)], row.repeat) for row in shown]
    totals = []
    if others:
        for label, part in ((f"{len(shown):,} shown", shown), (f"{len(others):,} not shown", others)):
            totals.append(_sum(label, part, content))
        totals.append(_sum("total", [*shown, *others], content))
    return _groups_page(content, _table(content, rows, totals), any(row.repeat > 1 for row in shown))


def packed_table(packed: Sequence[Packed]) -> Table:
    """Figures of packed tensors by scheme."""
    columns = [Column("packed by"), Column("tensors", "total")]
    columns += [Column(title, "count") for title in ("companions", "parameters", "stored")]
    columns += [Column("bytes", "bytes"), Column("bits each", "real")]
    cells = (
        [p.scheme, p.tensors, p.companions, p.params, p.elements, p.bytes, _bits(p.bytes, p.params)] for p in packed
    )
    return Table(columns, [Row(row) for row in cells])


def _table(content: Checkpoint, rows: Sequence[Row], totals: Sequence[Row] = ()) -> Table:
    columns = [Column("tensor", "path"), *_COLUMNS]
    if content.in_blocks:
        columns[-1] = columns[-1]._replace(priority=ALWAYS - 6)  # the bits say more than the share
    return Table(columns, rows, totals)


def _groups_page(content: Checkpoint, table: Table, folded: bool) -> Iterator[Table | Paragraph]:
    yield Paragraph([Line(_head(content), content.name)])
    yield table
    columns = [Column("by type"), Column("tensors", "total")]
    columns += [Column("stored" if content.packed else "parameters", "count")]
    columns += [Column("bytes", "bytes"), Column("share", "share"), Column("bits each", "real")]
    rows = []
    for kind in content.types:
        bits_each = _bits(kind.bytes, kind.elements) if content.in_blocks else None
        share = Share(kind.bytes, content.bytes)
        rows.append(Row([kind.dtype, kind.tensors, kind.elements, kind.bytes, share, bits_each]))
    yield Table(columns, rows)
    if content.packed:
        yield packed_table(content.packed)
    stored = f" in {measured(content.elements)} stored elements" if content.packed else ""
    bits = f", {8 * content.bytes / content.elements:.4g} bits each" if content.in_blocks and content.elements else ""
    total = Line(f"{stored}; {bytes_text(content.bytes)}{bits}", f"{measured(content.params)} parameters and buffers")
    yield Paragraph([total, *(Line(f"note: {note}") for note in content.notes)])
    yield from _duplicates(content)
    if folded:
        yield Paragraph([Line("×N: figures are those of one of the N instances; shares include all of them.")])


def _head(content: Checkpoint) -> str:
    names = [file.name for file in content.files]
    text = f": {len(content.tensors):,} tensors"
    if len(names) < 2:
        return text
    return f"{text} in {len(names):,} files: {', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''}"


def _duplicates(content: Checkpoint) -> Iterator[Table | Paragraph]:
    """Names that several files have, and names that differ by a prefix."""
    if content.duplicates:
        size = sum(duplicate.bytes for duplicate in content.duplicates)
        columns = [Column("in several files", "path"), Column("files", "prose"), Column("shapes")]
        rows = [
            Row([copy.name, ", ".join(copy.files), "equal" if copy.same else "differ"])
            for copy in content.duplicates[:_SHOWN]
        ]
        yield Table(columns, rows, omitted=len(content.duplicates) - len(rows))
        yield Paragraph([Line(f"{len(content.duplicates):,} counted once; the copies have {bytes_text(size)} more")])
    if content.copies:
        yield Paragraph(
            [
                Line(
                    f"{copies.tensors:,} under {copies.prefix!r} ({bytes_text(copies.bytes)}) have the name, shape and "
                    "type of others without it; their data are not compared"
                )
                for copies in content.copies[:_SHOWN]
            ]
        )


def _tree(groups: Sequence[Group], content: Checkpoint, depth: int | None, prefix: int, outer: int) -> list[Row]:
    """The groups with what is below them, to a depth, without the ``prefix`` first characters of their titles.

    ``outer`` is the product of the enclosing repeats.
    """
    rows = []
    for group in groups:
        children = []
        if group.children and (depth is None or depth > 1):
            inner = len(group.title) + 1
            children = _tree(group.children, content, depth and depth - 1, inner, outer * group.repeat)
        label = group.title[prefix:] or group.title.rpartition(".")[2]  # of a tensor that others are named after
        rows.append(Row([label, *_cells(group, content, outer)], group.repeat, children))
    return rows


def _cells(group: Group, content: Checkpoint, outer: int) -> list[Any]:
    _, params, elements, size = group.figures
    dtype = group.dtypes[0] if len(group.dtypes) == 1 else None
    return [group.shape, dtype, *_figures(content, params, elements, size, size * group.repeat * outer)]


def _sum(label: str, groups: Sequence[Group], content: Checkpoint) -> Row:
    names = ("params", "elements", "bytes")
    params, elements, size = (sum(group.repeat * group.figure(name) for group in groups) for name in names)
    return Row([label, None, None, *_figures(content, params, elements, size, size)])


def _figures(content: Checkpoint, params: int, elements: int, size: int, all_bytes: int) -> list[Any]:
    """Figures, with stored elements if a tensor is packed and bits if one is in blocks, and the share of all bytes."""
    stored = elements if content.packed else None
    bits = _bits(size, params) if content.in_blocks else None
    return [params, stored, size, bits, Share(all_bytes, content.bytes)]


def _bits(size: int, elements: int) -> float | None:
    return 8 * size / elements if elements else None


def _repeats(group: Group) -> bool:
    """Return True if a group, or one below it, stands for several."""
    return group.repeat > 1 or any(map(_repeats, group.children))
