"""Counts of work under combinations of choices, among which a reported number is looked for.

Each choice that differs from netcalc's own count at the sizes of the model is one change.  Work at other sizes comes
from formulas in the sizes; the search counts what it found again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from netcalc.analysis.backward_work import BackwardWork, backward_work
from netcalc.analysis.conventions import CONVENTIONS, Convention
from netcalc.analysis.cost import Analysis
from netcalc.analysis.rows import Row
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Dim, integer
from netcalc.dims.source import source
from netcalc.ir import OpNode, Program
from netcalc.planning.reported_counts import EMBEDDINGS, FACTOR, POSITIONS, Counted, exclusion_of, head_of
from netcalc.planning.reported_sizes import (
    BATCHES,
    Sizes,
    changed_request,
    free_batch,
    free_dims,
    image_sizes,
    lengths,
    size_choices,
)
from netcalc.request import Request

#: Words of the choices: parts left out or counted too, multiply-adds, passes.
_PARTS = {
    "no head": "without the head",
    "no embeddings": "without embeddings",
    "head": "with the head",
    "embeddings": "with embeddings as matrix products",
}
_UNITS = {"half": "half of its FLOPs", "double": "2 FLOPs for each MAC", "macs": "multiply-adds alone"}
_PASSES = {
    "both": "with the backward pass",
    "alone": "the backward pass alone",
    "twice": "twice, for a backward pass alone",
    "3 times": "3 times, for a backward pass of twice the forward pass",
    "4 times": "4 times, for a backward pass with the forward pass computed again",
}
_TIMES = {"twice": 2, "3 times": 3, "4 times": 4}
_NETCALC = "netcalc"


class _Plan(NamedTuple):
    """Choices of a count of work, with their words."""

    convention: Convention
    order: int
    unit: str = ""
    part: str = ""
    causal_half: bool = False
    passes: str = ""
    first: tuple[str, ...] = ()
    """Words before those of sizes."""
    then: tuple[str, ...] = ()
    others: int = 0
    arithmetic: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    excluded: bool = False

    @property
    def changes(self) -> int:
        """Number of choices."""
        return len(self.first) + len(self.then)


class _Figures(NamedTuple):
    """Work of a network and of its parts: FLOPs under a convention, and multiply-adds.

    ``both`` is the work of the forward and the backward pass, 0 where the convention counts none.  ``more_head`` and
    ``more_tables`` are multiply-adds of the last linear layer, and of embeddings if they were matrix products.
    """

    flops: Dim
    macs: Dim
    head: Dim
    head_macs: Dim
    tables: Dim
    tables_macs: Dim
    causal: Dim
    both: Dim
    both_macs: Dim
    more_head: Dim
    more_tables: Dim

    def twice(self) -> _Figures:
        """Return twice the work."""
        return _Figures(*(2 * value for value in self))

    def value(self, plan: _Plan) -> int:
        """Return the work under the choices, times the factor."""
        per_mac, macs = plan.convention.per_mac, plan.unit == "macs"
        both, forward = (self.both_macs, self.macs) if macs else (self.both, self.flops)
        if plan.passes in ("both", "alone"):
            work = FACTOR * (both - (forward if plan.passes == "alone" else 0))
        else:
            work = FACTOR * (forward + self._of_part(plan)) * _TIMES.get(plan.passes, 1)
        if plan.causal_half:
            work -= FACTOR // 2 * self.causal * (1 if macs else per_mac) * _TIMES.get(plan.passes, 1)
        return integer({"half": work // 2, "double": work * 2}.get(plan.unit, work))

    def printed(self, plan: _Plan) -> int:
        """Return the figure that the command of a plan prints."""
        both, forward = (self.both_macs, self.macs) if plan.unit == "macs" else (self.both, self.flops)
        if plan.passes in ("both", "alone"):
            return integer(both)
        return integer(forward + (self._of_part(plan) if plan.excluded else 0))

    def _of_part(self, plan: _Plan) -> Dim:
        """Return what a part adds to the forward pass."""
        macs, per_mac = plan.unit == "macs", plan.convention.per_mac
        return {
            "": 0,
            "no head": -(self.head_macs if macs else self.head),
            "no embeddings": -(self.tables_macs if macs else self.tables),
            "head": self.more_head * per_mac,
            "embeddings": self.more_tables * per_mac,
        }[plan.part]


class _Counter:
    """Work of a program under conventions."""

    def __init__(self, program: Program, conventions: Mapping[str, Convention]) -> None:
        self._program = program
        self._backward: BackwardWork | None = None
        self._of_backward = True
        plain = Analysis(program, CONVENTIONS[_NETCALC])
        rows = [*plain.leaves()]
        self.head = head_of(rows)
        self.tables = [row for row in rows if row.op in EMBEDDINGS or row.op in POSITIONS]
        self._more_head: Dim = 0 if self.head is None else self.head.total.macs
        self._more_tables = sum((_product(row) for row in rows if row.op in EMBEDDINGS), 0)
        self._special = {row.path for row in self.tables} | ({self.head.path} if self.head is not None else set())
        self._causal = {row.path for row in rows if _is_causal(row)}
        self.figures: dict[str, _Figures] = {}
        for convention in conventions.values():
            if convention.counts_as:
                continue
            try:
                self.figures[convention.name] = self._figures(convention)
            except NetcalcError:  # formulas for other networks
                continue

    def _figures(self, convention: Convention) -> _Figures:
        analysis = Analysis(self._program, convention)
        total = analysis.total
        head: Dim = 0
        head_macs: Dim = 0
        tables: Dim = 0
        tables_macs: Dim = 0
        causal: Dim = 0
        for row in analysis.leaves() if self._special or self._causal else ():
            if self.head is not None and row.path == self.head.path:
                head, head_macs = row.total.flops, row.total.macs
            elif row.path in self._special:
                tables, tables_macs = tables + row.total.flops, tables_macs + row.total.macs
            elif row.path in self._causal:
                causal += row.total.macs
        both, both_macs = self._both(convention)
        more_tables = self._more_tables if tables == 0 else 0
        more_head = self._more_head if head == 0 else 0
        parts = head, head_macs, tables, tables_macs, causal
        return _Figures(total.flops, total.macs, *parts, both, both_macs, more_head, more_tables)

    def _both(self, convention: Convention) -> tuple[Dim, Dim]:
        """Return the work of both passes; zeros where the convention counts no backward pass."""
        if convention.backward is None or not self._of_backward:
            return 0, 0
        try:
            if self._backward is None:
                self._backward = backward_work(self._program)
            total = Analysis(self._backward.program, convention, self._backward).total
            return total.flops_total, total.macs_total
        except NetcalcError:  # a program without gradients, or sizes that are not known
            self._of_backward = self._backward is not None
            return 0, 0


def _product(row: Row) -> Dim:
    """Return the multiply-adds of a look-up that is computed as a product with the table."""
    node = row.node
    assert isinstance(node, OpNode) and node.input_types[0] is not None
    return node.input_types[0].elements * node.params[0].elements * row.repeat


def _is_causal(row: Row) -> bool:
    return row.op == "scaled_dot_product_attention" and bool(getattr(row.node and row.node.op, "causal", False))  # type: ignore[union-attr]


def work_candidates(request: Request, conventions: Mapping[str, Convention], unit: str, most: int) -> Iterator[Counted]:
    """Yield counts of work with at most so many changes; ``unit`` is the unit that the number has, if any."""
    plain = _Counter(request.program, conventions)
    plans = {
        name: [*_plans(conventions[name], place, figures, plain, unit)]
        for place, (name, figures) in enumerate((n, plain.figures[n]) for n in conventions if n in plain.figures)
    }
    count = partial(_emitted, request, plans, most)
    sized = _functions(request, conventions)
    if sized is None:
        yield from count(plain.figures, Sizes())
        yield from _at_batches(request, conventions, plain.figures, count)
    else:
        for sizes in size_choices(request):
            yield from count(sized(dict(sizes.settings)) if sizes.choices else plain.figures, sizes)
    others = [*image_sizes(request)] if sized is not None else [*image_sizes(request), *lengths(request)]
    for sizes_of_one in others:
        changed = changed_request(request, sizes_of_one)
        if changed is not None:
            figures = _Counter(changed.program, conventions).figures
            yield from count(figures, Sizes.of(sizes_of_one))
            batch = free_batch(request) or 0
            for n in BATCHES if batch else ():  # in proportion, until it is counted again
                if n != batch:
                    yield from count(figures, Sizes.of(sizes_of_one, {"batch": n}), n, batch)


def _at_batches(
    request: Request, conventions: Mapping[str, Convention], figures: Mapping[str, _Figures], count: Any
) -> Iterator[Counted]:
    """Yield counts at other batches, from those at a batch and at twice as much."""
    batch = free_batch(request)
    doubled = None if batch is None else changed_request(request, {"batch": 2 * batch})
    if batch is None or doubled is None:
        return
    twice = _Counter(doubled.program, conventions).figures
    for n in BATCHES:
        if n != batch:
            at = {
                name: _Figures(*(a + (n - batch) * (b - a) // batch for a, b in zip(one, twice[name], strict=True)))
                for name, one in figures.items()
                if name in twice
            }
            yield from count(at, Sizes.of({"batch": n}))


def _functions(
    request: Request, conventions: Mapping[str, Convention]
) -> Callable[[Mapping[str, int]], dict[str, _Figures]] | None:
    """Return a function from sizes to the work under conventions, None for a network without formulas in its sizes.

    Sizes that it is not given are those of the model; images stay as they are.
    """
    past = request.program.caches.past
    names = [name for name in free_dims(request) if name not in ("height", "width")]
    first = _function(request, conventions, [name for name in names if name != past])
    if first is None or past not in names:
        return first
    # a step after others may be another network, without an encoder
    decoding = _function(request, conventions, names) or (lambda sizes: {})
    return lambda sizes: (decoding if sizes.get(past) else first)(sizes)


def _function(
    request: Request, conventions: Mapping[str, Convention], names: Sequence[str]
) -> Callable[[Mapping[str, int]], dict[str, _Figures]] | None:
    """Return a function from the sizes of some dims to the work, None for a network without formulas in them."""
    own = free_dims(request)
    try:
        counted = _Counter(request.with_symbols(names).program, conventions).figures if names else {}
        texts = [f"({', '.join(source(value) for value in figures)})" for figures in counted.values()]
        function = eval(f"lambda {', '.join(names)}: ({''.join(text + ', ' for text in texts)})", {})
        function(*(own[name] for name in names))
    except (NetcalcError, ValueError, SyntaxError, NameError, ArithmeticError):
        return None

    def at(sizes: Mapping[str, int]) -> dict[str, _Figures]:
        try:
            values = function(*(sizes.get(name, own[name]) for name in names))
        except ArithmeticError:  # no network of these sizes
            return {}
        return {name: _Figures(*numbers) for name, numbers in zip(counted, values, strict=True)}

    return at if names else None


def _emitted(
    request: Request,
    plans: Mapping[str, Sequence[_Plan]],
    most: int,
    figures: Mapping[str, _Figures],
    sizes: Sizes,
    times: int = 1,
    batch: int = 1,
) -> Iterator[Counted]:
    """Yield the counts of all plans with at most so many changes; figures count ``times`` over ``batch``."""
    words, settings, rank, changes = sizes.words, sizes.settings, sizes.rank, len(sizes.choices)
    for name, own in plans.items():
        counted = figures.get(name)
        for plan in own if counted is not None else ():
            if plan.changes + changes > most:
                continue
            assert counted is not None
            yield Counted(
                counted.value(plan) * times // batch,
                plan.changes + changes,
                (plan.others, *rank, plan.order),
                (*plan.first, *words, *plan.then),
                settings,
                plan.convention.name,
                "flops",
                counted.printed(plan) * times // batch,
                plan.arithmetic,
                plan.options,
                partial(_again, request, plan, settings) if settings else None,
            )


def _again(request: Request, plan: _Plan, settings: tuple[tuple[str, int], ...]) -> int | None:
    """Return the value of a plan, counted at its sizes; None if the network has none there."""
    sized = changed_request(request, dict(settings))
    if sized is None:
        return None
    figures = _Counter(sized.program, {plan.convention.name: plan.convention}).figures.get(plan.convention.name)
    return None if figures is None else figures.value(plan)


def _plans(convention: Convention, order: int, figures: _Figures, counter: _Counter, unit: str) -> Iterator[_Plan]:
    """Yield the choices under a convention beside sizes, those that give the same once."""
    units = ["", "double"] if convention.per_mac == 1 else ["", "half"]
    if convention.name == _NETCALC:
        units.append("macs")
    parts = [""]
    parts += ["no head"] if figures.head or figures.head_macs else ["head"] if figures.more_head else []
    parts += ["no embeddings"] if figures.tables else ["embeddings"] if figures.more_tables else []
    passes = ["", *(("both", "alone") if figures.both else ())]
    passes += [name for name, times in _TIMES.items() if _is_other(figures, times)]
    for one in units:
        for part in parts if one != "macs" or "head" not in parts else [""]:
            for half in (False, True) if figures.causal else (False,):
                for run in passes:
                    if (run not in ("both", "alone") or not (part or half)) and _is_named_once(convention, one, run):
                        yield _told(_Plan(convention, order, one, part, half, run), counter, unit)


def _is_other(figures: _Figures, times: int) -> bool:
    """Return True for a multiple of the forward pass that the convention's own backward pass is not."""
    return not figures.both or times * figures.flops not in (figures.both, figures.both - figures.flops)


def _is_named_once(convention: Convention, unit: str, passes: str) -> bool:
    """Return False for a product of the unit and the passes that another pair of them gives, too."""
    if passes == "twice":
        return not unit and convention.per_mac != 1
    return passes != "4 times" or unit in ("", "double")


def _told(plan: _Plan, counter: _Counter, unit: str) -> _Plan:
    """Return a plan with the words for its choices, and the command that prints its figure."""
    convention = plan.convention
    then = [_UNITS[plan.unit]] if plan.unit else [*_misnamed(convention, plan, unit)]
    options: tuple[str, ...] = ()
    if plan.part == "no head" and counter.head is not None:
        options = exclusion_of([counter.head])
    elif plan.part == "no embeddings":
        options = exclusion_of(counter.tables)
    part = [_PARTS[plan.part]] if plan.part else []
    causal = ["half of causal attention"] if plan.causal_half else []
    passes = [_PASSES[plan.passes]] if plan.passes else []
    others = [*part, *causal, *passes]
    arithmetic = [*([] if options else part), *causal]
    arithmetic += [_UNITS[plan.unit]] if plan.unit in ("half", "double") else []
    if plan.passes in ("both", "alone"):
        options = ("--backward",)
    arithmetic += passes if plan.passes != "both" else []
    return plan._replace(
        first=() if convention.name == _NETCALC else (f"convention {convention.name}",),
        then=(*then, *others),
        others=len(others),
        arithmetic=tuple(arithmetic),
        options=options,
        excluded="--exclude" in options,
    )


def _misnamed(convention: Convention, plan: _Plan, unit: str) -> Iterator[str]:
    """Yield words for a figure that is reported in the other unit than the convention has."""
    own = "MAC" if convention.per_mac == 1 or plan.unit in ("half", "macs") else "FLOP"
    if unit and own != unit:
        yield f"{own}s called {unit}s"
