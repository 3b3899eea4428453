"""Each can be given by name wherever a SPEC is wanted, and changed with --set or extended by a file of your own.

Figures are those at the default sizes; WORD is looked for in names, families, descriptions and sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from netcalc.cli import options

if TYPE_CHECKING:
    from netcalc.dims import Dim
    from netcalc.render.grid import Column
    from netcalc.render.text import Look
    from netcalc.spec.library import Loaded

_FIELDS = ("name", "family", "params", "macs", "about", "source")


class _Figures(NamedTuple):
    """A spec of the list, and what it comes to."""

    name: str
    loaded: Loaded
    params: Dim
    macs: Dim

    def record(self) -> dict[str, object]:
        from netcalc.analysis.summary import number

        document = self.loaded.document
        values = (self.name, document.family, number(self.params), number(self.macs), document.about, document.source)
        return dict(zip(_FIELDS, values, strict=True))


def command(
    word: Annotated[str | None, typer.Argument(metavar="WORD", help="Only specs that mention the word.")] = None,
    family: Annotated[
        str | None, typer.Option("--family", metavar="FAMILY", help="Only specs of the family, such as resnet.")
    ] = None,
    convention: options.Convention = "netcalc",
    format_: options.FormatChoice = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Lists the specs that ship."""
    from netcalc.cli.output import json_lines, look_for, write
    from netcalc.render.grid import csv_lines

    families = _families(word, family)
    match format_:
        case options.Format.JSON:
            records = [spec.record() for spec in _all(families, convention)]
            return write(json_lines({"convention": convention, "specs": records}, rows="specs"), output)
        case options.Format.CSV:
            return write(csv_lines(_FIELDS, ([*spec.record().values()] for spec in _all(families, convention))), output)
        case options.Format.MARKDOWN:
            return write(_markdown(families, convention), output)
    return write(_tables(families, convention, look_for(output)), output)


def _families(word: str | None, family: str | None) -> dict[str, dict[str, Loaded]]:
    """The specs that are asked for, by family and name; NetcalcError where there are none."""
    from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
    from netcalc.spec.library import load_document, shipped

    found: dict[str, dict[str, Loaded]] = {}
    for name, path in shipped().items():
        loaded = load_document(path)
        found.setdefault(loaded.document.family, {})[name] = loaded
    if family is not None and family not in found:
        hint = did_you_mean(family, found) or f"the families are {', '.join(sorted(found))}"
        raise NetcalcError(Diagnostic("E502", f"there is no family {family!r}", hint=hint))
    wanted = {
        each: {name: loaded for name, loaded in sorted(found[each].items()) if _mentions(name, loaded, word)}
        for each in sorted(found)
        if family in (None, each)
    }
    if not any(wanted.values()):
        within = f" in the family {family!r}" if family else ""
        raise NetcalcError(Diagnostic("E502", f"no spec{within} mentions {word!r}"))
    return {each: specs for each, specs in wanted.items() if specs}


def _mentions(name: str, loaded: Loaded, word: str | None) -> bool:
    document = loaded.document
    text = f"{name} {document.family} {document.about} {document.source}"
    return word is None or word.lower() in text.lower()


def _all(families: dict[str, dict[str, Loaded]], convention: str) -> Iterator[_Figures]:
    return (spec for specs in families.values() for spec in _figures(specs, convention))


def _figures(specs: dict[str, Loaded], convention: str) -> Iterator[_Figures]:
    from netcalc.analysis.cost import analyse
    from netcalc.spec import elaborate

    for name, loaded in specs.items():
        total = analyse(elaborate(loaded, {}), convention).total
        yield _Figures(name, loaded, total.params, total.macs)


def _tables(families: dict[str, dict[str, Loaded]], convention: str, look: Look) -> Iterator[str]:
    """A table for each family, printed as soon as it is known; their columns are equally wide."""
    from netcalc.render.grid import grid

    longest = max(len(name) for specs in families.values() for name in specs)
    for family, specs in families.items():
        rows = [_cells(spec) for spec in _figures(specs, convention)]
        yield grid(_columns(family.ljust(longest)), rows, look)
        yield ""
    yield _note(convention)


def _markdown(families: dict[str, dict[str, Loaded]], convention: str) -> Iterable[str]:
    from netcalc.render.grid import markdown

    for family, specs in families.items():
        yield from (f"## {family}", "")
        yield from markdown(_columns("name"), (_cells(spec) for spec in _figures(specs, convention)))
        yield ""
    yield _note(convention)


def _columns(title: str) -> list[Column]:
    from netcalc.render.grid import Column

    return [Column(title), Column("parameters", right=True), Column("   MACs", right=True), Column("what it is")]


def _cells(spec: _Figures) -> list[str]:
    from netcalc.render.numbers import short

    return [spec.name, short(spec.params), short(spec.macs, 4), spec.loaded.document.about]


def _note(convention: str) -> str:
    return f"MACs are multiply-adds of one forward pass at the default sizes, counted as {convention} does."
