"""Memory of a forward pass or of a step of decoding, by what it holds: weights, caches and states, activations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from netcalc.analysis.activations.peaks import ExecutionName, activations
from netcalc.analysis.activations.records import Activations, Point
from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import CacheConvention, convention_named, conventions, element_type
from netcalc.analysis.caches.fit import budget_bytes, tokens_that_fit
from netcalc.analysis.caches.layers import LayerCache, applied_to, kept_by, reserved
from netcalc.analysis.caches.phases import ActivationsAt, tokens_with_activations
from netcalc.analysis.file_weights import FileWeights
from netcalc.analysis.parallel.report import SplitReport
from netcalc.analysis.placement import Placement
from netcalc.analysis.saved_memory import SavedMemory
from netcalc.analysis.stored_weights import StoredWeights, stored_weights
from netcalc.analysis.symbolic_peaks import SymbolicPeak, symbolic_peaks
from netcalc.analysis.symbolic_step import SymbolicStep
from netcalc.analysis.training_memory import TrainingMemory
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Assumption, Dim, integer
from netcalc.dtypes import DType
from netcalc.ir import Program
from netcalc.options import AttentionKernel, Phase
from netcalc.results import Entry, Result, recorded
from netcalc.tensor_type import TensorType


class TokensEdge(NamedTuple):
    """Bytes of caches and activations at a number of tokens of each sequence."""

    tokens: int
    caches: int
    activations: int | None
    """Peak of the activations of the phase; None if none are counted, or the network has no such number of tokens."""


@recorded("budget", "tokens", "ends")
class TokensIn(NamedTuple):
    """Tokens of each sequence whose caches fit into a budget beside the weights."""

    budget: int
    """Bytes, which weights, buffers, caches, states and the activations of the phase share."""
    tokens: Mapping[str, int | None]
    """By convention; null for any number, -1 if the weights and states do not fit."""
    ends: Mapping[str, str] = {}
    """By convention, why the network has no token more, where that and not the budget is the limit."""
    left: int = 0
    """Bytes of the budget beside weights and buffers."""
    edges: Mapping[str, tuple[TokensEdge, ...]] = {}
    """By convention, memory at the most tokens, and at one more."""


class CacheMemory(NamedTuple):
    """A convention of the memory of caches."""

    name: str
    about: str
    source: str
    caches: Dim
    """Bytes of all caches and states."""
    total: Dim | None
    """Bytes of weights, buffers, caches, states and ideal activations; null if these have no formula."""


class EngineMemory(NamedTuple):
    """Memory that NumPy's engine holds."""

    name: str
    """fast or reference."""
    weights: int
    activations: int
    """All but the weights."""
    peak: int
    """The most bytes at a time."""


@recorded(
    *("spec", "dtype", "checkpoint_dtype", "stored_as", "inputs", "outputs", "phase", "past", "new"),
    *("weights", "buffers"),
    *(
        "stored",
        "files",
        "token_bytes",
        Entry("conventions", "by_convention"),
        "kept",
        "ideal",
        "eager",
        "peaks",
        Entry("symbolic_step", "step"),
        "attention",
        "saved",
        "training",
        Entry("step", "trained"),
        "engine",
        "tokens_in",
        "placement",
        "split",
        "layers",
    ),
    "notes",
    name="memory",
)
@dataclass(frozen=True, slots=True)
class MemoryReport(Result):
    """Memory of a network or of a step of decoding, in bytes."""

    spec: str
    """Name of the spec."""
    about: str
    dtype: DType
    """Element type of floating-point tensors, in which bytes are counted."""
    checkpoint_dtype: DType | None
    """Element type of the published checkpoint; null if the spec names none."""
    stored_as: str
    """Schemes in which the checkpoint of the model stores parameters, in words; empty for the type alone."""
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    past: Dim | None
    """Positions before the step; null for a network that does not decode step by step."""
    new: Dim | None
    """Positions of the step."""
    stored: tuple[StoredWeights, ...]
    kept: tuple[LayerCache, ...]
    """Caches and states after the step."""
    conventions: tuple[CacheConvention, ...]
    ideal: Activations | None
    """Activations of an ideal execution, beside the caches; null if a size is symbolic."""
    eager: Activations | None = None
    """Activations and caches of an eager framework; null if a size is symbolic."""
    attention: AttentionKernel = "sdpa-cpu"
    """Kernel of attention under eager execution."""
    phase: Phase | None = None
    """With the options --phase and --training; null for a forward pass as the sizes say."""
    saved: SavedMemory | None = None
    """Tensors kept for the backward pass, in training."""
    training: TrainingMemory | None = None
    """Gradients and states of the optimizer, in training."""
    engine: EngineMemory | None = None
    """With the option --engine."""
    tokens_in: TokensIn | None = None
    """With the option --tokens-in."""
    placement: Placement | None = None
    """With the options --gpu-layers, --experts-on, --companion and --draft."""
    symbolic: tuple[str, ...] = ()
    """Names of the symbolic sizes."""
    assumptions: tuple[Assumption, ...] = ()
    """Relations between the symbolic sizes that the network relies on."""
    peaks: tuple[SymbolicPeak, ...] = ()
    """Peaks of the activations of both executions as formulas of symbolic sizes, as far as they have formulas."""
    step: SymbolicStep | None = None
    """A step of training as formulas of symbolic sizes."""
    depth: int | None = None
    notes: tuple[str, ...] = ()
    """Remarks on what is counted."""
    all_logits: bool = False
    """True if activations have the logits of several positions where the network could compute those of the last."""
    split: SplitReport | None = None
    """The split over devices, with options such as --tp."""
    files: FileWeights | None = None
    """The model's files, if the bytes of `stored` are those of their headers."""

    @property
    def layers(self) -> Sequence[Point]:
        """Layers with their live bytes under ideal execution, down to the depth; none if a size is symbolic."""
        if self.ideal is None:
            return ()
        return self.ideal.layers if self.depth is None else tuple(self.ideal.points(self.depth))

    @property
    def weights(self) -> Dim:
        """Bytes of all parameters, as they are stored, with the parameters of adapters."""
        return _sum(group.bytes for group in self.stored if group.role != "buffers")

    @property
    def buffers(self) -> Dim:
        """Bytes of all buffers."""
        return _sum(group.bytes for group in self.stored if group.role == "buffers")

    @property
    def token_bytes(self) -> Dim:
        """Bytes that a position of one sequence adds to all caches, as long as no window is full."""
        return _sum(group.cell_bytes for group in self.kept if group.positions is not None)

    @property
    def by_convention(self) -> tuple[CacheMemory, ...]:
        """Memory under each convention of caches."""
        return tuple(
            CacheMemory(rule.name, rule.about, rule.source, self.caches(rule.name), self.total(rule.name))
            for rule in self.conventions
        )

    @property
    def trained(self) -> Dim | None:
        """The most bytes at a time in a step of training, weights and buffers included; null without training."""
        if self.step is not None:
            return self.weights + self.buffers + self.step.total
        if self.training is None:
            return None
        return integer(self.weights) + integer(self.buffers) + self.training.total

    def caches(self, convention: str = "ideal") -> Dim:
        """Return the bytes of caches and states under a convention; 0 of a network that keeps none."""
        return 0 if not self.kept else reserved(self.kept, self._convention(convention))

    def total(self, convention: str = "ideal") -> Dim | None:
        """Return the bytes of everything with ideal activations; None if these are not known."""
        peak = self.peak("ideal")
        return None if peak is None else self.weights + self.buffers + self.caches(convention) + peak

    def peak(self, execution: ExecutionName) -> Dim | None:
        """Return the most bytes of activations at a time in an execution; None if they have no formula."""
        counted = self.ideal if execution == "ideal" else self.eager
        if counted is not None:
            return counted.peak
        return next((peak.peak for peak in self.peaks if peak.execution == execution), None)

    def _convention(self, name: str) -> CacheConvention:
        return next(convention for convention in self.conventions if convention.name == name)


def memory_report(
    program: Program,
    *,
    cache: Iterable[str] = (),
    cache_dtype: str | None = None,
    attention: AttentionKernel = "sdpa-cpu",
    phase: Phase | None = None,
    saved: SavedMemory | None = None,
    training: TrainingMemory | None = None,
    step: SymbolicStep | None = None,
    engine: EngineMemory | None = None,
    depth: int | None = None,
    files: FileWeights | None = None,
    remarks: Iterable[str] = (),
) -> MemoryReport:
    """Return the memory of a program.

    Args:
        program: the program, with its caches as outputs if it decodes.
        cache: names of conventions; all by default.
        cache_dtype: element type of the caches, in place of their own.
        attention: kernel of attention under eager execution.
        phase: the phase of the program.
        saved, training, step: what is kept for the backward pass; gradients and states of the optimizer; a step of
            training as formulas.
        engine: memory of NumPy's engine.
        depth: number of parts of a path; layers with longer paths are joined.
        files, remarks: bytes of weights by the headers of the model's files, in place of the program's; more remarks.

    Raises:
        NetcalcError: E502 for an unknown convention or element type.
    """
    reported = applied_to(program, tuple(map(convention_named, cache)) or conventions().values())
    return MemoryReport(
        program.name,
        program.about,
        program.dtype,
        program.checkpoint_dtype,
        program.stored_as,
        program.input_types,
        program.output_types,
        program.dims.get(str(program.caches.past)),
        program.dims.get(str(program.caches.new)),
        stored_weights(program) if files is None else files.stored,
        kept_by(program, element_type(cache_dtype) if cache_dtype else None, reported),
        reported,
        None if program.symbols else beside_caches(program),
        None if program.symbols else activations(program, "eager", attention),
        attention,
        phase,
        saved,
        training,
        engine,
        step=step,
        depth=depth,
        notes=(*program.notes, *remarks),
        files=files,
        **_formulas(program, attention, step),
    )


def _formulas(program: Program, attention: AttentionKernel, step: SymbolicStep | None) -> dict[str, Any]:
    """Return the fields of a report in symbols, for a program with symbols."""
    if not program.symbols:
        return {}
    peaks = symbolic_peaks(program, attention) if step is None else ()
    return {"symbolic": program.symbols, "peaks": peaks, "assumptions": program.assumptions}


def tokens_in(report: MemoryReport, budget: str | int, program_at: Callable[[int], Program] | None) -> TokensIn:
    """Return the tokens that fit beside weights and buffers, and with the activations of a phase, by convention.

    Args:
        report: the memory of the network.
        budget: bytes, as a number or as in ``"16GiB"``.
        program_at: the program of the phase at a number of positions; None to count no activations.

    Raises:
        NetcalcError: E502 for a malformed budget or a network without caches, E404 for a symbolic size.
    """
    size = budget_bytes(budget) if isinstance(budget, str) else budget
    if not report.kept:
        hint = "a spec with caches has a dim `past` that precedes another dim, and a var use_cache"
        raise NetcalcError(Diagnostic("E502", f"--tokens-in: {report.spec} keeps no caches", hint=hint))
    if report.symbolic:
        raise NetcalcError(Diagnostic("E404", f"--tokens-in: {report.symbolic[0]} is a symbol", hint="set it"))
    left = size - integer(report.weights) - integer(report.buffers)
    if program_at is None:
        most = {rule.name: tokens_that_fit(report.kept, rule, left) for rule in report.conventions}
        return TokensIn(size, most, {}, left, _edges(report, most, lambda tokens: None))
    activations_at = ActivationsAt(program_at)
    tokens = {
        rule.name: tokens_with_activations(report.kept, rule, left, activations_at) for rule in report.conventions
    }
    refused = {name: activations_at.refusal(most + 1) for name, most in tokens.items() if most and most > 0}
    ends = {name: reason for name, reason in refused.items() if reason is not None}
    return TokensIn(size, tokens, ends, left, _edges(report, tokens, activations_at))


def _edges(
    report: MemoryReport, tokens: Mapping[str, int | None], activations_at: Callable[[int], int | None]
) -> Mapping[str, tuple[TokensEdge, ...]]:
    """Return the memory on both sides of the most tokens, by convention."""

    def at(rule: CacheConvention, number: int) -> TokensEdge:
        return TokensEdge(number, integer(reserved(report.kept, rule, number)), activations_at(number))

    return {
        rule.name: tuple(at(rule, n) for n in ((number, number + 1) if number > 0 else (1,)))
        for rule in report.conventions
        if (number := tokens[rule.name]) is not None
    }


def _sum(sizes: Iterable[Dim]) -> Dim:
    return reduce(add, sizes, 0)
