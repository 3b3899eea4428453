"""Tensors of a run that ``--output`` writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netcalc.engine.run import RunResult

__all__ = ["save_tensors", "written_tensors"]


def save_tensors(tensors: Mapping[str, Any], file: str | None) -> None:
    """Write tensors to a file, if one is given."""
    if file is None:
        return
    from netcalc.weights.tensor_files import write_tensors

    write_tensors(file, tensors)


def written_tensors(result: RunResult) -> dict[str, Any]:
    """Return outputs, traced tensors and updated buffers by name, without collisions."""
    tensors = {**result.outputs, **_traced(result)}
    for path, array in result.buffers.items():
        tensors[f"buffers.{path}" if path in tensors else path] = array
    return tensors


def _traced(result: RunResult) -> dict[str, Any]:
    """The traced tensors by path, as ``trace.PATH`` where an output or an iteration of the same path has that name."""
    traced: dict[str, Any] = {}
    for row in result.trace:
        if row.array is None:
            continue
        name, number = row.path, 0
        while name in traced or name in result.outputs:
            name, number = f"trace.{row.path}{f'#{number}' if number else ''}", number + 1
        traced[name] = row.array
    return traced
