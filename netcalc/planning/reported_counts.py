"""Counts of a network under combinations of choices, among which a reported number is looked for.

Each choice that differs from netcalc's own count at the sizes of the model is one change.  A batch that is larger is
derived from two counts; the search counts what it found again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from netcalc.analysis.conventions import CONVENTIONS, Convention
from netcalc.analysis.cost import Analysis
from netcalc.analysis.own_figures import own_figures
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.ir import OpNode
from netcalc.request import Request

#: Values are stored times this factor, so that halves of halves are whole numbers.
FACTOR = 4
#: Sizes that are searched.
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
_RESOLUTIONS = (160, 192, 224, 256, 288, 299, 320, 384, 448, 512)
LENGTHS = (1, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
#: Operations that look up vectors, and those that give vectors of positions.
_EMBEDDINGS = ("embedding", "embedding_bag")
_POSITIONS = ("learned_positions", "relative_position_bias", "t5_position_bias")
#: Words and order of the choices: what is left out, how a multiply-add counts, the passes.
_WITHOUT = {"head": "without the head", "embeddings": "without embeddings"}
_UNITS = {"half": "half of its FLOPs", "double": "2 FLOPs for each MAC", "macs": "multiply-adds alone"}


class Plan(NamedTuple):
    """Choices of a count of work."""

    convention: str = "netcalc"
    unit: str = ""
    without: str = ""
    causal_half: bool = False
    passes: int = 1


class Counted(NamedTuple):
    """A value with the choices that give it; ``scaled`` is the value times :data:`FACTOR`."""

    scaled: int
    changes: int
    rank: tuple[int, ...]
    choices: tuple[str, ...]
    settings: tuple[tuple[str, int], ...]
    convention: str
    verb: str
    base: int
    arithmetic: tuple[str, ...]
    plan: Plan | None = None
    options: tuple[str, ...] = ()
    """Further words of the command."""


class _Figures(NamedTuple):
    """Work of a network and of its parts: FLOPs under a convention, and multiply-adds."""

    flops: int
    macs: int
    head: tuple[int, int]
    embeddings: tuple[int, int]
    causal: int

    def twice(self) -> _Figures:
        """Return twice the work."""
        (head, head_macs), (embeddings, embedded) = self.head, self.embeddings
        parts = (2 * head, 2 * head_macs), (2 * embeddings, 2 * embedded)
        return _Figures(2 * self.flops, 2 * self.macs, *parts, 2 * self.causal)

    def value(self, plan: Plan, per_mac: int) -> int:
        """Return the work under the choices, times the factor."""
        flops, macs = {"head": self.head, "embeddings": self.embeddings}.get(plan.without, (0, 0))
        half = self.causal if plan.causal_half else 0
        if plan.unit == "macs":
            work = FACTOR * (self.macs - macs) - FACTOR // 2 * half
        else:
            work = FACTOR * (self.flops - flops) - FACTOR // 2 * half * per_mac
        return {"half": work // 2, "double": work * 2}.get(plan.unit, work) * plan.passes


def work_candidates(request: Request, unit: str, most: int) -> Iterator[Counted]:
    """Yield counts of work with at most so many changes; ``unit`` is the unit that the number has, if any."""
    batch = dict(request.program.dims).get("batch") if "batch" not in request.settings else None
    twice = changed_request(request, {"batch": 2 * batch}) if isinstance(batch, int) else None
    for sizes in ({}, *other_sizes(request)):
        sized = changed_request(request, sizes)
        for convention in CONVENTIONS.values() if sized is not None else ():
            assert sized is not None
            if convention.counts_as:
                continue
            figures = _figures(sized, convention)
            if figures is None:
                continue
            # at other sizes work is taken to be proportional to the batch, until it is counted again
            doubled = figures.twice() if sizes or twice is None else _figures(twice, convention) or figures.twice()
            for plan in _plans(convention, figures):
                counted = _counted(figures, convention, plan, sizes, unit)
                if counted.changes <= most:
                    yield counted
                if twice is not None and isinstance(batch, int) and counted.changes < most:
                    yield from _batches(counted, _counted(doubled, convention, plan, sizes, unit), batch)


def _batches(counted: Counted, doubled: Counted, batch: int) -> Iterator[Counted]:
    """Yield a count at other batches, from those at a batch and at twice as much."""
    for n in BATCHES:
        if n != batch:
            more = n - batch
            yield counted._replace(
                scaled=counted.scaled + more * (doubled.scaled - counted.scaled) // batch,
                base=counted.base + more * (doubled.base - counted.base) // batch,
                changes=counted.changes + 1,
                rank=(counted.rank[0], 1, *counted.rank[2:]),
                choices=(*counted.choices, f"batch={n}"),
                settings=(*counted.settings, ("batch", n)),
            )


def recounted(request: Request, counted: Counted) -> int | None:
    """Return the value of a candidate, counted at its sizes; None if the network has none there."""
    if counted.plan is None:
        return counted.scaled
    sized = changed_request(request, dict(counted.settings))
    convention = CONVENTIONS[counted.convention]
    figures = None if sized is None else _figures(sized, convention)
    return None if figures is None else figures.value(counted.plan, convention.per_mac)


def param_candidates(request: Request, most: int) -> Iterator[Counted]:
    """Yield counts of parameters with at most so many changes; conventions with the same count are one."""
    whole = [*_param_parts(request)]
    total = sum(own for _, own, _, _ in whole)
    for words, value in _of_parts(whole):
        if len(words) <= most:
            yield Counted(FACTOR * value, len(words), (len(words), 0), words, (), "netcalc", "params", total, words)
    by_value: dict[tuple[int, str], list[str]] = {}
    for convention in CONVENTIONS.values():
        try:
            figures = own_figures(Analysis(request.program, convention), "params")
        except NetcalcError:  # a formula for other networks
            continue
        for figure in figures:
            if figure.unit != "parameters":
                continue
            value, title = integer(figure.value), figure.title if convention.name == "netcalc" else ""
            if value != total and value:
                by_value.setdefault((value, title), []).append(convention.name)
    for place, ((value, title), names) in enumerate(by_value.items(), 1):
        words = (title or f"parameters as {_and(names)} count{'s' if len(names) == 1 else ''} them",)
        if most >= 1:
            yield Counted(FACTOR * value, 1, (1, place), words, (), names[0], "params", value, ())


def _param_parts(request: Request) -> Iterator[tuple[str, int, int, int]]:
    """Yield the kind of each layer, its parameters, those that are tied to others, and its buffers."""
    analysis = Analysis(request.program, CONVENTIONS["netcalc"])
    rows = [*analysis.leaves()]
    head = _head(rows)
    for row in rows:
        assert isinstance(row.node, OpNode)
        op = row.node.op.name
        kind = "head" if row is head else "embeddings" if op in _EMBEDDINGS else "positions" if op in _POSITIONS else ""
        tied = sum(integer(p.elements) for p in row.node.params if p.name in row.node.ties and not p.is_buffer)
        own, buffers = integer(row.cost.params) * row.repeat, integer(row.cost.buffers) * row.repeat
        yield kind, own, tied * row.repeat, buffers


def _of_parts(parts: Sequence[tuple[str, int, int, int]]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield sums of parameters, with words for what is counted otherwise."""
    drops = ((), ("embeddings",), ("positions",), ("head",), ("embeddings", "positions"), ("embeddings", "head"))
    for drop in drops:
        if drop and not all(any(kind == name and own + tied for kind, own, tied, _ in parts) for name in drop):
            continue
        words = tuple(f"without the {name}" if name == "head" else f"without {name}" for name in drop)
        kept = [part for part in parts if part[0] not in drop]
        value = sum(own for _, own, _, _ in kept)
        yield words, value
        if tied := sum(tied for _, _, tied, _ in kept):
            yield (*words, "tied parameters at each use"), value + tied
        if buffers := sum(buffers for _, _, _, buffers in kept):
            yield (*words, "with buffers"), value + buffers


def other_sizes(request: Request) -> Iterator[dict[str, int]]:
    """Yield sizes of images and sequences other than those of the model; sizes that were set stay."""
    dims = dict(request.program.dims)
    free = {name: size for name, size in dims.items() if name not in request.settings}
    if {"height", "width"} <= free.keys():
        yield from ({"height": n, "width": n} for n in _RESOLUTIONS if (n, n) != (free["height"], free["width"]))
    for name, size in free.items():
        if name == "length" or name.endswith("_length"):
            yield from ({name: n} for n in LENGTHS if n != size)


def changed_request(request: Request, sizes: Mapping[str, int]) -> Request | None:
    """Return the request at other sizes; None if the network has none there."""
    if not sizes:
        return request
    changed = replace(request, settings={**request.settings, **sizes})
    try:
        changed.program  # noqa: B018
    except NetcalcError:
        return None
    return changed


def _figures(request: Request, convention: Convention) -> _Figures | None:
    """Return the work of a network and its parts; None where the convention has no rule for it."""
    analysis = Analysis(request.program, convention)
    try:
        flops, macs = integer(analysis.total.flops), integer(analysis.total.macs)
    except NetcalcError:
        return None
    rows = [*analysis.leaves()]
    head = _head(rows)
    embeddings, causal = (0, 0), 0
    for row in rows:
        assert isinstance(row.node, OpNode)
        op = row.node.op
        if op.name in _EMBEDDINGS or op.name in _POSITIONS:
            embeddings = (embeddings[0] + integer(row.total.flops), embeddings[1] + integer(row.total.macs))
        if op.name == "scaled_dot_product_attention" and getattr(op, "causal", False):
            causal += integer(row.total.macs)
    own = (0, 0) if head is None else (integer(head.total.flops), integer(head.total.macs))
    return _Figures(flops, macs, own, embeddings, causal)


def _head(rows: list[Any]) -> Any:
    """Return the last linear layer, if it is not repeated."""
    last = next((row for row in reversed(rows) if row.op == "linear"), None)
    return last if last is not None and last.repeat == 1 else None


def _plans(convention: Convention, figures: _Figures) -> Iterator[Plan]:
    units = ["", "double"] if convention.per_mac == 1 else ["", "half"]
    if convention.name == "netcalc":
        units.append("macs")
    without = ["", *(name for name, own in (("head", figures.head), ("embeddings", figures.embeddings)) if any(own))]
    for unit in units:
        for left_out in without:
            for causal_half in (False, True) if figures.causal else (False,):
                for passes in (1, 3):
                    yield Plan(convention.name, unit, left_out, causal_half, passes)


def _counted(figures: _Figures, convention: Convention, plan: Plan, sizes: Mapping[str, int], unit: str) -> Counted:
    """Return a count with the words for its choices."""
    choices = [] if plan.convention == "netcalc" else [f"convention {plan.convention}"]
    if sizes:
        choices.append(", ".join(f"{name}={size}" for name, size in sizes.items()))
    arithmetic = [_UNITS[plan.unit]] if plan.unit in ("half", "double") else []
    misnamed = _misnamed(convention, plan, unit)
    if plan.unit:
        choices.append(_UNITS[plan.unit])
    elif misnamed:
        choices.append(misnamed)
    others = [_WITHOUT[plan.without]] if plan.without else []
    others += ["half of causal attention"] if plan.causal_half else []
    others += ["3 times, for a backward pass of twice the forward pass"] if plan.passes > 1 else []
    order = list(CONVENTIONS).index(plan.convention)
    return Counted(
        figures.value(plan, convention.per_mac),
        len(choices) + len(others),
        (len(others), 0, int(bool(sizes)), order),
        (*choices, *others),
        tuple(sizes.items()),
        plan.convention,
        "flops",
        figures.macs if plan.unit == "macs" else figures.flops,
        (*others[:-1], *arithmetic, *others[-1:]) if plan.passes > 1 else (*others, *arithmetic),
        plan,
    )


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _misnamed(convention: Convention, plan: Plan, unit: str) -> str:
    """Return words for a figure that is reported in the other unit than the convention has."""
    own = "MAC" if convention.per_mac == 1 or plan.unit in ("half", "macs") else "FLOP"
    return f"{own}s called {unit}s" if unit and own != unit else ""
