"""Memory of a step of training of a request: its micro-batches, and what a step holds in all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from netcalc.analysis.precisions import precision_named
from netcalc.analysis.stored_weights import stored_weights
from netcalc.analysis.training_memory import Counted, Training, TrainingMemory, training_memory
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.request import Request

if TYPE_CHECKING:
    from netcalc.analysis.symbolic_step import SymbolicStep

#: The dim of sequences or images that are processed together.
_BATCH = "batch"

_NO_FORMULA = "the memory of this step of training has no short formula, so that it"
_NO_FORMULA_OF_LAYERS = (
    "the memory of a step of training has formulas of at least 4 layers that are alike, and each recomputed by itself; "
    "this one"
)


class TrainedProgram(NamedTuple):
    """A request as it is trained: its program in training mode, with the loss behind its layers if there is one."""

    request: Request
    program: Program
    loss: bool
    training: Training


class TrainingStep(NamedTuple):
    """A request as it is trained, and what is counted of its step."""

    request: Request
    program: Program
    """In training mode, with the loss behind its layers if there is one."""
    loss: bool
    training: Training
    counted: Counted

    @property
    def memory(self) -> TrainingMemory:
        """Memory by kind, beside weights and buffers."""
        return self.counted.memory

    @property
    def weights(self) -> int:
        """Bytes of all parameters, as they are stored."""
        return sum(integer(kind.bytes) for kind in stored_weights(self.program) if kind.role != "buffers")

    @property
    def buffers(self) -> int:
        """Bytes of all buffers."""
        return sum(integer(kind.bytes) for kind in stored_weights(self.program) if kind.role == "buffers")

    @property
    def total(self) -> int:
        """The most bytes at a time."""
        return self.weights + self.buffers + self.memory.total


def training_step(request: Request, training: Training, micro_batch: int | None = None) -> TrainingStep:
    """Return the memory of a step of training of a request, at its sizes.

    Args:
        request: the source and its settings; in training mode unless it has another one.
        training: the way to train; ``accumulate`` passes share the batch unless ``micro_batch`` is given.
        micro_batch: sequences or images of a pass; the batch by default.

    Raises:
        NetcalcError: E502 for an unknown optimizer, a bad way to train, a micro-batch of a network without a batch, or
            one that does not divide it; E603 for a program with too many operations; with every error in the settings.
        UndecidedError: E404 if a size is symbolic.
    """
    program = trained_program(request, training, micro_batch)
    size = program.request.program.dims.get(_BATCH)
    counted = training_memory(program.program, program.training, program.loss, None if size is None else integer(size))
    return TrainingStep(*program, counted)


def symbolic_step_of(request: Request, training: Training, micro_batch: int | None = None) -> SymbolicStep:
    """Return the memory of a step of training of a request with symbols, as formulas.

    Raises:
        NetcalcError: E404 for a step that has no formulas; as :func:`training_step` does.
    """
    from netcalc.analysis.symbolic_peaks import symbolic_times
    from netcalc.analysis.symbolic_step import symbolic_step

    if (micro_batch is not None or training.accumulate > 1) and _BATCH in request.symbolic:
        raise request.symbol_error("--micro-batch" if micro_batch is not None else "--accumulate", _BATCH)
    trained = trained_program(request, training, micro_batch)
    numbers = replace(trained.request, symbolic=())
    counted = None
    if not any(not isinstance(size, int) for size in numbers.program.dims.values()):
        program = numbers.program_with_loss if trained.loss else numbers.program
        counted = training_memory(program, trained.training, trained.loss).memory
    found = symbolic_step(trained.program, trained.training, trained.loss, counted)
    if found is None:
        loops = any(symbolic_times(trained.program.main, set()))
        request.require_numbers(_NO_FORMULA_OF_LAYERS if loops else _NO_FORMULA)
    assert found is not None
    return found


def trained_program(request: Request, training: Training, micro_batch: int | None = None) -> TrainedProgram:
    """Return the program of a step of training, with arguments as for :func:`training_step`.

    Raises:
        NetcalcError, UndecidedError: as :func:`training_step` does.
    """
    precision = precision_named(training.precision, training.mixed, training.attention)
    if precision.dtype is not None:
        if request.dtype is not None:
            hint = "leave out --dtype"
            raise NetcalcError(Diagnostic("E502", f"--precision {training.precision} sets the types", hint=hint))
        request = request.with_dtype(precision.dtype)
    if request.mode is None:
        request = request.with_mode("train")
    request, passes = in_micro_batches(request, micro_batch, training.accumulate)
    training = training._replace(accumulate=passes)
    loss = request.loss is not None
    program = request.program_with_loss if loss else request.program
    return TrainedProgram(request, program, loss, training)


def in_micro_batches(request: Request, micro_batch: int | None, accumulate: int) -> tuple[Request, int]:
    """Return the request of one pass, and the number of passes before an update.

    Raises:
        NetcalcError: E502 for passes that do not divide the batch, or a network without a batch.
    """
    if micro_batch is None and accumulate == 1:
        return request, 1
    whole = request.program.dims.get(_BATCH)
    option = f"--micro-batch {micro_batch}" if micro_batch is not None else f"--accumulate {accumulate}"
    if whole is None:
        raise NetcalcError(Diagnostic("E502", f"{option}: {request.program.name} has no dim {_BATCH}"))
    batch = integer(whole)
    if micro_batch is None:
        micro_batch = _divided(batch, accumulate, option)
    elif accumulate == 1:
        accumulate = _divided(batch, micro_batch, option)
    return request.with_settings({_BATCH: micro_batch}), accumulate


def _divided(batch: int, by: int, option: str) -> int:
    if batch % by:
        hint = f"--set {_BATCH}={-(-batch // by) * by}, or --micro-batch and --accumulate together"
        raise NetcalcError(Diagnostic("E502", f"{option} does not divide a batch of {batch}", hint=hint))
    return batch // by
