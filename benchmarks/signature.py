"""A signature of a plan, equal for plans that do the same work in the same way."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from netcalc.engine.graph import GraphNode
from netcalc.engine.plan import Plan
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning

__all__ = ["signature"]

#: Levels of closures that are looked into.
_DEPTH = 4


def signature(plan: Plan) -> Hashable:
    """Return the steps, their jobs, the layouts that they read and write, and the numbers in their closures."""
    steps = tuple(
        (
            step.node.instance.path,
            tuple(other.instance.path for other in step.node.after),
            step.what,
            step.jobs,
            step.rounds,
            plan.workers_by_step[step],
            _layouts(step.reads),
            _layouts(step.writes),
            _content(step.bind, _DEPTH),
        )
        for step in plan.steps
    )
    return steps, plan.memory


def _layouts(slots: Sequence[Slot]) -> Hashable:
    return tuple((slot.shape, slot.strides, str(slot.dtype)) for slot in slots)


def _content(value: Any, depth: int) -> Hashable:
    """Return the code and the plain values that a closure holds."""
    if isinstance(value, (bool, int, float, str, type(None), slice)):
        return repr(value)
    if isinstance(value, Slot):
        return _layouts([value])
    if depth == 0:
        return type(value).__name__
    if isinstance(value, Tuning):
        return "tuning"
    if isinstance(value, partial):
        return _content((value.func, *value.args, *value.keywords.values()), depth - 1)
    if isinstance(value, FunctionType):
        cells = tuple(_content(cell.cell_contents, depth - 1) for cell in value.__closure__ or ())
        return (value.__module__, value.__qualname__, cells)
    if isinstance(value, (tuple, list)):
        return tuple(_content(item, depth - 1) for item in value)
    if is_dataclass(value) and not isinstance(value, (type, GraphNode)):
        return tuple(_content(getattr(value, field.name), depth - 1) for field in fields(value))
    if isinstance(value, (np.ufunc, np.dtype)):
        return repr(value)
    return type(value).__name__
