"""Sizes as Python expressions, so that many are computed at once for other values of their names."""

from __future__ import annotations

from functools import lru_cache

from netcalc.dims.atoms import Atom, Call, Operand, Symbol, bounds_of
from netcalc.dims.order import Assumption
from netcalc.dims.polynomial import Dim, as_dim


def source(dim: Dim) -> str:
    """Return a Python expression of the names in a size; ValueError if there is none."""
    if isinstance(dim, int):
        return str(dim)
    terms = []
    for monomial, coefficient in dim.monomials():
        factors = [text for factor, power in monomial for text in [_atom(factor)] * power]
        if coefficient != 1 or not factors:
            factors.insert(0, f"({coefficient})")
        terms.append("*".join(factors))
    return f"({' + '.join(terms)})"


@lru_cache(maxsize=4_000)
def certain(claim: Assumption) -> bool:
    """Return True if a relation holds for all sizes within their limits."""
    return claim.within(bounds_of(as_dim(claim.left) - as_dim(claim.right))) is True


def claim_source(claim: Assumption) -> str:
    """Return a Python condition of the names in a relation."""
    return f"{_operand(claim.left)} {claim.relation} {_operand(claim.right)}"


def _operand(operand: Operand) -> str:
    return source(as_dim(operand))


def _atom(factor: Atom) -> str:
    if isinstance(factor, Symbol) and factor.multiple == 1:
        return factor.name
    if isinstance(factor, Call):
        operands = [_operand(operand) for operand in factor.operands]
        function = factor.function
        return f"({operands[0]}//{operands[1]})" if function == "//" else f"{function}({', '.join(operands)})"
    raise ValueError(f"{factor} has no short form")
