"""Kernels of :mod:`netcalc.ops.matmul`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel, wide
from netcalc.ops._contraction import Labels, Pairing, pairings, read
from netcalc.ops.matmul import Einsum


@kernel("matmul")
def matmul(op: Any, run: Run, x: Array, other: Array) -> Array:
    y: Array = np.matmul(wide(x), wide(other))
    return y.astype(x.dtype, copy=False)


@kernel("einsum")
def einsum(op: Einsum, run: Run, *inputs: Array) -> Array:
    shapes = [x.shape for x in inputs]
    equation = read(op.equation, shapes)
    varying, steps, rest = pairings(equation, shapes)
    operands = [
        _varying(wide(x), given, kept) for x, given, kept in zip(inputs, equation.operands, varying, strict=True)
    ]
    y, labels = operands[0], varying[0]
    for step, other, its in zip(steps, operands[1:], varying[1:], strict=True):
        y = _combined(step, y, labels, other, its)
        labels = step.result
    y, labels = _summed(y, labels, rest)
    y = _ordered(y, labels, tuple(label for label in equation.output if label in labels))
    return y.reshape([equation.sizes[label] for label in equation.output]).astype(inputs[0].dtype, copy=False)


def _varying(x: Array, labels: Labels, kept: Labels) -> Array:
    """Return ``x`` with the diagonals of repeated labels, and without axes of size 1."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = np.diagonal(x, axis1=first, axis2=second)  # NumPy puts the diagonal last
            labels = (*(y for i, y in enumerate(labels) if i not in (first, second)), label)
    present = tuple(label for label, size in zip(labels, x.shape, strict=True) if size != 1)
    return _ordered(x.reshape([size for size in x.shape if size != 1]), present, kept)


def _ordered(x: Array, labels: Labels, order: Labels) -> Array:
    return x.transpose([labels.index(label) for label in order])


def _summed(x: Array, labels: Labels, away: Labels) -> tuple[Array, Labels]:
    if not away:
        return x, labels
    total: Array = np.add.reduce(x, axis=tuple(labels.index(label) for label in away))
    return total, tuple(label for label in labels if label not in away)


def _combined(step: Pairing, left: Array, left_labels: Labels, right: Array, right_labels: Labels) -> Array:
    sizes = dict(zip(left_labels + right_labels, left.shape + right.shape, strict=True))
    left, left_labels = _summed(left, left_labels, step.left)
    right, right_labels = _summed(right, right_labels, step.right)

    def arranged(x: Array, labels: Labels, *groups: Labels) -> Array:
        order = tuple(label for group in groups for label in group)
        return _ordered(x, labels, order).reshape([math.prod(sizes[label] for label in group) for group in groups])

    left = arranged(left, left_labels, step.batch, step.rows, step.summed)
    right = arranged(right, right_labels, step.batch, step.summed, step.columns)
    # without a summed label that axis has size 1, and the result is an outer product
    y = np.matmul(left, right) if step.summed else left * right
    return y.reshape([sizes[label] for label in step.result])
