"""Kernels of :mod:`netcalc.ops.matmul`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel, wide
from netcalc.ops.matmul import Einsum

#: The label of each axis: a letter, or for the axes of an ellipsis a number, counted from its last axis.
Labels: TypeAlias = Sequence[str]


@kernel("matmul")
def matmul(op: Any, run: Run, x: Array, other: Array) -> Array:
    y: Array = np.matmul(wide(x), wide(other))
    return y.astype(x.dtype, copy=False)


@kernel("einsum")
def einsum(op: Einsum, run: Run, *inputs: Array) -> Array:
    before, arrow, after = op.equation.replace(" ", "").partition("->")
    given = [_labels(part, x.ndim) for part, x in zip(before.split(","), inputs, strict=True)]
    sizes: dict[str, int] = {}
    for labels, x in zip(given, inputs, strict=True):
        sizes |= {label: size for label, size in zip(labels, x.shape, strict=True) if size != 1 or label not in sizes}
    hidden = sorted((label for label in sizes if label.isdigit()), key=int)
    if arrow:
        output = _labels(after, len(after.replace("...", "")) + len(hidden) * ("..." in after))
    else:
        every = [label for labels in given for label in labels]
        output = [*reversed(hidden), *sorted(x for x in sizes if every.count(x) == 1 and not x.isdigit())]

    operands = [_varying(wide(x), labels) for x, labels in zip(inputs, given, strict=True)]
    y, labels = operands[0]
    for number, (other, its) in enumerate(operands[1:], start=2):
        y, labels = _combined(y, labels, other, its, set(output).union(*(later for _, later in operands[number:])))
    y, labels = _summed(y, labels, output)
    y = _ordered(y, labels, [label for label in output if label in labels])
    return y.reshape([sizes[label] for label in output]).astype(inputs[0].dtype, copy=False)


def _labels(part: str, rank: int) -> Labels:
    """Return the labels of the axes of an input or of the output."""
    head, _, tail = part.partition("...")
    return [*head, *map(str, reversed(range(rank - len(head) - len(tail)))), *tail]


def _varying(x: Array, labels: Labels) -> tuple[Array, Labels]:
    """Return ``x`` with the diagonals of repeated labels, and without axes of size 1."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = np.diagonal(x, axis1=first, axis2=second)  # NumPy puts the diagonal last
            labels = [*(y for i, y in enumerate(labels) if i not in (first, second)), label]
    present = [label for label, size in zip(labels, x.shape, strict=True) if size != 1]
    return x.reshape([size for size in x.shape if size != 1]), present


def _ordered(x: Array, labels: Labels, order: Labels) -> Array:
    return x.transpose([labels.index(label) for label in order])


def _summed(x: Array, labels: Labels, needed: Collection[str]) -> tuple[Array, Labels]:
    """Return the sum over the axes whose label is not needed."""
    away = tuple(axis for axis, label in enumerate(labels) if label not in needed)
    if not away:
        return x, labels
    total: Array = np.add.reduce(x, axis=away)
    return total, [label for label in labels if label in needed]


def _combined(
    left: Array, left_labels: Labels, right: Array, right_labels: Labels, needed: Collection[str]
) -> tuple[Array, Labels]:
    """Return the contraction of two operands that keeps the labels in ``needed``."""
    left, left_labels = _summed(left, left_labels, {*needed, *right_labels})
    right, right_labels = _summed(right, right_labels, {*needed, *left_labels})
    sizes = dict(zip([*left_labels, *right_labels], left.shape + right.shape, strict=True))
    batch = [label for label in left_labels if label in right_labels and label in needed]
    summed = [label for label in left_labels if label in right_labels and label not in needed]
    rows = [label for label in left_labels if label not in right_labels]
    columns = [label for label in right_labels if label not in left_labels]

    def arranged(x: Array, labels: Labels, *groups: Labels) -> Array:
        order = [label for group in groups for label in group]
        return _ordered(x, labels, order).reshape([math.prod(sizes[label] for label in group) for group in groups])

    one, other = arranged(left, left_labels, batch, rows, summed), arranged(right, right_labels, batch, summed, columns)
    # without a summed label that axis has size 1, and the result is an outer product
    y = np.matmul(one, other) if summed else one * other
    result = [*batch, *rows, *columns]
    return y.reshape([sizes[label] for label in result]), result
