"""The page of ``solve``: the answer, its conditions, one step further in each unknown, and what excludes everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from netcalc.analysis.solution import Amount, Conflict, Solution, Step, Unit
from netcalc.render.laws import curves
from netcalc.render.numbers import bytes_text, exact, seconds_text, short
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.plot.charts import Chart
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Table

_TITLES = {"params": "parameters", "macs": "MACs", "flops": "FLOPs"}
_AIMS = {"maximize": "greatest", "minimize": "least"}
#: Units that are written behind a number.
_COUNTED = ("parameters", "MAC", "FLOP")
_NO_UNITS: dict[str, Unit] = {"params": "parameters", "macs": "MAC", "flops": "FLOP"}


class _Solved(Presentation[Solution]):
    selected_list = listed = "steps"
    columns = keys_of("name", "value", "forward", "outcome")
    names = staticmethod(lambda step: (step.name,))

    def page(self, result: Solution, rows: Selected[Step], view: View) -> Page:
        yield Paragraph([Line(f": {result.about}" if result.about else " ", result.spec), Line(_question(result))])
        yield Answer([Paragraph([*_answer(result)])])
        if result.laws:
            yield _laws(result)
        if result.found:
            yield _figures(result)
            steps = [step for step in rows.shown if view.all or _is_shown(step, rows.shown)]
            yield _steps(result, steps)._replace(omitted=len(rows.others))
        if result.conflicts:
            yield Paragraph([*map(_conflict, result.conflicts)])
        yield Paragraph([*_proof(result), *(Line(note) for note in result.notes)])

    def charts(self, result: Solution, rows: Selected[Step]) -> Iterable[Chart]:
        """Return the curves of equal FLOPs of the laws."""
        return curves([answer.optimum for answer in result.laws])

    def data(self, result: Solution, rows: Selected[Step], view: View) -> Table:
        """The answer and the steps, a network in each row."""
        names = [unknown.name for unknown in result.unknowns]
        figures = [*result.figures]
        columns = [*map(Column, names), *map(Column, figures), *map(Column, ("outcome", "broken", "reason"))]
        answer = [[*result.settings.values(), *result.figures.values(), "answer", "", ""]] if result.found else []
        steps = [
            [
                *(step.value if name == step.name else result.settings[name] for name in names),
                *(step.figures.get(name) for name in figures),
                step.outcome,
                "; ".join(step.broken),
                step.reason,
            ]
            for step in rows.shown
        ]
        return Table(columns, [Row(cells) for cells in (*answer, *steps)])


PRESENTATIONS = {"Solution": _Solved()}


def _question(result: Solution) -> str:
    aim = result.aim
    target = "" if aim.target is None else f" to {_amount(aim.target, aim.unit)}"
    words = f"{aim.figure} nearest{target}" if aim.kind == "near" else f"{_AIMS[aim.kind]} {aim.figure}"
    conditions = " and ".join(met.text for met in result.conditions)
    return f"{words} where {conditions}" if conditions else words


def _answer(result: Solution) -> Iterator[Line]:
    if not result.found:
        lead = "no network meets the conditions" if result.proved else "no network was found that meets the conditions"
        yield Line(" ", lead, "bad")
        return
    settings = ", ".join(f"{name} = {_plain(value)}" for name, value in result.settings.items())
    shown = result.aim.value
    assert shown is not None
    unit = f" {result.aim.unit}" if result.aim.unit in _COUNTED else ""
    text = f": {_amount(shown, result.aim.unit)}{unit}" if result.aim.figure not in result.settings else " "
    yield Line(text, settings, "good")
    yield Line(" ".join(f"--set {name}={value}" for name, value in result.settings.items()))


def _proof(result: Solution) -> Iterator[Line]:
    better = {"maximize": "more", "minimize": "less", "near": "nearer"}[result.aim.kind]
    proved = f"proved where {' and '.join(result.within)}" if result.within else "proved"
    if result.found and result.proved:
        yield Line(f": no other values have {better} {result.aim.figure}, by {result.method}", proved)
    elif result.found:
        counted = f"{result.counted:,} networks" if result.counted != 1 else "one network"
        bound = result.aim.bound
        most = f"; none have {better} than {_amount(bound, result.aim.unit)}" if bound is not None else ""
        yield Line(f": the best of {counted}, by {result.method}{most}", "not proved")
    elif result.proved:
        yield Line(f", by {result.method}", proved)
    else:
        yield Line(f": none of {result.counted:,} networks, by {result.method}", "not proved")


def _figures(result: Solution) -> Table:
    """Figures of the answer with what the conditions allow."""
    columns = [Column("figure"), Column("answer", "figure"), Column("condition", "text"), Column("left", "figure")]
    rows = []
    for name, value in result.figures.items():
        if name in result.settings:
            continue
        met = [each for each in result.conditions if each.figure == name]
        unit = _unit(name, result)
        left = [each.most - value for each in met if each.most is not None]
        rows.append(
            Row(
                [
                    name,
                    _amount(value, unit),
                    "; ".join(each.text for each in met),
                    _amount(min(left), unit) if left else "",
                ]
            )
        )
    return Table(columns, rows)


def _laws(result: Solution) -> Table:
    """Sizes that laws take to be best, and the networks of the family that are nearest to them."""
    columns = [
        Column("law"),
        Column("parameters", "figure"),
        Column("tokens", "figure", priority=60),
        Column("network"),
    ]
    columns += [Column("its parameters", "figure"), Column("its tokens", "figure", priority=50)]
    rows = []
    for answer in result.laws:
        settings, tokens = answer.settings or {}, answer.tokens
        optimum = answer.optimum
        rows.append(
            Row(
                [
                    f"{optimum.law} *" if optimum.extrapolated else optimum.law,
                    short(round(optimum.params)),
                    short(round(optimum.tokens)),
                    ", ".join(f"{name} = {_plain(value)}" for name, value in settings.items()),
                    "" if answer.params is None else exact(answer.params),
                    "" if tokens is None else short(round(tokens)),
                ]
            )
        )
    starred = any(answer.optimum.extrapolated for answer in result.laws)
    notes = ["* beyond the parameters or tokens of the runs that the law was fitted to"] if starred else []
    return Table(columns, rows, notes=notes)


def _is_shown(step: Step, steps: Sequence[Step]) -> bool:
    """Return True for the steps in which the answer could become better; for an unknown without one for all."""
    own = [other for other in steps if other.name == step.name]
    further = [other for other in own if other.outcome not in ("worse", "end")]
    return step in further or not further


def _steps(result: Solution, steps: list[Step]) -> Table:
    figures = [*dict.fromkeys([result.aim.figure, *(met.figure for met in result.conditions)])]
    names = {unknown.name for unknown in result.unknowns}
    shown = [name for name in figures if name not in names]
    columns = [Column("one step further"), *(Column(name, "figure", priority=60 - i) for i, name in enumerate(shown))]
    columns.append(Column("what happens", "prose"))
    rows = []
    for step in steps:
        value = "" if step.value is None else f" = {_plain(step.value)}"
        cells = [_amount(step.figures[name], _unit(name, result)) if name in step.figures else "" for name in shown]
        rows.append(Row([f"{step.name}{value}", *cells, _outcome(step, result)]))
    return Table(columns, rows)


def _outcome(step: Step, result: Solution) -> str:
    figure = _TITLES.get(result.aim.figure, result.aim.figure)
    if step.outcome == "breaks":
        return f"breaks {' and '.join(step.broken)}"
    if step.outcome == "refused":
        return f"refused: {step.reason}"
    if step.outcome == "end":
        return f"the {'greatest' if step.forward else 'least'} value of the range"
    if step.outcome == "equal":
        return f"as good: the same {figure}"
    if step.outcome == "better":
        return f"better: not proved, as {figure} shows"
    worse = {"maximize": f"fewer {figure}", "minimize": f"more {figure}", "near": f"{figure} farther from the target"}
    return worse[result.aim.kind]


def _conflict(conflict: Conflict) -> Line:
    if not conflict.figure:
        return Line(f"the spec refuses all values: {conflict.text}")
    others = f" with {' and '.join(conflict.others)}" if conflict.others else ""
    if conflict.value is None:
        return Line(f" cannot be met{others}", conflict.text)
    at = ", ".join(f"{name} = {_plain(value)}" for name, value in conflict.settings.items())
    amount = _amount(conflict.value, conflict.unit)
    return Line(f" cannot be met{others}: nearest is {amount}, at {at}", conflict.text)


def _unit(name: str, result: Solution) -> Unit:
    units = {met.figure: met.unit for met in result.conditions}
    return units.get(name) or _NO_UNITS.get(name) or (result.aim.unit if name == result.aim.figure else "")


def _amount(value: Amount, unit: Unit) -> str:
    if unit == "seconds":
        return seconds_text(value)
    if not isinstance(value, int):
        return f"{value:g}"
    return bytes_text(value) if unit == "bytes" else exact(value)


def _plain(value: Amount) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
