"""Parts of a main body, each counted as a network of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.analysis.cost import analyze
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Dim, integer
from netcalc.ir import Program, types_of
from netcalc.request import Request
from netcalc.spec.expansion import rows_of
from netcalc.spec.library import load_data
from netcalc.sweep.families import Results
from netcalc.sweep.points import Points
from netcalc.tensor_type import TensorType

#: Figures of a part that add up, before the sizes of its output.
SUMS = ("params", "macs", "flops")


class Kind(NamedTuple):
    """Element type and number of axes of a tensor."""

    dtype: str | None  # None for the type of the network's floating-point tensors
    rank: int


class Segment:
    """Lines between two tensors, whose whole numbers are ``a0``, ``a1``, … and the sizes of the first.

    Args:
        lines: the lines.
        numbers: how many numbers are in them.
        kind: kind of the first tensor.
        like: request whose element types and mode it has.

    Attributes:
        result: kind of the last tensor, after a first evaluation.
        rows: rows of a report that the lines expand to at most.
    """

    def __init__(self, lines: list[Any], numbers: int, kind: Kind, like: Request) -> None:
        document = like.source.document
        sizes, names = [f"d{axis}" for axis in range(kind.rank)], [f"a{number}" for number in range(numbers)]
        tensor: dict[str, Any] = {"shape": sizes} | ({} if kind.dtype is None else {"dtype": kind.dtype})
        data = {
            "netcalc": 1,
            "dtype": str(document.dtype),
            "dims": dict.fromkeys(sizes, 1),
            "vars": dict.fromkeys(names, 1),
            "inputs": {"x": tensor},
            "layers": lines,
        }
        self._request = Request(load_data(data), mode=like.mode, dtype=like.dtype or document.checkpoint.dtype)
        self._points = Points(self._request, (*names, *sizes), self._count, self._single)
        self.result: Kind | None = None
        self.rows = 0

    def figures(self, rows: Sequence[Sequence[int]]) -> list[tuple[int, ...] | None]:
        """Return :data:`SUMS` and the sizes of the last tensor for some numbers and sizes; None where refused.

        Raises:
            ValueError: the kinds of the last tensor differ.
        """
        size = len(rows)
        if self.result is None and not any(map(self._is_accepted, rows)):
            return [None] * size
        assert self.result is not None
        results = Results(len(SUMS) + self.result.rank, size)
        self._points.fill([list(column) for column in zip(*rows, strict=True)], results)
        listed: list[tuple[int, ...] | None] = list(zip(*(column.tolist() for column in results.columns), strict=True))
        for place in results.reasons:
            listed[place] = None
        return listed

    def _is_accepted(self, row: Sequence[int]) -> bool:
        """Return True if the lines are not refused with some numbers and sizes, by which the result is known."""
        try:
            self._single(dict(zip(self._points.names, row, strict=True)))
        except NetcalcError:
            return False
        return True

    def _count(self, program: Program) -> list[Dim]:
        total = analyze(program).total
        self.rows = max(self.rows, rows_of(program.main))
        return [total.params, total.macs, total.flops, *_result(program).shape]

    def _single(self, settings: Mapping[str, Any]) -> tuple[int, ...]:
        program = self._request.with_settings(settings).program
        counted = tuple(map(integer, self._count(program)))
        dtype = _result(program).dtype
        kind = Kind(None if dtype == program.dtype else str(dtype), len(counted) - len(SUMS))
        if self.result not in (None, kind):
            raise ValueError("tensors of several kinds")
        self.result = kind
        return counted


def _result(program: Program) -> TensorType:
    """Return the type of the only output; ValueError if there are several, or if it has no axes."""
    type_, *others = types_of(program.main.outputs)
    if others or type_ is None or not type_.shape:
        raise ValueError("no chain of tensors with axes")
    return type_
