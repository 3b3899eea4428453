"""References of :mod:`netcalc.ops.matmul`, after torch.matmul and torch.einsum: sums over the labels one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._places import place_in
from netcalc.verification.references._sums import sum_of_products


@reference("matmul")
def matmul(op: Attributes, x: Array, other: Array) -> Expected:
    # a vector is a row on the left and a column on the right
    left, right = x[None] if x.ndim == 1 else x, other[:, None] if other.ndim == 1 else other
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    rows, columns = left.shape[-2:-1][: x.ndim - 1], right.shape[-1:][: other.ndim - 1]

    def at(index: Shape) -> Any:
        row = index[len(batch)] if rows else 0
        column = index[-1] if columns else 0
        before = index[: len(batch)]
        vector = left[(*place_in(left.shape[:-2], before), row)]
        return sum_of_products(x.dtype, vector, right[place_in(right.shape[:-2], before)][:, column])

    return Expected((*batch, *rows, *columns), x.dtype.name, at, 2 * x.shape[-1])


@reference("einsum")
def einsum(op: Attributes, *inputs: Array) -> Expected:
    before, arrow, after = op.equation.replace(" ", "").partition("->")
    operands = [_labels(part, x.ndim) for part, x in zip(before.split(","), inputs, strict=True)]
    sizes: dict[str, int] = {}
    for labels, x in zip(operands, inputs, strict=True):
        for label, size in zip(labels, x.shape, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    dots = sorted((label for label in sizes if label.isdigit()), key=int, reverse=True)
    if arrow:
        head, ellipsis, tail = after.partition("...")
        output = [*head, *(dots if ellipsis else ()), *tail]
    else:
        used = [label for labels in operands for label in labels]
        output = [*dots, *sorted(label for label in sizes if label.isalpha() and used.count(label) == 1)]
    summed = [label for label in sizes if label not in output]

    def at(index: Shape) -> Any:
        places: dict[str, Any] = dict(zip(output, index, strict=True))
        for axis, label in enumerate(summed):
            places[label] = np.arange(sizes[label]).reshape([-1 if n == axis else 1 for n in range(len(summed))])
        factors = []
        for labels, x in zip(operands, inputs, strict=True):
            chosen = (0 if size == 1 else places[label] for label, size in zip(labels, x.shape, strict=True))
            factors.append(np.broadcast_to(x[tuple(chosen)], [sizes[label] for label in summed]))
        return sum_of_products(inputs[0].dtype, *factors)

    reads = len(inputs) * math.prod(sizes[label] for label in summed)
    return Expected(tuple(sizes[label] for label in output), inputs[0].dtype.name, at, reads)


def _labels(part: str, rank: int) -> list[str]:
    """Return the label of each axis: letters, and numbers for the axes of an ellipsis, counted from its last axis."""
    head, _, tail = part.partition("...")
    return [*head, *(str(n) for n in reversed(range(rank - len(head) - len(tail)))), *tail]
