"""The arguments of a block call, bound to what the block declares."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, Related, did_you_mean
from netcalc.spec.declarations import Declaration, declare_argument
from netcalc.spec.evaluate import evaluate
from netcalc.spec.library import Block
from netcalc.spec.lines import Line
from netcalc.spec.source import Cursor
from netcalc.tensor_type import TensorType

__all__ = ["bind_arguments", "declared_arguments", "frozen"]


def declared_arguments(block: Block) -> dict[str, Declaration]:
    """What a block takes; NetcalcError (E104) where its declaration is malformed."""
    found = {}
    for name, value in block.decl.args.items():
        try:
            found[name] = declare_argument(name, value)
        except ValueError as why:
            span = block.cursor["args"][name].span
            raise NetcalcError(Diagnostic("E104", f"argument {name!r} of {block.name!r}: {why}", span)) from None
    return found


def bind_arguments(
    block: Block, line: Line, scope: Mapping[str, Any], known: Iterable[str], inputs: Mapping[str, TensorType | None]
) -> dict[str, Any]:
    """Every argument's value, defaults filled in; NetcalcError with all that do not fit.

    A default may refer to arguments before it and to the types of the block's inputs.
    """
    declared = declared_arguments(block)
    given = _given(block, declared, line)
    problems: list[Diagnostic] = []
    bound: dict[str, Any] = {}
    inside = ChainMap(bound, {"in": next(iter(inputs.values())), **inputs})
    for name, cursor in given.items():
        if name not in declared:
            hint = did_you_mean(name, declared)
            problems.append(Diagnostic("E103", f"{block.name} has no argument {name!r}", cursor.key_span, hint=hint))
    for name, declaration in declared.items():
        if name in given:
            value, at = evaluate(given[name], scope, known), given[name]
        elif declaration.required:
            related = (Related(f"{name!r} is declared here", block.cursor["args"][name].key_span),)
            span = (line.args or line.cursor).key_span
            problems.append(Diagnostic("E105", f"{block.name} needs the argument {name!r}", span, related))
            continue
        else:
            at = block.cursor["args"][name]
            default = at["default"] if isinstance(at.data, dict) and "default" in at.data else at
            value = declaration.default if default.data != declaration.default else evaluate(default, inside, inside)
        try:
            bound[name] = declaration.check(value)
        except ValueError as why:
            problems.append(Diagnostic("E104", f"argument {name!r} of {block.name} {why}", at.span))
    if problems:
        raise NetcalcError(problems)
    return bound


def frozen(value: Any) -> Any:
    """The value as something hashable, for the memo; types that compare equal stay apart (1, 1.0, true)."""
    if isinstance(value, Mapping):
        return tuple((key, frozen(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    return type(value).__name__, value


def _given(block: Block, declared: Mapping[str, Declaration], line: Line) -> dict[str, Cursor]:
    if line.args is None:
        return {}
    if isinstance(line.args.data, dict):
        return dict(line.args.items())
    if len(declared) == 1:  # a bare value sets the only argument
        return {next(iter(declared)): line.args}
    raise NetcalcError(
        Diagnostic(
            "E107",
            f"{block.name} takes its arguments as a mapping",
            line.args.span,
            hint=f"its arguments are {', '.join(declared)}" if declared else "it takes none",
        )
    )
