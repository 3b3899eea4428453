"""References of :mod:`netcalc.ops.random`: shapes and element types, since the values are random."""

from __future__ import annotations

from netcalc.verification.references import Array, Attributes, Expected, reference


@reference("normal", "uniform", "exponential", "randint")
def distribution(op: Attributes) -> Expected:
    return Expected(tuple(op.shape), op.dtype, None)


@reference("randperm")
def permutation(op: Attributes) -> Expected:
    return Expected((op.n,), op.dtype, None)


@reference("bernoulli", "poisson", "gamma", "binomial")
def of_elements(op: Attributes, x: Array, *others: Array) -> Expected:
    return Expected(x.shape, x.dtype.name, None)


@reference("multinomial")
def multinomial(op: Attributes, x: Array) -> Expected:
    return Expected((*x.shape[:-1], op.samples), "int64", None)
