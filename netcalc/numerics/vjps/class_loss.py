"""Products of :mod:`netcalc.ops.class_loss`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels.class_loss import class_axis
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.class_loss import CrossEntropy, NLLLoss


@dataclass(slots=True)
class _Rows:
    """Target classes of all rows, the gradient of each row's loss, and the same times the weight of its class."""

    classes: Array
    each: Array
    weighted: Array


@vjp("nll_loss")
def nll_loss(op: NLLLoss, back: Back, gradient: Array) -> Gradients:
    shape = back.shape()
    rows = _at_classes(op, back, wide(gradient))
    gradients: Gradients = {}
    if back.wants(0):
        flow = like(rows.each, np.zeros((rows.each.size, shape[_axis(shape)]), rows.each.dtype))
        _put(flow, rows.classes, -rows.weighted)
        gradients[0] = _as_input(flow, shape)
    if back.wants(2):
        gradients[2] = _of_weight(op, back, rows, _by_row(wide(back.saved["self"])))
    return gradients


@vjp("cross_entropy")
def cross_entropy(op: CrossEntropy, back: Back, gradient: Array) -> Gradients:
    shape = back.shape()
    logs = _by_row(wide(back.saved["result"]))
    target = back.inputs[1]
    assert target is not None
    if target.is_float:
        return _by_probability(op, back, wide(gradient), logs)
    rows = _at_classes(op, back, wide(gradient))
    classes, smoothing = logs.shape[1], op.label_smoothing
    spread = rows.each * (smoothing / classes) if smoothing else None
    gradients: Gradients = {}
    if back.wants(0):
        if spread is None:
            flow = np.exp(logs) * rows.weighted[:, None]
            _put(flow, rows.classes, _at_class(flow, rows.classes) - rows.weighted)
        else:
            share = like(spread, np.repeat(np.asarray(spread)[:, None], classes, axis=1))
            if "weight" in back.saved:
                share = share * wide(back.saved["weight"])
            _put(share, rows.classes, _at_class(share, rows.classes) + rows.weighted * (1 - smoothing))
            flow = np.exp(logs) * np.add.reduce(share, axis=1, keepdims=True) - share
        gradients[0] = _as_input(flow, shape)
    if back.wants(2):
        table = _of_weight(op, back, rows, logs)
        if spread is not None:
            table = table - np.add.reduce(logs * spread[:, None], axis=0)
        gradients[2] = table
    return gradients


def _by_probability(op: CrossEntropy, back: Back, g: Array, logs: Array) -> Gradients:
    """Return the gradients for target probabilities."""
    shape, rows = back.shape(), len(logs)
    weight = wide(back.saved["weight"]) if "weight" in back.saved else None
    each = _gradient_of_rows(g / rows if op.reduction == "mean" else g, rows)[:, None]
    gradients: Gradients = {}
    if back.wants(0, 2):
        shares = _by_row(wide(back.saved["target"]))
        if op.label_smoothing:
            shares = shares * (1 - op.label_smoothing) + op.label_smoothing / logs.shape[1]
    if back.wants(0):
        flow = (shares if weight is None else shares * weight) * each
        gradients[0] = _as_input(np.exp(logs) * np.add.reduce(flow, axis=1, keepdims=True) - flow, shape)
    if back.wants(1):
        flow = logs * (each * (op.label_smoothing - 1))
        gradients[1] = _as_input(flow if weight is None else flow * weight, shape)
    if back.wants(2):
        gradients[2] = -np.add.reduce(shares * logs * each, axis=0)
    return gradients


def _at_classes(op: CrossEntropy | NLLLoss, back: Back, g: Array) -> _Rows:
    """Return target classes and coefficients of the rows; ignored rows have coefficients of 0."""
    target = back.saved["target"].reshape(-1)
    counted = target != op.ignore_index
    classes = np.where(np.asarray(counted), np.asarray(target), 0).astype(np.intp)
    if op.reduction == "mean":
        g = g / wide(back.saved["total_weight"])
    each = like(g, np.where(np.asarray(counted), _gradient_of_rows(g, target.size), np.zeros((), g.dtype)))
    weighted = each
    if back.wants(0) and "weight" in back.saved:
        weighted = each * wide(back.saved["weight"])[classes]
    return _Rows(classes, each, weighted)


def _of_weight(op: CrossEntropy | NLLLoss, back: Back, rows: _Rows, logs: Array) -> Array:
    """Return the gradient of the weights by the losses at the target classes."""
    chosen = _at_class(logs, rows.classes)
    if isinstance(op, CrossEntropy) and op.label_smoothing:
        chosen = chosen * (1 - op.label_smoothing)
    if op.reduction == "mean":
        chosen = chosen + wide(back.saved["output"])
    table = like(chosen, np.zeros(logs.shape[1], chosen.dtype))
    np.subtract.at(table, rows.classes, rows.each * chosen)
    return table


def _axis(shape: tuple[int, ...]) -> int:
    return class_axis(np.broadcast_to(0, shape))


def _by_row(x: Array) -> Array:
    """Return ``x`` as rows of classes."""
    axis = class_axis(x)
    return np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])


def _as_input(rows: Array, shape: tuple[int, ...]) -> Array:
    """Return rows of classes in the shape of the input."""
    axis = _axis(shape)
    return np.moveaxis(rows.reshape(*shape[:axis], *shape[axis + 1 :], shape[axis]), -1, axis)


def _gradient_of_rows(g: Array, rows: int) -> Array:
    """Return the gradient of each row's loss, which a reduction gives to all alike."""
    return like(g, np.broadcast_to(g.reshape(-1), (rows,)))


def _at_class(x: Array, classes: Array) -> Array:
    return x[np.arange(classes.size), classes]


def _put(x: Array, classes: Array, values: Array) -> None:
    x[np.arange(classes.size), classes] = values
