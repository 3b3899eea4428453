"""Kernels of :mod:`netcalc.ops.matmul`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.ops.matmul import Einsum

#: The label of each axis: a letter, or for the axes of an ellipsis a number, counted from its last axis.
Labels: TypeAlias = Sequence[str]


@dataclass(frozen=True, slots=True)
class Contraction:
    """Product of two operands: their labels, and those in both of them, in the left one and in the right one only."""

    left: Labels
    right: Labels
    batch: Labels
    summed: Labels
    rows: Labels
    columns: Labels

    @property
    def result(self) -> Labels:
        """Labels of the result, in the order of its axes."""
        return [*self.batch, *self.rows, *self.columns]

    def names(self, number: int) -> tuple[str, str]:
        """Return the names of the operands that are kept for the gradients, as in ``torch.bmm`` and ``torch.mul``."""
        suffix = f"_{number}" if number else ""
        return f"self{suffix}", f"{'mat2' if self.summed else 'other'}{suffix}"


@kernel("matmul")
def matmul(op: Any, run: Run, x: Array, other: Array) -> Array:
    y: Array = np.matmul(wide(x), wide(other))
    return y.astype(x.dtype, copy=False)


@kernel("einsum")
def einsum(op: Einsum, run: Run, *inputs: Array) -> Array:
    subscripts, sizes, output = labeled(op, [x.shape for x in inputs])
    operands = [varying(wide(x), labels) for x, labels in zip(inputs, subscripts, strict=True)]
    y, labels = operands[0]
    steps = contractions([labels for _, labels in operands], output)
    for number, (step, (other, its)) in enumerate(zip(steps, operands[1:], strict=True)):
        left, right = _sum_over_others(y, labels, step.left), _sum_over_others(other, its, step.right)
        run.keep(**dict(zip(step.names(number), (left, right), strict=True)))
        left_matrix = arranged(left, step.left, step.batch, step.rows, step.summed)
        right_matrix = arranged(right, step.right, step.batch, step.summed, step.columns)
        # without a summed label that axis has size 1, and the result is an outer product
        y, labels = np.matmul(left_matrix, right_matrix) if step.summed else left_matrix * right_matrix, step.result
        y = y.reshape([sizes[label] for label in labels])
    remaining = [label for label in labels if label in output]
    y = ordered(_sum_over_others(y, labels, remaining), remaining, [label for label in output if label in remaining])
    return y.reshape([sizes[label] for label in output]).astype(inputs[0].dtype, copy=False)


def labeled(op: Einsum, shapes: Sequence[Sequence[int]]) -> tuple[list[Labels], dict[str, int], Labels]:
    """Return the labels of the axes of each input, the size of each label, and the labels of the output."""
    before, arrow, after = op.equation.replace(" ", "").partition("->")
    subscripts = [_labels_of(part, len(shape)) for part, shape in zip(before.split(","), shapes, strict=True)]
    sizes: dict[str, int] = {}
    for labels, shape in zip(subscripts, shapes, strict=True):
        sizes |= {label: size for label, size in zip(labels, shape, strict=True) if size != 1 or label not in sizes}
    hidden = sorted((label for label in sizes if label.isdigit()), key=int)
    if arrow:
        return subscripts, sizes, _labels_of(after, len(after.replace("...", "")) + len(hidden) * ("..." in after))
    every = [label for labels in subscripts for label in labels]
    single = sorted(x for x in sizes if every.count(x) == 1 and not x.isdigit())
    return subscripts, sizes, [*reversed(hidden), *single]


def contractions(operands: Sequence[Labels], output: Labels) -> list[Contraction]:
    """Return the products of pairs, from left to right, of operands with these labels."""
    steps: list[Contraction] = []
    so_far = operands[0]
    for number, other in enumerate(operands[1:], start=2):
        needed = set(output).union(*operands[number:])
        left = [label for label in so_far if label in needed or label in other]
        right = [label for label in other if label in needed or label in so_far]
        both = [label for label in left if label in right]
        steps.append(
            Contraction(
                left,
                right,
                [label for label in both if label in needed],
                [label for label in both if label not in needed],
                [label for label in left if label not in right],
                [label for label in right if label not in left],
            )
        )
        so_far = steps[-1].result
    return steps


def _labels_of(part: str, rank: int) -> Labels:
    """Return the labels of the axes of an input or of the output."""
    head, _, tail = part.partition("...")
    return [*head, *map(str, reversed(range(rank - len(head) - len(tail)))), *tail]


def varying(x: Array, labels: Labels) -> tuple[Array, Labels]:
    """Return ``x`` with the diagonals of repeated labels, and without axes of size 1."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = np.diagonal(x, axis1=first, axis2=second)  # NumPy puts the diagonal last
            labels = [*(y for i, y in enumerate(labels) if i not in (first, second)), label]
    present = [label for label, size in zip(labels, x.shape, strict=True) if size != 1]
    return x.reshape([size for size in x.shape if size != 1]), present


def ordered(x: Array, labels: Labels, order: Labels) -> Array:
    """Return ``x`` with its axes in the order of their labels."""
    return x.transpose([labels.index(label) for label in order])


def arranged(x: Array, labels: Labels, *groups: Labels) -> Array:
    """Return ``x`` with one axis for each group of labels."""
    sizes = dict(zip(labels, x.shape, strict=True))
    order = [label for group in groups for label in group]
    return ordered(x, labels, order).reshape([math.prod(sizes[label] for label in group) for group in groups])


def _sum_over_others(x: Array, labels: Labels, remaining: Collection[str]) -> Array:
    """Return the sum over the axes whose label is not kept."""
    away = tuple(axis for axis, label in enumerate(labels) if label not in remaining)
    if not away:
        return x
    total: Array = np.add.reduce(x, axis=away)
    return total
