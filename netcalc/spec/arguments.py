"""Arguments of a block call, matched with the block's declaration."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple, cast

from netcalc.diagnostics import Diagnostic, NetcalcError, Related, written
from netcalc.spec.cursor import Cursor, kept
from netcalc.spec.declarations import Declaration, declare_argument, former_names, replacement
from netcalc.spec.evaluate import evaluate
from netcalc.spec.library import Block
from netcalc.spec.line_syntax import Line
from netcalc.spec.op_values import placed
from netcalc.spec.scope import Scope
from netcalc.tensor_type import TensorType


def declared_arguments(block: Block) -> dict[str, Declaration]:
    """Return the arguments that a block takes; NetcalcError (E104) if a declaration is malformed."""
    if declared_arguments in block.cursor.derived:
        return block.cursor.derived[declared_arguments]  # type: ignore[no-any-return]
    declared = {}
    for name, value in block.decl.args.items():
        try:
            declared[name] = declare_argument(name, value)
        except ValueError as why:
            span = block.cursor["args"][name].span
            raise NetcalcError(Diagnostic("E104", f"argument {name!r} of {block.name!r}: {why}", span)) from None
    block.cursor.derived[declared_arguments] = declared
    return declared


def bind_arguments(
    block: Block,
    line: Line,
    scope: Scope,
    inputs: Mapping[str, TensorType | None],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the value of every argument, with defaults filled in.

    ``scope`` is the scope of the line, and ``inputs`` are the types of the block's inputs.  A default may refer to the
    arguments before it, to the inputs and to the dims and vars in ``settings``.

    Raises:
        NetcalcError: with every argument that is unknown (E103), malformed (E104) or missing (E105).
    """
    at = line.cursor if line.args is None else line.args
    given = kept(at.derived, (bind_arguments, block.cursor), lambda: _given(block, line))
    errors = [*given.errors]
    bound: dict[str, Any] = {}
    first = {"in": next(iter(inputs.values()))} if inputs else {}
    default_scope = ChainMap(bound, {**first, **inputs}, cast("dict[str, Any]", settings))
    for declaration, place, is_passed, constant in given.arguments:
        name = declaration.name
        if place is None:
            bound[name] = constant
            continue
        try:
            value = evaluate(place, scope if is_passed else default_scope)
        except NetcalcError as error:  # a default may follow from the errors before it
            errors += error.diagnostics if is_passed or not errors else ()
            continue
        try:
            checked = declaration.check(value)
            bound[name] = placed(checked, place) if declaration.type == "op" else checked
        except ValueError as why:
            problem = Diagnostic("E104", f"argument {name!r} of {block.name} {why}", place.span)
            errors.append(_explained(problem, block, declaration, value, place, scope))
    if errors:
        raise NetcalcError(errors)
    return bound


class _Argument(NamedTuple):
    """An argument of a call as it is written: evaluated at ``place``, or a ``constant`` without a place."""

    declaration: Declaration
    place: Cursor | None
    is_passed: bool  # not a default
    constant: Any = None


class _Given(NamedTuple):
    """The arguments that a line gives a block, with defaults, and the errors of those that are unknown or missing."""

    arguments: tuple[_Argument, ...]
    errors: tuple[Diagnostic, ...]


def _given(block: Block, line: Line) -> _Given:
    declared = declared_arguments(block)
    passed = passed_arguments(block, line)
    errors: list[Diagnostic] = []
    arguments: list[_Argument] = []
    suggested: set[str | None] = set()
    for name, cursor in passed.items():
        if name not in declared:
            meant, problem = _unknown_argument(block, name, cursor, passed)
            errors.append(problem)
            suggested.add(meant)
    for name, declaration in declared.items():
        if name in passed:
            arguments.append(_written(declaration, passed[name], is_passed=True))
        elif name in suggested:  # its misspelt name is reported
            continue
        elif declaration.required:
            related = (Related(f"{name!r} is declared here", block.cursor["args"][name].key_span),)
            message = f"{block.name} requires the argument {name!r}"
            errors.append(Diagnostic("E105", message, line.target_span, related))
        else:
            place = block.cursor["args"][name]
            place = place["default"] if isinstance(place.data, dict) and "default" in place.data else place
            implied = place.data != declaration.default  # `int?` declares the default null
            arguments.append(
                _Argument(declaration, None, is_passed=False, constant=declaration.check(declaration.default))
                if implied
                else _written(declaration, place, is_passed=False)
            )
    return _Given(tuple(arguments), tuple(errors))


def _written(declaration: Declaration, place: Cursor, *, is_passed: bool) -> _Argument:
    """Return an argument with the value at a place, which is a constant if it is a plain one that fits."""
    value = place.data
    is_plain = declaration.type != "op" and not isinstance(value, (list, dict)) and "${" not in str(value)
    if is_plain and declaration.accepts(value):
        return _Argument(declaration, None, is_passed, value)
    return _Argument(declaration, place, is_passed)


def _unknown_argument(
    block: Block, name: str, cursor: Cursor, passed: Mapping[str, Cursor]
) -> tuple[str | None, Diagnostic]:
    """Return the argument that an unknown one probably stands for, if there is one, and the error."""
    from netcalc.spec.foreign_names import suggested_attribute  # hints are needed for errors only

    meant, hint = suggested_attribute(name, declared_arguments(block), passed)
    hint = replacement(name, block.decl.args) or hint
    return meant, Diagnostic("E103", f"{block.name} has no argument {name!r}", cursor.key_span, hint=hint)


def _explained(
    problem: Diagnostic, block: Block, declaration: Declaration, value: Any, place: Cursor, scope: Scope
) -> Diagnostic:
    """Return the error of a refused argument with what to write for it."""
    from netcalc.spec.value_hints import explained

    problem = explained(problem, value, place, scope, declaration.accepts, scope.place_of_var)
    return problem._replace(hint=problem.hint or _union_hint(block, declaration, value))


def _union_hint(block: Block, declaration: Declaration, value: Any) -> str | None:
    """Return how to declare an argument that takes a list as well, if its type follows from its default."""
    written = block.decl.args[declaration.name]
    is_inferred = not (isinstance(written, Mapping) and "type" in written) and not declaration.required
    if not (is_inferred and isinstance(value, (list, tuple)) and declaration.type in ("int", "float", "str")):
        return None
    default = f'"{declaration.default}"' if declaration.type == "str" else declaration.default
    types = f'[{declaration.type}, "list[{declaration.type}]"]'
    return (
        f"it has the type of its default; to take a list as well, declare it as {{type: {types}, default: {default}}}"
    )


def renamed_arguments(block: Block, line: Line) -> Iterator[Diagnostic]:
    """Yield a warning (W102) for each argument that a line gives by a former name."""
    present = _present_names(block)
    if not present or line.args is None or not isinstance(line.args.data, dict):
        return
    for name, value in line.args.items():
        if (new := _present(name, present, line.args.data)) != name:
            message = f"argument {name!r} of {block.name!r} is now called {new!r}"
            yield Diagnostic("W102", message, value.key_span)


def _present_names(block: Block) -> dict[str, str]:
    """Return the present name of each argument that had another one, by the former name."""
    declared = block.decl.args
    former = ((old, new) for new, value in declared.items() for old in former_names(value) if old not in declared)
    return kept(block.cursor.derived, _present_names, lambda: dict(former))


def _present(name: str, present: Mapping[str, str], passed: Container[str]) -> str:
    """Return the present name of an argument; a former name stays if the present one is passed too."""
    new = present.get(name, name)
    return name if new in passed else new


def passed_arguments(block: Block, line: Line) -> dict[str, Cursor]:
    """Return a line's arguments by present name; NetcalcError (E107) for a bare value if the block takes several."""
    declared = block.decl.args
    if line.args is None:
        return {}
    if isinstance(line.args.data, dict):
        present = _present_names(block)
        return {_present(name, present, line.args.data): value for name, value in line.args.items()}
    if len(declared) == 1:  # a bare value sets the only argument
        return {next(iter(declared)): line.args}
    hint = f"its arguments are {', '.join(declared)}" if declared else "it takes none"
    required = [name for name, declaration in declared_arguments(block).items() if declaration.required]
    if required:
        value = written(line.args.data, quoted=True) if len(required) == 1 else "…"
        hint = f"write `{block.name}: {{{', '.join(f'{name}: {value}' for name in required)}}}`"
    raise line.args.error("E107", f"{block.name}: arguments should be a mapping", hint)
