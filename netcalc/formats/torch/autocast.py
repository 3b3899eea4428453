"""Element types of operators in a region of ``torch.autocast``, which casts their inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import FLOATS, DType
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import Rule

#: Recurrent layers, of which PyTorch casts single products, or the whole, as the processor has it.
RECURRENT = {
    *("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input", "netcalc.recurrent.default")
}
RECURRENT_NOTE = (
    "recurrent layers in a region of torch.autocast compute in float32, and their results have the types that"
    " torch.export gives; PyTorch computes products in the lower type, and an LSTM as a whole where the processor has a"
    " kernel of it"
)


def casts_inputs() -> bool:
    """Return True in a region of ``torch.autocast``, such as around the call of an import."""
    torch: Any = import_module("torch")
    return any(torch.is_autocast_enabled(device) for device in ("cpu", "cuda"))


def in_type_of(example: Any, build: Builder, rule: Rule, arguments: Mapping[str, Any]) -> Any:
    """Return the result of a rule, with inputs in the type in which the operator was computed.

    PyTorch's lists of operators decide; the type of the result in the export tells what they decided.  Layers keep
    their parameters as they are stored, if their inputs alone give the type.  Where no inputs do, results are cast.

    Args:
        example: the results of the operator in the export.
        build: the builder.
        rule: the rule of the operator.
        arguments: its arguments by name.

    Raises:
        RuleError: as the rule does for the arguments as they are.
    """
    start = len(build.graph.lines)
    refusal: RuleError | None = None
    result: Any = None
    try:
        result = rule(build, **arguments)
    except RuleError as error:
        refusal = error
    wanted = _float_type(example)
    if refusal is None and wanted in (None, _type_of(result)):
        return result
    for takes in (_is_computed, _is_any):
        if wanted is None or not any(takes(value) and value.type.dtype != wanted for value in _floats(arguments)):
            continue
        build.undo(start)
        try:
            again = rule(build, **_cast(build, arguments, wanted, takes))
        except RuleError:
            continue
        if _type_of(again) == wanted:
            return again
    build.undo(start)
    return _cast_results(build, rule(build, **arguments), example)


def _cast_results(build: Builder, result: Any, example: Any) -> Any:
    """Return results in the floating-point types that they have in the export."""
    if isinstance(result, (list, tuple)) and isinstance(example, (list, tuple)):
        return tuple(_cast_results(build, one, other) for one, other in zip(result, example, strict=False))
    wanted = _float_type(example)
    is_float = isinstance(result, Value) and result.type.is_float
    return cast(build, result, wanted) if is_float and wanted is not None else result


def _float_type(example: Any) -> DType | None:
    """Return the floating-point type of the first result of an operator in an export; None if it has none."""
    first = next(iter(example), None) if isinstance(example, (list, tuple)) else example
    name: Any = str(getattr(first, "dtype", None)).removeprefix("torch.")
    return name if name in FLOATS else None


def _type_of(result: Any) -> DType | None:
    first = next(iter(result), None) if isinstance(result, (list, tuple)) else result
    return first.type.dtype if isinstance(first, Value) else None


def _is_any(value: Value) -> bool:
    return True


def _is_computed(value: Value) -> bool:
    return value.stored is None


def _floats(argument: Any) -> Iterator[Value]:
    """Yield the floating-point tensors among arguments."""
    if isinstance(argument, Mapping):
        argument = list(argument.values())
    if isinstance(argument, (list, tuple)):
        for item in argument:
            yield from _floats(item)
    elif isinstance(argument, Value) and argument.type.is_float:
        yield argument


def _cast(build: Builder, argument: Any, dtype: DType, takes: Callable[[Value], bool]) -> Any:
    """Return arguments with some of their floating-point tensors in another type."""
    if isinstance(argument, Mapping):
        return {name: _cast(build, value, dtype, takes) for name, value in argument.items()}
    if isinstance(argument, (list, tuple)):
        return [_cast(build, item, dtype, takes) for item in argument]
    if isinstance(argument, Value) and argument.type.is_float and takes(argument):
        return cast(build, argument, dtype)
    return argument
