"""Losses of classes."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._losses import REDUCTIONS, present
from netcalc.formats.torch.operators._operands import UNUSED


@operator("aten.cross_entropy_loss.default")
def cross_entropy(
    build: Builder,
    input: Value,
    target: Value,
    weight: Value | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
) -> Value:
    attributes = {
        "reduction": REDUCTIONS[reduction],
        "ignore_index": None if ignore_index == -100 else ignore_index,
        "label_smoothing": label_smoothing or None,
    }
    return build.line("cross_entropy", present(input, target, weight), attributes)


@operator("aten.nll_loss_nd.default", "aten.nll_loss.default", "aten.nll_loss2d.default")
def nll_loss(
    build: Builder, input: Value, target: Value, weight: Value | None, reduction: int, ignore_index: int
) -> Value:
    attributes = {"reduction": REDUCTIONS[reduction], "ignore_index": None if ignore_index == -100 else ignore_index}
    return build.line("nll_loss", present(input, target, weight), attributes)


@operator("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")
def nll_loss_forward(
    build: Builder, input: Value, target: Value, weight: Value | None, reduction: int, ignore_index: int
) -> tuple[Value | None, ...]:
    return nll_loss(build, input, target, weight, reduction, ignore_index), *UNUSED
