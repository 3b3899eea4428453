"""The working behind the figures of the memory of a network: formula, numbers and source of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from netcalc.analysis.activations.records import Activations
from netcalc.analysis.caches.conventions import CacheConvention
from netcalc.analysis.caches.groups import CacheGroup, grouped
from netcalc.analysis.caches.layers import LayerCache
from netcalc.analysis.explain import Explanation, explain_program
from netcalc.analysis.file_weights import FileWeights
from netcalc.analysis.memory_report import MemoryReport, TokensIn
from netcalc.analysis.numbered import fold_numbered
from netcalc.analysis.optimizers import optimizer_of_memory
from netcalc.analysis.placement import BesideModel, PlaceMemory
from netcalc.analysis.precision.report import StoredGroup, storage_report
from netcalc.analysis.training_memory import TrainingMemory
from netcalc.analysis.working import Section, number_text, product_text
from netcalc.dims import Dim, product
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Program
from netcalc.opdef import WorkingLine
from netcalc.schemes.scheme import is_scheme, scheme_named

_IDEAL = (
    "live from the operation that makes it to its last use; views share memory, nothing is overwritten, and caches are "
    "counted apart"
)
_EAGER = "what PyTorch allocates if it runs the operations one by one, caches included; see docs/activations.md"
_KEPT = "tensors that PyTorch keeps, memory of several counted once; `netcalc explain PATH --backward` names them"
_LIVE = "the most bytes that are live while a layer runs, those that others hold included; ideal execution"
_PLACES = "the output counts as one layer behind all others, and the last ones go to the device first"
_KEPT_IDEAL = "each operation as one kernel: the sections `saved` of `netcalc explain PATH --backward`"


def explain_memory(program: Program, report: MemoryReport) -> Explanation:
    """Return the working of a report; ``program`` is the one whose weights it counts."""
    weights = _weights(program) if report.files is None else _in_files(report, report.files)
    sections = [*weights, Section("buffers", tuple(_buffers(report)))]
    groups = tuple(grouped(report.kept))
    if groups:
        sections.append(Section("cells of caches and states", tuple(_cells(report, groups))))
        for convention in report.conventions:
            title = f"caches and states, {convention.name}"
            sections.append(_caches(title, groups, convention, report.caches(convention.name)))
    if report.ideal is not None:
        sections.append(_activations("activations, ideal", _IDEAL, report.ideal))
    if report.eager is not None:
        sections.append(_activations("activations, eager", _EAGER, report.eager))
    if report.training is not None:
        sections += _training(report, report.training)
    sections += _further(report)
    sections.append(Section("total", tuple(_totals(report))))
    return explain_program(
        program, "memory", sections, convention="ideal", notes=report.notes, weight_bytes=report.weights
    )


def _weights(program: Program) -> Iterator[Section]:
    """Yield a section for each scheme in which parameters are stored."""
    for group in storage_report(program).groups:
        scheme = scheme_named(group.scheme)
        name = ", ".join(filter(None, (group.scheme, group.sparsity)))
        rule = "; ".join(filter(None, (group.reason, scheme.about, scheme.source)))
        yield Section(f"weights, {name}", tuple(_stored(group)), rule)


def _in_files(report: MemoryReport, files: FileWeights) -> Iterator[Section]:
    """Yield a section for each scheme in which files store parameters."""
    for group in report.stored:
        if group.role != "buffers":
            scheme = scheme_named(group.scheme) if is_scheme(group.scheme) else None
            rule = "; ".join((files.origin, *((scheme.about, scheme.source) if scheme else ())))
            steps = WorkingLine("elements", "", "", group.elements), WorkingLine("sum", "", "", group.bytes)
            yield Section(f"{group.role}, {group.scheme}", steps, rule)


def _stored(group: StoredGroup) -> Iterator[WorkingLine]:
    size = ITEMSIZE.get(group.scheme)
    if size is not None and not group.sparsity:
        working = f"{number_text(group.params)}·{size}"
        yield WorkingLine(f"bytes of {_tensors(group)}", "elements·bytes", working, group.bytes)
        return
    yield WorkingLine(f"elements of {_tensors(group)}", "", "", group.params)
    for role, part in group.parts.items():
        yield WorkingLine(f"bytes of {role}", "", "", part)
    yield WorkingLine("sum", "", _sum_text(group.parts.values()), group.bytes)


def _tensors(group: StoredGroup) -> str:
    return f"{group.tensors:,} tensor{'s' if group.tensors > 1 else ''}"


def _buffers(report: MemoryReport) -> Iterator[WorkingLine]:
    for stored in report.stored:
        if stored.role == "buffers":
            size = ITEMSIZE.get(stored.scheme)
            working = f"{number_text(stored.elements)}·{size}" if size else ""
            yield WorkingLine(stored.scheme, "elements·bytes" if size else "", working, stored.bytes)


def _cells(report: MemoryReport, groups: Sequence[CacheGroup]) -> Iterator[WorkingLine]:
    if report.past is not None and report.new is not None:
        working = f"{number_text(report.past)} + {number_text(report.new)}"
        yield WorkingLine("positions after the step", "past + new", working, report.past + report.new)
    for group in groups:
        if len(group.parts) > 1 and len({(part.cell, part.element) for part in group.parts}) == 1:
            names = ", ".join(_name(part) for part in group.parts)
            yield _cell(f"{group.title} ({names})", group.parts[0], len(group.parts))
        else:
            for part in group.parts:
                yield _cell(f"{group.title}.{_name(part)}", part, 1)
    grown = [(group.layers, _cell_bytes(group)) for group in groups if _cell_bytes(group) != 0]
    if grown:
        working = " + ".join(product_text(factors) for factors in grown)
        yield WorkingLine("a token in all layers", "layers·bytes", working, report.token_bytes)


def _cell_bytes(group: CacheGroup) -> Dim:
    """Return the bytes that a position adds to a layer of a group."""
    sizes = [part.cell_bytes for part in group.parts if part.positions is not None]
    total: Dim = 0
    for size in sizes:
        total += size
    return total


def _cell(label: str, part: LayerCache, times: int) -> WorkingLine:
    """Return the bytes of a cell, or of several equal ones of a layer, from the sizes and the element type."""
    sizes = {1: ("features",), 2: ("heads", "features")}.get(len(part.cell), ("elements",))
    if part.positions is None:
        sizes = ("elements",)
    numbers = part.cell if len(sizes) == len(part.cell) else (product(part.cell),)
    element = part.element
    if element.block == 1:
        unit, size = "bytes", str(element.bytes)
    else:
        unit, size = f"bytes of {element.block} elements/{element.block}", f"{element.bytes}/{element.block}"
    count = [str(times)] if times > 1 else []
    formula = "·".join([*count, *sizes, unit])
    working = "·".join([*count, product_text(numbers), size])
    return WorkingLine(label, formula, working, part.cell_bytes * times)


def _caches(title: str, groups: Sequence[CacheGroup], convention: CacheConvention, total: Dim) -> Section:
    steps: list[WorkingLine] = []
    for group in groups:
        first = group.parts[0]
        size, cells = group.cell_bytes_under(convention), first.cells(convention)
        factors, names = [group.layers, size, first.sequences], "layers·bytes·sequences"
        if first.positions is not None:
            formula = convention.formula(first.window)
            values = {"positions": first.positions, "window": first.window}
            bindings = {name: values[name] for name in formula.names()}
            steps.append(WorkingLine(f"{group.title}: cells", formula.pretty(), formula.pretty(bindings), cells))
            factors, names = [group.layers, size, cells, first.sequences], "layers·cell·cells·sequences"
        steps.append(WorkingLine(f"{group.title}: bytes", names, product_text(factors), group.bytes(convention)))
    steps.append(WorkingLine("sum", "", "", total))
    return Section(title, tuple(steps), f"{convention.about}; {convention.source}")


def _activations(title: str, rule: str, activations: Activations) -> Section:
    """Return the section of the tensors that are live at the peak."""
    steps = []
    for names, tensor in fold_numbered((tensor.path, tensor._replace(path="")) for tensor in activations.live):
        size, times = ITEMSIZE[tensor.dtype], names.times
        is_exact = product(tensor.shape) * size == tensor.bytes
        factors = [times] if times > 1 else []
        working = f"{product_text([*factors, *tensor.shape])}·{size}" if is_exact else ""
        formula = "tensors·elements·bytes" if times > 1 else "elements·bytes"
        label = f"{names.name} ({tensor.work})" if tensor.work else names.name
        steps.append(WorkingLine(label, formula if is_exact else "", working, tensor.bytes * times))
    steps.append(WorkingLine(f"live at {activations.at}", "", "", activations.peak))
    return Section(title, tuple(steps), rule)


def _training(report: MemoryReport, training: TrainingMemory) -> Iterator[Section]:
    """Yield what a step of training holds beside the weights, and its peak."""
    for title, size in (("gradients", training.gradients), ("copy of the weights", training.master)):
        whole = training.trained and size % training.trained == 0
        text = f"{number_text(training.trained)}·{size // training.trained}" if whole else ""
        step = WorkingLine("parameters that are trained", "elements·bytes" if whole else "", text, size)
        yield Section(title, (step,) if size else (), "one for each element that is trained")
    states = [WorkingLine(state.name, "", "", state.bytes) for state in training.states]
    if states:
        text = _sum_text(state.bytes for state in training.states)
        states.append(WorkingLine("sum", "", text, training.state_bytes))
    yield Section(
        "states of the optimizer", tuple(states), optimizer_of_memory(training.optimizer or "").source if states else ""
    )
    if report.saved is not None:
        kept = [WorkingLine(f"{by.op}, {by.tensors:,} tensors", "", "", by.bytes) for by in report.saved.operations]
        kept.append(WorkingLine("sum", "", _sum_text(by.bytes for by in report.saved.operations), training.kept))
        yield Section("kept for the backward pass", tuple(kept), _KEPT)
        kept = [
            WorkingLine(f"{by.op}, {by.tensors:,} tensors", "", "", by.bytes) for by in report.saved.ideal_operations
        ]
        text = _sum_text(by.bytes for by in report.saved.ideal_operations)
        kept.append(WorkingLine("kept by netcalc's tape", "", text, report.saved.ideal))
        yield Section("kept for the backward pass, ideal", tuple(kept), _KEPT_IDEAL)
    peak = training.peak
    parts = {"gradients": peak.gradients, "kept": peak.kept, "temporaries": peak.temporaries}
    at = f"{peak.during}, {peak.at}" if peak.at else peak.during
    steps = (
        *(WorkingLine(name, "", "", size) for name, size in parts.items()),
        WorkingLine(f"live at {at}", " + ".join(parts), _sum_text(parts.values()), peak.total),
    )
    yield Section("peak of the step", steps, "PyTorch's tensors, moment by moment; see docs/training-memory.md")


def _totals(report: MemoryReport) -> Iterator[WorkingLine]:
    if report.training is not None and report.trained is not None:
        training = report.training
        parts = [report.weights, report.buffers, training.master, training.state_bytes, training.peak.total]
        formula = "weights + buffers + copy of the weights + states + peak"
        yield WorkingLine("step of training", formula, _sum_text(parts), report.trained)
    if report.ideal is None:
        return
    for convention in report.conventions if report.kept else report.conventions[:1]:
        parts = [report.weights, report.buffers, report.caches(convention.name), report.ideal.peak]
        formula = "weights + buffers + caches and states + activations"
        yield WorkingLine(convention.name, formula, _sum_text(parts), report.total(convention.name))
    if report.eager is not None:
        parts = [report.weights, report.buffers, report.eager.peak]
        total = report.weights + report.buffers + report.eager.peak
        yield WorkingLine("eager", "weights + buffers + activations", _sum_text(parts), total)


def _further(report: MemoryReport) -> Iterator[Section]:
    """Yield what is live at each layer, and the sections of further options of ``memory``."""
    if report.ideal is not None:
        yield Section("live by layer", tuple(_layers(report, report.ideal)), _LIVE)
    if report.engine is not None:
        held = report.engine
        sizes = (("weights", held.weights), ("activations", held.activations), ("peak", held.peak))
        text = _sum_text((held.weights, held.activations)) if held.weights + held.activations == held.peak else ""
        steps = [WorkingLine(name, "", text if name == "peak" else "", size) for name, size in sizes]
        yield Section("memory of the engine", tuple(steps), f"{held.name}, as its plan holds tensors; docs/running.md")
    if report.tokens_in is not None:
        for name in report.tokens_in.tokens:
            yield _tokens(report, report.tokens_in, name)
    if report.placement is not None:
        for model in report.placement.beside:
            yield from _beside(model)
        for place in (report.placement.device, report.placement.host):
            yield Section(f"memory of the {place.name}", tuple(_place(place, report.placement.beside)), _PLACES)


def _layers(report: MemoryReport, ideal: Activations) -> Iterator[WorkingLine]:
    """Yield the most bytes that are live while a layer runs: what others hold meanwhile, and what it holds itself."""
    inside = {step.path: step for step in ideal.timeline if step.inside} if report.depth is None else {}
    for point in report.layers:
        step = inside.get(point.path)
        if step is None:
            yield WorkingLine(point.path, "", "", point.bytes)
            continue
        text = _sum_text((step.base, point.bytes - step.base))
        yield WorkingLine(point.path, "held by others + most inside", text, point.bytes)


def _tokens(report: MemoryReport, found: TokensIn, name: str) -> Section:
    """Return the section of the tokens that fit: memory at their number, and at one more."""
    parts = f"{number_text(found.budget)} - {number_text(report.weights)} - {number_text(report.buffers)}"
    steps = [WorkingLine("left for caches and activations", "budget - weights - buffers", parts, found.left)]
    for edge in found.edges.get(name, ()):
        if edge.activations is None and found.ends:
            continue
        sizes = [size for size in (edge.caches, edge.activations) if size is not None]
        formula = "caches + activations" if len(sizes) > 1 else "caches"
        words = "token" if edge.tokens == 1 else "tokens"
        steps.append(WorkingLine(f"{edge.tokens:,} {words}", formula, _sum_text(sizes), sum(sizes)))
    most = found.tokens[name]
    rule = found.ends.get(name, "the most tokens of each sequence that are within it; −1 if not one is")
    steps.append(WorkingLine("tokens", "", "", "any number" if most is None else most))
    return Section(f"tokens that fit, {name}", tuple(steps), rule)


def _beside(model: BesideModel) -> Iterator[Section]:
    """Yield sections of a model that is loaded beside the network: its weights, caches and activations."""
    title = f"{model.role} {model.name}"
    steps = []
    for group in model.stored:
        size = ITEMSIZE.get(group.scheme)
        working = f"{number_text(group.elements)}·{size}" if size and group.elements * size == group.bytes else ""
        label = f"{group.role}, {group.scheme}"
        steps.append(WorkingLine(label, "elements·bytes" if working else "", working, group.bytes))
    steps.append(WorkingLine("sum", "", _sum_text(group.bytes for group in model.stored), model.weights))
    yield Section(f"{title}: weights", tuple(steps), "buffers included")
    groups = tuple(grouped(model.kept))
    for convention in model.kept[0].conventions if groups else ():
        size = model.caches[convention.name]
        yield _caches(f"{title}: caches and states, {convention.name}", groups, convention, size)
    if model.live is not None:
        yield _activations(f"{title}: activations", _IDEAL, model.live)


def _place(place: PlaceMemory, models: Sequence[BesideModel]) -> Iterator[WorkingLine]:
    """Yield the memory of a place, its weights by part of the network."""
    yield from (WorkingLine(f"weights {name}", "", "", size) for name, size in place.parts)
    yield WorkingLine("weights", "", _sum_text(size for _, size in place.parts), place.weights)
    yield WorkingLine("activations", "the most that is live", "", place.activations)
    for name, total in place.totals.items():
        more = place.beside.get(name)
        yield WorkingLine(f"caches and states, {name}", "", "", place.caches[name])
        parts = [place.weights, place.caches[name], place.activations]
        formula = "weights + caches and states + activations"
        if more is not None:
            yield WorkingLine(
                f"further models, {name}", "weights + caches + activations", _models_text(models, name), more
            )
            parts.append(more)
            formula += " + further models"
        yield WorkingLine(f"total, {name}", formula, _sum_text(parts), total)


def _models_text(models: Iterable[BesideModel], convention: str) -> str:
    """Return the sum of what models hold, each of its parts."""
    sizes = ((model.weights, model.caches.get(convention), model.activations) for model in models)
    return _sum_text(size for parts in sizes for size in parts if size)


def _sum_text(parts: Iterable[Dim]) -> str:
    return " + ".join(number_text(part) for part in parts)


def _name(part: LayerCache) -> str:
    return part.name.rpartition(".")[2]
