"""Traces: statistics of the values that operations and blocks return, by path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.ir import Body, CallNode, Program, join
from netcalc.numerics.kernels import Array

__all__ = ["TraceRow", "Tracer"]

#: Number of paths that are compared with a misspelt pattern.
_CANDIDATES = 10_000


@dataclass(frozen=True, slots=True)
class TraceRow:
    """Statistics of one output of an operation or block, computed in float64.

    ``std`` is the standard deviation of the population.  Statistics of a tensor without elements are NaN.  If there
    are several outputs, ``path`` ends in the output's number.  ``array`` is the value itself, if it was asked for.
    """

    path: str
    op: str
    shape: tuple[int, ...]
    dtype: str
    mean: float
    std: float
    min: float
    max: float
    absmax: float
    array: Array | None = None

    @classmethod
    def of(cls, path: str, op: str, array: Array, *, keep: bool = False) -> TraceRow:
        """Return the row of one tensor."""
        kept = array if keep else None
        if not array.size:
            nan = float("nan")
            return cls(path, op, array.shape, array.dtype.name, nan, nan, nan, nan, nan, kept)
        with np.errstate(all="ignore"):  # infinities and NaNs are values
            mean, std = (float(f(array, dtype=np.float64)) for f in (np.mean, np.std))
        low, high = float(array.min()), float(array.max())
        absmax = float(np.maximum(-low, high))  # unlike max(), it keeps NaN
        return cls(path, op, array.shape, array.dtype.name, mean, std, low, high, absmax, kept)


class Tracer:
    """Collects the outputs whose path matches a pattern (``layer1.*``; ``*`` also matches dots).

    Raises:
        NetcalcError: E503, with every pattern that matches nothing in the program.
    """

    def __init__(self, program: Program, patterns: Sequence[str], *, keep: bool = False) -> None:
        self.rows: list[TraceRow] = []
        self.patterns = tuple(patterns)
        self._keep = keep
        self._require_matches(program)

    def record(self, path: str, op: str, outputs: Sequence[Array]) -> None:
        """Record the outputs of an operation or block if its path matches."""
        if not any(fnmatchcase(path, pattern) for pattern in self.patterns):
            return
        for number, array in enumerate(outputs):
            name = path if len(outputs) == 1 else f"{path}.{number}"
            self.rows.append(TraceRow.of(name, op, array, keep=self._keep))

    def record_call(self, path: str, call: CallNode, outputs: Sequence[Array]) -> None:
        """Record the outputs of a call of a block.

        A repeated single operation has the path of its call and is recorded as an operation only.
        """
        if not any(node.name == "" for node in call.body.nodes):
            self.record(path, call.body.block, outputs)

    def _require_matches(self, program: Program) -> None:
        unmatched = list(self.patterns)
        candidates: list[str] = []
        paths = _paths(program.main, "")
        while unmatched and (path := next(paths, None)) is not None:
            if len(candidates) < _CANDIDATES:
                candidates.append(path)
            unmatched = [pattern for pattern in unmatched if not fnmatchcase(path, pattern)]
        if unmatched:
            raise NetcalcError(
                Diagnostic("E503", f"--trace {pattern}: nothing of that name", hint=did_you_mean(pattern, candidates))
                for pattern in unmatched
            )


def _paths(body: Body, prefix: str) -> Iterator[str]:
    """Yield the paths of all operations and blocks, repeats unrolled."""
    for node in body.nodes:
        if not isinstance(node, CallNode):
            yield join(prefix, node.name)
            continue
        for turn in range(node.times):
            path = join(prefix, node.instance(turn))
            yield path
            yield from _paths(node.body, path)
