"""Arrays that count the arithmetic done on them.

:class:`Tallied` is an ndarray whose ufuncs add the work that they do to the active tally, a counter by kind of
work.  Kernels are written in ufuncs, so the tally follows from the arrays that were combined, and from no cost rule.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.opdef import COMPLEX_WORK, Kind

#: Kind of work of one application of a ufunc; None for ufuncs that move or test data without arithmetic.
UFUNC_KINDS: dict[str, Kind | None] = {
    **dict.fromkeys(["add", "subtract", "negative", "floor", "ceil", "rint", "trunc"], "add"),
    **dict.fromkeys(["multiply", "square"], "mul"),
    **dict.fromkeys(["divide", "floor_divide", "remainder", "reciprocal", "fmod"], "div"),
    **dict.fromkeys(
        ["maximum", "minimum", "fmax", "fmin", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal"],
        "compare",
    ),
    **dict.fromkeys(["logical_and", "logical_or", "logical_not", "logical_xor", "sign", "absolute", "clip"], "compare"),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert"], "compare"),
    **dict.fromkeys(
        ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "power", "float_power", "logaddexp"],
        "transcendental",
    ),
    **dict.fromkeys(["sin", "cos", "tan", "tanh", "sinh", "cosh", "arctan", "hypot"], "transcendental"),
    **dict.fromkeys(["arcsin", "arccos", "arcsinh", "arccosh", "arctanh", "arctan2"], "transcendental"),
    **dict.fromkeys(["isnan", "isinf", "isfinite", "positive", "copysign"], None),
    "conjugate": "add",
}

#: Real arithmetic of functions of complex numbers, by name of the ufunc.
_OF_COMPLEX: dict[str, Mapping[Kind, int]] = {
    "negative": {"add": 2},
    "square": COMPLEX_WORK["mul"],
    "reciprocal": {"mul": 2, "add": 2, "div": 2},
    "absolute": {"mul": 2, "add": 1, "transcendental": 1},
    "exp": {"transcendental": 3, "mul": 2},
    "log": {"mul": 2, "add": 1, "transcendental": 3},
    "sqrt": {"mul": 4, "add": 2, "transcendental": 2, "div": 1},
    "sin": {"transcendental": 4, "mul": 2},
    "cos": {"transcendental": 4, "mul": 2, "add": 1},
    "tanh": {"transcendental": 4, "mul": 2, "add": 1, "div": 2},
    "power": {"transcendental": 6, "mul": 8, "add": 3},
    "conjugate": {"add": 1},
}

_tally: ContextVar[Counter[str] | None] = ContextVar("_tally", default=None)


@contextmanager
def tallying() -> Iterator[Counter[str]]:
    """Count the work done on tallied arrays inside the block, by kind."""
    counter: Counter[str] = Counter()
    token = _tally.set(counter)
    try:
        yield counter
    finally:
        _tally.reset(token)


def note(kind: Kind, times: int) -> None:
    """Add work to the active tally; for routines that are not ufuncs."""
    counter = _tally.get()
    if counter is not None and times:
        counter[kind] += times


class Tallied(np.ndarray):
    """ndarray that counts the work of its ufuncs; its views and results are tallied too."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [i.view(np.ndarray) if isinstance(i, Tallied) else i for i in inputs]
        out = kwargs.get("out")
        if out is not None:
            kwargs["out"] = tuple(o.view(np.ndarray) if isinstance(o, Tallied) else o for o in out)
        if isinstance(kwargs.get("where"), Tallied):
            kwargs["where"] = kwargs["where"].view(np.ndarray)
        result = getattr(ufunc, method)(*plain, **kwargs)
        _count(ufunc, method, plain, kwargs, result)
        if out is not None and method != "at":
            return out[0] if len(out) == 1 else out
        if isinstance(result, tuple):
            return tuple(tallied(r) for r in result)
        return None if method == "at" else tallied(result)


def tallied(array: Any) -> Any:
    """Return a tallied view of the data."""
    return np.asarray(array).view(Tallied)


def counted(*kinds: Kind) -> Callable[[Callable[[Array], Array]], Callable[[Array], Array]]:
    """Return a decorator that counts a function of the elements of an array like ufuncs of these kinds of work."""

    def decorate(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
        @wraps(function)
        def apply(x: Array) -> Array:
            if not isinstance(x, Tallied):
                return function(x)
            for kind in kinds:
                note(kind, x.size)
            result: Array = tallied(function(x.view(np.ndarray)))
            return result

        return apply

    return decorate


def _count(ufunc: np.ufunc, method: str, inputs: list[Any], kwargs: dict[str, Any], result: Any) -> None:
    if ufunc.__name__ in ("matmul", "vecdot", "matvec", "vecmat"):
        size = np.size(result)
        by_element = 4 if np.result_type(*inputs).kind == "c" else 1
        note("mac", by_element * size * np.shape(inputs[0])[-1])
        return
    if ufunc.__name__ not in UFUNC_KINDS:
        raise NotImplementedError(f"the tally has no kind of work for the ufunc {ufunc.__name__!r}")
    kind = UFUNC_KINDS[ufunc.__name__]
    if kind is None:
        return
    first = np.asarray(inputs[0])
    if method == "__call__":
        where = kwargs.get("where", True)
        shape = np.shape(result[0] if isinstance(result, tuple) else result)
        times = math.prod(shape) if where is True else int(np.count_nonzero(np.broadcast_to(where, shape)))
    elif method == "reduce":  # n numbers take n − 1 applications
        times = first.size - np.size(result) if first.size else 0
        where = kwargs.get("where", True)
        if where is not True:
            times = int(np.count_nonzero(np.broadcast_to(where, first.shape))) - np.size(result)
    elif method == "accumulate":
        axis = kwargs.get("axis", inputs[1] if len(inputs) > 1 else 0)
        times = first.size - (first.size // first.shape[axis] if first.size else 0)
    elif method == "reduceat":  # the segments cover the array and none is empty
        times = first.size - np.size(result)
    elif method == "outer":
        times = np.size(result)
    else:  # at
        times = np.asarray(inputs[0])[inputs[1]].size
    for part, each in _each(ufunc.__name__, kind, inputs).items():
        note(part, each * times)


def _each(name: str, kind: Kind, inputs: list[Any]) -> Mapping[Kind, int]:
    """Return the work of one application of a ufunc: of real arithmetic, if an operand is complex."""
    if not any(np.iscomplexobj(operand) for operand in inputs if isinstance(operand, (np.ndarray, np.generic))):
        return {kind: 1}
    return _OF_COMPLEX.get(name) or COMPLEX_WORK[kind]
