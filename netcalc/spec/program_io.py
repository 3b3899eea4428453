"""Inputs and outputs of a program."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, trunc
from typing import Any, cast

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.dims import Dim, Poly, has_symbolic_values, is_traced, symbol
from netcalc.dtypes import INEXACT, DType, holds, promote
from netcalc.ir import InputSpec, Value
from netcalc.limits import MAX_ITEMS, MAX_TIMES
from netcalc.ops.axes import Permute
from netcalc.spec.cursor import Cursor
from netcalc.spec.document import DimDecl, InputDecl, LeastDType
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate_expression, evaluate_size, names_at
from netcalc.spec.line_inputs import output_values
from netcalc.spec.nodes import add_operation
from netcalc.spec.scope import AbsentList, Outputs, Scope
from netcalc.tensor_type import TensorType


def program_inputs(
    elaboration: Elaboration, scope: Scope, inputs: Mapping[str, InputDecl | list[Any]], cursor: Cursor
) -> Iterator[InputSpec]:
    """Yield the declared inputs that are present, and make their values visible in ``scope``.

    ``cursor`` is the place of their declarations.
    """
    guard = elaboration.reporter.guard
    for name, declared in inputs.items():
        place = cursor[name]
        decl = declared if isinstance(declared, InputDecl) else InputDecl(shape=declared)
        values: dict[str, Value | None] = {}
        for input_name, settings in guard(input_names, name, decl, place, elaboration.settings) or ():
            if input_name in scope.defined:
                message = f"duplicate input {input_name!r}, which is one of {name!r}"
                elaboration.reporter.report(place.key_error("E106", message))
            spec, value = _input(input_name, decl, place, elaboration, settings)
            values[str(len(values))] = value
            scope.defined[input_name] = Outputs.single(value, place.key_span)
            if spec is not None:
                yield spec
        if (
            "*" in name
            and has_symbolic_values()
            and isinstance(count := _count(name, decl, place, elaboration.settings), Poly)
        ):
            if any(value is not None for value in values.values()):
                hint = "give the number, without --symbolic for it"
                raise place.key_error(
                    "E404", f"the inputs of a list are numbered, and their number, {count}, is symbolic", hint
                )
            scope.defined[name] = Outputs(AbsentList(count), place.key_span, is_list=True)
        elif "*" in name:
            count = _count(name, decl, place, elaboration.settings) if values else 0
            listed = values if count == len(values) else AbsentList(count)
            scope.defined[name] = Outputs(listed, place.key_span, is_list=True)


def move_channels(
    elaboration: Elaboration, scope: Scope, inputs: Mapping[str, InputDecl | list[Any]], cursor: Cursor
) -> None:
    """Append an operation for each input whose channels are the last axis; its name stands for the result from here on.

    Axis 1 of the result are the channels, as the operations take them.
    """
    for name, declared in inputs.items():
        if isinstance(declared, list) or declared.layout is None:
            continue
        place = cursor[name]["layout"]
        value = scope.defined[name].first if "*" not in name else None
        if "*" in name or (value is not None and value.type is not None and value.type.rank < 3):
            problem = place.error("E104", "layout: channels_last is of a single input of at least 3 axes")
            elaboration.reporter.report(problem)
        elif value is not None and value.type is not None:
            permute = Permute(axes=[0, value.type.rank - 1, *range(1, value.type.rank - 1)])
            node = add_operation(elaboration, permute, [value], f"{name}_channels_first", scope, place.span)
            scope.defined[name] = Outputs.single(node.outputs[0], cursor[name].key_span)


def input_names(
    name: str, decl: InputDecl, place: Cursor, settings: Mapping[str, Any]
) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Return the name of an input, or the names of a list of them, with the settings that its expressions see.

    Raises:
        NetcalcError: E104 if ``repeat`` is not the number of inputs of a list.
    """
    if decl.repeat is None and "*" not in name:
        return [(name, settings)]
    around = cast("dict[str, Any]", settings)
    count = _count(name, decl, place, settings)
    if isinstance(count, Poly):  # of a sketch, which may have any number of inputs that are all absent
        return [(name.replace("*", "0"), ChainMap({"index": symbol("index_of_one", 0, 0)}, around))]
    named = range(min(count, MAX_ITEMS))  # a longer list is absent
    return [(name.replace("*", str(index)), ChainMap({"index": index}, around)) for index in named]


def _count(name: str, decl: InputDecl, place: Cursor, settings: Mapping[str, Any]) -> Dim:
    """Return the number of inputs of a list."""
    if name.count("*") != 1 or decl.repeat is None:
        message = f"the input {name!r} should have {'repeat' if decl.repeat is None else 'one * in its name'}"
        hint = "past_key_values.*.key: {repeat: 12, shape: [batch, heads, past, head_dim]}"
        raise place.key_error("E104", message, hint)
    count = evaluate_expression(place["repeat"], settings)
    if has_symbolic_values() and isinstance(count, Poly) and count >= 1 and (not is_traced() or count <= MAX_ITEMS):
        return count
    most = MAX_TIMES if _is_left_out(decl, place, settings) else MAX_ITEMS
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= most:
        message = f"repeat: should be a whole number from 0 to {most:,}, not {written(count, quoted=True)}"
        raise place["repeat"].error("E104", message)
    return count


def _is_left_out(decl: InputDecl, place: Cursor, settings: Mapping[str, Any]) -> bool:
    """Return True if ``when`` omits every input of a list, whatever its index."""
    if decl.when is None or "index" in names_at(place["when"], is_expression=True):
        return False
    return not evaluate_expression(place["when"], settings)


def _input(
    name: str, decl: InputDecl, place: Cursor, elaboration: Elaboration, settings: Mapping[str, Any]
) -> tuple[InputSpec | None, Value | None]:
    """Return an input and its value, None for one that is absent."""
    guard = elaboration.reporter.guard
    present: bool | None = True
    if decl.when is not None:
        present = guard(lambda when: bool(evaluate_expression(when, settings)), place["when"])
    if present is False:
        return None, None
    spec = guard(_input_spec, name, decl, place, elaboration, settings) if present else None
    return spec or InputSpec(name, TensorType(())), Value(spec.type if spec else None, name, place.key_span)


def _input_spec(
    name: str, decl: InputDecl, place: Cursor, elaboration: Elaboration, settings: Mapping[str, Any]
) -> InputSpec:
    dims = elaboration.loaded.document.dims
    sizes = place["shape"] if isinstance(place.data, dict) else place
    # an empty input is a mistake, unless the spec has a dim that may be 0
    least = 0 if any(isinstance(dim, DimDecl) and dim.min == 0 for dim in dims.values()) else 1
    shape = tuple(_size(size, settings, least) for size in sizes.elements())
    dtype = decl.dtype or elaboration.ctx.dtype
    if isinstance(dtype, LeastDType):
        dtype = promote(dtype.at_least, elaboration.ctx.dtype)
    excess = TensorType(shape).excess
    if excess is not None:
        raise sizes.error("E104", f"the input {name!r} would have {excess}")
    low = high = None
    if decl.range is not None:
        low, high = _range(place["range"], settings, dtype)
    constant = decl.default
    if constant is not None and not _fits(dtype, constant):
        raise place["default"].error("E104", f"default {decl.default} does not fit {dtype}")
    if decl.also is not None and not _fits(dtype, decl.also):
        raise place["also"].error("E104", f"also: {decl.also} does not fit {dtype}")
    default = None if constant is None else float(constant)
    return InputSpec(name, TensorType(shape, dtype), low, high, default, decl.also)


def _size(cursor: Cursor, settings: Mapping[str, Any], least: int) -> Dim:
    try:
        return evaluate_size(cursor, settings, least)
    except NetcalcError as error:
        from netcalc.spec.value_hints import OPEN_SIZE  # hints are needed for errors only

        problem = error.diagnostics[0]
        unknown = sorted(names_at(cursor, is_expression=True) - settings.keys())
        hint = problem.hint or ""
        if cursor.data == -1:
            hint = OPEN_SIZE
        elif problem.code == "E202" and unknown and not hint.startswith("did you mean"):
            hint = f"declare it under `dims`, as in `dims: {{{unknown[0]}: 1}}`"
        raise NetcalcError(problem._replace(hint=hint or None)) from None


def _range(cursor: Cursor, settings: Mapping[str, Any], dtype: DType) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of a range, None for one that depends on a symbolic size: values are drawn for numbers only."""
    ends = [(evaluate_expression(end, settings), end) for end in cursor.elements()]
    if any(isinstance(value, Poly) for value, _ in ends):
        return None, None
    low, high = (_read_number(value, end) for value, end in ends)
    if not low < high:
        raise cursor.error("E104", f"range [{low}, {high}) is empty")
    greatest = high if dtype in INEXACT else high - 1
    if not (_fits(dtype, low, greatest) and isfinite(high - low)):
        raise cursor.error("E104", f"range [{low}, {high}) does not fit {dtype}")
    return low, high


def _fits(dtype: DType, *numbers: float) -> bool:
    """Return True if an element type holds these numbers; integer types hold whole numbers only."""
    return all(holds(dtype, n) and (dtype in INEXACT or n == trunc(n)) for n in numbers)


def program_outputs(elaboration: Elaboration, scope: Scope, current: Value | None) -> dict[str, Value]:
    """Return the declared outputs by name, or the last value as ``output``."""
    declared = elaboration.loaded.document.outputs
    if declared is None:
        return {} if current is None else {"output": current}
    cursor = elaboration.loaded.cursor["outputs"]
    if not declared:
        raise cursor.error("E104", "outputs: should name at least one value")
    pairs = (
        [(name, cursor[name]) for name in declared]
        if isinstance(declared, dict)
        else [(str(item.data), item) for item in cursor.elements()]
    )
    outputs: dict[str, Value] = {}
    for name, item in pairs:
        if _is_of_replaced_lines(str(item.data), item, elaboration, scope):
            continue
        resolved = elaboration.reporter.guard(output_values, str(item.data), item, scope, current)
        values, is_list = resolved or ([], False)
        named = _numbered_values(name.removesuffix("?"), values, is_list=is_list)
        problem = _problem_of_names(name, item, named, outputs, is_list=is_list)
        if problem is not None:
            elaboration.reporter.report(NetcalcError(problem))
        outputs |= named
    if not outputs and not elaboration.reporter.diagnostics:
        raise cursor.error("E303", "outputs: all of them are absent")
    return outputs


def _is_of_replaced_lines(text: str, item: Cursor, elaboration: Elaboration, scope: Scope) -> bool:
    """Return True for an optional output that is inherited, from lines that the spec has replaced by its own."""
    inherited = item.span is not None and item.span.file != elaboration.loaded.label
    base = text.removesuffix("?").rpartition(".")[0]
    return inherited and text.endswith("?") and bool(base) and scope.peek(base) is None


def _problem_of_names(
    name: str, item: Cursor, named: Mapping[str, Value], others: Mapping[str, Value], *, is_list: bool
) -> Diagnostic | None:
    """Return the diagnostic of an output with the name of another, or with a ``*`` for a single value."""
    if "*" in name and named and not is_list:
        message = f"outputs: {name!r} has a * for the number of each value of a list, and {item.data!r} is one value"
        return Diagnostic("E303", message, item.span)
    twice = next((label for label in named if label in others), None)
    return None if twice is None else Diagnostic("E106", f"duplicate output {twice!r}", item.key_span or item.span)


def _numbered_values(label: str, values: Sequence[Value | None], *, is_list: bool) -> dict[str, Value]:
    """Return the present values by name; values of a list are numbered, in place of ``*`` or behind the label."""
    if not is_list:
        return {} if not values or values[0] is None else {label: values[0]}
    pattern = label if "*" in label else f"{label}.*"
    return {pattern.replace("*", str(i)): value for i, value in enumerate(values) if value is not None}


def _read_number(value: Any, cursor: Cursor) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise cursor.error("E104", f"should be a number, not {written(value, quoted=True)}")
    return value
