"""Functions of sizes: products, rounding, substitution."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

from netcalc.dims.atoms import Atom, Call, CeilLog2, Symbol, UndecidedError, bounds_of, value_at
from netcalc.dims.order import Assumption, assume, is_followed, require
from netcalc.dims.polynomial import Dim, Poly, as_dim, atom, equal, exact_div, maximum, minimum

#: Relations to 0 of remainders that are 0.
_NO_REMAINDER = ("==", "<=")


def symbol(name: str, default: int | None = None, least: int = 1, most: Dim | None = None, multiple: int = 1) -> Poly:
    """Return a named size.

    Args:
        name: the name.
        default: value that decides comparisons that its form leaves open.
        least: least value, at least 0.
        most: greatest value, which may depend on other sizes; None is no limit.
        multiple: number that divides every value.
    """
    return Poly({((Symbol(name, default, least, most, multiple), 1),): multiple})


def at_least(dim: Dim, least: int) -> bool:
    """Return True if a size is at least ``least``; where that depends on symbolic sizes it is assumed."""
    return assume(Assumption(dim, ">=", least), bounds_of(dim - least))


def required(a: Dim, relation: str, b: Dim) -> bool:
    """Return True if a relation between two sizes holds; what symbolic sizes leave open is assumed to hold.

    It does not hold if the default sizes contradict it.
    """
    return require(Assumption(a, relation, b), bounds_of(a - b))


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of sizes; 1 for none.

    >>> product([64, 3, 7, 7])
    9408
    """
    result: Dim = 1
    for dim in dims:
        result = result * dim
    return result


def ceil_div(a: Dim, b: Dim) -> Dim:
    """Return ⌈a / b⌉ for a positive ``b``."""
    return (a + b - 1) // b


def ceil_log2(size: Dim) -> Dim:
    """Return ⌈log₂ size⌉ for a size of at least 1.

    >>> ceil_log2(1000)
    10
    """
    return (size - 1).bit_length() if isinstance(size, int) else atom(CeilLog2(size))


def divided(a: Dim, b: Dim) -> Dim | None:
    """Return ``a / b`` if ``b`` divides ``a``: by form, or at the default sizes, which is then recorded as assumed.

    >>> from netcalc.dims import symbol
    >>> str(divided(symbol("h", default=8), 2))
    'h//2'
    >>> divided(symbol("h", default=7), 2)
    """
    exact = exact_div(a, b)
    if exact is not None or b == 0 or (isinstance(a, int) and isinstance(b, int)):
        return exact
    return a // b if equal(a % b, 0) else None


def claimed(claim: Assumption, write: Callable[[Dim], str] = str) -> str:
    """Return an assumption in words, with the sizes as ``write`` gives them; divisibility is named as such.

    >>> from netcalc.dims import symbol
    >>> claimed(Assumption(symbol("h") % 32, "==", 0))
    'h is a multiple of 32'
    """
    left, right = claim.left, claim.right
    if not isinstance(left, (int, Poly)) or not isinstance(right, (int, Poly)):  # of real numbers
        return str(claim)
    if right == 0 and claim.relation in _NO_REMAINDER and isinstance(left, Poly):
        for dividend, divisor in _remainders(left):
            return f"{write(dividend)} is a multiple of {write(divisor)}"
    return f"{write(left)} {claim.relation} {write(right)}"


def assumed_divisors(assumed: Iterable[Assumption]) -> dict[str, int]:
    """Return the numbers by which named sizes are divisible in some assumptions.

    >>> from netcalc.dims import symbol
    >>> assumed_divisors([Assumption(symbol("h") % 8, "==", 0), Assumption(symbol("h", multiple=8) // 2 % 6, "==", 0)])
    {'h': 24}
    """
    found: dict[str, int] = {}
    for claim in assumed:
        left = claim.left
        if claim.relation not in _NO_REMAINDER or not isinstance(left, Poly) or claim.right != 0:
            continue
        for dividend, divisor in _remainders(left):
            terms = [] if isinstance(dividend, int) else [*dividend.monomials()]
            if isinstance(divisor, int) and len(terms) == 1 and len(terms[0][0]) == 1:
                (((named, power),), times) = terms[0]
                if isinstance(named, Symbol) and power == 1:
                    number = named.multiple * (divisor // math.gcd(times, divisor))
                    found[named.name] = math.lcm(found.get(named.name, 1), number)
    return found


def assumed_multiples(assumed: Iterable[Assumption]) -> Iterator[tuple[Atom, tuple[Dim, Dim]]]:
    """Yield each quotient that is exact by an assumption, with its dividend and its divisor."""
    for claim in assumed:
        if claim.relation in _NO_REMAINDER and isinstance(claim.left, Poly) and claim.right == 0:
            for dividend, divisor in _remainders(claim.left):
                yield Call("//", (dividend, divisor)), (dividend, divisor)


def _remainders(size: Poly) -> Iterator[tuple[Dim, Dim]]:
    """Yield a and b if the size is a % b, that is a − b·⌊a/b⌋, or a multiple of it."""
    for monomial, coefficient in size.monomials():
        for factor, _ in monomial:
            if isinstance(factor, Call) and factor.function == "//":
                dividend, divisor = map(as_dim, factor.operands)
                times = -coefficient // divisor if isinstance(divisor, int) else 1
                if size == times * (dividend - divisor * atom(factor)):
                    yield dividend, divisor


def integer(dim: Dim) -> int:
    """Return a size that is a number; UndecidedError if it is symbolic, unless comparisons are followed."""
    if isinstance(dim, int):
        return dim
    return dim if is_followed() else dim.__index__()  # type: ignore[return-value]  # it is computed with as a number


def not_negative(count: Dim) -> Dim:
    """Return a count, or 0 if it is negative because a size is 0: of n − 1 other elements.

    Sizes of at least 1 leave the form as it is.
    """
    if type(count) is int:
        return max(count, 0)
    return maximum(count, 0) if isinstance(count, int) or may_be_zero(count) else count


def may_be_zero(size: Poly) -> bool:
    """Return True if a named size that occurs in ``size`` may be 0."""
    return any(variable.least == 0 for variable in size.symbols())


def default_of(dim: Dim) -> int | None:
    """Return the value of ``dim`` at the default sizes, or None if one of them has no default."""
    try:
        return value_at(dim, {})
    except UndecidedError:
        return None


def has_values(size: Poly) -> bool:
    """Return True if some number is within the limits of a named size."""
    (variable,) = size.symbols()
    low, high = variable.bounds()
    return low <= high


def refusal(size: Poly, value: object) -> str | None:
    """Return the limit of a named size that a value violates, or None; what is open is decided as by :func:`equal`."""
    (variable,) = size.symbols()
    if not isinstance(value, Poly):
        return variable.refusal(value)
    if not at_least(value, variable.least):
        return f"should be at least {variable.least}, not {value}"
    if variable.most is not None and not at_least(as_dim(variable.most) - value, 0):
        return f"should be at most {variable.most}, not {value}"
    is_multiple = divided(value, variable.multiple) is not None
    return None if is_multiple else f"should be a multiple of {variable.multiple}, not {value}"


def substitute(dim: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """Return ``dim`` with the named sizes replaced; names that ``sizes`` lacks stay symbols.

    Raises:
        ZeroDivisionError: a divisor becomes 0.

    >>> from netcalc.dims import symbol
    >>> str(substitute((symbol("h") + symbol("w")) // 2, {"h": 7}))
    '(w + 1)//2 + 3'
    """
    if isinstance(dim, int):
        return dim
    result: Dim = 0
    for monomial, coefficient in dim.monomials():
        term: Dim = coefficient
        for atom_, power in monomial:
            factor = _substituted(atom_, sizes)
            term = term * (factor if power == 1 else factor**power)
        result = result + term
    return result


def narrow(assumption: Assumption, sizes: Mapping[str, Dim]) -> tuple[Assumption, bool | None]:
    """Return an assumption with the named sizes replaced, and whether it then holds; None if that stays open."""
    if not all(isinstance(side, (int, Poly)) for side in (assumption.left, assumption.right)):  # of real numbers
        numbers = {name: size for name, size in sizes.items() if isinstance(size, int)}
        return assumption, assumption.holds(numbers) if assumption.names() <= set(numbers) else None
    left, right = (substitute(as_dim(side), sizes) for side in (assumption.left, assumption.right))
    narrowed = Assumption(left, assumption.relation, right)
    return narrowed, narrowed.within(bounds_of(left - right))


def _substituted(factor: Atom, sizes: Mapping[str, Dim]) -> Dim:
    if isinstance(factor, Symbol):
        size = sizes.get(factor.name)
        return atom(factor) if size is None else size if factor.multiple == 1 else size // factor.multiple
    if isinstance(factor, CeilLog2):
        return ceil_log2(substitute(as_dim(factor.size), sizes))
    if not isinstance(factor, Call):
        return as_dim(factor.substituted(sizes))
    operands = [substitute(as_dim(operand), sizes) for operand in factor.operands]
    if factor.function == "//":
        return operands[0] // operands[1]
    return minimum(*operands) if factor.function == "min" else maximum(*operands)
