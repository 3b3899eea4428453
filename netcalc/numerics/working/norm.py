"""Working of normalizations with statistics of each sample."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.working import Call, working
from netcalc.numerics.working.text import MOST, difference, factor, indexed, listing, num, products, total
from netcalc.opdef import WorkingLine
from netcalc.ops.norm import GroupNorm, LayerNorm, RMSNorm


@working("layer_norm")
def layer_norm(call: Call) -> Iterator[WorkingLine]:
    """Yield mean, variance, σ and the elements of one row."""
    op = call.op
    assert isinstance(op, LayerNorm)
    place = call.place(call.x.shape[: -op.count])
    row = call.x[place].reshape(-1)
    yield WorkingLine(indexed("x", place), "", "", listing(row))
    weight, bias = (_flat(call.optional(name, n)) for n, name in ((1, "weight"), (2, "bias")))
    yield from statistics(row, op.eps)
    yield from normalized(call, place, row, op.eps, weight, bias)
    yield from _backward(call, place, row, op.eps, weight)


@working("group_norm")
def group_norm(call: Call) -> Iterator[WorkingLine]:
    """Yield mean, variance, σ and the elements of one group of a sample."""
    op, x = call.op, call.x
    assert isinstance(op, GroupNorm)
    channels = x.shape[1]
    sample, channel = call.place(x.shape[:2])
    size = channels // int(op.groups)
    first = channel // size * size
    row = x[sample, first : first + size].reshape(-1)
    yield WorkingLine(f"x[{sample},{first}…{first + size - 1}]", "", "", listing(row))
    yield from statistics(row, op.eps)
    mean, deviation = row.mean(), math.sqrt(row.var() + op.eps)
    weight, bias = (call.optional(name, n) for n, name in ((1, "weight"), (2, "bias")))
    for index in list(np.ndindex(x.shape[2:]))[:MOST]:
        at = (sample, channel, *index)
        gains = (None if v is None else v[channel] for v in (weight, bias))
        yield element(call, at, x[at], mean, deviation, *gains)


@working("rms_norm")
def rms_norm(call: Call) -> Iterator[WorkingLine]:
    """Yield the root mean square and the elements of one row."""
    op = call.op
    assert isinstance(op, RMSNorm)
    place = call.place(call.x.shape[: -op.count])
    row = call.x[place].reshape(-1)
    eps = float(np.finfo(np.float32).eps) if op.eps is None else op.eps
    yield WorkingLine(indexed("x", place), "", "", listing(row))
    square = float(np.mean(row * row))
    squares = total(f"{factor(v)}²" for v in row)
    yield WorkingLine("mean square", "(x₁² + … + xₙ²)/n", f"({squares})/{row.size}", square)
    root = math.sqrt(square + eps)
    yield WorkingLine("root", "√(mean square + ε)", f"√({num(square)} + {num(eps)})", root)
    weight = _flat(call.optional("weight", 1))
    y = call.outputs[0][place].reshape(-1)
    for index in range(min(row.size, MOST)):
        formula, text = "x/root", f"{num(row[index])}/{num(root)}"
        if weight is not None:
            formula, text = f"{formula}·γ", f"{text}·{factor(op.offset + weight[index])}"
        yield WorkingLine(indexed("y", (*place, index)), formula, text, float(y[index]))


def statistics(row: Array, eps: float, names: tuple[str, str] = ("mean", "variance")) -> Iterator[WorkingLine]:
    """Yield the mean, the biased variance and σ = √(variance + ε) of numbers."""
    mean, variance, count = float(row.mean()), float(row.var()), row.size
    yield WorkingLine(names[0], "(x₁ + … + xₙ)/n", f"({total(map(num, row))})/{count}", mean)
    squares = total(f"{factor(v - mean)}²" for v in row)
    yield WorkingLine(names[1], "((x₁ − mean)² + … + (xₙ − mean)²)/n", f"({squares})/{count}", variance)
    yield deviation_line(variance, eps)


def deviation_line(variance: float, eps: float) -> WorkingLine:
    """Return the line of σ = √(variance + ε)."""
    return WorkingLine("σ", "√(variance + ε)", f"√({num(variance)} + {num(eps)})", math.sqrt(variance + eps))


def normalized(
    call: Call, place: tuple[int, ...], row: Array, eps: float, weight: Array | None, bias: Array | None
) -> Iterator[WorkingLine]:
    """Yield the first elements of a row that is normalized by its mean and σ."""
    mean, deviation = float(row.mean()), math.sqrt(float(row.var()) + eps)
    shape = call.x.shape[len(place) :]
    for flat in range(min(row.size, MOST)):
        at = (*place, *(int(i) for i in np.unravel_index(flat, shape)))
        gains = (None if v is None else v[flat] for v in (weight, bias))
        yield element(call, at, row[flat], mean, deviation, *gains)


def element(
    call: Call, at: tuple[int, ...], x: float, mean: float, deviation: float, weight: float | None, bias: float | None
) -> WorkingLine:
    """Return the line of one element: (x − mean)/σ·γ + β."""
    formula, text = "(x − mean)/σ", f"({difference(x, mean)})/{num(deviation)}"
    if weight is not None:
        formula, text = f"{formula}·γ", f"{text}·{factor(weight)}"
    if bias is not None:
        formula, text = f"{formula} + β", total([text, num(bias)])
    return WorkingLine(indexed("y", at), formula, text, float(call.outputs[0][at]))


def _backward(
    call: Call, place: tuple[int, ...], row: Array, eps: float, weight: Array | None
) -> Iterator[WorkingLine]:
    """Yield the gradient of a row: (g − mean(g) − x̂·mean(g·x̂))/σ, with g = dy·γ."""
    if not call.arrived or call.arrived[0] is None or 0 not in call.sent:
        return
    arrived = call.wide(call.arrived[0])[place].reshape(-1)
    gradient = arrived if weight is None else arrived * weight
    deviation = math.sqrt(float(row.var()) + eps)
    unit = (row - row.mean()) / deviation
    yield WorkingLine(indexed("dy", place), "", "", listing(arrived))
    if weight is not None:
        yield WorkingLine("g", "dy·γ", "", listing(gradient))
    mean, along = float(gradient.mean()), float((gradient * unit).mean())
    yield WorkingLine("mean(g)", "(g₁ + … + gₙ)/n", f"({total(map(num, gradient))})/{row.size}", mean)
    yield WorkingLine("mean(g·x̂)", "x̂ = (x − mean)/σ", f"({total(products(gradient, unit))})/{row.size}", along)
    sent = call.sent[0][place].reshape(-1)
    for index in range(min(row.size, MOST)):
        text = total([num(gradient[index]), f"−{factor(mean)}", f"−{factor(unit[index])}·{factor(along)}"])
        formula = "(g − mean(g) − x̂·mean(g·x̂))/σ"
        yield WorkingLine(indexed("dx", (*place, index)), formula, f"({text})/{num(deviation)}", float(sent[index]))


def _flat(array: Array | None) -> Array | None:
    return None if array is None else array.reshape(-1)
