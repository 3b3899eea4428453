"""Kernels of :mod:`netcalc.ops.random`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import RuleError
from netcalc.numerics.generators import generator
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.numerics.kernels.sorting import ranking
from netcalc.ops.random import (
    Bernoulli,
    Binomial,
    Exponential,
    Gamma,
    Multinomial,
    Normal,
    Poisson,
    Randint,
    Randperm,
    Uniform,
)


def _source(op: Any, run: Run) -> np.random.Generator:
    """Return the generator of an operation: its own, if it has a seed."""
    return run.rng if op.seed is None else generator(op.seed, f"/{op.name}")


def _working(dtype: str) -> Any:
    return np.float64 if dtype == "float64" else np.float32


@kernel("normal")
def normal(op: Normal, run: Run) -> Array:
    numbers = _source(op, run).standard_normal(op.shape, dtype=_working(op.dtype))
    return np.asarray(op.mean + op.std * numbers).astype(numpy_dtype(op.dtype))


@kernel("uniform")
def uniform(op: Uniform, run: Run) -> Array:
    numbers = _source(op, run).random(op.shape, dtype=_working(op.dtype))
    return np.asarray(op.low + (op.high - op.low) * numbers).astype(numpy_dtype(op.dtype))


@kernel("exponential")
def exponential(op: Exponential, run: Run) -> Array:
    numbers = _source(op, run).standard_exponential(op.shape, dtype=_working(op.dtype))
    return np.asarray(numbers / op.rate).astype(numpy_dtype(op.dtype))


@kernel("randint")
def randint(op: Randint, run: Run) -> Array:
    return np.asarray(_source(op, run).integers(op.low, op.high, op.shape)).astype(numpy_dtype(op.dtype))


@kernel("randperm")
def randperm(op: Randperm, run: Run) -> Array:
    return _source(op, run).permutation(op.n).astype(numpy_dtype(op.dtype))


@kernel("bernoulli")
def bernoulli(op: Bernoulli, run: Run, x: Array) -> Array:
    plain = np.asarray(wide(x))
    if not ((plain >= 0) & (plain <= 1)).all():
        raise RuleError("bernoulli: the input has elements that are no probabilities, from 0 to 1", code="E602")
    drawn = like(x, np.asarray(_source(op, run).random(x.shape)))
    return (drawn < x).astype(x.dtype)


@kernel("poisson")
def poisson(op: Poisson, run: Run, x: Array) -> Array:
    rates = np.asarray(wide(x))
    if not (rates >= 0).all():
        raise RuleError("poisson: the input has elements that are no rates, of at least 0", code="E602")
    return np.asarray(_source(op, run).poisson(rates)).astype(x.dtype)


@kernel("gamma")
def gamma(op: Gamma, run: Run, x: Array) -> Array:
    shapes = np.asarray(wide(x))
    if not ((shapes > 0) & np.isfinite(shapes)).all():
        raise RuleError("gamma: the input has elements that are no shapes, above 0", code="E602")
    least = np.finfo(shapes.dtype).tiny  # of a small shape most numbers are below it, and their logarithms finite
    drawn = _source(op, run).standard_gamma(shapes.astype(np.float64))
    return np.maximum(drawn, least).astype(x.dtype)


@kernel("binomial")
def binomial(op: Binomial, run: Run, count: Array, prob: Array) -> Array:
    trials, chances = np.asarray(wide(count)).astype(np.float64), np.asarray(wide(prob)).astype(np.float64)
    if not ((trials >= 0) & (trials < 2.0**63)).all():
        raise RuleError("binomial: the first input has elements that are no numbers of trials", code="E602")
    if not ((chances >= 0) & (chances <= 1)).all():
        raise RuleError("binomial: the second input has elements that are no probabilities, from 0 to 1", code="E602")
    return np.asarray(_source(op, run).binomial(trials.astype(np.int64), chances)).astype(count.dtype)


@kernel("multinomial")
def multinomial(op: Multinomial, run: Run, x: Array) -> Array:
    weights = np.asarray(wide(x)).astype(np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all() or not (weights.sum(-1) > 0).all():
        reason = "the input has elements that are negative or not finite, or a row without positive ones"
        raise RuleError(f"multinomial: {reason}", code="E602")
    if op.replacement:
        return _with_replacement(op, run, weights)
    if ((weights > 0).sum(-1) < op.samples).any():
        raise RuleError(f"multinomial: a row has fewer than {op.samples} positive elements", code="E602")
    # the smallest of exponential numbers with these rates belongs to an index with its probability
    race = weights / _source(op, run).standard_exponential(weights.shape)
    run.note("div", weights.size)
    return ranking(run, race, op.samples).astype(np.int64)


def _with_replacement(op: Multinomial, run: Run, weights: Array) -> Array:
    """Return the indices at which the cumulative sums exceed random parts of the totals."""
    rows, n = weights.reshape(-1, weights.shape[-1]), weights.shape[-1]
    sums = np.add.accumulate(rows, axis=1)
    totals = sums[:, -1:]
    parts = _source(op, run).random((len(rows), op.samples)) * totals
    parts = np.minimum(parts, np.nextafter(totals, 0))  # a product may be rounded up to the total
    indices = [np.searchsorted(*pair, side="right") for pair in zip(sums, parts, strict=True)]
    run.note("add", len(rows) * (n - 1))
    run.note("mul", parts.size)
    run.note("compare", parts.size * (n - 1).bit_length())
    return np.asarray(indices, np.int64).reshape(*weights.shape[:-1], op.samples)
