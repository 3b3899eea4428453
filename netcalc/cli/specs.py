"""A name can be given as SPEC to every command, and under `extends` in a spec file; --set changes sizes.

Figures are those at the default sizes. WORD is searched for in names, families, descriptions and sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from netcalc.cli import options

if TYPE_CHECKING:
    from netcalc.analysis.catalogue import ListedSpec
    from netcalc.render.table import Table
    from netcalc.render.text import Terminal
    from netcalc.spec.library import Loaded

_FIELDS = ("name", "family", "params", "macs", "about", "source")


def command(
    word: Annotated[str | None, typer.Argument(metavar="WORD", help="Only specs that mention the word.")] = None,
    family: Annotated[
        str | None, typer.Option("--family", metavar="FAMILY", help="Only specs of the family, such as resnet.")
    ] = None,
    convention: options.Convention = "netcalc",
    format_: options.FormatChoice = options.Format.TABLE,
    output: options.Output = None,
    sort: options.Sort = None,
    top: options.Top = None,
    filter_: options.Filter = None,
    wide: options.Wide = False,
) -> None:
    """List the specs that ship."""
    from netcalc.analysis.catalogue import listed_spec
    from netcalc.cli.output import json_lines, terminal_for, write
    from netcalc.cli.selection import keys_of
    from netcalc.records.specs import specs_record
    from netcalc.render.table_csv import table_csv

    selection = options.read_selection(sort, top, filter_)
    selection.check(_FIELDS)
    families = _families(word, family)
    if format_ is options.Format.TABLE and not selection.active:
        return write(_tables(families, convention, terminal_for(output, wide=wide)), output)
    listed = [listed_spec(name, loaded, convention) for specs in families.values() for name, loaded in specs.items()]
    specs, others = selection.apply(listed, keys_of(*_FIELDS), lambda spec: (spec.name, spec.family))
    match format_:
        case options.Format.JSON:
            return write(json_lines(specs_record(specs, convention), rows="specs"), output)
        case options.Format.CSV:
            return write(table_csv(_data(specs)), output)
        case options.Format.MARKDOWN:
            return write(_markdown(specs, convention, len(others)), output)
    from netcalc.render.table_text import table_text
    from netcalc.render.text import fill

    terminal = terminal_for(output, wide=wide)
    table = _table(specs)._replace(omitted=len(others))
    return write([table_text(table, terminal), "", fill(_note(convention), terminal.width)], output)


def _families(word: str | None, family: str | None) -> dict[str, dict[str, Loaded]]:
    """Return the specs of the family that mention the word, by family and name; NetcalcError if there are none."""
    from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
    from netcalc.spec.library import load_document, shipped

    families: dict[str, dict[str, Loaded]] = {}
    for name, path in shipped().items():
        loaded = load_document(path)
        families.setdefault(loaded.document.family, {})[name] = loaded
    if family is not None and family not in families:
        hint = did_you_mean(family, families) or f"the families are {', '.join(sorted(families))}"
        raise NetcalcError(Diagnostic("E502", f"there is no family {family!r}", hint=hint))
    matching = {
        title: {name: loaded for name, loaded in sorted(specs.items()) if _mentions(name, loaded, word)}
        for title, specs in sorted(families.items())
        if family in (None, title)
    }
    if not any(matching.values()):
        within = f" in the family {family!r}" if family else ""
        raise NetcalcError(Diagnostic("E502", f"no spec{within} mentions {word!r}"))
    return {title: specs for title, specs in matching.items() if specs}


def _mentions(name: str, loaded: Loaded, word: str | None) -> bool:
    document = loaded.document
    text = f"{name} {document.family} {document.about} {document.source}"
    return word is None or word.lower() in text.lower()


def _tables(families: dict[str, dict[str, Loaded]], convention: str, terminal: Terminal) -> Iterator[str]:
    """Yield a table for each family as soon as its figures are computed; all tables have the same width of names."""
    from netcalc.analysis.catalogue import listed_spec
    from netcalc.render.table_text import table_text
    from netcalc.render.text import fill

    width = max(len(name) for specs in families.values() for name in specs)
    for family, specs in families.items():
        yield table_text(
            _table([listed_spec(name, loaded, convention) for name, loaded in specs.items()], family, width), terminal
        )
        yield ""
    yield fill(_note(convention), terminal.width)


def _table(specs: Sequence[ListedSpec], family: str = "", width: int = 0) -> Table:
    """Table of the specs of a family, or of several families with a column for the family."""
    from netcalc.render.table import Column, Row, Table

    columns = [
        Column(family or "name", "name", width=width),
        Column("family", priority=10),
        Column("parameters", "amount"),
        Column("MACs", "amount", digits=4, width=7),
        Column("description", "prose"),
    ]
    return Table(columns, [Row([s.name, None if family else s.family, s.params, s.macs, s.about]) for s in specs])


def _data(specs: Sequence[ListedSpec]) -> Table:
    from netcalc.render.table import Column, Row, Table

    return Table([Column(field, "total") for field in _FIELDS], [Row(spec) for spec in specs])


def _markdown(specs: Sequence[ListedSpec], convention: str, omitted: int) -> Iterator[str]:
    """Yield a section for each family, in the order of the specs."""
    from netcalc.render.table import rows_shown
    from netcalc.render.table_markdown import table_markdown

    for family, members in groupby(specs, lambda spec: spec.family):
        yield from (f"## {family}", "")
        yield from table_markdown(_table(list(members), family))
        yield ""
    if omitted:
        yield from (rows_shown(len(specs), omitted), "")
    yield _note(convention)


def _note(convention: str) -> str:
    return f"MACs: multiply-adds of one forward pass at the default sizes, counted as {convention} does."
