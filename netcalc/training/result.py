"""Results of training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.arrays import Array
from netcalc.results import Entry, Real, recorded
from netcalc.training.updates import global_norm
from netcalc.weights.saved import TensorResult


class TrainingStep(NamedTuple):
    """A step; numbers that are not finite are text."""

    step: int
    """The number of the step, from 1."""
    loss: Real
    """The loss before the update."""
    lr: float
    """The learning rate of the update."""
    gradient_norm: Real
    """The norm of all gradients, before they are clipped."""
    seconds: float


class ParameterNorm(NamedTuple):
    """A parameter after the last step."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    norm: Real
    """The Euclidean norm of its elements."""
    trained: bool
    """False for a parameter that is frozen, or that the loss does not depend on."""


class WatchedLayer(NamedTuple):
    """An output of a layer that is followed over the steps; numbers that are not finite are text."""

    path: str
    op: str
    shape: tuple[int, ...]
    mean: tuple[Real, ...]
    """The mean of its elements in each step of this run, before the update."""
    std: tuple[Real, ...]
    """Their standard deviation in each step of this run."""


@recorded(
    *("spec", "seed", "optimizer", "settings", "samples", "batch", "resumed", "seconds_per_step", "steps"),
    Entry("parameters", "norms"),
    "watched",
    name="train",
)
@dataclass(frozen=True, slots=True)
class TrainingResult(TensorResult):
    """Result of training: its steps, and the parameters and buffers after the last."""

    spec: str
    """Name of the spec."""
    optimizer: str
    settings: Mapping[str, float]
    """Settings of the optimizer."""
    seed: int
    """Seed of everything drawn."""
    samples: int
    """Samples of the data; 1 if every step had the same inputs."""
    batch: int
    """Samples of a step; 1 if every step had the same inputs."""
    steps: tuple[TrainingStep, ...]
    """All steps from the first; those before ``resumed`` were read from the checkpoint."""
    resumed: int
    """Steps that were read from a checkpoint."""
    parameters: Mapping[str, Array]
    buffers: Mapping[str, Array]
    named: Mapping[str, Array]
    """Parameters and buffers under the names of the reference implementation."""
    trained: frozenset[str]
    """Paths of the parameters that were updated; the others are frozen, or the loss does not depend on them."""
    data: str
    """Name of the data; synthetic for a drawn batch."""
    watched: tuple[WatchedLayer, ...] = ()
    """Outputs of layers that were followed, in the order of execution."""

    @property
    def tensors(self) -> Mapping[str, Array]:
        """Parameters and buffers under the names of the reference implementation, which ``weights`` takes."""
        return self.named

    @property
    def losses(self) -> tuple[float, ...]:
        """Loss of each step, before its update."""
        return tuple(step.loss for step in self.steps)

    @property
    def ok(self) -> bool:
        """False if the loss of the last step is not finite, which ended the training without an update."""
        return math.isfinite(self.steps[-1].loss)

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
