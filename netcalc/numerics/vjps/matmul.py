"""Products of :mod:`netcalc.ops.matmul`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels.matmul import Labels, arranged, contractions, labeled, ordered, varying
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._broadcast import summed_to
from netcalc.ops.matmul import Einsum


@vjp("matmul")
def matmul(op: Any, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    saved = {name: wide(array) for name, array in back.saved.items()}
    ranks = len(back.shape(0)), len(back.shape(1))
    if ranks == (1, 1):
        return back.only({0: lambda: g * saved["mat2"], 1: lambda: g * saved["self"]})
    if ranks == (1, 2):
        return back.only(
            {0: lambda: np.matmul(g[None], saved["mat2"].T)[0], 1: lambda: np.matmul(saved["self"][:, None], g[None])}
        )
    if ranks[1] == 1:
        return back.only(
            {0: lambda: g[..., None] * saved["mat2"], 1: lambda: summed_to(g[..., None] * saved["self"], back.shape(1))}
        )
    if ranks[0] == 1:
        return back.only(
            {
                0: lambda: _over_rows(g[..., None, :] * saved["mat2"]),
                1: lambda: saved["self"][:, None] * g[..., None, :],
            }
        )
    return back.only(
        {
            0: lambda: _gradient_of_left(g, saved["mat2"], ranks, back),
            1: lambda: _gradient_of_right(g, saved["self"], ranks, back),
        }
    )


def _over_rows(products: Array) -> Array:
    """Return the sum over all axes but the last but one."""
    total: Array = np.add.reduce(products, axis=(*range(products.ndim - 2), -1))
    return total


def _gradient_of_left(g: Array, other: Array, ranks: tuple[int, int], back: Back) -> Array:
    """Return the gradient of the left operand."""
    if ranks[0] == 2 and ranks[1] > 2:  # one product over the columns of all batches
        rows = _rows_of_batches(np.swapaxes(other, -1, -2))
        transposed: Array = np.matmul(rows.T, _rows_of_batches(np.swapaxes(g, -1, -2)))
        return transposed.T
    return summed_to(np.matmul(g, np.swapaxes(other, -1, -2)), back.shape(0))


def _gradient_of_right(g: Array, x: Array, ranks: tuple[int, int], back: Back) -> Array:
    """Return the gradient of the right operand."""
    if ranks[1] == 2:  # one product over the rows of all batches
        product: Array = np.matmul(_rows_of_batches(x).T, _rows_of_batches(g))
        return product
    return summed_to(np.matmul(np.swapaxes(x, -1, -2), g), back.shape(1))


def _rows_of_batches(x: Array) -> Array:
    """Return the rows of all batches as one matrix."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


@vjp("einsum")
def einsum(op: Einsum, back: Back, gradient: Array) -> Gradients:
    shapes = [back.shape(number) for number in range(len(back.inputs))]
    subscripts, sizes, output = labeled(op, shapes)
    present = [_labels_varying(labels, shape) for labels, shape in zip(subscripts, shapes, strict=True)]
    labels: Labels = [label for label in output if sizes[label] != 1]
    flow = wide(gradient).reshape([sizes[label] for label in labels])
    gradients: Gradients = {}
    for number, step in reversed(list(enumerate(contractions(present, output)))):
        first, second = step.names(number)
        g = arranged(flow, labels, step.batch, step.rows, step.columns)
        if back.wants(number + 1):
            is_input = number == 0 and len(step.left) == len(present[0])  # the input itself is saved
            left = _saved_operand(back.saved[first], subscripts[0] if is_input else None)
            left_matrix = arranged(left, step.left, step.batch, step.rows, step.summed)
            part = np.matmul(left_matrix.swapaxes(1, 2), g) if step.summed else np.add.reduce(left_matrix * g, axis=1)
            its = [*step.batch, *step.summed, *step.columns]
            part = part.reshape([sizes[label] for label in its])
            gradients[number + 1] = _gradient_of_input(part, its, subscripts[number + 1], shapes[number + 1])
        if not back.wants(*range(number + 1)):
            return gradients
        is_input = len(step.right) == len(present[number + 1])
        right = _saved_operand(back.saved[second], subscripts[number + 1] if is_input else None)
        two = arranged(right, step.right, step.batch, step.summed, step.columns)
        flow = np.matmul(g, two.swapaxes(1, 2)) if step.summed else np.add.reduce(g * two, axis=2)
        labels = [*step.batch, *step.rows, *step.summed]
        flow = flow.reshape([sizes[label] for label in labels])
    if back.wants(0):
        gradients[0] = _gradient_of_input(flow, labels, subscripts[0], shapes[0])
    return gradients


def _saved_operand(saved: Array, labels: Labels | None) -> Array:
    """Return an operand of a contraction: one that was kept, or an input with the labels ``labels``."""
    return wide(saved) if labels is None else varying(wide(saved), labels)[0]


def _labels_varying(labels: Labels, shape: tuple[int, ...]) -> Labels:
    """Return the distinct labels of axes of a size other than 1, in the order of :func:`varying`."""
    return varying(np.broadcast_to(0, shape), labels)[1]


def _gradient_of_input(x: Array, labels: Labels, axes: Labels, shape: tuple[int, ...]) -> Array:
    """Return the gradient of an input with the labels ``axes``: repeated along labels that were summed before."""
    size_of = dict(zip(axes, shape, strict=True))
    view = ordered(x, labels, [label for label in size_of if label in labels])
    view = view.reshape([size if label in labels else 1 for label, size in size_of.items()])
    view = np.broadcast_to(view, tuple(size_of.values()))
    if len(size_of) == len(axes):
        return like(x, view)
    full = np.zeros(shape, x.dtype)
    places = dict(zip(size_of, np.ogrid[tuple(slice(size) for size in size_of.values())], strict=True))
    full[tuple(places[label] for label in axes)] = view
    return like(x, full)
