"""Modifiers of a line evaluated in its scope: its name, its outputs' names, its condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from netcalc.characters import is_name, unnamed
from netcalc.diagnostics import Diagnostic, NetcalcError, Related
from netcalc.ir import Value, join
from netcalc.spec.evaluate import evaluate, evaluate_expression
from netcalc.spec.line_syntax import Line
from netcalc.spec.scope import AbsentList, Outputs, Scope
from netcalc.tensor_type import TensorType


def condition_holds(line: Line, scope: Scope) -> bool:
    """Return True if the line has no ``when``, or its ``when`` is true."""
    when = line.modifier("when")
    return when is None or bool(evaluate_expression(when, scope))


def line_name(line: Line, scope: Scope) -> str | None:
    """Return the line's ``name``, None if it has none; NetcalcError (E104) if it is not a valid name."""
    cursor = line.modifier("name")
    if cursor is None:
        return None
    name = evaluate(cursor, scope)
    is_scalar = isinstance(name, (str, int, float)) and not isinstance(name, bool)
    if not is_scalar or not _is_valid(str(name)):
        shown = name if isinstance(name, TensorType) else repr(name)
        message = f"name: should consist of letters, digits, '_', '-' and '.', not {shown}"
        raise cursor.error("E104", message, unnamed(str(name)) if is_scalar else None)
    return str(name)


def module_of(line: Line, path: str, scope: Scope) -> str:
    """Return the path of the module that a line or sequence at a path is a call of, empty for its own.

    It starts in the body at hand, or with a slash at the top of the spec.

    Raises:
        NetcalcError: E104 if it is not a valid path.
    """
    cursor = line.modifier("module")
    if cursor is None:
        around = next((outer for outer in _in_body(scope) if outer.module), None)
        return "" if around is None else around.module + path.removeprefix(around.prefix)
    text = str(cursor.data) if isinstance(cursor.data, (str, int)) and not isinstance(cursor.data, bool) else ""
    if not text or not _is_valid(text.removeprefix("/")):
        raise cursor.error("E104", f"module: should be the path of a module, not {cursor.data!r}")
    inlined = next((outer.prefix for outer in _in_body(scope) if outer.inlined is not None), "")
    target = text if text.startswith("/") else join(inlined, text)
    return "" if target == path else target


def _in_body(scope: Scope) -> Iterator[Scope]:
    return (outer for outer in scope.enclosing() if outer.body is scope.body)


@lru_cache(maxsize=4096)
def _is_valid(name: str) -> bool:
    return all(part and is_name("_" + part.replace("-", "_")) for part in name.split("."))


def output_names(line: Line) -> list[Any]:
    """Return the names under ``as``, unchecked; a single name is a list of one."""
    labels = line.modifier("as")
    if labels is None:
        return []
    return labels.data if isinstance(labels.data, list) else [labels.data]


def define_outputs(line: Line, scope: Scope, outputs: Outputs, lists: Mapping[str, Outputs] | None = None) -> None:
    """Make a line's outputs visible to later lines under its name and the names of ``as``.

    ``lists`` are further outputs by port: they follow the others in ``as``, unless they consist of some of these.
    """
    name = line_name(line, scope)
    further = {} if lists is None else lists
    if name is not None:
        scope.defined[name] = outputs
        scope.defined |= {f"{name}.{port}": values for port, values in further.items()}
    lists_of = [(port, values.by_port) for port, values in further.items() if values.is_list]
    parts = {f"{port}.{i}" for port, values in lists_of if not isinstance(values, AbsentList) for i in values}
    single = [Outputs.single(value, outputs.span) for port, value in outputs.by_port.items() if port not in parts]
    define_labels(line, scope, [*single, *further.values()])


def lists_among(by_port: Mapping[str, Value | None]) -> dict[str, Outputs]:
    """Return the lists among the outputs of a block, whose ports are numbered: ``present.0``, ``present.1``, …."""
    lists: dict[str, dict[str, Value | None]] = {}
    for port, value in by_port.items():
        name, _, number = port.rpartition(".")
        if name:
            lists.setdefault(name, {})[number] = value
    # an iteration without the output has no port
    return {
        name: Outputs({str(i): values.get(str(i)) for i in range(int(max(values, key=int)) + 1)}, is_list=True)
        for name, values in lists.items()
    }


def define_labels(line: Line, scope: Scope, outputs: Sequence[Outputs]) -> None:
    """Make a line's outputs visible to later lines under the names of ``as``."""
    labels = line.modifier("as")
    if labels is None:
        return
    names, count = output_names(line), len(outputs)
    if not isinstance(labels.data, (str, list)) or len(names) > count:
        message = f"as: should be at most {count} {'name' if count == 1 else 'names'}, one for each output"
        raise labels.error("E303", message)
    duplicate = next((item for i, item in enumerate(names) if item in names[:i]), None)
    if duplicate is not None:
        raise labels.error("E106", f"as: duplicate name {duplicate!r}")
    for item, output in zip(names, outputs, strict=False):
        scope.defined[str(item)] = output._replace(span=labels.span)


def claim_path(path: str, line: Line, scope: Scope) -> str:
    """Reserve a path in the body and return it; NetcalcError (E106) if another line has it."""
    claimed = scope.body.paths
    if path in claimed:
        first = claimed[path]
        related = (Related(f"{path!r} is first used here", first),) if first else ()
        span = (line.modifier("name") or line.cursor).span
        raise NetcalcError(Diagnostic("E106", f"duplicate name {path!r}", span, related))
    claimed[path] = line.cursor.span
    return path
