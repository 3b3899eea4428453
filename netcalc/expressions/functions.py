"""The functions that an expression may call."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce, wraps
from typing import Any

from netcalc.dims import (
    Poly,
    RealFormula,
    SymbolicReal,
    ceil_div,
    ceil_log2,
    default_of,
    in_sketch,
    is_traced,
    keeps_formulas,
    maximum,
    minimum,
    refuse_symbols,
    spend,
)
from netcalc.expressions.arithmetic import arithmetic
from netcalc.expressions.errors import limit_bits
from netcalc.limits import MAX_ITEMS


def _range(*bounds: int) -> list[int]:
    values = range(*bounds)
    if len(values) > MAX_ITEMS:
        raise ValueError(f"range of {len(values):,} items (at most {MAX_ITEMS:,})")
    return list(values)


def _fold(pair: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def over(*values: Any) -> Any:
        items = list(values[0]) if len(values) == 1 and isinstance(values[0], (list, tuple)) else list(values)
        if not items:
            raise ValueError("nothing to compare")
        spend(len(items))
        return reduce(pair, items)

    return over


def _smaller(a: Any, b: Any) -> Any:
    return minimum(a, b) if isinstance(a, Poly) or isinstance(b, Poly) else min(a, b)


def _larger(a: Any, b: Any) -> Any:
    return maximum(a, b) if isinstance(a, Poly) or isinstance(b, Poly) else max(a, b)


def _sum(values: list[Any]) -> Any:
    spend(len(values))
    return reduce(partial(arithmetic, "+"), list(values), 0)


def _prod(values: list[Any]) -> Any:
    spend(len(values))
    return reduce(partial(arithmetic, "*"), list(values), 1)


def _upper_bound(value: Any) -> Any:
    """Return the greatest value that a size may have: its own if it is a number, infinity if there is no limit."""
    # the symbols of a sketch stand for numbers
    return value.bounds()[1] if isinstance(value, Poly) and not is_traced() else value


def _round(value: Any, digits: int = 0) -> Any:
    if abs(digits) > 100:
        raise ValueError(f"to {digits} digits (at most 100)")
    return round(value, digits) if digits else round(value)


def _make_divisible(value: Any, divisor: int = 8) -> Any:
    """Return the multiple of ``divisor`` nearest to ``value`` that is at least 90 % of it: widths of MobileNets."""
    if isinstance(value, Poly):
        nearest = maximum(divisor, (2 * value + divisor) // (2 * divisor) * divisor)
        return nearest + divisor if 9 * value > 10 * nearest else nearest
    nearest = max(divisor, _int(value + divisor / 2) // divisor * divisor)
    return nearest + divisor if 0.9 * value > nearest else nearest  # a real number compares itself with a size


def _normal_quantile(share: float) -> float:
    """Return the number of standard deviations from the mean below which a share of a normal distribution is."""
    from statistics import NormalDist  # slow to import, and rarely needed

    return NormalDist().inv_cdf(refuse_symbols(share))


def _int(value: Any) -> Any:
    if isinstance(value, SymbolicReal):
        return value.whole()
    if isinstance(value, str):
        limit_bits(3 * len(value))  # a digit has more than three bits
    return int(value)


def _str(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        raise TypeError("a list has no text")
    return str(refuse_symbols(value))


def _sorted(values: list[Any]) -> list[Any]:
    spend(len(values))
    return sorted(refuse_symbols(value) for value in values)


def _sqrt(value: Any) -> float:
    if isinstance(value, (Poly, RealFormula)) and keeps_formulas():
        return RealFormula.made("sqrt", math.sqrt, value)
    if isinstance(value, Poly) and in_sketch() and value >= 1:
        example = default_of(value)
        if example is not None:
            return SymbolicReal.of("sqrt", value, math.sqrt(example))
    return math.sqrt(value)


def _real(name: str, function: Callable[..., float]) -> Callable[..., Any]:
    """Return a function of real numbers that keeps its formula where its arguments follow from symbolic sizes."""

    @wraps(function)
    def of(*values: Any) -> Any:
        if keeps_formulas() and any(isinstance(value, (Poly, RealFormula)) for value in values):
            return RealFormula.made(name, function, *values)
        return function(*values)

    return of


def _keeping_sizes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rounding function that returns symbolic sizes, which are whole numbers, unchanged."""

    @wraps(function)
    def of(value: Any, *rest: Any) -> Any:
        if function is math.floor and isinstance(value, RealFormula):
            return value.whole()
        return value if isinstance(value, Poly) else function(value, *rest)

    return of


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": _fold(_smaller),
    "max": _fold(_larger),
    "sum": _sum,
    "prod": _prod,
    "len": len,
    "range": _range,
    "sorted": _sorted,
    "abs": abs,
    "upper_bound": _upper_bound,
    "round": _keeping_sizes(_round),
    "floor": _keeping_sizes(math.floor),
    "ceil": _keeping_sizes(math.ceil),
    "ceil_div": ceil_div,
    "ceil_log2": ceil_log2,
    "make_divisible": _make_divisible,
    "normal_quantile": _normal_quantile,
    "int": _keeping_sizes(_int),
    "float": _real("float", float),
    "str": _str,
    "sqrt": _sqrt,
    "log": _real("log", math.log),
    "log2": _real("log2", math.log2),
    "exp": _real("exp", math.exp),
    "sin": _real("sin", math.sin),
    "cos": _real("cos", math.cos),
}
