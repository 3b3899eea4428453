"""Initial values by expressions of the positions of elements and of the numbers in the path of a parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from netcalc.dims import limited_work, spend
from netcalc.expressions import Expression, ExpressionError, parse
from netcalc.limits import MAX_FORMULA_ELEMENTS
from netcalc.opdef import Init

#: Names in a formula.
FORMULA_NAMES = ("position", "elements", "indices")


class Indexed(str):
    """An argument of an initializer that is an expression of the numbers in the path of the parameter."""

    __slots__ = ()


def depends_on_indices(text: str) -> bool:
    """Return True for an expression of the numbers in a path, and of nothing else."""
    try:
        return parse(text).names() == {"indices"}
    except ExpressionError:
        return False


def value_at(value: Indexed, scope: Mapping[str, Any]) -> float:
    """Return the number that an argument gives at the numbers of a path; ValueError if it gives none."""
    try:
        number = parse(value).evaluate(scope)
    except ExpressionError as error:
        raise ValueError(f"{value}: {error.message}") from None
    if not isinstance(number, (int, float)) or not math.isfinite(number):
        raise ValueError(f"{value} gives {number!r}, which is not a finite number")
    return float(number)


def with_indices(init: Init, path: str) -> Init:
    """Return the initializer with the numbers in the path of the parameter, if it depends on them."""
    if init.kind != "formula" and not any(isinstance(value, Indexed) for _, value in init.args):
        return init
    return Init(init.kind, (*init.args, ("indices", tuple(int(part) for part in path.split(".") if part.isdecimal()))))


def formula_elements(init: Init, shape: Sequence[int]) -> list[float]:
    """Return the elements that a formula gives, in row-major order.

    Its names are ``position``, the place of an element in this order, ``elements``, their number, and ``indices``, the
    numbers in the path of the parameter: ``indices[0]`` is that of the layer in ``layers.3.mix``.

    Raises:
        ValueError: if there are too many elements, or one of them is not a finite number.

    >>> formula_elements(Init.of("formula", expression="position / (elements - 1)"), [3])
    [0.0, 0.5, 1.0]
    """
    args, count = dict(init.args), math.prod(shape)
    if count > MAX_FORMULA_ELEMENTS:
        raise ValueError(f"{count:,} elements of a formula (at most {MAX_FORMULA_ELEMENTS:,})")
    expression = parse(args["expression"])
    scope = {"elements": count, "indices": list(args.get("indices", ()))}
    with limited_work():
        return [_element(expression, scope | {"position": position}) for position in range(count)]


def _element(expression: Expression, scope: Mapping[str, Any]) -> float:
    spend(1)
    try:
        number = expression.evaluate(scope)
    except ExpressionError as error:
        raise ValueError(f"at position {scope['position']}: {error.message}") from None
    if not isinstance(number, (int, float)) or not math.isfinite(number):
        raise ValueError(f"at position {scope['position']} the formula gives {number!r}, which is not a finite number")
    return float(number)
