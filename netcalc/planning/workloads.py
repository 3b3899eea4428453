"""Workloads of a request: memory at a batch and a length, each computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property

from netcalc.analysis.fit.report import Need, Part, Workload
from netcalc.analysis.memory_table import MemoryPoint
from netcalc.arguments import options_of
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.fit_options import FitOptions
from netcalc.ir import Program
from netcalc.options import MemoryOptions, Phase
from netcalc.planning.phases import logits_in_phase, phase_of, request_in_phase, require_training
from netcalc.planning.points import Measured, MemoryPoints
from netcalc.request import Request

#: Positions of a sequence where nothing else is known.
_LENGTH = 8192
#: Vars that say how many positions a network has, or was trained with.
_CONTEXT = ("max_length", "max_position_embeddings", "context_length", "n_positions", "n_ctx", "max_seq_len")


class Workloads:
    """Memory of a request at batches and lengths.

    Raises:
        NetcalcError: E404 for symbolic sizes; E502 for a batch or length of a network without one, and for an option
            that says how to train, without training.
    """

    def __init__(self, request: Request, options: FitOptions) -> None:
        program = request.program
        self._past, self._new, self._batch = _dims(program)
        phase = phase_of(options["phase"], options["training"])
        decodes = self._past is not None
        self._phase: Phase | None = phase or ("prefill" if decodes else None)
        self._assumptions: list[str] = []
        self.memory_options = _memory_options(options, "training" if self.trains else None)
        if not self.trains:
            require_training(self.memory_options)
        self.passes: int = options["accumulate"]
        self._micro_batch = options["micro_batch"]
        self.request = request
        self.batch = self._chosen_batch(options["batch"])
        self.length = self._chosen_length(options["length"])
        if phase is None and decodes:
            self._assumptions.append("--phase prefill, all positions at once")
        settings = self._settings(self.batch, self.length)  # which say the phase
        if decodes and not self.trains:
            sized = request.at_step(0, 1).with_settings(settings)
            self._numeric, remarks = logits_in_phase(sized, self._phase, options["logits"])
        else:
            sized = request.with_settings(settings)
            sized = sized.with_mode("train") if self.trains and request.mode is None else sized
            self._numeric, remarks = request_in_phase(sized, self._phase, options["logits"])
        self._assumptions += remarks
        symbol = next((name for name, size in self.in_phase.program.dims.items() if not isinstance(size, int)), None)
        if symbol is not None:
            raise NetcalcError(Diagnostic("E404", f"fit: {symbol} is a symbol", hint=f"--set {symbol}=NUMBER"))
        self._points = MemoryPoints(self._numeric, self.memory_options)
        self._known: dict[tuple[int | None, int | None], Measured | NetcalcError] = {}

    @property
    def trains(self) -> bool:
        """True for a step of training."""
        return self._phase == "training"

    @cached_property
    def in_phase(self) -> Request:
        """The request of the workload, of one micro-batch in training."""
        return self.at(self.batch, self.length)

    def at(self, batch: int | None, length: int | None) -> Request:
        """Return the request of the phase at a batch and a length, of one micro-batch in training."""
        passed = None if batch is None else self._micro_batch or batch // self.passes
        return self._sized(self._settings(passed, length))

    def _sized(self, sizes: Mapping[str, int]) -> Request:
        """Return the request of the phase at sizes: the symbolic one, where its assumptions hold, or a new one."""
        if self._symbolic is not None:
            with suppress(NetcalcError):
                request = self._symbolic.with_sizes({name: n for name, n in sizes.items() if name in self._symbols})
                if request.program is not None:
                    return request
        return self._numeric.with_settings(sizes)

    @property
    def _symbols(self) -> tuple[str, ...]:
        """Names of the dims that differ between points."""
        grows = self._past if self._phase == "decode" else self._new
        return tuple(name for name in (self._batch, grows) if name is not None)

    @cached_property
    def _symbolic(self) -> Request | None:
        """The request of the phase with symbols, from which programs at sizes are made; None if it has no program."""
        request = self._numeric.with_symbols(self._symbols)
        try:
            return request if self._symbols and request.program is not None else None
        except NetcalcError:
            return None

    @property
    def batch_step(self) -> int | None:
        """Number that batches are multiples of, since passes share them; None if the memory is that of any batch."""
        return self.passes if self._micro_batch is None else None

    @property
    def workload(self) -> Workload:
        """The sizes that were asked for, or are assumed."""
        return Workload(self._phase, self.batch, self.length)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Remarks on what was not asked for."""
        return tuple(self._assumptions)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what is counted."""
        return self._measured(self.batch, self.length).notes

    @property
    def program(self) -> Program:
        """The program of the workload."""
        return self._measured(self.batch, self.length).program

    def need(self, batch: int | None, length: int | None) -> Need:
        """Return the memory at a batch and a length.

        Raises:
            NetcalcError: for sizes that the network does not have.
        """
        return Need(tuple(_parts(self._measured(batch, length).point)))

    def known_lengths(self, batch: int | None) -> Mapping[int, Need]:
        """Return the memory at the lengths that were asked for, at a batch."""
        return {
            length: Need(tuple(_parts(measured.point)))
            for (at, length), measured in self._known.items()
            if at == batch and length is not None and isinstance(measured, Measured)
        }

    def _measured(self, batch: int | None, length: int | None) -> Measured:
        sizes = batch, length
        if sizes not in self._known:
            try:
                settings = self._settings(batch, length)
                self._known[sizes] = self._points.measured_of(self._sized(settings), settings)
            except NetcalcError as error:
                self._known[sizes] = error
        known = self._known[sizes]
        if isinstance(known, NetcalcError):
            raise known
        return known

    def _settings(self, batch: int | None, length: int | None) -> dict[str, int]:
        settings: dict[str, int] = {}
        if batch is not None and self._batch is not None:
            settings[self._batch] = batch
        if length is not None and self._new is not None:
            steps = self._phase == "decode"
            settings[self._new] = 1 if steps else length
            if self._past is not None:
                settings[self._past] = length - 1 if steps else 0
        return settings

    def _chosen_batch(self, batch: int | None) -> int | None:
        """Return the batch that is asked for, by an option or a setting, or else 1."""
        if self._batch is None:
            if batch is not None:
                raise NetcalcError(Diagnostic("E502", f"--batch: {self.request.program.name} has no dim batch"))
            return None
        if batch is None and self._batch in self.request.settings:
            return integer(self.request.program.dims[self._batch])
        if batch is None:
            batch = (self._micro_batch or 1) * self.passes
            self._assumptions.append(f"--batch {batch}")
        return batch

    def _chosen_length(self, length: int | None) -> int | None:
        """Return the length that is asked for, by an option or a setting, or else a usual one of the network."""
        program, new = self.request.program, self._new
        if new is None:
            if length is not None:
                raise NetcalcError(Diagnostic("E502", f"--length: {program.name} has no positions"))
            return None
        if length is not None:
            return length
        seen = [name for name in (self._past, new) if name is not None]
        if any(name in self.request.settings for name in seen):
            return sum(integer(program.dims[name]) for name in seen)
        contexts: list[int] = [program.vars[name] for name in _CONTEXT if isinstance(program.vars.get(name), int)]
        if not contexts:
            self._assumptions.append(f"--length {_LENGTH}, as no context is known")
            return _LENGTH
        chosen: int = min(_LENGTH, *contexts)
        self._assumptions.append(f"--length {chosen}, the smaller of {_LENGTH:,} and the context of {min(contexts):,}")
        return chosen


def _dims(program: Program) -> tuple[str | None, str | None, str | None]:
    """Return the names of the dims of past positions, of new ones, and of the batch."""
    caches = program.caches
    past, new = caches.past, caches.new
    if new is None and "length" in program.dims:
        new = "length"
    return past, new, "batch" if "batch" in program.dims else None


def _memory_options(options: FitOptions, phase: Phase | None) -> MemoryOptions:
    """Return the options of ``memory`` that count what ``fit`` does."""
    defaults = {name: option.default for name, option in options_of(MemoryOptions).items()}
    same = {name: value for name, value in options.items() if name in defaults and name != "logits"}
    return MemoryOptions(**{**defaults, **same, "phase": phase})  # type: ignore[typeddict-item]


def _parts(point: MemoryPoint) -> Iterator[Part]:
    """Yield the kinds of memory at a point that are not empty; buffers are weights."""
    kinds = {
        "weights": (point.weights or 0) + (point.buffers or 0),
        "caches and states": next(iter(point.caches.values()), 0),
        "gradients": point.gradients or 0,
        "optimizer": point.states or 0,
        "saved for backward": point.saved or 0,
        "activations": point.activations or 0,
        "temporaries": point.temporaries or 0,
    }
    yield from (Part(name, size) for name, size in kinds.items() if size or name == "weights")
