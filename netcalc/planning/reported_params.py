"""Counts of parameters under combinations of choices: of parts of the network, and as conventions define them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from netcalc.analysis.conventions import CONVENTIONS, Convention
from netcalc.analysis.cost import Analysis
from netcalc.analysis.own_figures import figure_parts, own_figures
from netcalc.analysis.rows import Row
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.ir import OpNode
from netcalc.planning.reported_counts import EMBEDDINGS, FACTOR, POSITIONS, Counted, and_text, head_of
from netcalc.request import Request

#: Kinds of layers that are left out.
_DROPS = ((), ("embeddings",), ("positions",), ("head",), ("embeddings", "positions"), ("embeddings", "head"))


def param_candidates(request: Request, conventions: Mapping[str, Convention], most: int) -> Iterator[Counted]:
    """Yield counts of parameters with at most so many changes; conventions with the same count are one."""
    analysis = Analysis(request.program, CONVENTIONS["netcalc"])
    rows = [*analysis.leaves()]
    kinds = _kinds(rows)
    parts = [*_param_parts(rows, kinds)]
    total = sum(own for _, own, _, _ in parts)
    known = set[int]()
    for words, value in _of_parts(parts):
        known.add(value)
        if len(words) <= most:
            yield Counted(FACTOR * value, len(words), (len(words), 0), words, (), "netcalc", "params", total, words)
    active = integer(analysis.total.params_active)
    if active != total and most:
        words = ("those that a token uses",)
        yield Counted(FACTOR * active, 1, (1, 0), words, (), "netcalc", "params", active, ())
    yield from _of_figures(request, conventions, kinds, known | {active}, most)


def _kinds(rows: Sequence[Row]) -> dict[str, str]:
    """Return the kind of each layer that may be left out, by its path."""
    head = head_of(rows)
    kinds = {row.path: "embeddings" for row in rows if row.op in EMBEDDINGS}
    kinds |= {row.path: "positions" for row in rows if row.op in POSITIONS}
    return kinds if head is None else kinds | {head.path: "head"}


def _param_parts(rows: Sequence[Row], kinds: Mapping[str, str]) -> Iterator[tuple[str, int, int, int]]:
    """Yield the kind of each layer, its parameters, those that are tied to others, and its buffers."""
    for row in rows:
        assert isinstance(row.node, OpNode)
        tied = sum(integer(p.elements) for p in row.node.params if p.name in row.node.ties and not p.is_buffer)
        own, buffers = integer(row.cost.params) * row.repeat, integer(row.cost.buffers) * row.repeat
        yield kinds.get(row.path, ""), own, tied * row.repeat, buffers


def _of_parts(parts: Sequence[tuple[str, int, int, int]]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield sums of parameters, with words for what is counted otherwise."""
    for drop in _DROPS:
        if drop and not all(any(kind == name and own + tied for kind, own, tied, _ in parts) for name in drop):
            continue
        words = _without(drop)
        kept = [part for part in parts if part[0] not in drop]
        value = sum(own for _, own, _, _ in kept)
        yield words, value
        if tied := sum(tied for _, _, tied, _ in kept):
            yield (*words, "tied parameters at each use"), value + tied
        if buffers := sum(buffers for _, _, _, buffers in kept):
            yield (*words, "with buffers"), value + buffers


def _without(drop: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"without the {name}" if name == "head" else f"without {name}" for name in drop)


def _of_figures(
    request: Request, conventions: Mapping[str, Convention], kinds: Mapping[str, str], known: set[int], most: int
) -> Iterator[Counted]:
    """Yield the counts that conventions define, with all layers and without some."""
    found: dict[tuple[int, str, tuple[str, ...]], list[tuple[str, int]]] = {}
    for convention in conventions.values():
        analysis = Analysis(request.program, convention)
        try:
            figures = own_figures(analysis, "params")
        except NetcalcError:  # a formula for other networks
            continue
        for figure in figures:
            if figure.unit != "parameters":
                continue
            whole, title = integer(figure.value), figure.title if convention.name == "netcalc" else ""
            by_kind: dict[str, int] = {}
            for row, counted in figure_parts(analysis, figure.name):
                kind = kinds.get(row.path, "")
                by_kind[kind] = by_kind.get(kind, 0) + integer(counted)
            for drop in _DROPS:
                if all(by_kind.get(name) for name in drop):
                    value = whole - sum(by_kind[name] for name in drop)
                    found.setdefault((value, title, _without(drop)), []).append((convention.name, whole))
    for place, ((value, title, dropped), counts) in enumerate(found.items(), 1):
        names = [name for name, _ in counts]
        words = (title or f"parameters as {and_text(names)} count{'s' if len(names) == 1 else ''} them", *dropped)
        if value and value not in known and len(words) <= most:
            rank = (len(words), place)
            name, whole = counts[0]
            yield Counted(FACTOR * value, len(words), rank, words, (), name, "params", whole, dropped)
