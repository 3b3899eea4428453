"""Traces: statistics of the values that operations, blocks, named sequences and repeats return, by path."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase, translate
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.ir import Body, CallNode, Node, OpNode, Program, join
from netcalc.numerics.attention_weights import ASIDES
from netcalc.ops.attention import ScaledDotProductAttention
from netcalc.results import Entry, Real, recorded

#: Tensors of at most this many elements are recorded with their values, and printed.
MAX_VALUES = 64
_STATISTICS = ("shape", "dtype", "mean", "std", "min", "max", "absmax")
#: Elements of a tensor whose deviation is computed at once.
_BLOCK = 1 << 16
#: Number of paths that are compared with a misspelt pattern.
_CANDIDATES = 10_000
#: Numbers of iterations, as reports print them: ``0–11``, ``0,2,…,24`` or ``0–4,6–10,…,24–25``; also with a hyphen.
_RANGE = re.compile(r"(?:(?<=[._-])|^)([0-9]{1,9}(?:[–-][0-9]{1,9}|,[0-9]{1,9}|,…)+)(?=\.|$)")


class Histogram(NamedTuple):
    """Numbers of elements in intervals of equal width; elements that are not finite are in none."""

    edges: tuple[Real, ...]
    """Ends of the intervals, one more than there are intervals."""
    counts: tuple[int, ...]

    @classmethod
    def of(cls, array: Array, intervals: int = 32) -> Self:
        """Return the distribution of the elements of an array, of complex numbers by their absolute values."""
        flat = np.abs(array) if np.iscomplexobj(array) else array
        finite = flat.astype(np.float64)[np.isfinite(flat.astype(np.float64))]
        counts, edges = np.histogram(finite, intervals)
        return cls(tuple(map(float, edges)), tuple(map(int, counts)))


@recorded("path", "op", *_STATISTICS, Entry("values", optional=True), Entry("histogram", optional=True))
@dataclass(frozen=True, slots=True)
class TraceRow:
    """A traced output of an operation or a block; numbers that are not finite are text.

    Statistics are computed in float64.  Those of a tensor without elements are NaN, those of complex numbers are of
    their absolute values.
    """

    path: str
    """Path of the operation or block, which ends in the output's number if there are several."""
    op: str
    shape: tuple[int, ...]
    dtype: str
    mean: Real
    std: Real
    """Standard deviation of the population."""
    min: Real
    max: Real
    absmax: Real
    """The greatest absolute value."""
    array: Array | None = None
    """The value itself, if it was asked for."""
    small: Array | None = None
    """A copy of the value, of small tensors only."""
    histogram: Histogram | None = None
    """Numbers of elements by interval, if they were asked for."""

    @classmethod
    def of(cls, path: str, op: str, array: Array, *, keep: bool = False) -> Self:
        """Return the row of one tensor."""
        stored, dtype = (array if keep else None), array.dtype.name
        small = np.array(array, copy=True) if array.size <= MAX_VALUES else None
        if np.iscomplexobj(array):
            array = np.abs(array)
        if not array.size:
            nan = float("nan")
            return cls(path, op, array.shape, dtype, nan, nan, nan, nan, nan, stored, small)
        with np.errstate(all="ignore"):  # infinities and NaNs are values
            mean = float(np.mean(array, dtype=np.float64))
            std = float(np.std(array, dtype=np.float64)) if array.size <= _BLOCK else _deviation(array, mean)
        low, high = float(array.min()), float(array.max())
        absmax = float(np.maximum(-low, high))  # unlike max(), it keeps NaN
        return cls(path, op, array.shape, dtype, mean, std, low, high, absmax, stored, small)

    @property
    def values(self) -> Any:
        """The elements in nested lists, of small tensors only."""
        return None if self.small is None else self.small.tolist()


@recorded(*_STATISTICS, Entry("values", optional=True))
class TensorRow(TraceRow):
    """An input, an output or a gradient; numbers that are not finite are text."""

    __slots__ = ()


def tensor_rows(arrays: Mapping[str, Array], most: int | None = None) -> Mapping[str, TensorRow]:
    """Return tensors with their statistics, by name; those of at most ``most`` elements."""
    return {name: TensorRow.of(name, "", a) for name, a in arrays.items() if most is None or a.size <= most}


def _deviation(array: Array, mean: float) -> float:
    """Return the standard deviation, computed block by block: NumPy's takes memory for two arrays in float64."""
    flat = array.reshape(-1)
    total = 0.0
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK].astype(np.float64)
        block -= mean
        total += float(np.add.reduce(np.square(block, out=block)))
    return math.sqrt(total / flat.size)


class Tracer:
    """Collects the outputs whose path matches a pattern (``layer1.*``; ``*`` also matches dots).

    The paths are the same as in the rows of ``netcalc shapes``: operations, calls of blocks, named sequences, repeats
    as a whole, and ranges of iterations (``layers.0–11.attn``), which match each iteration.

    Args:
        program: the program.
        patterns: the patterns.
        keep: True to keep the arrays.
        option: option that the patterns are of, for messages.

    Raises:
        NetcalcError: E503, with every pattern that matches nothing in the program.
    """

    def __init__(
        self,
        program: Program,
        patterns: Sequence[str],
        *,
        keep: bool = False,
        histogram: bool = False,
        option: str = "--trace",
    ) -> None:
        self.rows: list[TraceRow] = []
        self.patterns = tuple(patterns)
        self._option = option
        self._histogram = histogram
        self._keep = keep
        self._groups = _Groups()
        self._require_matches(program)

    def record(
        self,
        path: str,
        node: OpNode,
        outputs: Sequence[Array],
        inputs: Sequence[Array | None] = (),
        params: Mapping[str, Array] | None = None,
    ) -> None:
        """Record the outputs of an operation, and of the groups that end with it, if their paths match.

        A pattern that ends in the name of a parameter or buffer records that, and one in ``weights`` or ``mask`` what a
        fused attention does not return.
        """
        self._record(path, node.op.name, outputs)
        for name in asides(node):
            if any(_names(pattern, path, name) for pattern in self.patterns):
                compute = None if name in (params or {}) else ASIDES.get(name)
                if compute is None and params is not None:
                    self._add(f"{path}.{name}", node.op.name, np.asarray(params[name]))
                elif compute is not None and inputs:
                    assert isinstance(node.op, ScaledDotProductAttention)
                    self._add(f"{path}.{name}", node.op.name, np.asarray(compute(node.op, inputs)))
        self._record_groups(path, node, node.name, outputs)

    def record_call(self, path: str, call: CallNode, outputs: Sequence[Array]) -> None:
        """Record the outputs of one iteration of a call, and of the groups that end with it.

        A repeated single operation has the path of its call and is recorded as an operation only.
        """
        outputs = outputs[: len(call.results)]
        if not any(node.name == "" for node in call.body.nodes):
            self._record(path, call.body.block, outputs)
        last = call.instance(call.times - 1)
        if path == last or path.endswith("." + last):
            self._record_groups(path, call, last, outputs)

    def _record_groups(self, path: str, node: Node, name: str, outputs: Sequence[Array]) -> None:
        prefix = path.removesuffix(name)
        for group in self._groups.ending_with(node):
            self._record(prefix + group, "sequence", outputs)

    def _record(self, path: str, op: str, outputs: Sequence[Array]) -> None:
        if not any(matches(path, pattern) for pattern in self.patterns):
            return
        for number, array in enumerate(outputs):
            self._add(path if len(outputs) == 1 else f"{path}.{number}", op, array)

    def _add(self, path: str, op: str, array: Array) -> None:
        row = TraceRow.of(path, op, array, keep=self._keep)
        self.rows.append(replace(row, histogram=Histogram.of(array)) if self._histogram else row)

    def _require_matches(self, program: Program) -> None:
        unmatched = list(self.patterns)
        candidates: list[str] = []
        paths = self._groups.paths(program.main, "")
        while unmatched and (found := next(paths, None)) is not None:
            path, name = found
            if len(candidates) < _CANDIDATES:
                candidates.append(path if name is None else f"{path}.{name}")
            unmatched = [pattern for pattern in unmatched if not _names(pattern, path, name)]
        if unmatched:
            raise NetcalcError(
                Diagnostic(
                    "E503", f"{self._option} {pattern}: nothing of that name", hint=did_you_mean(pattern, candidates)
                )
                for pattern in unmatched
            )


class _Groups:
    """The named sequences and repeats of each body, by the node that they end with."""

    def __init__(self) -> None:
        self._ending: dict[Node, list[str]] = {}
        self._read: set[Body] = set()

    def ending_with(self, node: Node) -> Sequence[str]:
        """Return the names, relative to the body, of the groups whose last value is the value of the node."""
        return self._ending.get(node, ())

    def paths(self, body: Body, prefix: str) -> Iterator[tuple[str, str | None]]:
        """Yield the paths of all operations, calls and groups, repeats unrolled, and the names of asides at them."""
        self._read_body(body)
        for node in body.nodes:
            if isinstance(node, OpNode):
                yield (path := join(prefix, node.name)), None
                yield from ((path, name) for name in asides(node))
            else:
                for turn in range(node.times):
                    path = join(prefix, node.instance(turn))
                    yield path, None
                    yield from self.paths(node.body, path)
            yield from ((join(prefix, group), None) for group in self.ending_with(node))

    def _read_body(self, body: Body) -> None:
        """Find the groups of a body and of those that it calls."""
        if body in self._read:
            return
        self._read.add(body)
        last: dict[str, Node] = {}
        for node in body.nodes:
            name = node.name if isinstance(node, OpNode) else node.instance(node.times - 1)
            parts = name.split(".")
            last |= {".".join(parts[:depth]): node for depth in range(1, len(parts))}
            if isinstance(node, CallNode):
                self._read_body(node.body)
        single = {node.instance(0) if isinstance(node, CallNode) else node.name for node in body.nodes}
        for group, node in last.items():
            if group not in single:
                self._ending.setdefault(node, []).append(group)


def asides(node: OpNode) -> tuple[str, ...]:
    """Return the names of what an operation tells besides its outputs: parameters, buffers, attention's weights."""
    fused = tuple(ASIDES) if isinstance(node.op, ScaledDotProductAttention) else ()
    return (*(param.name for param in node.params if param.name), *fused)


def _names(pattern: str, path: str, name: str | None) -> bool:
    """Return True if a pattern matches a path, or names an aside at it, whose name it has to end in."""
    if name is None:
        return matches(path, pattern)
    return pattern.rpartition(".")[2] == name and matches(f"{path}.{name}", pattern)


def matches(path: str, pattern: str) -> bool:
    """Return True if a path matches a pattern, in which ``0–11`` or ``0,2,…,24`` stands for each of the numbers."""
    if fnmatchcase(path, pattern):
        return True
    ranges = _ranges(pattern)
    match = None if ranges is None else ranges[0].fullmatch(path)
    if ranges is None or match is None:
        return False
    return all(is_among(int(number)) for number, is_among in zip(match.groups(), ranges[1], strict=True))


@cache
def _ranges(pattern: str) -> tuple[re.Pattern[str], tuple[Callable[[int], bool], ...]] | None:
    """Return the expression that a pattern with ranges stands for, and their numbers; None if it has no range."""
    pieces = _RANGE.split(pattern)
    if len(pieces) == 1:
        return None
    text = r"(\d+)".join(translate(piece)[:-2] for piece in pieces[::2])  # without the end anchor
    return re.compile(text), tuple(map(_among, pieces[1::2]))


def _among(text: str) -> Callable[[int], bool]:
    """Return the function that tells whether a number is in ranges such as ``0–4,6–10,…,24–25``."""
    spans: list[tuple[int, int]] = []
    for part in text.replace("-", "–").replace(",…", "").split(","):
        first, _, last = part.partition("–")
        spans.append((int(first), int(last or first)))
    if "…" not in text or len(spans) < 2:
        return lambda number: any(first <= number <= last for first, last in spans)
    (start, end), period, greatest = spans[0], max(spans[1][0] - spans[0][0], 1), spans[-1][1]
    return lambda number: start <= number <= greatest and (number - start) % period <= end - start
