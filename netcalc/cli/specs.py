"""A name can be given as SPEC to every command, and under `extends` in a spec file; --set changes sizes.

For a name, an alias such as bert-base-uncased, or a file, the page of the spec is shown: its dims and vars, inputs and
outputs, published figures, and its file. Any other WORD is searched for in names, aliases, families, descriptions and
sources. Figures are those at the default sizes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

from netcalc.cli import options
from netcalc.cli.declarations import Argument, Option
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.render.text import Terminal
    from netcalc.spec.shipped import CatalogueEntry


def command(
    name: Annotated[str | None, Argument(metavar="NAME|WORD", help="A spec, or a word that specs mention.")] = None,
    search: Annotated[
        str | None,
        Option("--search", metavar="WORD", help="Only specs that mention the word, also if it is a name."),
    ] = None,
    family: Annotated[
        str | None, Option("--family", metavar="FAMILY", help="Only specs of the family, such as resnet.")
    ] = None,
    yaml: Annotated[bool, Option("--yaml", help="Print the file of the spec NAME.")] = False,
    convention: options.Convention = "netcalc",
    format_: options.FormatChoice = options.Format.TABLE,
    output: options.Output = None,
    sort: options.Sort = None,
    top: options.Top = None,
    filter_: options.Filter = None,
    wide: options.Wide = False,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
) -> None:
    """List the specs that ship, or show the page of one."""
    from netcalc.analysis.conventions import convention_named
    from netcalc.cli.output import terminal_for, write
    from netcalc.records.specs import specs_record
    from netcalc.render.json_lines import json_lines
    from netcalc.render.selection import keys_of
    from netcalc.render.specs import specs_data, specs_markdown, specs_note, specs_table
    from netcalc.render.table_csv import table_csv
    from netcalc.render.table_text import table_text
    from netcalc.render.text import fill

    if yaml:
        return write(_file_lines(name, max_spec_size), output)
    if name is not None and _is_spec(name):
        return _page(name, convention, format_, output, wide, max_spec_size)
    convention_named(convention)
    keys: dict[str, Callable[[CatalogueEntry], Any]] = keys_of("name", "family", "params", "about", "source")
    keys["macs"] = lambda spec: spec.macs[convention]
    selection = options.read_selection(sort, top, filter_)
    listed = _listed([word for word in (name, search) if word is not None], family)
    specs, others = selection.apply(listed, keys, lambda spec: (spec.name, spec.family))
    match format_:
        case options.Format.JSON:
            return write(json_lines(specs_record(specs, convention), rows="specs"), output)
        case options.Format.CSV:
            return write(table_csv(specs_data(specs, convention)), output)
        case options.Format.MARKDOWN:
            return write(specs_markdown(specs, convention, len(others)), output)
    terminal = terminal_for(output, wide=wide)
    if selection.active:
        table = specs_table(specs, convention)._replace(omitted=len(others))
        return write([table_text(table, terminal), "", fill(specs_note(convention), terminal.width)], output)
    return write(_families(specs, convention, terminal), output)


def _is_spec(name: str) -> bool:
    """Return True for a shipped spec, an alias, a name of a YAML file, or a path with a suffix or a separator."""
    from pathlib import Path

    from netcalc.files import exists
    from netcalc.spec.shipped import catalogue, unaliased

    if name in catalogue() or unaliased(name) is not None or name == "-":
        return True
    suffix = Path(name).suffix
    return suffix in (".yaml", ".yml") or ((suffix != "" or "/" in name or os.sep in name) and exists(name))


def _listed(words: Sequence[str], family: str | None) -> list[CatalogueEntry]:
    """Return the specs of the family that mention all words, by family and name; NetcalcError if there are none."""
    from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
    from netcalc.spec.shipped import aliases, catalogue

    entries = sorted(catalogue().values(), key=lambda spec: (spec.family, spec.name))
    families = {spec.family for spec in entries}
    if family is not None and family not in families:
        hint = did_you_mean(family, families) or f"the families are {', '.join(sorted(families))}"
        raise NetcalcError(Diagnostic("E502", f"there is no family {family!r}", hint=hint))
    entries = [spec for spec in entries if family in (None, spec.family)]
    matching = [spec for spec in entries if all(text.lower() in _searched(spec) for text in words)]
    if not matching:
        within = f" in the family {family!r}" if family else ""
        near = did_you_mean(words[0], [*catalogue(), *aliases(), *families])
        raise NetcalcError(Diagnostic("E502", f"no spec{within} mentions {' and '.join(map(repr, words))}", hint=near))
    return matching


def _searched(spec: CatalogueEntry) -> str:
    return " ".join((spec.name, spec.family, spec.about, spec.source, *spec.aliases)).lower()


def _families(specs: Sequence[CatalogueEntry], convention: str, terminal: Terminal) -> Iterator[str]:
    """Yield a table for each family; all tables have the same width of names."""
    from netcalc.render.specs import specs_note, specs_table
    from netcalc.render.table_text import table_text
    from netcalc.render.text import fill

    width = max(len(spec.name) for spec in specs)
    for title, members in groupby(specs, lambda spec: spec.family):
        yield table_text(specs_table(list(members), convention, title, width), terminal)
        yield ""
    yield fill(specs_note(convention), terminal.width)
    yield fill("`netcalc specs NAME` shows the dims, vars, inputs and outputs of a spec.", terminal.width)


def _page(
    name: str, convention: str, format_: options.Format, output: str | None, wide: bool, max_spec_size: int
) -> None:
    """Write the page of a spec."""
    from netcalc.cli.output import terminal_for, write
    from netcalc.formats import load_model
    from netcalc.records.specs import spec_record
    from netcalc.reference.specs import describe
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.specs import settings_data, spec_page
    from netcalc.render.table_csv import table_csv

    spec = describe(load_model(name, max_spec_size), convention)
    match format_:
        case options.Format.JSON:
            return write(json_lines(spec_record(spec)), output)
        case options.Format.CSV:
            return write(table_csv(settings_data(spec)), output)
        case options.Format.MARKDOWN:
            return write(page_markdown(spec_page(spec)), output)
    return write(page_text(spec_page(spec), terminal_for(output, wide=wide)), output)


def _file_lines(name: str | None, max_spec_size: int) -> list[str]:
    """Return the lines of a spec's file; NetcalcError (E502) without a name."""
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.formats import load_model

    if name is None:
        raise NetcalcError(Diagnostic("E502", "--yaml prints one spec", hint="name it: netcalc specs resnet18 --yaml"))
    path = load_model(name, max_spec_size).path
    if path is None:
        raise NetcalcError(Diagnostic("E502", "--yaml prints a file, and a pipe is none"))
    return path.read_text(encoding="utf-8").splitlines()
