"""``params`` of a checkpoint without a spec: its tensors, from headers alone."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING

from netcalc.cli.options import Format
from netcalc.formats.checkpoints import is_checkpoint

if TYPE_CHECKING:
    from netcalc.render.selection import Selection
    from netcalc.render.text import Terminal
    from netcalc.weights.tree import Group

__all__ = ["is_checkpoint", "write_checkpoint"]


def write_checkpoint(
    path: str, selection: Selection, format_: Format, output: str | None, *, wide: bool, depth: int | None, unroll: bool
) -> None:
    """Write a report on a checkpoint."""
    from netcalc.cli.output import terminal_for, write

    write(_lines(path, selection, format_, terminal_for(output, wide=wide), depth, unroll), output)


def _lines(
    path: str, selection: Selection, format_: Format, terminal: Terminal, depth: int | None, unroll: bool
) -> Iterable[str]:
    """The lines of a report on a checkpoint."""
    from pathlib import Path

    from netcalc.formats import HUB_PREFIX
    from netcalc.formats.checkpoints import stored_weights
    from netcalc.records.checkpoint import checkpoint_record
    from netcalc.render.checkpoints import checkpoint_list, checkpoint_page, groups_data
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.selection import keys_of
    from netcalc.render.table_csv import table_csv
    from netcalc.weights.content import read_content
    from netcalc.weights.tree import FIGURES, checkpoint_rows, checkpoint_tree, tensor_group

    content = read_content(*(stored_weights(path) if path.startswith(HUB_PREFIX) else [Path(path)]))
    in_full = format_ in (Format.JSON, Format.CSV)
    if in_full and depth is None:
        rows: Iterable[Group] = map(tensor_group, content.tensors)
    else:
        tree = checkpoint_tree(content.tensors, unroll=unroll or in_full)
        rows = checkpoint_rows(tree, depth)
    if format_ is Format.TABLE and not selection.active:
        return page_text(checkpoint_page(content, tree, depth), terminal)
    keys = keys_of("name", "repeat") | {"dtype": attrgetter("dtypes")}
    keys |= {figure: methodcaller("figure", figure) for figure in FIGURES}
    names = attrgetter("name", "title")
    shown, others = selection.apply(rows, keys, names)
    if format_ is Format.JSON:
        record = checkpoint_record(content, shown, depth=depth is not None)
        return json_lines(record, "tensors" if depth is None else "groups")
    if format_ is Format.CSV:
        return table_csv(groups_data(shown))
    page = checkpoint_list(content, shown, others)
    return page_markdown(page) if format_ is Format.MARKDOWN else page_text(page, terminal)
