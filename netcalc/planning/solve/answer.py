"""The answer of ``netcalc solve``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from netcalc.analysis.laws import Optimum, compute_optimal, laws_named
from netcalc.analysis.solution import Aimed, Amount, Conflict, LawAnswer, Met, Solution, Step, Unknown
from netcalc.arguments import texts
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.planning.phases import phase_of
from netcalc.planning.solve.axes import Axis, axes_of, multiples_of
from netcalc.planning.solve.conditions import FIGURES, Aim, Condition, Number, aim_of, conditions_of
from netcalc.planning.solve.points import COSTS, Counts, Points, cost_in
from netcalc.planning.solve.search import Outcome, UnboundedError, remaining, search
from netcalc.planning.solve.space import Space, formulas_of, with_requirements
from netcalc.request import Request
from netcalc.solve_options import SolveOptions

#: Networks that are all counted, if there are no more, where a figure has no closed form.
_ALL = 256
#: Values that are gone further in an unknown, where the spec refuses the next ones.
_FURTHER = 64
#: Doublings of an unknown without a greatest value, where a figure has no closed form.
_DOUBLINGS = 14
#: Figures that every answer has.
_SHOWN = ("params", "macs", "flops")


def solution_of(request: Request, options: SolveOptions, counts: Counts) -> Solution:
    """Return the sizes that meet the conditions of complete options and are best.

    Args:
        request: the source and its settings.
        options: the options of ``solve``, each with a value.
        counts: function that counts the work of a request.

    Raises:
        NetcalcError: as :meth:`netcalc.Network.solve` does.
    """
    return _Question(request, options, counts).answer()


class _Question:
    def __init__(self, request: Request, options: SolveOptions, counts: Counts) -> None:
        self._request = request
        self._options = options
        names = (*request.source.document.dims, *request.source.document.vars)
        conditions = conditions_of(texts(options["under"]), names)
        self._laws = _laws(options)
        axes = axes_of(request, options["unknowns"], multiples_of(options["multiple_of"]))
        if self._laws:
            given = [name for name in ("maximize", "minimize", "near") if options[name] is not None]
            if given:
                message = f"--{given[0]} with --law: the size of the law is what is come near to"
                raise NetcalcError(Diagnostic("E502", message))
            self._aim = _aim_at(self._laws[0])
        else:
            self._aim = aim_of(options["maximize"], options["minimize"], options["near"], conditions, names)
        self._conditions = conditions
        self._phase = phase_of(options["phase"], options["training"])
        of_laws = [optimum.figure for optimum in self._laws]
        figures = [*dict.fromkeys([*(c.figure for c in conditions), self._aim.figure, *of_laws])]
        self._check(figures)
        request = request.counted(options["training"])
        self._figures = [*dict.fromkeys([*figures, *_SHOWN])]
        self._analysis = counts(request)
        for name in {*figures} & {*COSTS}:
            cost_in(self._analysis, name)  # for its errors
        self._axes = with_requirements(request, axes)
        points = Points(request, [axis.name for axis in axes], self._figures, options, counts)
        self._space = self._made_space(request, points, counts, figures)

    def _check(self, figures: Sequence[str]) -> None:
        """Raise NetcalcError (E502) for figures that the options do not give."""
        if "time" in figures and self._options["device"] is None:
            message = "a time is one on a device"
            raise NetcalcError(Diagnostic("E502", message, hint="--device h100, rtx-4090, m4-max, or a YAML file"))
        missing = [name for name in ("cache", "activations") if name in figures]
        if missing and self._phase == "training":
            message = f"{missing[0]} of a step of training: it has no such figure alone"
            raise NetcalcError(Diagnostic("E502", message, hint="memory is that of the whole step"))
        symbol = next((name for name in self._request.symbolic), None)
        if symbol is not None:
            raise NetcalcError(Diagnostic("E404", f"solve: {symbol} is a symbol", hint=f"--set {symbol}=NUMBER"))

    def _made_space(self, request: Request, points: Points, counts: Counts, figures: Sequence[str]) -> Space:
        try:
            formulas, without = formulas_of(request, self._axes, self._figures, counts, self._phase), ""
        except NetcalcError as error:
            formulas, without = None, error.diagnostics[0].message
        space = Space(self._axes, formulas, points, without)
        space.restrict()
        self._needed = figures
        return space

    # -- search -------------------------------------------------------------------------------------

    def answer(self) -> Solution:
        """Return the answer."""
        outcome = self._searched(self._conditions, self._aim)
        if outcome.places is not None and not self._is_right(outcome.places):
            self._space.formulas = None
            self._space.without = "the formulas do not hold at the answer"
            outcome = self._searched(self._conditions, self._aim)
        elif outcome.places is None and self._space.is_narrowed:
            without = "the conditions are not met where the formulas hold"
            self._space = Space(self._axes, None, self._space.points, without)
            outcome = self._searched(self._conditions, self._aim)
        assumed = self._space.assumed
        conflicts = tuple(self._conflicts()) if outcome.places is None and outcome.is_complete else ()
        laws = tuple(self._law_answers(outcome)) if self._laws else ()
        self._space.assumed = assumed  # by the search for the answer
        return self._solution(outcome, conflicts, laws)

    def _searched(self, conditions: Sequence[Condition], aim: Aim | None) -> Outcome:
        space = self._space
        figures = [*(condition.figure for condition in conditions), *([aim.figure] if aim else [])]
        unproved = {figure for figure in figures if not space.is_closed(figure)}
        space.assumed = set()
        if space.formulas is not None and space.has_open and remaining(space, conditions, aim) > _ALL:
            space.narrow()
        if unproved and remaining(space, conditions, aim) > _ALL:
            space.assumed = unproved
        try:
            return search(space, conditions, aim)
        except UnboundedError as error:
            if unproved and self._is_cut(error.names, conditions):
                return self._searched(conditions, aim)
            names = ", ".join(error.names)
            verb = "has" if len(error.names) == 1 else "have"
            message = f"--for {names}: {verb} no greatest value, and nothing limits what is sought"
            if space.formulas is None:
                message += f"; there is no closed form: {space.without}"
            hint = f"--for {error.names[0]}=1:64, or a condition with --under"
            raise NetcalcError(Diagnostic("E502", message, hint=hint)) from None

    def _is_cut(self, names: Sequence[str], conditions: Sequence[Condition]) -> bool:
        """Cut unknowns without a greatest value where a figure exceeds a limit; return False if none does.

        Networks are counted, and the figure is taken to grow.
        """
        space = self._space
        if not any(limit.most for condition in conditions for limit in condition.limits):
            return False
        for name in names:
            index = next(index for index, axis in enumerate(space.axes) if axis.name == name)
            for power in range(_DOUBLINGS):
                places = [0] * len(space.axes)
                places[index] = (1 << power) - 1
                point = space.points.at(space.values(places))
                broken = [
                    limit
                    for condition in conditions
                    for limit in condition.limits
                    if not point.refused and limit.most and not limit.holds(point.figures[limit.figure])
                ]
                if broken:
                    axis = space.axes[index]
                    cut = axis._replace(values=axis.values[: places[index] + 1])
                    space.axes = (*space.axes[:index], cut, *space.axes[index + 1 :])
                    space.cut[name] = broken[0].figure
                    break
            else:
                return False
        return True

    def _is_right(self, places: Sequence[int]) -> bool:
        """Return True if the network at the answer, counted by itself, has the figures of the formulas."""
        counted = self._space.points.at(self._space.values(places))
        formulas = self._space.formulas
        if formulas is None:
            return True
        values = self._space.values(places)
        closed = {name: form.at(values) for name, form in formulas.figures.items()}
        return not counted.refused and all(counted.figures[name] == value for name, value in closed.items())

    # -- what excludes everything -------------------------------------------------------------------

    def _conflicts(self) -> Iterator[Conflict]:
        """Yield the conditions of which no one can be left out, if nothing is to meet them all."""
        if self._space.assumed:
            self._is_cut([axis.name for axis in self._space.axes if axis.is_endless], self._conditions)
        if self._is_impossible(()):
            first = self._space.points.at(self._space.values(low for low, _ in self._space.whole))
            yield Conflict(first.refused or self._space.without, (), "", "", None, {})
            return
        kept = list(self._conditions)
        for condition in self._conditions:
            fewer = [other for other in kept if other is not condition]
            if self._is_impossible(fewer):
                kept = fewer
        for condition in kept:
            others = [other for other in kept if other is not condition]
            limit = condition.limits[0]
            nearest = Aim("minimize" if limit.most else "maximize", condition.figure)
            if len(condition.limits) > 1:
                nearest = Aim("near", condition.figure, (condition.limits[0].number + condition.limits[1].number) / 2)
            value, settings = None, {}
            try:
                outcome = self._searched(others, nearest)
            except NetcalcError:
                outcome = Outcome(None, 0, False, 0)
            if outcome.places is not None:
                settings = self._settings(outcome.places)
                value = self._space.exact(outcome.places, [condition.figure]).figures[condition.figure]
            unit = FIGURES.get(condition.figure, "")
            names = tuple(other.text for other in others)
            yield Conflict(condition.text, names, condition.figure, unit, _plain(value), settings)

    def _is_impossible(self, conditions: Sequence[Condition]) -> bool:
        """Return True if no sizes meet some conditions."""
        try:
            outcome = self._searched(conditions, None)
        except NetcalcError:  # of values without an end
            return False
        return outcome.places is None and outcome.is_complete

    # -- steps --------------------------------------------------------------------------------------

    def _steps(self, places: Sequence[int]) -> Iterator[Step]:
        """Yield the next networks in each unknown."""
        score = self._aim.score(self._space.points.at(self._space.values(places)).figures[self._aim.figure])
        for index, axis in enumerate(self._axes):
            for forward in (True, False):
                yield self._step(places, index, axis, forward=forward, score=score)

    def _step(self, places: Sequence[int], index: int, axis: Axis, *, forward: bool, score: Number) -> Step:
        first: Step | None = None
        for distance in range(1, _FURTHER + 1):
            place = places[index] + (distance if forward else -distance)
            if not 0 <= place < len(axis.values):
                return first or Step(axis.name, None, forward, "end", (), "", {})
            values = self._space.values((*places[:index], place, *places[index + 1 :]))
            point = self._space.points.at(values)
            value = axis.values[place]
            if point.refused:
                first = first or Step(axis.name, value, forward, "refused", (), point.refused, {})
                continue
            figures = {name: _plain(number) for name, number in point.figures.items()}
            broken = tuple(c.text for c in self._conditions if not c.holds(point.figures[c.figure]))
            own = self._aim.score(point.figures[self._aim.figure])
            outcome = "worse" if own < score else "equal" if own == score else "better"
            return Step(axis.name, value, forward, "breaks" if broken else outcome, broken, "", figures)  # type: ignore[arg-type]
        assert first is not None
        return first

    # -- report -------------------------------------------------------------------------------------

    def _settings(self, places: Sequence[int]) -> dict[str, Amount]:
        return dict(zip((axis.name for axis in self._axes), self._space.values(places), strict=True))

    def _solution(self, outcome: Outcome, conflicts: tuple[Conflict, ...], laws: tuple[LawAnswer, ...]) -> Solution:
        places, space = outcome.places, self._space
        settings = {} if places is None else self._settings(places)
        figures = {} if places is None else space.points.at(space.values(places)).figures
        unknowns = tuple(
            Unknown(
                axis.name,
                settings.get(axis.name),
                axis.own,
                axis.values[0],
                None if axis.is_endless else axis.values[-1],
                axis.multiple,
                axis.reason,
            )
            for axis in self._axes
        )
        steps = () if places is None else tuple(self._steps(places))
        is_best = all(step.outcome != "better" for step in steps)
        proved = outcome.is_complete and not space.assumed and not space.cut and is_best
        program = self._analysis.program
        return Solution(
            program.name,
            program.about,
            self._analysis.convention.name,
            unknowns,
            self._aimed(outcome, figures.get(self._aim.figure), proved=proved),
            tuple(self._met(condition, figures.get(condition.figure)) for condition in self._conditions),
            proved,
            tuple(self._space.restricted),
            self._method(),
            space.points.counted,
            {name: _plain(value) for name, value in figures.items()},
            steps,
            conflicts,
            laws,
            tuple(self._notes(outcome)),
        )

    def _aimed(self, outcome: Outcome, value: Number | None, *, proved: bool) -> Aimed:
        aim, bound = self._aim, None
        if not outcome.is_complete and not self._space.assumed and outcome.bound not in (float("inf"), float("-inf")):
            bound = outcome.bound if aim.kind == "maximize" else -outcome.bound
        if proved and aim.kind != "near":
            bound = value
        unit = FIGURES.get(aim.figure, "")
        return Aimed(cast("Any", aim.kind), aim.figure, unit, _plain(aim.target), _plain(value), _plain(bound))

    def _met(self, condition: Condition, value: Number | None) -> Met:
        least = next((limit.number for limit in condition.limits if not limit.most), None)
        most = next((limit.number for limit in condition.limits if limit.most), None)
        unit = FIGURES.get(condition.figure, "")
        return Met(condition.text, condition.figure, unit, _plain(least), _plain(most), _plain(value))

    def _method(self) -> str:
        space = self._space
        if all(space.is_closed(figure) for figure in self._needed):
            monotone = all(space.formulas.figures[figure].is_monotone for figure in self._needed)  # type: ignore[union-attr]
            return "closed forms that grow or fall with each unknown" if monotone else "closed forms"
        growing = sorted(space.assumed | {*space.cut.values()})
        if not growing:
            return "counting networks one by one"
        return f"counting networks one by one, {' and '.join(growing)} taken to grow with each unknown"

    def _notes(self, outcome: Outcome) -> Iterator[str]:
        for axis in self._axes:
            if axis.reason and axis.reason != "--multiple-of":
                yield f"{axis.name} is a multiple of {axis.multiple}: {axis.reason}"
        for claim, reason in self._space.restricted.items():
            yield f"unless {claim}, {reason}"
        if self._space.without:
            yield f"there is no closed form: {self._space.without}"
        if not outcome.is_complete:
            yield "the search ended at its limit"

    # -- laws ---------------------------------------------------------------------------------------

    def _law_answers(self, first: Outcome) -> Iterator[LawAnswer]:
        for number, optimum in enumerate(self._laws):
            aim = _aim_at(optimum)
            outcome = first if number == 0 else self._searched(self._conditions, aim)
            if outcome.places is None:
                yield LawAnswer(optimum, None, None, None)
                continue
            params = int(self._space.exact(outcome.places, [aim.figure]).figures[aim.figure])
            yield LawAnswer(optimum, self._settings(outcome.places), params, optimum.flops / (6 * params))


def _laws(options: SolveOptions) -> Any:
    """Return what the laws of options take to be best; none without a law.

    Raises:
        NetcalcError: E502 for a budget without a law, and a law without a budget.
    """
    names = texts(options["law"])
    given = {"flops": options["compute"], "tokens": options["tokens"]}
    asked = [(name, value) for name, value in given.items() if value is not None]
    if not names:
        if asked:
            raise NetcalcError(
                Diagnostic("E502", "--compute and --tokens are the budget of a law", hint="--law chinchilla")
            )
        return ()
    if len(asked) != 1:
        message = "--law: the budget is --compute FLOPS or --tokens N"
        raise NetcalcError(Diagnostic("E502", message, hint="for example --law chinchilla --compute 5.76e23"))
    return compute_optimal(laws_named(names), *asked[0]).laws


def _aim_at(optimum: Optimum) -> Aim:
    """Return the aim to come near to the size of a law, by the parameters that it counts."""
    return Aim("near", optimum.figure, round(optimum.params))


def _plain(value: Any) -> Any:
    """Return an amount without fractions: a whole number, or a real one."""
    if value is None or isinstance(value, (int, float)):
        return value
    return int(value) if value.denominator == 1 else float(value)
