"""Record of ``train``: the recipe, each step, and statistics of the parameters after the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.records.values import plain
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.training.result import TrainingResult

__all__ = ["TrainingRecord", "training_record"]


class TrainingStepRecord(TypedDict):
    """A step; numbers that are not finite are text."""

    step: int
    """The number of the step, from 1."""
    loss: float | str
    """The loss before the update."""
    lr: float
    gradient_norm: float | str
    """The norm of all gradients, before they are clipped."""
    seconds: float


class ParameterNormRecord(TypedDict):
    """A parameter after the last step."""

    path: str
    shape: list[int]
    dtype: str
    norm: float | str
    """The Euclidean norm of its elements."""
    trained: bool
    """False for a parameter that is frozen, or that the loss does not depend on."""


class TrainingRecord(TypedDict):
    """The result of training."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    seed: int
    """Seed of everything drawn."""
    optimizer: str
    settings: dict[str, float]
    """Settings of the optimizer."""
    samples: int
    """Samples of the data; 1 if every step had the same inputs."""
    batch: int
    """Samples of a step; 1 if every step had the same inputs."""
    resumed: int
    """Steps that were read from a checkpoint."""
    seconds_per_step: float
    """Median time of the steps of this run."""
    steps: list[TrainingStepRecord]
    parameters: list[ParameterNormRecord]


def training_record(result: TrainingResult) -> TrainingRecord:
    """Return the record of training."""
    return {
        "schema": schema_id("train"),
        "netcalc": __version__,
        "spec": result.spec,
        "seed": result.seed,
        "optimizer": result.optimizer,
        "settings": dict(result.settings),
        "samples": result.samples,
        "batch": result.batch,
        "resumed": result.resumed,
        "seconds_per_step": result.seconds_per_step,
        "steps": [
            {
                "step": step.number,
                "loss": plain(step.loss),
                "lr": step.lr,
                "gradient_norm": plain(step.gradient_norm),
                "seconds": step.seconds,
            }
            for step in result.steps
        ],
        "parameters": [
            {
                "path": parameter.path,
                "shape": list(parameter.shape),
                "dtype": parameter.dtype,
                "norm": plain(parameter.norm),
                "trained": parameter.trained,
            }
            for parameter in result.norms
        ],
    }
