"""Rules of operations that make numbers or compute with them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

from netcalc.dims import Dim, Poly
from netcalc.dtypes import COMPLEX, FLOATS
from netcalc.formats.graph.constants.expressions import (
    Call,
    Expression,
    Number,
    axes_of,
    call,
    index,
    number_of,
    truth,
    whole,
)
from netcalc.formats.graph.constants.rules import Case, as_cases, opaque, over_cases, over_pairs, rule, spread

__all__: list[str] = []

#: Whole numbers up to which sums and products of float16 are exact.
_EXACT = 2048.0


def kind_of(dtype: str) -> str:
    """Return the kind of an element type: float, complex, bool or int."""
    return "complex" if dtype in COMPLEX else "float" if dtype in FLOATS else "bool" if dtype == "bool" else "int"


def written(value: Any, kind: str) -> Expression | None:
    """Return a number of a spec as an expression of a kind; None for one that has none, as complex numbers."""
    if kind == "int":
        return int(value) if isinstance(value, int) else value if isinstance(value, Poly) else None
    if isinstance(value, Poly) or kind == "complex":
        return None
    return truth(bool(value)) if kind == "bool" else Number("float", float(value))


@rule("constant")
def _constant(case: Case) -> Expression | None:
    value = case.op.value
    if isinstance(value, tuple):
        return None
    return written(value, kind_of(case.outputs[0].dtype))


@rule("arange")
def _arange(case: Case) -> Expression | None:
    start, step = (written(value, "int") for value in (case.op.start, case.op.step))
    if start is None or step is None:
        return None
    numbers = whole(start) + whole(step) * index(0, case.sizes)
    return numbers if kind_of(case.op.dtype) == "int" else Call("cast", (numbers,), (case.op.dtype,))


@rule("causal_mask")
def _causal_mask(case: Case) -> Expression | None:
    queries, keys = case.sizes
    shift = keys - queries if case.op.alignment == "lower_right" else 0
    apart = index(0, case.sizes) + shift - index(1, case.sizes)
    parts = [call("nonnegative", (apart,))]
    if case.op.window is not None:
        parts.append(call("nonnegative", (case.op.window - apart,)))
    seen = call("and", parts)
    if case.op.dtype == "bool":
        return seen
    return call("where", (seen, Number("float", 0.0), Number("float", float("-inf"))))


@rule("tril", "triu")
def _triangle(case: Case) -> Expression | None:
    row, column = len(case.sizes) - 2, len(case.sizes) - 1
    offset = index(row, case.sizes) - index(column, case.sizes) + case.op.diagonal
    inside = call("nonnegative", (offset if case.name == "tril" else -offset,))
    zero = written(0, kind_of(case.outputs[0].dtype))
    assert zero is not None
    return call("where", (inside, case.operands[0], zero))


@rule("cast")
def _cast(case: Case) -> Expression:
    before, after = kind_of(case.inputs[0].dtype), kind_of(case.op.dtype)
    value = case.operands[0]
    if before == after != "float" or case.inputs[0].dtype == case.op.dtype:
        return value

    def converted(expression: Expression) -> Expression:
        if before == "bool":
            return as_cases(expression, after)
        if before == "int" and after == "bool":
            return _nonzero(expression)
        number = number_of(expression)
        if number is not None and after == "bool":
            return truth(number != 0)
        if number is not None and after == "float" and abs(number) == float("inf"):
            return Number("float", float(number))
        if number is not None and abs(number) <= _EXACT and number % 1 == 0:
            return Number("float", float(number)) if after == "float" else int(number)
        if after == "int" and (counted := _counted(expression, case.inputs[0].dtype)) is not None:
            return counted
        return Call("cast", (expression,), (case.op.dtype,))

    return over_cases(converted, value)


def _nonzero(value: Expression) -> Expression:
    return call("not", [call("zero", (whole(value),))])


# -- arithmetic -------------------------------------------------------------------------------------


def _operands(case: Case, kind: str) -> list[Expression] | None:
    """Return the operands as expressions of a kind, the number among the attributes last."""
    operands = []
    for number, type_ in enumerate(case.inputs):
        operand = spread(case, number)
        if kind == "int" and kind_of(type_.dtype) == "bool":
            operand = as_cases(operand, "int")
        elif kind_of(type_.dtype) != kind:
            return None
        operands.append(operand)
    for value in case.op.numbers():
        last = written(value, kind)
        if last is None:
            return None
        operands.append(last)
    return operands[::-1] if case.op.swaps else operands


_WHOLE: dict[str, Callable[[Any, Any], Any]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def _exactly(name: str, a: float, b: float) -> float | None:
    """Return a sum or product of floating-point numbers, None where it may be rounded."""
    if name == "mul":
        safe = a in (0.0, 1.0, -1.0) or b in (0.0, 1.0, -1.0)
        return a * b if safe else None
    if 0.0 in (a, b) or (max(abs(a), abs(b)) <= _EXACT and a % 1 == b % 1 == 0):
        return a + b if name == "add" else a - b
    return None


@rule("add", "sub", "mul")
def _arithmetic(case: Case) -> Expression | None:
    kind, dtype = kind_of(case.outputs[0].dtype), case.outputs[0].dtype
    operands = _operands(case, kind)
    if operands is None or kind == "bool":
        return opaque(case)
    counts = [count for operand in operands if (count := _counted(operand, dtype)) is not None]
    if kind == "float" and len(counts) == len(operands) and any(isinstance(operand, Call) for operand in operands):
        return Call("cast", (reduce(_WHOLE[case.name], counts),), (dtype,))
    join = _joined_integers if kind == "int" else _joined_floats
    result: Expression | None = operands[0]
    for operand in operands[1:]:
        result = None if result is None else join(case, result, operand)
    return opaque(case) if result is None else result


def _counted(value: Expression, dtype: str) -> Dim | None:
    """Return the integer of which an expression is the floating-point number.

    Sums and products of positions are below the 2²⁴ up to which they are exact in single precision.
    """
    if dtype not in ("float32", "float64"):
        return None
    if isinstance(value, Number) and abs(value.value) <= _EXACT and value.value % 1 == 0:
        return int(value.value)
    if isinstance(value, Call) and value.function == "cast" and isinstance(value.operands[0], (int, Poly)):
        return value.operands[0]
    return None


def _joined_integers(case: Case, a: Expression, b: Expression) -> Expression:
    return over_pairs(lambda first, other: _WHOLE[case.name](whole(first), whole(other)), a, b)


def _joined_floats(case: Case, a: Expression, b: Expression) -> Expression | None:
    unknown: list[bool] = []

    def joined(first: Expression, other: Expression) -> Expression:
        exact = None
        if isinstance(first, Number) and isinstance(other, Number):
            exact = _exactly(case.name, first.value, other.value)
        if exact is None:
            unknown.append(True)
            return first
        return Number("float", exact)

    result = over_pairs(joined, a, b)
    return None if unknown else result


@rule("neg")
def _neg(case: Case) -> Expression:
    kind = kind_of(case.outputs[0].dtype)
    if kind == "int":
        return over_cases(lambda value: -whole(value), case.operands[0])
    return opaque(case)


@rule("abs")
def _abs(case: Case) -> Expression:
    (x,) = case.operands
    return abs(x) if isinstance(x, (int, Poly)) else opaque(case)


@rule("cumsum")
def _cumsum(case: Case) -> Expression | None:
    if not case.sizes:
        return None
    axis = case.axis(case.op.axis)
    value: Expression | None = case.operands[0]
    kind, dtype = kind_of(case.outputs[0].dtype), case.outputs[0].dtype
    if kind_of(case.inputs[0].dtype) == "bool":
        value = as_cases(case.operands[0], "int")
    if kind == "float":
        value = _counted(case.operands[0], dtype)
    if not isinstance(value, (int, Poly)) or axis in axes_of(value) or kind == "bool":
        return None
    total = value * (index(axis, case.sizes) + 1)
    return Call("cast", (total,), (dtype,)) if kind == "float" else total


# -- comparison -------------------------------------------------------------------------------------


def _compared(name: str, a: Dim, b: Dim) -> Expression:
    if name in ("equal", "not_equal"):
        same = call("zero", (a - b,))
        return same if name == "equal" else call("not", (same,))
    if name in ("less", "less_equal"):
        a, b = b, a
    return call("nonnegative", (a - b - 1 if name in ("less", "greater") else a - b,))


@rule("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
def _comparison(case: Case) -> Expression | None:
    operands = _operands(case, "int")
    if operands is None:
        return opaque(case)
    return over_pairs(lambda first, other: _compared(case.name, whole(first), whole(other)), operands[0], operands[1])


def _truths(case: Case) -> Iterator[Expression]:
    for number, type_ in enumerate(case.inputs):
        operand = spread(case, number)
        yield _nonzero(operand) if kind_of(type_.dtype) == "int" else operand


@rule("logical_and", "logical_or", "logical_not")
def _logical(case: Case) -> Expression:
    if any(kind_of(type_.dtype) == "float" for type_ in case.inputs):
        return opaque(case)
    return call(case.name.removeprefix("logical_"), _truths(case))


@rule("where")
def _where(case: Case) -> Expression:
    return call("where", [spread(case, number) for number in range(3)])


@rule("masked_fill")
def _masked_fill(case: Case) -> Expression | None:
    value = written(case.op.value, kind_of(case.outputs[0].dtype))
    if value is None:
        return None
    return call("where", (spread(case, 1), value, spread(case, 0)))
