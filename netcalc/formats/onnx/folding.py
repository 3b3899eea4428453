"""Operators on tensors whose elements are known: shapes, indices and what exporters compute of them."""

from __future__ import annotations

import math
import operator as functions
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Poly, exact_div, maximum, minimum, product
from netcalc.dtypes import FLOATS, INTEGERS, DType
from netcalc.formats.onnx.elements import dtype_named
from netcalc.formats.onnx.known import MOST, Known, broadcast, elementwise, indices, known, picked, spread, strides

if TYPE_CHECKING:
    from netcalc.formats.onnx.call import Call

#: A rule that computes the results of a node of known operands.
Rule = Callable[["Call", "list[Known]"], "Known | list[Known]"]


def folded(call: Call) -> list[Known] | None:
    """Return the known results of a node; None if it has none."""
    rule = _RULES.get(call.node.op)
    if rule is None:
        return None
    # of what CastLike takes second, only the type counts
    operands = call.operands[:1] if call.node.op == "CastLike" else call.operands
    listed = [call.known(place) for place, operand in enumerate(operands) if operand is not None]
    given = [operand for operand in listed if operand is not None]
    if len(given) < len(listed) or (not listed and call.node.inputs):
        return None
    try:
        result = rule(call, given)
    except (RuleError, ZeroDivisionError, OverflowError, TypeError, IndexError):
        return None
    return result if isinstance(result, list) else [result]


def _shape(call: Call, _: Any) -> Known:
    shape = call.type(0).shape
    start, stop = call.attribute("start", 0), call.attribute("end")
    sizes = list(shape)[start:stop]
    return known("int64", (len(sizes),), sizes)


def folds(operator: str) -> bool:
    """Return True for an operator whose results may be known without a rule that adds lines."""
    return operator in _RULES or operator in ("Shape", "Size")


def sizes_of(call: Call) -> Known | None:
    """Return the result of an operator that reads the shape of its operand only; None for any other."""
    if call.node.op == "Shape":
        return _shape(call, None)
    if call.node.op == "Size":
        return known("int64", (), [product(call.type(0).shape)])
    return None


def _filled(call: Call, given: list[Known]) -> Known:
    shape = _plain_sizes(given[0])
    value = call.tensor("value") or Known("float32", (1,), (0.0,))
    if math.prod(shape) > MOST:
        raise RuleError("too many elements to be computed")
    return known(value.dtype, shape, [value.elements[0]] * math.prod(shape))


def _plain_sizes(x: Known) -> list[int]:
    if not x.is_plain:
        raise RuleError("a symbolic shape")
    return [int(size) for size in x.elements]


def _gather(call: Call, given: list[Known]) -> Known:
    x, index = given
    axis = call.attribute("axis", 0) % len(x.shape)
    rank = len(index.shape)
    size = x.shape[axis]
    spots = [int(i) + size if i < 0 else int(i) for i in index.elements]
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    order = {place: at for at, place in enumerate(indices(index.shape))}
    return picked(x, shape, lambda i: (*i[:axis], spots[order[tuple(i[axis : axis + rank])]], *i[axis + rank :]))


def _slice(call: Call, given: list[Known]) -> Known:
    x = given[0]
    starts, stops, axes, steps = call.slices(len(x.shape))
    ranges: list[range] = [range(size) for size in x.shape]
    for start, stop, axis, step in zip(starts, stops, axes, steps, strict=True):
        ranges[axis] = range(x.shape[axis])[slice(int(start), _stop(int(stop), int(step)), int(step))]
    return picked(x, [len(r) for r in ranges], lambda i: [r[j] for r, j in zip(ranges, i, strict=True)])


def _stop(stop: int, step: int) -> int | None:
    return None if step < 0 and stop < -(1 << 30) else stop


def _concat(call: Call, given: list[Known]) -> Known:
    axis = call.attribute("axis") % len(given[0].shape)
    first = given[0]
    places = [(x, i) for x in given for i in range(x.shape[axis])]
    shape = (*first.shape[:axis], len(places), *first.shape[axis + 1 :])
    if math.prod(shape) > MOST:
        raise RuleError("too many elements to be computed")
    elements = []
    for index in indices(shape):
        x, i = places[index[axis]]
        own = (*index[:axis], i, *index[axis + 1 :])
        elements.append(x.elements[sum(n * step for n, step in zip(own, strides(x.shape), strict=True))])
    return known(first.dtype, shape, elements)


def _split(call: Call, given: list[Known]) -> list[Known]:
    x = given[0]
    axis = call.attribute("axis", 0) % len(x.shape)
    size, count = x.shape[axis], len(call.node.outputs)
    listed = _plain_sizes(given[1]) if len(given) > 1 else call.attribute("split")
    each = -(-size // count)
    sizes = listed or [*[each] * (count - 1), size - each * (count - 1)]
    parts, start = [], 0
    for part in sizes:
        shape = (*x.shape[:axis], part, *x.shape[axis + 1 :])
        parts.append(picked(x, shape, lambda i, at=start: (*i[:axis], i[axis] + at, *i[axis + 1 :])))  # type: ignore[misc]
        start += part
    return parts


def _unsqueeze(call: Call, given: list[Known]) -> Known:
    x = given[0]
    axes = call.axes(1) or []
    rank = len(x.shape) + len(axes)
    added = {axis % rank for axis in axes}
    sizes = iter(x.shape)
    return known(x.dtype, [1 if axis in added else next(sizes) for axis in range(rank)], x.elements)


def _squeeze(call: Call, given: list[Known]) -> Known:
    x = given[0]
    rank = len(x.shape)
    axes = call.axes(1)
    left_out = {axis % rank for axis in axes} if axes is not None else {a for a, n in enumerate(x.shape) if n == 1}
    return known(x.dtype, [n for a, n in enumerate(x.shape) if a not in left_out], x.elements)


def _reshape(call: Call, given: list[Known]) -> Known:
    x, sizes = given[0], _plain_sizes(given[1])
    shape = [
        x.shape[axis] if size == 0 and not call.attribute("allowzero", 0) else size for axis, size in enumerate(sizes)
    ]
    if -1 in shape:
        rest = math.prod(size for size in shape if size != -1)
        shape = [len(x.elements) // rest if size == -1 else size for size in shape]
    return known(x.dtype, shape, x.elements)


def _expand(call: Call, given: list[Known]) -> Known:
    x = given[0]
    return spread(x, broadcast(x.shape, _plain_sizes(given[1])))


def _transpose(call: Call, given: list[Known]) -> Known:
    x = given[0]
    order = call.attribute("perm") or list(range(len(x.shape)))[::-1]
    back = [order.index(axis) for axis in range(len(order))]
    return picked(x, [x.shape[axis] for axis in order], lambda i: [i[place] for place in back])


def _cast(call: Call, given: list[Known]) -> Known:
    return _as_type(given[0], dtype_named(call.attribute("to")))


def _as_type(x: Known, dtype: DType) -> Known:
    return known(dtype, x.shape, [converted(element, dtype) for element in x.elements])


def converted(element: Any, dtype: DType) -> Any:
    """Return an element in another type; a symbolic size stays one."""
    if isinstance(element, Poly):
        if dtype == "bool":
            raise RuleError("the truth of a symbolic size")
        return element
    return bool(element) if dtype == "bool" else int(element) if dtype in INTEGERS else float(element)


def _range(call: Call, given: list[Known]) -> Known:
    start, stop, step = (x.elements[0] for x in given)
    if not all(isinstance(x, int) for x in (start, stop, step)) or abs(stop - start) // abs(step) > MOST:
        raise RuleError("no range of few integers")
    numbers = range(start, stop, step)
    return known(given[0].dtype, (len(numbers),), numbers)


def _arithmetic(function: Callable[[Any, Any], Any]) -> Rule:
    def rule(call: Call, given: list[Known]) -> Known:
        return reduce(lambda a, b: elementwise(a.dtype, _of_numbers(function), a, b), given)

    return rule


def _of_numbers(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function of which whole floating-point numbers meet symbolic sizes as integers."""

    def applied(a: Any, b: Any) -> Any:
        if isinstance(a, Poly) and isinstance(b, float):
            b = _whole(b)
        if isinstance(b, Poly) and isinstance(a, float):
            a = _whole(a)
        return function(a, b)

    return applied


def _whole(value: float) -> int:
    if not value.is_integer():
        raise RuleError("a fraction of a symbolic size")
    return int(value)


def _divided(a: Any, b: Any) -> Any:
    if isinstance(a, float) or (isinstance(b, float) and not isinstance(a, Poly)):
        return a / b
    if isinstance(a, Poly) or isinstance(b, Poly):
        return a // b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _quotient(call: Call, given: list[Known]) -> Known:
    if given[0].dtype in FLOATS and not all(x.is_plain for x in given):
        a, b = given
        return elementwise(a.dtype, lambda x, y: exact_div(x, _whole(float(y)) if not isinstance(y, Poly) else y), a, b)
    return elementwise(given[0].dtype, _of_numbers(_divided), *given)


def _modulo(call: Call, given: list[Known]) -> Known:
    function = math.fmod if call.attribute("fmod", 0) else functions.mod
    return elementwise(given[0].dtype, function, *given)


def _larger(a: Any, b: Any) -> Any:
    return maximum(a, b) if isinstance(a, (int, Poly)) and isinstance(b, (int, Poly)) else max(a, b)


def _smaller(a: Any, b: Any) -> Any:
    return minimum(a, b) if isinstance(a, (int, Poly)) and isinstance(b, (int, Poly)) else min(a, b)


def _compared(function: Callable[[Any, Any], Any]) -> Rule:
    return lambda call, given: elementwise("bool", lambda a, b: bool(function(a, b)), *given)


def _unary(function: Callable[[Any], Any]) -> Rule:
    return lambda call, given: known(
        given[0].dtype, given[0].shape, [function(element) for element in given[0].elements]
    )


def _rounded(function: Callable[[float], int]) -> Callable[[Any], Any]:
    return lambda x: x if isinstance(x, Poly) else float(function(x))


def _where(call: Call, given: list[Known]) -> Known:
    condition, x, y = given
    return elementwise(x.dtype, lambda c, a, b: a if c else b, condition, x, y)


def _reduced(function: Callable[[Any, Any], Any]) -> Rule:
    def rule(call: Call, given: list[Known]) -> Known:
        x = given[0]
        rank = len(x.shape)
        listed = call.axes(1)
        if listed is None and call.attribute("noop_with_empty_axes", 0):
            return x
        axes = {axis % rank for axis in listed} if listed else set(range(rank))
        groups: dict[tuple[int, ...], list[Any]] = {}
        for index, element in zip(indices(x.shape), x.elements, strict=True):
            groups.setdefault(tuple(0 if a in axes else i for a, i in enumerate(index)), []).append(element)
        keep = call.attribute("keepdims", 1)
        shape = [1 if a in axes else n for a, n in enumerate(x.shape) if keep or a not in axes]
        return known(x.dtype, shape, [reduce(function, elements) for elements in groups.values()])

    return rule


_RULES: dict[str, Rule] = {
    "Identity": lambda call, given: given[0],
    "ConstantOfShape": _filled,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "Split": _split,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "Expand": _expand,
    "Transpose": _transpose,
    "Cast": _cast,
    "CastLike": lambda call, given: _as_type(given[0], call.type(1).dtype),
    "Range": _range,
    "Add": _arithmetic(functions.add),
    "Sub": _arithmetic(functions.sub),
    "Mul": _arithmetic(functions.mul),
    "Min": _arithmetic(_smaller),
    "Max": _arithmetic(_larger),
    "Div": _quotient,
    "Mod": _modulo,
    "Pow": _arithmetic(functions.pow),
    "Neg": _unary(functions.neg),
    "Abs": _unary(abs),
    "Relu": _unary(lambda x: _larger(x, 0)),
    "Sqrt": _unary(math.sqrt),
    "Floor": _unary(_rounded(math.floor)),
    "Ceil": _unary(_rounded(math.ceil)),
    "Not": _unary(functions.not_),
    "Equal": _compared(functions.eq),
    "Less": _compared(functions.lt),
    "LessOrEqual": _compared(functions.le),
    "Greater": _compared(functions.gt),
    "GreaterOrEqual": _compared(functions.ge),
    "And": _compared(lambda a, b: a and b),
    "Or": _compared(lambda a, b: a or b),
    "Where": _where,
    "ReduceProd": _reduced(functions.mul),
    "ReduceSum": _reduced(functions.add),
    "ReduceMax": _reduced(_larger),
    "ReduceMin": _reduced(_smaller),
}
