"""Results of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.arrays import Array
from netcalc.training.updates import global_norm
from netcalc.weights.saved import TensorResult

__all__ = ["ParameterNorm", "TrainingResult", "TrainingStep"]


class TrainingStep(NamedTuple):
    """A step: its number from 1, the loss before the update, and the learning rate of the update.

    ``gradient_norm`` is the norm of all gradients before they are clipped, ``seconds`` the time of the step.
    """

    number: int
    loss: float
    lr: float
    gradient_norm: float
    seconds: float


class ParameterNorm(NamedTuple):
    """A parameter after training, with the Euclidean norm of its elements; ``trained`` if updates changed it."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    norm: float
    trained: bool


@dataclass(frozen=True, slots=True)
class TrainingResult(TensorResult):
    """Result of training: its steps, and the parameters and buffers after the last.

    ``steps`` begin with the first step of all; those before ``resumed`` were read from the checkpoint from which
    training went on.  ``samples`` and ``batch`` are the numbers of samples of the data and of a step, both 1 if all
    steps had the same inputs.  ``trained`` are the paths of the parameters that were updated; the others are frozen, or
    the loss does not depend on them.  ``data`` is the name of the data, ``"synthetic"`` for a drawn batch.
    """

    spec: str
    optimizer: str
    settings: Mapping[str, float]
    seed: int
    samples: int
    batch: int
    steps: tuple[TrainingStep, ...]
    resumed: int
    parameters: Mapping[str, Array]
    buffers: Mapping[str, Array]
    trained: frozenset[str]
    data: str

    @property
    def tensors(self) -> Mapping[str, Array]:
        """Parameters and buffers by path, which ``weights`` takes."""
        return {**self.parameters, **self.buffers}

    @property
    def losses(self) -> tuple[float, ...]:
        """Loss of each step, before its update."""
        return tuple(step.loss for step in self.steps)

    @property
    def learning_rates(self) -> tuple[float, ...]:
        """Learning rate of each step."""
        return tuple(step.lr for step in self.steps)

    @property
    def gradient_norms(self) -> tuple[float, ...]:
        """Norm of all gradients of each step, before they are clipped."""
        return tuple(step.gradient_norm for step in self.steps)

    @property
    def seconds_per_step(self) -> float:
        """Median time of the steps of this run."""
        times = sorted(step.seconds for step in self.steps[self.resumed :])
        return (times[len(times) // 2] + times[(len(times) - 1) // 2]) / 2

    @property
    def norms(self) -> tuple[ParameterNorm, ...]:
        """Norms of the parameters after the last step."""
        return tuple(
            ParameterNorm(path, array.shape, array.dtype.name, global_norm([array]), path in self.trained)
            for path, array in self.parameters.items()
        )
