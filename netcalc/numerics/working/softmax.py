"""Working of the softmax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.working import Call, working
from netcalc.numerics.working.text import MOST, difference, indexed, listing, num, products, total
from netcalc.opdef import WorkingLine
from netcalc.ops.softmax import LogSoftmax, Softmax


@working("softmax", "log_softmax")
def softmax(call: Call) -> Iterator[WorkingLine]:
    """Yield exponentials, their sum and quotients along the axis."""
    op = call.op
    assert isinstance(op, (Softmax, LogSoftmax))
    axis = op.axis % call.x.ndim
    place: list[Any] = list(call.place(call.outputs[0].shape))
    place[axis] = slice(None)
    along = tuple(place)
    row, y = call.x[along], call.outputs[0][along]
    named = [[*along[:axis], index, *along[axis + 1 :]] for index in range(min(row.size, MOST))]
    yield WorkingLine(indexed("x", [":" if part == slice(None) else part for part in along]), "", "", listing(row))
    top, powers, sum_ = exponentials(row)
    yield from exponential_lines(row, top, powers, sum_)
    for index, at in enumerate(named):
        label, value = indexed("y", at), float(y[index])
        if isinstance(op, LogSoftmax):
            yield WorkingLine(label, "x − max − ln sum", f"{difference(row[index], top)} − ln {num(sum_)}", value)
        else:
            yield WorkingLine(label, "e/sum", f"{num(powers[index])}/{num(sum_)}", value)
    if call.arrived and call.arrived[0] is not None and 0 in call.sent and isinstance(op, Softmax):
        yield from _backward(y, call.wide(call.arrived[0])[along], call.sent[0][along], named)


def exponentials(row: Array) -> tuple[float, Array, float]:
    """Return the maximum of a row, the exponentials of its distances from it, and their sum."""
    top = float(row.max(initial=-np.inf))
    top = 0.0 if np.isinf(top) else top
    powers = np.exp(row - top)
    return top, powers, float(powers.sum())


def exponential_lines(row: Array, top: float, powers: Array, sum_: float) -> Iterator[WorkingLine]:
    """Yield the lines of the maximum, the exponentials and their sum."""
    yield WorkingLine("max", "", "", top)
    texts = [f"e^({difference(x, top)})" for x in row]
    for index, (text, power) in enumerate(zip(texts[:MOST], powers, strict=False)):
        yield WorkingLine(f"e[{index}]", "exp(x − max)", text, float(power))
    yield WorkingLine("sum", "", total(map(num, powers)), sum_)


def _backward(y: Array, arrived: Array, sent: Array, named: list[list[int]]) -> Iterator[WorkingLine]:
    """Yield the gradient y·(dy − Σ dy·y)."""
    inner = float((arrived * y).sum())
    yield WorkingLine("dy", "", "", listing(arrived))
    yield WorkingLine("Σ dy·y", "", total(products(arrived, y)), inner)
    for index, at in enumerate(named):
        text = f"{num(y[index])}·({difference(arrived[index], inner)})"
        yield WorkingLine(indexed("dx", at), "y·(dy − Σ dy·y)", text, float(sent[index]))
