"""Operands of the operators of arithmetic: element types."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import DTYPES, DType
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value

__all__ = ["cast", "dtype_of"]


def dtype_of(dtype: Any) -> DType | None:
    """Return the name of an element type of PyTorch; None for None.

    Raises:
        RuleError: netcalc has no such type.
    """
    if dtype is None:
        return None
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise RuleError(f"there is no element type {name}")
    return name


def cast(build: Builder, value: Value, dtype: DType | None) -> Value:
    """Return a value in an element type; None keeps its own."""
    if dtype is None or value.type.dtype == dtype:
        return value
    return build.line("cast", [value], {"dtype": dtype})
