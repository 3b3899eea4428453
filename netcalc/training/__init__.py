"""Training steps by the reference kernels and their products, to prove what is predicted of them, and to teach.

``loop`` runs the steps, ``state`` holds what they change, ``checkpoint`` writes and reads it, ``recipe`` says
how they are done and ``result`` what is reported.
"""

from __future__ import annotations

from netcalc.training.loop import SYNTHETIC, Trainer, train
from netcalc.training.recipe import Recipe, Schedule
from netcalc.training.result import TrainingResult, TrainingStep

__all__ = ["SYNTHETIC", "Recipe", "Schedule", "Trainer", "TrainingResult", "TrainingStep", "train"]
