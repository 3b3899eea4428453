"""Looking at what flows through a network: the statistics of values by path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.ir import Body, CallNode, Program, join
from netcalc.numerics.kernels import Array

__all__ = ["TraceRow", "Tracer"]


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One output of an operation or a block, and its statistics, computed in float64.

    ``std`` is the deviation of the whole population.  Statistics of a tensor without elements are NaN.  ``path`` ends
    in the output's number where there are several.  ``array`` is kept on demand only.
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
        """The row of one tensor."""
        kept = array if keep else None
        if not array.size:
            nan = float("nan")
            return cls(path, op, array.shape, array.dtype.name, nan, nan, nan, nan, nan, kept)
        with np.errstate(all="ignore"):  # infinities and NaNs are values
            mean, std = (float(f(array, dtype=np.float64)) for f in (np.mean, np.std))
        least, most = float(array.min()), float(array.max())
        return cls(
            path, op, array.shape, array.dtype.name, mean, std, least, most, float(np.maximum(-least, most)), kept
        )


class Tracer:
    """Collects the outputs whose path matches one of the patterns (``layer1.*``; ``*`` goes across dots).

    Raises:
        NetcalcError: E503 for every pattern that nothing in the program matches.
    """

    def __init__(self, program: Program, patterns: Sequence[str], *, keep: bool = False) -> None:
        self.rows: list[TraceRow] = []
        self.patterns = tuple(patterns)
        self._keep = keep
        self._require(program)

    def see(self, path: str, op: str, outputs: Sequence[Array]) -> None:
        """Notes the outputs of an operation or block."""
        if not any(fnmatchcase(path, pattern) for pattern in self.patterns):
            return
        for number, array in enumerate(outputs):
            name = path if len(outputs) == 1 else f"{path}.{number}"
            self.rows.append(TraceRow.of(name, op, array, keep=self._keep))

    def leave(self, path: str, call: CallNode, outputs: Sequence[Array]) -> None:
        """Notes what a call returned, unless it is that of a repeated operation, which has the path of its call."""
        if not any(node.name == "" for node in call.body.nodes):
            self.see(path, call.body.block, outputs)

    def _require(self, program: Program) -> None:
        idle = list(self.patterns)
        seen: list[str] = []
        walk = _paths(program.main, "")
        while idle and (path := next(walk, None)) is not None:
            if len(seen) < 10_000:
                seen.append(path)
            idle = [pattern for pattern in idle if not fnmatchcase(path, pattern)]
        if idle:
            raise NetcalcError(
                Diagnostic("E503", f"--trace {pattern}: nothing of that name", hint=did_you_mean(pattern, seen))
                for pattern in idle
            )


def _paths(body: Body, prefix: str) -> Iterator[str]:
    """The paths of every operation and block, made one at a time."""
    for node in body.nodes:
        if not isinstance(node, CallNode):
            yield join(prefix, node.name)
            continue
        for turn in range(node.times):
            path = join(prefix, node.instance(turn))
            yield path
            yield from _paths(node.body, path)
