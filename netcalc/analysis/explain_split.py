"""The working behind a split over devices: bytes that a rank holds by kind, and those that it sends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.explain import Explanation, explain_program
from netcalc.analysis.parallel.network import LinkBound
from netcalc.analysis.parallel.report import SplitReport
from netcalc.analysis.parallel.split import Held, Split, SplitFigures, StageMemory, UnitFigures, chunks_of
from netcalc.analysis.parallel.traffic import Calls, Group, Traffic
from netcalc.analysis.working import Section, number_text, seconds_value
from netcalc.ir import Program
from netcalc.opdef import WorkingLine

#: Kinds of memory for parameters.
Kind: TypeAlias = Literal["weights", "gradients", "states"]
#: Source of the bytes that collectives send.
_RING = (
    "a device sends by a ring or pairwise; Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms for "
    "clusters of workstations"
)
_SPAN = (
    "the span is that of the devices in a row: tensor-parallel ranks next to each other, then context-parallel ones, "
    "replicas and stages"
)

#: What training holds for parameters, with the stage of ZeRO from which replicas divide it.
_DIVIDED: dict[Kind, int] = {"weights": 3, "gradients": 2, "states": 1}


class _Group(NamedTuple):
    """Equal layers in a row on a device, or what lies outside of the layers."""

    title: str
    unit: UnitFigures
    number: int
    passes: int
    """Micro-batches whose activations are held."""
    caches: int
    """Bytes of the caches of all its layers."""


def explain_split(program: Program, figures: SplitFigures, report: SplitReport) -> Explanation:
    """Return the working of the memory of the fullest device of a split, and of what it sends in a step."""
    split, stage = report.split, report.fullest
    groups = list(_groups(figures, split, stage))
    sections = [_of_parameters(kind, groups, split, getattr(stage, kind)) for kind in _DIVIDED]
    sections.append(Section("caches and states", tuple(_caches(groups, stage))))
    sections.append(Section("activations", tuple(_activations(figures, groups, split, stage)), _kept(figures)))
    sections.append(Section("fullest device", tuple(_total(stage))))
    sections += traffic_sections(report.traffic, split)
    if report.bubble is not None and split.pp > 1:
        text = f"({split.pp} - 1)/({split.virtual_stages}·{split.micro_batches})"
        step = WorkingLine("bubble", "(stages - 1)/(parts·micro-batches)", text, f"{report.bubble:.8g}")
        sections.append(Section("pipeline", (step,), "Narayanan et al. 2021, arXiv:2104.04473, section 2.2"))
    about = f"memory of stage {stage.stage} of a split" if split.pp > 1 else "memory of a split"
    return explain_program(program, about, sections, notes=program.notes)


def _groups(figures: SplitFigures, split: Split, stage: StageMemory) -> Iterator[_Group]:
    """Yield what a device of a stage has; layers with equal figures that follow one another are one group."""
    chunks = chunks_of(figures.units, split, stage.stage)
    in_flight = stage.in_flight or (1,) * len(chunks)
    for chunk, passes in zip(chunks, in_flight, strict=True):
        for _, alike in groupby(chunk, key=lambda one: (one[1] > 0, _figures_of(one[0]), one[1] == 0 and id(one[0]))):
            members = list(alike)
            unit, number = members[0][0], sum(times or 1 for _, times, _ in members)
            caches = sum(sum(one.caches[first : first + (times or 1)]) for one, times, first in members)
            title = unit.path or "outside of the layers"
            yield _Group(f"{title} ×{number:,}" if number > 1 else title, unit, number, passes, caches)


def _figures_of(unit: UnitFigures) -> tuple[Held, Held, Held, int]:
    return unit.common, unit.experts, unit.tied, unit.kept


def _of_parameters(kind: Kind, groups: Sequence[_Group], split: Split, total: int) -> Section:
    """Return the bytes of weights, gradients or states: those of layers, then the share of a replica."""
    steps: list[WorkingLine] = []
    is_divided = split.zero >= _DIVIDED[kind]
    found: list[int] = []
    for name, ranks in (("", 1), ("experts of ", split.ep)):
        terms: list[int] = []
        for group in groups:
            one = getattr(group.unit.experts if name else group.unit.common, kind)
            if not name and split.pp > 1:
                one += getattr(group.unit.tied, kind)
            if one:
                text = f"{group.number:,}·{number_text(one)}"
                steps.append(WorkingLine(f"{name}{group.title}", "layers·bytes", text, group.number * one))
                terms.append(group.number * one)
        whole = sum(terms)
        replicas = split.replicas // ranks if is_divided else 1
        for what, parts in ((f"{name}a rank of --ep", ranks), (f"{name}a replica", replicas)):
            if whole and parts > 1:
                text = f"⌈{number_text(whole)}/{parts:,}⌉"
                whole = -(-whole // parts)
                terms = [whole]
                steps.append(WorkingLine(what, "⌈bytes/ranks⌉", text, whole))
        found += terms
    if steps:
        steps.append(WorkingLine("sum", "", " + ".join(map(number_text, found)), total))
    rule = "pieces of a tensor-parallel rank" if split.tp > 1 else ""
    return Section(kind, tuple(steps), rule)


def _caches(groups: Iterable[_Group], stage: StageMemory) -> Iterator[WorkingLine]:
    if stage.caches:
        yield from (WorkingLine(group.title, "", "", group.caches) for group in groups if group.caches)
        yield WorkingLine("sum", "", "", stage.caches)


def _kept(figures: SplitFigures) -> str:
    if figures.training:
        return "what an eager framework keeps for the backward pass, of all micro-batches that the stage holds"
    return "the most that are live at a time"


def _activations(
    figures: SplitFigures, groups: Iterable[_Group], split: Split, stage: StageMemory
) -> Iterator[WorkingLine]:
    if not figures.training:
        yield WorkingLine("live", "", "", stage.activations)
        return
    if split.pp == 1:
        passes = stage.in_flight[0]
        text = f"{passes}·{number_text(figures.whole()[0])}"
        yield WorkingLine("kept by a rank", "micro-batches·bytes", text, stage.activations)
        return
    parts: list[int] = []
    for group in groups:
        if group.unit.kept:
            parts.append(group.passes * group.number * group.unit.kept)
            text = f"{group.passes}·{group.number:,}·{number_text(group.unit.kept)}"
            yield WorkingLine(group.title, "micro-batches·layers·bytes", text, parts[-1])
    once = stage.activations - sum(parts)
    if once:
        yield WorkingLine("kept once for all layers", "", "", once)
        parts.append(once)
    yield WorkingLine("sum", "", " + ".join(map(number_text, parts)), stage.activations)


def _total(stage: StageMemory) -> Iterator[WorkingLine]:
    kinds = ("weights", "gathered", "gradients", "states", "activations", "caches")
    held = {kind: getattr(stage, kind) for kind in kinds if getattr(stage, kind)}
    if stage.gathered:
        yield WorkingLine("gathered", "largest layer as a whole, weights and gradients", "", stage.gathered)
    yield WorkingLine("sum", " + ".join(held), " + ".join(map(number_text, held.values())), stage.total)


def traffic_sections(traffic: Sequence[Traffic], split: Split) -> Iterator[Section]:
    """Yield what a device sends by collective, of the bytes of whole tensors the share that its ring passes on."""
    yield Section("bytes that a device sends in a step", tuple(map(_sent, traffic)), _RING)
    steps = tuple(step for one in traffic for step in _exchanged(one, split))
    yield Section("ranks, span and calls of what is exchanged", steps, _SPAN)


def _exchanged(one: Traffic, split: Split) -> Iterator[WorkingLine]:
    """Yield the ranks of a collective, the devices among which they lie, and the calls by what is exchanged."""
    name = f"{one.group} {one.collective} over {one.ranks:,} ranks"
    formula, text = _ranks(one, split)
    yield WorkingLine(f"{name}: ranks", formula, text, one.ranks)
    yield WorkingLine(f"{name}: span", *_span(one.group, split), one.span)
    for calls in one.counted if len(one.counted) > 1 else ():
        yield WorkingLine(f"{name}: {calls.when}, {calls.of}", *_calls(calls), calls.number)
    terms = [number_text(calls.number) for calls in one.counted]
    formula, text = _calls(one.counted[0]) if len(terms) == 1 else ("", " + ".join(terms))
    yield WorkingLine(f"{name}: calls", formula, text, one.calls)


def _ranks(one: Traffic, split: Split) -> tuple[str, str]:
    """Return the formula of the ranks, with numbers; empty where fewer ranks than all have the pieces of a tensor."""
    formulas: dict[Group, tuple[tuple[str, str, int], ...]] = {
        "tensor": (("tp", f"{split.tp}", split.tp),),
        "context": (("cp", f"{split.cp}", split.cp),),
        "expert": (("ep", f"{split.ep}", split.ep),),
        "data": (
            ("dp·cp", f"{split.dp}·{split.cp}", split.replicas),
            ("dp·cp/ep", f"{split.dp}·{split.cp}/{split.ep}", split.replicas // split.ep),
        ),
        "pipeline": (("a stage and another one", "1 + 1", 2),),
    }
    return next(((formula, text) for formula, text, ranks in formulas[one.group] if ranks == one.ranks), ("", ""))


def _span(group: Group, split: Split) -> tuple[str, str]:
    """Return the formula of the span of a group, with numbers."""
    inner = f"{split.tp}·{split.cp}"
    formulas: dict[Group, tuple[str, str]] = {
        "tensor": ("tp", f"{split.tp}"),
        "context": ("tp·cp", inner),
        "expert": ("tp·max(cp, ep)", f"{split.tp}·max({split.cp}, {split.ep})"),
        "data": ("tp·cp·dp", f"{inner}·{split.dp}"),
        "pipeline": ("2·tp·cp·dp", f"2·{inner}·{split.dp}"),
    }
    return formulas[group]


def _calls(calls: Calls) -> tuple[str, str]:
    """Return the formula of a number of calls, with numbers."""
    factors = {"calls": calls.each, "layers": calls.layers, "micro-batches": calls.passes}
    shown = {name: number for name, number in factors.items() if name == "calls" or number > 1}
    return "·".join(shown), "·".join(map(number_text, shown.values()))


def _sent(one: Traffic) -> WorkingLine:
    calls = f"{one.calls:,} call{'s' if one.calls > 1 else ''}"
    label = f"{one.group} {one.collective} over {one.ranks:,} ranks, {calls}"
    if one.collective == "point-to-point" and one.group == "pipeline":
        return WorkingLine(label, "bytes", number_text(one.size), one.sent)
    twice, factor = ("2·", 2) if one.collective == "all-reduce" else ("", 1)
    exact = factor * (one.ranks - 1) * one.size % one.ranks == 0
    formula = f"{twice}(ranks - 1)·bytes/ranks"
    text = f"{twice}({one.ranks:,} - 1)·{number_text(one.size)}/{one.ranks:,}"
    if not exact:
        formula, text = f"⌈{formula}⌉", f"⌈{text}⌉"
    return WorkingLine(label, formula, text, one.sent)


def link_steps(links: Iterable[LinkBound]) -> Iterator[WorkingLine]:
    """Yield the seconds that links need for what is sent over them in a step."""
    for link in links:
        if link.sent and link.rate is not None and link.seconds is not None:
            text = f"{number_text(link.sent)}/{number_text(link.rate)}"
            yield WorkingLine(f"{link.link} link", f"sent/{link.link} link", text, seconds_value(link.seconds))
        elif link.sent:
            yield WorkingLine(
                f"{link.link} link", "", "", f"{number_text(link.sent)} B at a rate that is not published"
            )
