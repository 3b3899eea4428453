"""Memory of a step of training by kind, and its peak: weights, gradients, states, what is kept, temporaries.

Repeats are cut to a few iterations, so that the cost does not grow with the depth.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from netcalc.analysis.activations.execution import Eager, Ideal
from netcalc.analysis.activations.peaks import ExecutionName
from netcalc.analysis.optimizers import Optimizer, State, optimizer_of_memory
from netcalc.analysis.precisions import AS_COUNTED, Precision, precision_named
from netcalc.analysis.recomputation import recomputation
from netcalc.analysis.saved_memory import SavedBy, SavedMemory
from netcalc.analysis.training_step.backward import Step, Trained
from netcalc.analysis.training_step.cuts import CutProgram, Fold
from netcalc.analysis.training_step.forward import Forward
from netcalc.analysis.training_step.ledger import Live
from netcalc.dims import integer, product
from netcalc.dims.valued import largest
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Program
from netcalc.ir.loss import LOSS
from netcalc.options import AttentionKernel, Mixed, PrecisionName
from netcalc.results import recorded

#: Moments of a step, in words.
DURING = {
    "forward": "forward pass",
    "recompute": "recomputation",
    "backward": "backward pass",
    "sum": "backward pass",
    "cast": "backward pass",
    "end": "end of the backward pass",
}
UPDATE = "update"


class Training(NamedTuple):
    """A way to train."""

    optimizer: str | None = None
    """Name of the optimizer; None for a forward and a backward pass without an update."""
    precision: PrecisionName | None = None
    """Element types; None for those that the program has."""
    mixed: Mixed | None = None
    """The way to keep weights under mixed precision."""
    recompute: str = "none"
    """Activations that are computed again: none, selective, full, or every:k."""
    attention: AttentionKernel = "sdpa-cpu"
    accumulate: int = 1
    """Passes whose gradients are added up before an update."""


class OptimizerState(NamedTuple):
    """A state that an optimizer keeps of the parameters that it updates."""

    name: str
    bytes: int


@recorded("during", "at", "gradients", "kept", "temporaries", "total")
class Peak(NamedTuple):
    """The moment of a step at which most memory is live, beside weights, buffers, and states of the optimizer."""

    during: str
    """Part of the step: forward pass, recomputation, backward pass, end of the backward pass, or update."""
    at: str
    """Path of the operation; empty for none."""
    gradients: int
    """Bytes of the gradients of parameters that exist."""
    kept: int
    """Bytes that are kept for the backward pass."""
    temporaries: int
    """Bytes of inputs and outputs, results that code still holds, gradients of activations, and work of kernels."""

    @property
    def total(self) -> int:
        """Bytes of all of them."""
        return self.gradients + self.kept + self.temporaries


class TrainingMemory(NamedTuple):
    """Bytes of a step of training, each parameter that is trained once."""

    optimizer: str | None
    """Name of the optimizer; null for a forward and a backward pass without an update."""
    precision: PrecisionName | None
    """Element types; null for those of the model."""
    mixed: Mixed | None
    """The way to keep weights under mixed precision; null for the default."""
    recompute: str
    """Activations that are computed again in the backward pass."""
    micro_batch: int | None
    """Sequences or images of a pass; null for a network without a batch."""
    accumulate: int
    """Passes whose gradients are added up before an update."""
    trained: int
    """Elements of the parameters that are trained, tied ones counted once."""
    master: int
    """Bytes of a further copy of the weights in higher precision, which the optimizer updates."""
    gradients: int
    """Bytes of all gradients of parameters."""
    states: tuple[OptimizerState, ...]
    kept: int
    """The most bytes that are kept for the backward pass, at the end of the forward pass."""
    peak: Peak

    @property
    def state_bytes(self) -> int:
        """Bytes of all states."""
        return sum(state.bytes for state in self.states)

    @property
    def held(self) -> int:
        """Bytes that training holds from step to step, beside weights and buffers: copies of weights, and states."""
        return self.master + self.state_bytes

    @property
    def total(self) -> int:
        """The most bytes at a time, beside weights and buffers."""
        return self.held + self.peak.total


class Counted(NamedTuple):
    """Memory of a step of training, and the operations that keep memory for the backward pass."""

    memory: TrainingMemory
    operations: tuple[SavedBy, ...]


def training_memory(
    program: Program, training: Training, loss: bool = False, micro_batch: int | None = None
) -> Counted:
    """Return the memory of a step of training in eager execution, as PyTorch allocates it.

    Frozen parameters, and those on which the loss does not depend, have neither gradients nor states.

    Args:
        program: the program in training mode, with its loss behind its layers if ``loss`` is True, in the element type
            of the precision.
        training: the way to train.
        loss: True for a program that ends in the loss of its spec.
        micro_batch: the size of the batch, for the record.

    Raises:
        NetcalcError: E502 for an unknown optimizer or a bad way to train; E603 for a program with too many operations
            that are not iterations of repeats; E604 for gradients through complex numbers.
        UndecidedError: E404 if a size is symbolic.
    """
    return step_figures(program, training, (training.optimizer,), loss).counted(training.optimizer, micro_batch)


class StepFigures(NamedTuple):
    """Numbers of a step of training by what they are of, from which its memory follows with each of some optimizers."""

    training: Training
    fold: Fold
    numbers: Mapping[Hashable, Sequence[int]]
    largest: Mapping[str, int]
    """The most bytes that an update of one parameter allocates, by optimizer."""

    def counted(self, optimizer: str | None, micro_batch: int | None = None) -> Counted:
        """Return the memory of the step with an optimizer, and what operations keep for the backward pass."""
        training, figures = self.training, self.numbers
        gradients = figures["gradients",][0]
        states = tuple(
            OptimizerState(key[2], numbers[0])
            for key, numbers in figures.items()
            if isinstance(key, tuple) and key[:2] == ("state", optimizer)
        )
        keeping = tuple(
            SavedBy(key[1], *numbers) for key, numbers in figures.items() if isinstance(key, tuple) and key[0] == "kept"
        )
        update = None if optimizer is None else self.largest[optimizer]
        memory = TrainingMemory(
            optimizer,
            training.precision,
            training.mixed,
            training.recompute,
            micro_batch,
            training.accumulate,
            figures["trained",][0],
            figures["master",][0],
            gradients,
            states,
            sum(by.bytes for by in keeping),
            _peak(self.fold, figures, update, gradients if training.accumulate > 1 else 0),
        )
        return Counted(memory, tuple(sorted(keeping, key=lambda by: -by.bytes)))


def step_figures(
    program: Program, training: Training, optimizers: Iterable[str | None], loss: bool = False
) -> StepFigures:
    """Return the numbers of a step of training, with arguments as for :func:`training_memory`.

    Raises:
        NetcalcError, UndecidedError: as :func:`training_memory` does.
    """
    precision = precision_named(training.precision, training.mixed, training.attention)
    chosen = {name: optimizer_of_memory(name) for name in optimizers if name is not None}
    measure = _Measure(program, training, precision, chosen, loss)
    fold = Fold(program, recomputation(training.recompute).unit)
    return StepFigures(training, fold, fold.figures(measure), measure.largest)


def saved_memory(program: Program, training: Training, loss: bool, operations: tuple[SavedBy, ...]) -> SavedMemory:
    """Return what is kept for the backward pass, by operations that :func:`training_memory` gives.

    Raises:
        NetcalcError: E603 for a program with too many operations that are not iterations of repeats.
    """
    mode = "train" if program.training else "eval"
    eager = sum(by.bytes for by in operations)
    ideal = _kept(program, training, "ideal")
    return SavedMemory(training.attention, mode, loss, sum(by.bytes for by in ideal), eager, operations, ideal)


def kept_memory(program: Program, training: Training, execution: ExecutionName = "eager") -> int:
    """Return the bytes that a forward pass keeps for the backward pass, as :class:`TrainingMemory` has them.

    Raises:
        NetcalcError: E603 for a program with too many operations that are not iterations of repeats.
    """
    return sum(by.bytes for by in _kept(program, training, execution))


def _kept(program: Program, training: Training, execution: ExecutionName) -> tuple[SavedBy, ...]:
    """Return what the operations of each name keep for the backward pass, the most bytes first."""
    precision = precision_named(training.precision, training.mixed, training.attention)
    again = recomputation(training.recompute)

    def kept(cut: CutProgram) -> Mapping[Hashable, Sequence[int]]:
        is_training = cut.program.training
        rules = Ideal(is_training) if execution == "ideal" else _eager(is_training, training, precision)
        run = Forward(cut, rules, precision, again)
        run.forward(noted=False)
        return run.kept  # type: ignore[return-value]

    found = (SavedBy(str(op), *numbers) for op, numbers in Fold(program, again.unit).figures(kept).items())
    return tuple(sorted(found, key=lambda by: -by.bytes))


def _eager(is_training: bool, training: Training, precision: Precision) -> Eager:
    """Return the eager execution of a way to train; masks of dropout have the type of autocast."""
    masks = None if precision.autocast is None else precision.dtype
    return Eager(is_training, training.attention, masks)


class _Measure:
    """Figures of a step on a cut program; ``largest`` are the most bytes that an update of one parameter allocates."""

    def __init__(
        self,
        program: Program,
        training: Training,
        precision: Precision,
        optimizers: Mapping[str, Optimizer],
        loss: bool,
    ) -> None:
        self._training = training
        self._precision = precision
        self._optimizers = optimizers
        self._start = program.output_names.index(LOSS) if loss else None
        self.largest = dict.fromkeys(optimizers, 0)

    def __call__(self, cut: CutProgram) -> Mapping[Hashable, tuple[int, ...]]:
        rules = _eager(cut.program.training, self._training, self._precision)
        again = recomputation(self._training.recompute)
        step = Step(cut, rules, self._precision, again, accumulates=self._training.accumulate > 1)
        outputs = step.forward()
        step.backward(outputs if self._start is None else [outputs[self._start]])
        figures: dict[Hashable, tuple[int, ...]] = dict(step.moments)
        figures |= {("kept", op): (tensors, size) for op, (tensors, size) in step.kept.items()}
        figures.update(self._of_parameters(list(step.trained.values())))
        return figures

    def _of_parameters(self, trained: list[Trained]) -> Mapping[Hashable, tuple[int, ...]]:
        elements = gradients = master = 0
        states: dict[Hashable, int] = {}
        for parameter in trained:
            elements += parameter.elements
            gradients += parameter.elements * ITEMSIZE[self._precision.gradients or parameter.dtype]
            if self._precision.master is not None:
                master += parameter.elements * ITEMSIZE[self._precision.master]
            dtype = self._precision.states or parameter.dtype
            for name, optimizer in self._optimizers.items():
                chosen = optimizer.of(parameter.shape, parameter.table)
                work = chosen.temporaries * parameter.elements * ITEMSIZE[dtype]
                self.largest[name] = largest(self.largest[name], work)
                for state in optimizer.kept(parameter.shape, parameter.table):
                    key = "state", name, state.name
                    states[key] = states.get(key, 0) + _state_bytes(state, parameter, dtype)
        totals = {("trained",): elements, ("gradients",): gradients, ("master",): master, **states}
        return {key: (number,) for key, number in totals.items()}


def _state_bytes(state: State, parameter: Trained, dtype: str) -> int:
    return integer(product(state.shape(parameter.shape))) * ITEMSIZE[state.dtype or dtype]


def _peak(fold: Fold, figures: Mapping[Hashable, Sequence[int]], update: int | None, before: int) -> Peak:
    """Return the moment with the most bytes; ``before`` are those of gradients of earlier passes."""
    most, found = -1, ("end", ())
    for key, numbers in figures.items():
        if isinstance(key, tuple) and key[0] in DURING and (size := sum(numbers)) > most:
            most, found = size, key
    live = Live(*figures[found])
    peak = Peak(DURING[found[0]], fold.path(found[1]), live.gradients + before, live.kept, live.temporaries)
    if update is None:
        return peak
    end = Live(*figures["end", (), 0])
    updating = Peak(UPDATE, "", end.gradients + before, end.kept, end.temporaries + update)
    return max(peak, updating, key=lambda one: one.total)


__all__ = [
    "AS_COUNTED",
    "Counted",
    "Peak",
    "StepFigures",
    "Training",
    "TrainingMemory",
    "saved_memory",
    "step_figures",
    "training_memory",
]
