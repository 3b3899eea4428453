"""Recipe of training: loss, optimizer, learning rates by step, and clipping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import get_args

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.run_options import ScheduleName
from netcalc.training.updates import Updater

SCHEDULES: tuple[ScheduleName, ...] = get_args(ScheduleName)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Learning rates of ``steps`` steps.

    The first ``warmup`` steps have 1/w, 2/w … of the rate.  Those after them have the rate, or fall along half a cosine
    or a line from it towards ``least``, which would be reached one step after the last, as torch's CosineAnnealingLR
    and transformers' get_linear_schedule_with_warmup do; or every ``step_size`` steps by the factor ``gamma``, as in
    torch's StepLR.
    """

    rate: float
    steps: int
    name: ScheduleName = "constant"
    warmup: int = 0
    least: float = 0.0
    step_size: int | None = None
    gamma: float = 0.1

    def __post_init__(self) -> None:
        if self.name not in SCHEDULES:
            hint = did_you_mean(self.name, SCHEDULES) or f"the schedules are {', '.join(SCHEDULES)}"
            raise NetcalcError(Diagnostic("E502", f"there is no schedule {self.name!r}", hint=hint))
        if self.steps < 1:
            raise NetcalcError(Diagnostic("E502", f"training needs at least 1 step, not {self.steps}"))
        if not 0 <= self.warmup <= self.steps:
            text = f"the warm-up should have 0 to {self.steps} steps, as many as there are, not {self.warmup}"
            raise NetcalcError(Diagnostic("E502", text))
        if (self.name == "step") != (self.step_size is not None):
            text = "the schedule 'step' needs the number of steps between two decays, and no other takes it"
            raise NetcalcError(Diagnostic("E502", text, hint="--schedule step --step-size 100"))
        falls = self.name in ("cosine", "linear")
        if not 0 <= self.least <= self.rate or (self.least and not falls):
            text = f"the least learning rate should be between 0 and {self.rate:g}, not {self.least:g}"
            if not falls:
                text = "a least learning rate needs a schedule that falls to it"
            raise NetcalcError(Diagnostic("E502", text, hint="--schedule cosine"))

    def at(self, step: int) -> float:
        """Return the learning rate of a step; steps count from 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        if self.name == "constant":
            return self.rate
        if self.step_size is not None:
            return self.rate * self.gamma ** ((step - self.warmup) // self.step_size)
        share = (step - self.warmup) / (self.steps - self.warmup)
        left = 1 - share if self.name == "linear" else (1 + math.cos(math.pi * share)) / 2
        return self.least + (self.rate - self.least) * left


@dataclass(frozen=True, slots=True)
class Recipe:
    """Recipe of training.

    Args:
        steps: number of all steps, steps of a checkpoint from which training goes on included.
        optimizer: name of the optimizer.
        lr: learning rate; the optimizer's default when None.
        settings: further settings of the optimizer, such as ``weight_decay``.
        loss: ``"sum"``, or the name of an output, in place of the loss of the spec.
        schedule, warmup, least_lr, step_size, gamma: learning rates by step, see :class:`Schedule`.
        clip: greatest norm of all gradients together.
        seed: seed of initial parameters, masks, the order of samples and synthetic data.

    Raises:
        NetcalcError: E502 for what is not possible.
    """

    steps: int = 20
    optimizer: str = "adamw"
    lr: float | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    loss: str | None = None
    schedule: ScheduleName = "constant"
    warmup: int = 0
    least_lr: float = 0.0
    step_size: int | None = None
    gamma: float = 0.1
    clip: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.loss, (str, NoneType)):
            text = f"the argument 'loss' should be the name of an output, or None, not {type(self.loss).__name__}"
            raise NetcalcError(Diagnostic("E502", text))
        self.rates()
        if self.clip is not None and not self.clip > 0:
            text = f"the greatest norm of gradients should be above 0, not {self.clip:g}"
            raise NetcalcError(Diagnostic("E502", text))

    def updater(self) -> Updater:
        """Return the optimizer, before its first step."""
        return Updater.of(self.optimizer, {**self.settings, **({} if self.lr is None else {"lr": self.lr})})

    def rates(self) -> Schedule:
        """Return the learning rates by step."""
        rate = self.updater().settings["lr"]
        falls = self.least_lr, self.step_size, self.gamma
        return Schedule(rate, self.steps, self.schedule, self.warmup, *falls)
