"""Comparison of an executed operation with its independent reference, at sampled positions of its outputs.

Shapes and element types are compared in full, values at a bounded number of positions.  All that is not compared is
named as a gap: an operation without a reference, random values, positions beyond the work that is allowed.

A float may differ from its definition by the rounding of its element type, relative to the value, and by the rounding
of the arithmetic (float32 for the 16-bit types), relative to the magnitude of the terms that are added: a sum of some
thousand elements in any order passes, and a missing or doubled one of hundreds does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from netcalc.verification.references import (
    PARAMETERS,
    REFERENCES,
    TABLES,
    UPDATES,
    Array,
    Attributes,
    Expected,
    Shape,
    Value,
)

#: Positions of an output that are compared, unless it has fewer.
POSITIONS = 32
#: Elements of inputs and parameters that are read for one output.
READS = 1 << 22
#: Rounding errors of the arithmetic, besides the errors of a sum, in units of the machine epsilon.
_ROUNDINGS = 16


class Difference(NamedTuple):
    """Result of a reference that the executed operation does not have.

    ``what`` is "parameters", "outputs" (their number), or "output", with a number if there are several, or the name of
    an updated buffer.  ``position`` is the index of a value, and None for a shape or an element type.
    """

    what: str
    expected: str
    executed: str
    position: Shape | None = None


class Comparison(NamedTuple):
    """Differences of an operation from its reference, the number of values compared, and what was not compared."""

    differences: tuple[Difference, ...]
    compared: int
    gaps: tuple[str, ...]


def compare_values(
    op: Any,
    inputs: Sequence[Array | None],
    params: Mapping[str, Array],
    outputs: Sequence[Array],
    *,
    rng: np.random.Generator,
    updates: Mapping[str, Array] | None = None,
    training: bool = False,
    dtype: str = "float32",
    positions: int = POSITIONS,
    reads: int = READS,
) -> Comparison:
    """Compare an executed operation with its reference.

    ``outputs`` are the arrays that the operation gave for ``inputs`` (None for an absent one) and ``params``, and
    ``updates`` the new values of its buffers, or None if the caller does not have them.  ``dtype`` is the element type
    of the program.  At most ``positions`` values of each output are compared, and fewer if the reference would read
    more than ``reads`` elements.
    """
    function = REFERENCES.get(op.name)
    if function is None:
        return Comparison((), 0, (f"{op.name} has no reference",))
    attributes = Attributes(op, training=training, dtype=dtype)
    shapes = [None if x is None else x.shape for x in inputs]
    declared = PARAMETERS.get(op.name)
    expected_params = {} if declared is None else {n: tuple(s) for n, s in declared(attributes, *shapes).items()}
    given_params = {name: array.shape for name, array in params.items()}
    if expected_params != given_params:
        return Comparison((Difference("parameters", _shapes(expected_params), _shapes(given_params)),), 0, ())
    with np.errstate(all="ignore"):
        result = function(attributes, *inputs, **params)
        expected = (result,) if isinstance(result, Expected) else tuple(result)
        if len(expected) != len(outputs):
            return Comparison((Difference("outputs", str(len(expected)), str(len(outputs))),), 0, ())
        names = ["output"] if len(outputs) == 1 else [f"output {number}" for number in range(len(outputs))]
        # arithmetic is as exact as the least exact of what goes in
        exact = all(
            x.dtype.name in ("float64", "complex128")
            for x in (*inputs, *params.values())
            if x is not None and x.dtype.kind not in "iub"
        )
        pairs = list(zip(names, expected, outputs, strict=True))
        if updates is not None:
            updating = UPDATES.get(op.name)
            buffers: Mapping[str, Expected] = {} if updating is None else updating(attributes, *inputs, **params)
            if set(buffers) != set(updates):
                expected_names, names_given = (
                    ", ".join(sorted(parameters)) or "none" for parameters in (buffers, updates)
                )
                return Comparison((Difference("updated buffers", expected_names, names_given),), 0, ())
            pairs += [(name, buffers[name], updates[name]) for name in buffers]
        parts = [_compare_output(*pair, rng, positions, reads, exact=exact) for pair in pairs]
    return Comparison(
        tuple(difference for part in parts for difference in part.differences),
        sum(part.compared for part in parts),
        tuple(gap for part in parts for gap in part.gaps),
    )


def compare_table(
    op: Any, name: str, content: Array, *, rng: np.random.Generator, dtype: str = "float32", positions: int = POSITIONS
) -> Comparison:
    """Compare the initial content of a parameter or buffer that has a fixed formula with its definition."""
    function = TABLES.get(op.name)
    if function is None:
        return Comparison((), 0, (f"{op.name} has no reference of {name}",))
    expected = function(Attributes(op, training=False, dtype=dtype), name, content.shape)
    return _compare_output(name, expected, content, rng, positions, READS)


def _compare_output(
    what: str,
    expected: Expected,
    executed: Array,
    rng: np.random.Generator,
    positions: int,
    reads: int,
    *,
    exact: bool = False,
) -> Comparison:
    """Compare an output; ``exact`` if it is computed in float64."""
    if (expected.shape, expected.dtype) != (executed.shape, executed.dtype.name):
        types = _described_type(expected.shape, expected.dtype), _described_type(executed.shape, executed.dtype.name)
        return Comparison((Difference(what, *types),), 0, ())
    if expected.at is None:
        return Comparison((), 0, (f"{what}: random values",))
    allowed = min(positions, reads // max(expected.reads, 1))
    if not allowed and executed.size:
        return Comparison((), 0, (f"{what}: each value is computed from {expected.reads} elements",))
    indices = list(_sample(expected.shape, allowed, rng))
    values = [_as_value(expected.at(index)) for index in indices]
    largest = max((abs(v.value) for v in values if np.isfinite(v.value)), default=0.0)
    arithmetic = np.finfo(np.float64 if exact and executed.dtype in (np.float64, np.complex128) else np.float32)
    pairs = list(zip(indices, values, strict=True))
    compared = [(index, value) for index, value in pairs if not _overflows(value, executed[index], arithmetic)]
    different = (
        Difference(what, _text_of(value.value), _text_of(executed[index]), index)
        for index, value in compared
        if not _agree(value, executed[index], largest, expected.reads, arithmetic)
    )
    first = next(different, None)
    gaps = []
    if (short := min(positions, executed.size) - len(indices)) > 0:
        gaps.append(f"{what}: {short} positions, each computed from {expected.reads} elements")
    if overflows := len(pairs) - len(compared):
        gaps.append(f"{what}: {overflows} positions where terms exceed the largest number of {arithmetic.dtype}")
    return Comparison(() if first is None else (first,), len(compared), tuple(gaps))


def _sample(shape: Shape, count: int, rng: np.random.Generator) -> Iterator[Shape]:
    """Yield all positions if there are at most ``count``; otherwise first and last, ends of axes, and random ones."""
    if math.prod(shape) <= count:
        yield from np.ndindex(*shape)
        return
    ends = [(0,) * len(shape), tuple(size - 1 for size in shape)]
    chosen = dict.fromkeys(ends[:count])
    for axis, size in enumerate(shape):
        for end in (0, size - 1):
            if len(chosen) < count:
                middle = [int(rng.integers(n)) for n in shape]
                middle[axis] = end
                chosen[tuple(middle)] = None
    while len(chosen) < count:
        chosen[tuple(int(rng.choice((0, n - 1, int(rng.integers(n))), p=(0.1, 0.1, 0.8))) for n in shape)] = None
    yield from chosen


def _as_value(value: Any) -> Value:
    """Return a value of a reference with its magnitude; 0 if the reference gives none."""
    return value if isinstance(value, Value) else Value(value, 0.0)


def _overflows(expected: Value, executed: Any, arithmetic: Any) -> bool:
    """Return True for an infinity or NaN that may come of terms beyond the largest number, whatever their sum is.

    Terms of one sign have an infinite sum, which can be compared.
    """
    if executed.dtype.kind in "iub" or np.isfinite(executed):
        return False
    cancel = abs(expected.value) < expected.magnitude
    return max(expected.largest, expected.magnitude if cancel else 0) > float(arithmetic.max)


def _agree(expected: Value, executed: Any, largest: float, reads: int, arithmetic: Any) -> bool:
    """Return True if a value agrees with its definition, but for rounding."""
    if executed.dtype.kind in "iub":
        return bool(executed == expected.value)
    result = finfo(executed.dtype)
    number = complex if executed.dtype.kind == "c" else float
    defined, actual = number(expected.value), number(executed)
    if isinstance(defined, complex) or isinstance(actual, complex):
        if not (np.isfinite(defined) and np.isfinite(actual)):  # which part is infinite depends on the formula
            return not (np.isfinite(defined) or np.isfinite(actual))
    elif math.isnan(defined) or math.isnan(actual):
        return math.isnan(defined) and math.isnan(actual)
    elif math.isinf(defined) or math.isinf(actual):
        # near the largest number of a type, rounding decides between it and infinity
        overflow = float(result.max) * (1 - 4 * float(result.eps))
        return defined == actual or (
            abs(defined) >= overflow and abs(actual) >= overflow and (defined > 0) == (actual > 0)
        )
    magnitude = max(expected.magnitude or largest, abs(defined))
    errors = (_ROUNDINGS + 2 * math.sqrt(reads)) * float(arithmetic.eps) * magnitude
    tiny = float(arithmetic.smallest_normal) + float(result.smallest_subnormal)
    return abs(actual - defined) <= errors + float(result.eps) * abs(defined) + tiny


def finfo(dtype: np.dtype[Any]) -> Any:
    """Return the limits of a floating-point type."""
    if dtype.name != "bfloat16":
        return np.finfo(dtype)
    import ml_dtypes  # few networks need it, and importing it takes megabytes

    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def _described_type(shape: Sequence[int], dtype: str) -> str:
    return f"{'×'.join(map(str, shape)) or 'scalar'} {dtype}"


def _shapes(shapes: Mapping[str, Sequence[int]]) -> str:
    return (
        ", ".join(f"{name} {'×'.join(map(str, shape)) or 'scalar'}" for name, shape in sorted(shapes.items())) or "none"
    )


def _text_of(value: Any) -> str:
    number = value.item() if isinstance(value, np.generic) else value
    return f"{number:.9g}" if isinstance(number, (float, complex)) else str(number)
