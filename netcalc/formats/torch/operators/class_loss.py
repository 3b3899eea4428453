"""Losses of classes."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._losses import loss_line
from netcalc.formats.torch.operators._operands import with_unused


def class_loss(
    operation: str, build: Builder, weight: Value | None, ignore_index: int, label_smoothing: float = 0.0, **call: Any
) -> Value:
    """Add a loss of class indices, with weights of classes that may be absent."""
    settings = {"ignore_index": unless_default(ignore_index, -100), "label_smoothing": label_smoothing or None}
    return loss_line(operation, build, weight=weight, **call, **settings)


_nll_loss = partial(class_loss, "nll_loss")
operator("aten.nll_loss_nd.default", "aten.nll_loss.default", "aten.nll_loss2d.default")(_nll_loss)
operator("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")(with_unused(_nll_loss))
operator("aten.cross_entropy_loss.default")(partial(class_loss, "cross_entropy"))
