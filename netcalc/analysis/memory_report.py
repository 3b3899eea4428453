"""Memory of a forward pass or of a step of decoding, by what it holds: weights, caches and states, activations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import NamedTuple

from netcalc.analysis.activations.depth import points_at
from netcalc.analysis.activations.peaks import activations
from netcalc.analysis.activations.records import Activations, Point
from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import CacheConvention, convention_named, conventions, element_type
from netcalc.analysis.caches.fit import budget_bytes, tokens_that_fit
from netcalc.analysis.caches.layers import Kept, kept_by, reserved
from netcalc.analysis.stored_weights import StoredWeights, stored_weights
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, Poly, integer
from netcalc.ir import Program
from netcalc.results import Result
from netcalc.tensor_type import TensorType

__all__ = ["EngineMemory", "MemoryReport", "TokensIn", "memory_report"]


class TokensIn(NamedTuple):
    """The most tokens of each sequence that fit into ``budget`` bytes, by convention.

    Weights, buffers, caches and states share the budget.  None stands for any number, −1 for not even the weights.
    """

    budget: int
    tokens: Mapping[str, int | None]


class EngineMemory(NamedTuple):
    """Memory that NumPy's engine holds: ``fast`` or ``reference``, its weights, all else, and the most at a time."""

    name: str
    weights: int
    activations: int
    peak: int


@dataclass(frozen=True, slots=True)
class MemoryReport(Result):
    """Memory of a network, in bytes.

    ``kept`` are the caches and states after the step, and ``conventions`` those that their memory is reported under.
    ``ideal`` are the activations beside the caches, ``eager`` those of an eager framework with its caches.  They are
    None if a size is symbolic.  ``depth`` joins layers.  ``past`` and ``new`` are the positions before the
    step and in it.
    """

    spec: str
    about: str
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    past: Dim | None
    new: Dim | None
    stored: tuple[StoredWeights, ...]
    kept: tuple[Kept, ...]
    conventions: tuple[CacheConvention, ...]
    ideal: Activations | None
    eager: Activations | None = None
    engine: EngineMemory | None = None
    tokens_in: TokensIn | None = None
    symbolic: tuple[str, ...] = ()
    depth: int | None = None

    @property
    def layers(self) -> Sequence[Point]:
        """Layers with their live bytes under ideal execution, down to the depth; none if a size is symbolic."""
        return () if self.ideal is None else points_at(self.ideal, self.depth)

    @property
    def weights(self) -> Dim:
        """Bytes of all parameters, as they are stored, with those of adapters."""
        return _sum(one.bytes for one in self.stored if one.role != "buffers")

    @property
    def buffers(self) -> Dim:
        """Bytes of all buffers."""
        return _sum(one.bytes for one in self.stored if one.role == "buffers")

    @property
    def token_bytes(self) -> Dim:
        """Bytes that a position of one sequence adds to the caches, as long as no window is full."""
        return _sum(one.cell_bytes for one in self.kept if one.positions is not None)

    def caches(self, convention: str = "ideal") -> Dim:
        """Return the bytes of caches and states under a convention."""
        return reserved(self.kept, self._convention(convention))

    def total(self, convention: str = "ideal") -> Dim | None:
        """Return the bytes of everything with ideal activations; None if these are not known."""
        if self.ideal is None:
            return None
        return self.weights + self.buffers + self.caches(convention) + self.ideal.peak

    def _convention(self, name: str) -> CacheConvention:
        return next(one for one in self.conventions if one.name == name)


def memory_report(
    program: Program,
    *,
    cache: Iterable[str] = (),
    cache_dtype: str | None = None,
    tokens_in: str | int | None = None,
    engine: EngineMemory | None = None,
    depth: int | None = None,
) -> MemoryReport:
    """Return the memory of a program.

    Args:
        program: the program, with its caches as outputs if it decodes.
        cache: names of conventions; all by default.
        cache_dtype: element type of the caches, in place of their own.
        tokens_in: a budget in bytes.
        engine: memory of NumPy's engine.
        depth: number of parts of a path; layers with longer paths are joined.

    Raises:
        NetcalcError: E502 for an unknown convention or element type, or a malformed budget.
    """
    element = None if cache_dtype is None else element_type(cache_dtype)
    symbolic = tuple(name for name, size in program.dims.items() if isinstance(size, Poly))
    report = MemoryReport(
        program.name,
        program.about,
        {spec.name: spec.type for spec in program.inputs},
        dict(zip(program.output_names, program.main.output_types, strict=True)),
        program.dims.get(str(program.caches.past)),
        program.dims.get(str(program.caches.new)),
        stored_weights(program),
        kept_by(program, element),
        tuple(map(convention_named, cache)) or tuple(conventions().values()),
        None if symbolic else beside_caches(program),
        None if symbolic else activations(program, "eager"),
        engine,
        symbolic=symbolic,
        depth=depth,
    )
    return report if tokens_in is None else replace(report, tokens_in=_tokens_in(report, tokens_in))


def _tokens_in(report: MemoryReport, budget: str | int) -> TokensIn:
    """Return the tokens that fit beside weights and buffers, under each convention."""
    size = budget_bytes(budget) if isinstance(budget, str) else budget
    if not report.kept:
        hint = "a spec with caches has a dim `past` that precedes another dim, and a var use_cache"
        raise NetcalcError(Diagnostic("E502", f"--tokens-in: {report.spec} keeps no caches", hint=hint))
    if report.symbolic:
        raise NetcalcError(Diagnostic("E404", f"--tokens-in: {report.symbolic[0]} is a symbol", hint="set it"))
    left = size - integer(report.weights) - integer(report.buffers)
    return TokensIn(size, {one.name: tokens_that_fit(report.kept, one, left) for one in report.conventions})


def _sum(sizes: Iterable[Dim]) -> Dim:
    return reduce(add, sizes, 0)
