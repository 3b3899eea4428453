"""What a program takes and returns, and where its parameters stand in a reference's checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite, trunc
from typing import TYPE_CHECKING, Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Poly
from netcalc.dtypes import FLOATS, DType, holds
from netcalc.ir import CheckpointSource, InputSpec, Value
from netcalc.spec.document import CheckpointDecl, InputDecl
from netcalc.spec.evaluate import evaluate_expression
from netcalc.spec.inputs import resolve_value
from netcalc.spec.scope import Frame, Named
from netcalc.spec.source import Cursor
from netcalc.tensor_type import TensorType

if TYPE_CHECKING:
    from netcalc.spec.elaborate import Elaborator

__all__ = ["checkpoint_sources", "program_inputs", "program_outputs"]


def program_inputs(walk: Elaborator, frame: Frame) -> Iterator[InputSpec]:
    """The declared inputs that are present; their values are put in sight."""
    document, cursor = walk.loaded.document, walk.loaded.cursor
    for name, declared in document.inputs.items():
        here = cursor["inputs"][name]
        decl = declared if isinstance(declared, InputDecl) else InputDecl(shape=declared)
        present: bool | None = True
        if decl.when is not None:
            present = walk.guarded(lambda at: bool(evaluate_expression(at, walk.settings, walk.settings)), here["when"])
        if present is False:
            frame.names[name] = Named.single(None, here.key_span)
            continue
        sizes = here["shape"] if isinstance(here.data, dict) else here
        spec = walk.guarded(_input_spec, walk, name, decl, here, sizes) if present else None
        value = Value(spec.type if spec else None, name, here.key_span)
        frame.names[name] = Named.single(value, here.key_span)
        yield spec or InputSpec(name, TensorType(()))


def _input_spec(walk: Elaborator, name: str, decl: InputDecl, here: Cursor, sizes: Cursor) -> InputSpec:
    shape = tuple(_size(evaluate_expression(size, walk.settings, walk.settings), size) for size in sizes.elements())
    low = high = None
    if decl.range is not None:
        low, high = (_number(evaluate_expression(end, walk.settings), end) for end in here["range"].elements())
        if not low < high:
            raise NetcalcError(Diagnostic("E104", f"range [{low}, {high}) holds no value", here["range"].span))
    dtype = decl.dtype or walk.loaded.document.dtype
    if (
        low is not None
        and high is not None
        and not (isfinite(high - low) and _fits(dtype, low, high - (dtype not in FLOATS)))
    ):
        message = f"range [{low}, {high}) does not fit {dtype}"
        raise NetcalcError(Diagnostic("E104", message, here["range"].span))
    default = None if decl.default is None else float(decl.default)
    if default is not None and not _fits(dtype, default):
        raise NetcalcError(Diagnostic("E104", f"default {decl.default} does not fit {dtype}", here["default"].span))
    return InputSpec(name, TensorType(shape, dtype), low, high, default)


def _fits(dtype: DType, *numbers: float) -> bool:
    """Whether an element type has these values: those that are no floating-point type, whole numbers only."""
    return all(holds(dtype, n) and (dtype in FLOATS or n == trunc(n)) for n in numbers)


def program_outputs(walk: Elaborator, frame: Frame, current: Value | None) -> dict[str, Value]:
    """The declared outputs, or the last value as `output`."""
    declared = walk.loaded.document.outputs
    if declared is not None and not declared:
        raise NetcalcError(Diagnostic("E104", "outputs: should name a value", walk.loaded.cursor["outputs"].span))
    if declared is None:
        return {} if current is None else {"output": current}
    cursor = walk.loaded.cursor["outputs"]
    pairs = (
        [(name, cursor[name]) for name in declared]
        if isinstance(declared, dict)
        else [(str(item.data), item) for item in cursor.elements()]
    )
    outputs: dict[str, Value] = {}
    for name, here in pairs:
        value = walk.guarded(resolve_value, str(here.data), here, frame, current)
        if value is not None:
            outputs[name] = value
    return outputs


def checkpoint_sources(
    walk: Elaborator, declared: Mapping[str, CheckpointDecl | str], cursor: Cursor, frame: Frame
) -> Iterator[tuple[str, CheckpointSource]]:
    """For each parameter that stands elsewhere in the reference's checkpoint: where."""
    for path, decl in declared.items():
        if isinstance(decl, str):
            yield path, CheckpointSource(decl)
            continue
        index, count = decl.chunk
        if not 0 <= index < count:
            where = cursor["checkpoint"][path].at(("chunk",)).span
            walk.problems.append(Diagnostic("E104", f"chunk [{index}, {count}] is not one of {count}", where))
            continue
        stack = None
        if decl.stack is not None:
            here = cursor["checkpoint"][path]["stack"]
            stack = walk.guarded(_stack, walk, decl, here, frame)
            if stack is None:
                continue
        yield path, CheckpointSource(decl.name, index, count, decl.axis, decl.transpose, stack)


def _stack(walk: Elaborator, decl: CheckpointDecl, cursor: Cursor, frame: Frame) -> int:
    value = _size(evaluate_expression(cursor, *walk.scope(frame)), cursor)
    if not isinstance(value, int) or decl.name.count("{}") != 1:
        hint = "write {} in the name, where the number of each tensor stands"
        raise NetcalcError(Diagnostic("E104", "stack: should be a number of tensors", cursor.span, hint=hint))
    return value


def _size(value: Any, cursor: Cursor) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, Poly)) or (isinstance(value, int) and value < 1):
        raise NetcalcError(
            Diagnostic("E104", f"a size should be a whole number of at least 1, not {value!r}", cursor.span)
        )
    return value


def _number(value: Any, cursor: Cursor) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NetcalcError(Diagnostic("E104", f"should be a number, not {value!r}", cursor.span))
    return value
