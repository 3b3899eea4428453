"""Sweeps from their options to their result: chunks of points are taken as they come, and what is shown is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from netcalc.analysis.sweep_report import Columns, Objective, Refusal, Sweep, SweepPoint
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.limits import MAX_FRONT
from netcalc.ranges import RangesArgument
from netcalc.request import Request
from netcalc.sweep.evaluation import FIGURES
from netcalc.sweep.joined import Joined
from netcalc.sweep.manifest import manifest
from netcalc.sweep.objectives import Best, Front, contenders, objectives_of
from netcalc.sweep.parts import Folder, part_format
from netcalc.sweep.plan import Plan, Undefined
from netcalc.sweep.preparation import plan_of
from netcalc.sweep.recipe import Chunk, Recipe
from netcalc.sweep.running import run
from netcalc.sweep_options import SweepOptions

#: Points of a chart.
_SAMPLE = 1_500
#: Reasons of refusals that are told apart.
_REASONS = 1_000
_DIGITS = re.compile(r"\d+(?:\.\d+)?")


def sweep(request: Request, over: RangesArgument, options: SweepOptions) -> Sweep:
    """Return the figures of a request at many values of its dims and vars.

    Raises:
        NetcalcError: as :func:`~netcalc.sweep.preparation.plan_of` does; E502 for a figure that does not exist and for
            a malformed file of further figures, E004 for one that cannot be read; E502 for a cluster that cannot be
            used and parts of another sweep, before any work; E603 if workers are lost again and again.
    """
    plan = plan_of(request, over, options["random"], options["seed"])
    figures = _figures(options["figures"])
    joined = None if options["join"] is None else Joined(options["join"], plan, FIGURES)
    names = (*FIGURES, *(joined.names if joined else ()))
    pareto = objectives_of("--pareto", options["pareto"], names) if options["pareto"] else ()
    by = options["best"] or (pareto[0].words if pareto else figures[0])
    best, *others = objectives_of("--best", by, names)
    if others:
        raise NetcalcError(Diagnostic("E502", f"--best {by}: should be one figure", hint=f"--pareto {by}"))
    if len(pareto) == 1:
        message = f"--pareto {options['pareto']}: a front has several figures"
        raise NetcalcError(Diagnostic("E502", message, hint=f"--best {options['pareto']} lists the best by one"))
    asked = (objective.figure for objective in (*pareto, best))
    counted = (*figures, *dict.fromkeys(name for name in asked if name in FIGURES and name not in figures))
    recipe = Recipe.of(request, plan, counted)
    folder = _folder(request, plan, recipe, options)
    collector = Collector(plan, counted, joined, pareto, best, options["top"], options["output"])
    for chunk in run(
        recipe, plan, workers=options["workers"], on=options["on"], folder=folder, progress=options["progress"]
    ):
        collector.add(chunk)
    result = collector.result(request)
    if folder is not None:
        folder.merge(options["output"] or "", joined.columns if joined else None)
    return result


def _folder(request: Request, plan: Plan, recipe: Recipe, options: SweepOptions) -> Folder | None:
    """Return the folder of the parts of a file; None without a file."""
    if options["output"] is None:
        if options["resume"]:
            raise NetcalcError(Diagnostic("E502", "--resume: there is no file of rows", hint="-o FILE.parquet"))
        return None
    path = Path(options["output"])
    record = manifest(recipe, plan, request, part_format(path))
    return Folder.opened(path.with_name(f"{path.name}.parts"), plan, record, options["resume"])


def _figures(text: str) -> tuple[str, ...]:
    """Return the names of figures.

    Raises:
        NetcalcError: E502 for no figure, and one that a sweep cannot have.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in FIGURES:
            hint = did_you_mean(name, FIGURES) or f"figures are {', '.join(FIGURES)}"
            raise NetcalcError(Diagnostic("E502", f"--figures {text}: there is no figure {name!r}", hint=hint))
    if not names:
        hint = f"figures are {', '.join(FIGURES)}"
        raise NetcalcError(Diagnostic("E502", f"--figures {text}: no figure is named", hint=hint))
    return names


class Collector:
    """Collection of what a result has of the points of a sweep, from chunks of them in their order."""

    def __init__(
        self,
        plan: Plan,
        figures: Iterable[str],
        joined: Joined | None,
        pareto: tuple[Objective, ...],
        best: Objective,
        top: int,
        file: str | None = None,
    ) -> None:
        self._plan = plan
        self._joined = joined
        self._units = {name: FIGURES[name] for name in figures} | dict.fromkeys(joined.names if joined else (), "")
        self._pareto = pareto
        #: The front, whose points are places and figures; None if it is too large to be of use.
        self._front: Front | None = Front(len(pareto)) if pareto else None
        self._best_by = best
        self._best = Best(top)
        self._file = file
        self._rows = Columns(plan, self._units) if file is None else None
        #: Places of the points of a chart, in their order, the last first.
        self._places = _sampled(plan)
        self._sample: list[SweepPoint] = []
        self._refused = 0
        self._reasons: dict[str, list[Any]] = {}

    def add(self, chunk: Chunk) -> None:
        """Add a chunk that follows the earlier ones."""
        figures = {name: _listed(values) for name, values in chunk.figures.items()}
        figures |= self._joined.columns(chunk.columns) if self._joined else {}
        if self._rows is not None:
            self._rows.add(figures, chunk.reasons)
        self._refuse(chunk.reasons)

        def point(index: int) -> SweepPoint:
            values = {name: _known(listed[index]) for name, listed in chunk.columns.items()}
            own = {name: listed[index] for name, listed in figures.items()}
            return SweepPoint(chunk.start + index, values, own, chunk.reasons[index])

        values = figures[self._best_by.figure]
        for index in self._best.candidates(values, self._best_by):
            if self._best.takes(key := self._best_by.key(values[index])):
                self._best.add(key, point(index))
        if self._front is not None:
            self._front = self._grown(self._front, chunk.start, figures)
        while self._places and self._places[-1] < chunk.stop:
            self._sample.append(point(self._places.pop() - chunk.start))

    def _grown(self, front: Front, start: int, figures: Mapping[str, Sequence[Any]]) -> Front | None:
        """Return the front with the points of a chunk; None if it becomes too large."""
        columns = [figures[objective.figure] for objective in self._pareto]
        every = [*figures.values()]
        for index in contenders(columns, self._pareto, front):
            values = [column[index] for column in columns]
            if None in values:
                continue
            key = tuple(each.key(value) for each, value in zip(self._pareto, values, strict=True))
            if front.takes(key):
                front.add(key, (start + index, tuple(column[index] for column in every)))
                if len(front.points) > MAX_FRONT:
                    return None
        return front

    def _front_points(self) -> Iterator[SweepPoint]:
        """Yield the points of the front, whose values follow from their places."""
        for place, figures in () if self._front is None else self._front.points:
            values = {name: listed[0] for name, listed in self._plan.shown(place, place + 1).items()}
            yield SweepPoint(place, values, dict(zip(self._units, figures, strict=True)))

    def _refuse(self, reasons: Sequence[str | None]) -> None:
        if not any(reasons):
            return
        for reason in filter(None, reasons):
            self._refused += 1
            kind = _DIGITS.sub("0", reason)
            if kind in self._reasons:
                self._reasons[kind][1] += 1
            elif len(self._reasons) < _REASONS:
                self._reasons[kind] = [reason, 1]

    def result(self, request: Request) -> Sweep:
        """Return the result of all points."""
        reasons = sorted((Refusal(*found) for found in self._reasons.values()), key=lambda each: -each.points)
        document = request.source.document
        return Sweep(
            document.name or request.source.label,
            document.about,
            self._plan,
            self._units,
            len(self._plan),
            self._refused,
            tuple(reasons),
            self._best_by,
            tuple(self._best.points),
            self._pareto,
            tuple(self._front_points()),
            tuple(self._sample),
            self._rows,
            self._file,
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        if self._pareto and self._front is None:
            yield f"the front has more than {int(MAX_FRONT):,} points, and is left out"
        if self._joined is not None:
            yield f"{self._joined.matched:,} of {len(self._plan):,} points have figures of the file"


def _sampled(plan: Plan) -> list[int]:
    """Return the places of the points of a chart, spread evenly, in descending order."""
    count = len(plan)
    if count <= _SAMPLE:
        return [*range(count - 1, -1, -1)]
    # the first numbers of a permutation: a fixed step would meet the same values of a range again and again
    drawn = Plan({"place": range(count)}, _SAMPLE).columns(0, _SAMPLE)["place"]
    return sorted(drawn, reverse=True)


def _known(value: Any) -> Any:
    return None if isinstance(value, Undefined) else value


def _listed(values: Any) -> Sequence[Any]:
    return values.tolist() if hasattr(values, "tolist") else values  # type: ignore[no-any-return]
