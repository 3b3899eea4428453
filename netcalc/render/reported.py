"""The page of ``reconcile --reported``: what explains a number, with the commands that print it."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.reported import NOTABLE, Diagnosis, Explained
from netcalc.render.numbers import exact
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Table

_OWN = "as netcalc counts"
_FIGURES = {"work": "work", "params": "parameters", "memory": "bytes"}


class _Explanations(Presentation[Diagnosis]):
    selected_list = listed = "explanations"
    columns = keys_of("value", "counted", "chance")
    names = staticmethod(lambda explained: explained.choices or (_OWN,))

    def page(self, result: Diagnosis, rows: Selected[Explained], view: View) -> Page:
        unit = result.unit or _FIGURES[result.figure]
        yield Paragraph([Line(f": {result.spec}, {unit}", f"reported {result.reported}")])
        if result.explanations:
            yield self.data(result, rows, view)._replace(omitted=len(rows.others))
            yield Paragraph([line for number, row in enumerate(rows.shown, 1) for line in _commands(number, row)])
        else:
            yield from _nearest(result)
        notes = [*_chance(result)]
        if notes:
            yield Paragraph(notes)
        yield Answer([Paragraph([_answer(result)])])

    def data(self, result: Diagnosis, rows: Selected[Explained], view: View) -> Table:
        columns = [Column("", "total", key="number"), Column("choices", "prose"), Column("value", "total")]
        if view.in_full:
            columns += [Column("counted", "total"), Column("command", "prose"), Column("chance", "real")]
        cells = (
            [number, "; ".join(row.choices) or _OWN, row.value]
            + ([row.counted, row.command, row.chance] if view.in_full else [])
            for number, row in enumerate(rows.shown, 1)
        )
        return Table(columns, [Row(row) for row in cells])


PRESENTATIONS = {"Diagnosis": _Explanations()}


def _answer(result: Diagnosis) -> Line:
    if not result.explanations:
        return Line(f" of {result.candidates:,} values is printed as {result.reported}", "none", "bad")
    count = len(result.explanations)
    noun = "explanation reproduces" if count == 1 else "explanations reproduce"
    return Line(f" each digit of {result.reported}", f"{count} {noun}", "good")


def _commands(number: int, row: Explained) -> Iterator[Line]:
    arithmetic = "".join(f", {step}" for step in row.arithmetic)
    yield Line(f"{row.command} prints {exact(row.counted)}{arithmetic}", f"{number}: ", hanging="   ")


def _nearest(result: Diagnosis) -> Iterator[Paragraph]:
    if result.nearest is None or result.left_over is None:
        return
    near = result.nearest
    lines = [Line(f": {exact(near.value)}, {'; '.join(near.choices) or _OWN}", "nearest", hanging="  ")]
    lines.append(Line(f": {exact(result.left_over)}", "left over"))
    yield Paragraph([*lines, *_commands(1, near)])


def _chance(result: Diagnosis) -> Iterator[Line]:
    """Yield a remark where a drawn number would often be explained too."""
    chances = {len(row.choices): row.chance for row in result.explanations if row.chance > NOTABLE}
    for choices, chance in sorted(chances.items()):
        words = f"{choices} choice" + ("" if choices == 1 else "s")
        text = f"up to {words} explain {100 * chance:.0f} % of drawn numbers of as many digits, too"
        yield Line(text, hanging="  ")
