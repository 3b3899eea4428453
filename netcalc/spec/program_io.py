"""Inputs and outputs of a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite, trunc
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.dtypes import FLOATS, DType, holds
from netcalc.ir import InputSpec, Value
from netcalc.spec.cursor import Cursor
from netcalc.spec.document import DimDecl, InputDecl
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate_expression, evaluate_size
from netcalc.spec.line_inputs import output_values
from netcalc.spec.scope import Outputs, Scope
from netcalc.tensor_type import TensorType

__all__ = ["program_inputs", "program_outputs"]


def program_inputs(
    elaboration: Elaboration, scope: Scope, inputs: Mapping[str, InputDecl | list[Any]], cursor: Cursor
) -> Iterator[InputSpec]:
    """Yield the declared inputs that are present, and make their values visible in ``scope``.

    ``cursor`` is the place of their declarations.
    """
    settings, guard = elaboration.settings, elaboration.reporter.guard
    for name, declared in inputs.items():
        place = cursor[name]
        decl = declared if isinstance(declared, InputDecl) else InputDecl(shape=declared)
        present: bool | None = True
        if decl.when is not None:
            present = guard(lambda when: bool(evaluate_expression(when, settings)), place["when"])
        if present is False:
            scope.defined[name] = Outputs.single(None, place.key_span)
            continue
        spec = guard(_input_spec, name, decl, place, elaboration) if present else None
        value = Value(spec.type if spec else None, name, place.key_span)
        scope.defined[name] = Outputs.single(value, place.key_span)
        yield spec or InputSpec(name, TensorType(()))


def _input_spec(name: str, decl: InputDecl, place: Cursor, elaboration: Elaboration) -> InputSpec:
    settings, dims = elaboration.settings, elaboration.loaded.document.dims
    sizes = place["shape"] if isinstance(place.data, dict) else place
    # an empty input is a mistake, unless the spec has a dim that may be 0
    least = 0 if any(isinstance(dim, DimDecl) and dim.min == 0 for dim in dims.values()) else 1
    shape = tuple(evaluate_size(size, settings, least) for size in sizes.elements())
    dtype = decl.dtype or elaboration.ctx.dtype
    excess = TensorType(shape).excess
    if excess is not None:
        raise NetcalcError(Diagnostic("E104", f"the input {name!r} would have {excess}", sizes.span))
    low = high = None
    if decl.range is not None:
        low, high = _range(place["range"], settings, dtype)
    constant = decl.default
    if constant is not None and not _fits(dtype, constant):
        raise NetcalcError(Diagnostic("E104", f"default {decl.default} does not fit {dtype}", place["default"].span))
    if decl.also is not None and not _fits(dtype, decl.also):
        raise NetcalcError(Diagnostic("E104", f"also: {decl.also} does not fit {dtype}", place["also"].span))
    default = None if constant is None else float(constant)
    return InputSpec(name, TensorType(shape, dtype), low, high, default, decl.also)


def _range(cursor: Cursor, settings: Mapping[str, Any], dtype: DType) -> tuple[float, float]:
    low, high = (_number(evaluate_expression(end, settings), end) for end in cursor.elements())
    if not low < high:
        raise NetcalcError(Diagnostic("E104", f"range [{low}, {high}) is empty", cursor.span))
    greatest = high if dtype in FLOATS else high - 1
    if not (_fits(dtype, low, greatest) and isfinite(high - low)):
        raise NetcalcError(Diagnostic("E104", f"range [{low}, {high}) does not fit {dtype}", cursor.span))
    return low, high


def _fits(dtype: DType, *numbers: float) -> bool:
    """Return True if an element type holds these numbers; integer types hold whole numbers only."""
    return all(holds(dtype, n) and (dtype in FLOATS or n == trunc(n)) for n in numbers)


def program_outputs(elaboration: Elaboration, scope: Scope, current: Value | None) -> dict[str, Value]:
    """Return the declared outputs by name, or the last value as ``output``."""
    declared = elaboration.loaded.document.outputs
    if declared is None:
        return {} if current is None else {"output": current}
    cursor = elaboration.loaded.cursor["outputs"]
    if not declared:
        raise NetcalcError(Diagnostic("E104", "outputs: should name at least one value", cursor.span))
    pairs = (
        [(name, cursor[name]) for name in declared]
        if isinstance(declared, dict)
        else [(str(item.data), item) for item in cursor.elements()]
    )
    outputs: dict[str, Value] = {}
    for name, item in pairs:
        found = elaboration.reporter.guard(output_values, str(item.data), item, scope, current)
        values, is_list = found or ([], False)
        label = name.removesuffix("?")
        names = [f"{label}.{i}" for i in range(len(values))] if is_list else [label]
        outputs |= dict(zip(names, values, strict=False))
    if not outputs and not elaboration.reporter.diagnostics:
        raise NetcalcError(Diagnostic("E303", "outputs: all of them are absent", cursor.span))
    return outputs


def _number(value: Any, cursor: Cursor) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NetcalcError(Diagnostic("E104", f"should be a number, not {written(value, quoted=True)}", cursor.span))
    return value
