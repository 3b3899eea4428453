"""Memory of a step of training at symbolic sizes, as formulas.

The step is counted on numbers with formulas (:mod:`netcalc.dims.valued`), its repeats cut to a few iterations as they
are for numbers, so that a symbolic number of iterations is a factor of what each further one adds.  The peak is the
maximum over all moments, in which those are left out that hold no more bytes at any sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from netcalc.analysis.symbolic_peaks import AtSizes, greatest_moments, tried_sizes
from netcalc.analysis.training_memory import DURING, UPDATE, StepFigures, Training, TrainingMemory, step_figures
from netcalc.diagnostics import TooLargeError
from netcalc.dims import (
    Assumption,
    Dim,
    Poly,
    Settled,
    UndecidedError,
    assumptions,
    claimed,
    default_of,
    limited_work,
    maximum,
)
from netcalc.dims.valued import comparing_values, form_of, valued
from netcalc.ir import CallNode, Program
from netcalc.ir.specialize import Specializer
from netcalc.limits import MAX_PEAK_WORK
from netcalc.options import PrecisionName
from netcalc.results import recorded

#: Times the work of a formula of the peak of activations that the many moments of a step may take.
_MOMENTS = 20


class SymbolicState(NamedTuple):
    """A state that an optimizer keeps of the parameters that it updates."""

    name: str
    bytes: Dim


class StepMoment(NamedTuple):
    """A moment of a step at which the memory may be the most."""

    during: str
    """Part of the step: forward pass, recomputation, backward pass, end of the backward pass, or update."""
    at: str
    """Path of the operation; empty for none."""
    bytes: Dim
    """Bytes beside weights, buffers, copies of weights, and states."""


@recorded(
    *("optimizer", "precision", "recompute", "accumulate", "trained", "master", "gradients", "states", "kept"),
    *("peak", "moments", "assumptions"),
)
class SymbolicStep(NamedTuple):
    """Bytes of a step of training as formulas, each parameter that is trained once."""

    optimizer: str | None
    """Name of the optimizer; null for a forward and a backward pass without an update."""
    precision: PrecisionName | None
    """Element types; null for those of the model."""
    recompute: str
    """Activations that are computed again in the backward pass."""
    accumulate: int
    """Passes whose gradients are added up before an update."""
    trained: Dim
    """Elements of the parameters that are trained."""
    master: Dim
    """Bytes of a further copy of the weights in higher precision."""
    gradients: Dim
    """Bytes of all gradients of parameters."""
    states: tuple[SymbolicState, ...]
    kept: Dim
    """The most bytes that are kept for the backward pass, at the end of the forward pass."""
    peak: Dim
    """The most bytes at a time, beside weights, buffers, copies of weights, and states."""
    moments: tuple[StepMoment, ...]
    """Moments of the maximum, that of the default sizes first."""
    claims: tuple[Assumption, ...]
    """Relations between sizes that the formulas rely on, besides those of the network."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The relations in words."""
        return tuple(map(claimed, self.claims))

    @property
    def state_bytes(self) -> Dim:
        """Bytes of all states."""
        return sum((state.bytes for state in self.states), start=0)

    @property
    def total(self) -> Dim:
        """The most bytes at a time, beside weights and buffers."""
        return self.master + self.state_bytes + self.peak


def symbolic_step(
    program: Program, training: Training, loss: bool, counted: TrainingMemory | None
) -> SymbolicStep | None:
    """Return the memory of a step of training of a program with symbols; None if it has no formulas.

    Args:
        program: the program in training mode, with its loss behind its layers if ``loss`` is True.
        training: the way to train.
        loss: True for a program that ends in the loss of its spec.
        counted: the memory at the default sizes, which the formulas have to have; None if they cannot be counted.

    Raises:
        NetcalcError: as :func:`~netcalc.analysis.training_memory.training_memory` does.
    """
    if counted is None:
        return None
    defaults, general = tried_sizes(program)
    for sizes, by_value in ((general, False), (defaults, False), (defaults, True)):
        found: SymbolicStep | None = None
        settle = Settled(program.assumptions)

        def number(size: Poly, sizes: object = sizes) -> int:
            return valued(size, sizes)  # type: ignore[arg-type]

        try:
            with (
                limited_work(_MOMENTS * MAX_PEAK_WORK),
                assumptions() as noted,
                comparing_values(settle, by_value=by_value),
            ):
                at_sizes = _Symbolic(number).program(program, ())
                figures = step_figures(at_sizes, training, (training.optimizer,), loss)
                found = _formulas(figures, settle, noted, program)
        except (TooLargeError, UndecidedError):  # a formula that takes long, or a size without a default
            continue
        if found is not None and _agrees(found, counted, defaults):
            return found
    return None


def _agrees(step: SymbolicStep, counted: TrainingMemory, defaults: object) -> bool:
    """Return True if formulas hold at the default sizes, and have the numbers that are counted there."""
    figures = (step.trained, step.gradients, step.master, step.state_bytes, step.kept, step.total)
    expected = counted.trained, counted.gradients, counted.master, counted.state_bytes, counted.kept, counted.total
    holds = all(claim.holds(defaults) for claim in step.claims)  # type: ignore[arg-type]
    return holds and tuple(map(default_of, figures)) == expected


def _formulas(
    figures: StepFigures, settle: Callable[[Dim], Dim], noted: list[Assumption], program: Program
) -> SymbolicStep | None:
    """Return the formulas of the numbers of a step; None for a repeat that cannot be cut."""
    loops, training = figures.fold.claims(), figures.training
    if loops is None:
        return None

    def form(number: int) -> Dim:
        return settle(form_of(number))

    numbers = figures.numbers
    keys = [key for key in numbers if isinstance(key, tuple)]
    greatest = greatest_moments((form(size), place) for size, place in _moments(figures))
    own = [key for key in keys if key[:2] == ("state", training.optimizer)]
    states = tuple(SymbolicState(key[2], form(numbers[key][0])) for key in own)
    ordered = sorted(greatest.items(), key=lambda item: -(default_of(item[0]) or 0))
    claims = [claim for claim in (*noted, *loops) if not any(map(claim.is_same, program.assumptions))]
    distinct = [claim for number, claim in enumerate(claims) if not any(map(claim.is_same, claims[:number]))]
    return SymbolicStep(
        training.optimizer,
        training.precision,
        training.recompute,
        training.accumulate,
        form(numbers["trained",][0]),
        form(numbers["master",][0]),
        form(numbers["gradients",][0]),
        states,
        form(sum(numbers[key][1] for key in keys if key[0] == "kept")),
        maximum(*greatest),
        tuple(StepMoment(*place, size) for size, place in ordered),
        tuple(distinct),
    )


def _moments(figures: StepFigures) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the bytes of each moment of a step with the part of the step and the path of the operation."""
    before = figures.numbers["gradients",][0] if figures.training.accumulate > 1 else 0
    for key, numbers in figures.numbers.items():
        if isinstance(key, tuple) and key[0] in DURING:
            yield sum(numbers) + before, (DURING[key[0]], figures.fold.path(key[1]))
    optimizer = figures.training.optimizer
    if optimizer is not None:
        yield sum(figures.numbers["end", (), 0]) + before + figures.largest[optimizer], (UPDATE, "")


class _Symbolic(AtSizes):
    """A program at numbers with formulas, those of iterations too."""

    def _call(self, node: CallNode) -> CallNode:
        times: Dim = node.times
        return replace(Specializer._call(self, node), times=times if isinstance(times, int) else self._value_of(times))
