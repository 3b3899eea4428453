"""Blocks of a spec that take the place of shipped or inherited ones, which lines of other files call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, Related, written
from netcalc.ir import Value
from netcalc.opdef import Port, ports
from netcalc.spec.arguments import declared_arguments, passed_arguments
from netcalc.spec.library import Block, shipped_block
from netcalc.spec.line_inputs import DEFAULT, with_taken
from netcalc.spec.line_syntax import Line
from netcalc.spec.scope import Scope


def misfit(
    block: Block,
    line: Line,
    scope: Scope,
    current: Value | None,
    carried: Sequence[Value | None],
    taken: Mapping[str, Value | None],
) -> NetcalcError | None:
    """Return the error (E110) of a block that a line cannot call in place of another; None if it is no such block.

    The error has everything that the block lacks in this call, and the interface of the block that it replaces.
    ``carried`` are the outputs of the iteration before, and ``taken`` the inputs that this iteration takes.
    """
    replaced = _replaced_block(block, line)
    if replaced is None:
        return None
    expected = ports(*replaced.decl.inputs)
    try:
        values = with_taken(expected, taken, line, block.name, scope, current, carried=carried)
        passed = passed_arguments(replaced, line)
    except NetcalcError:
        return None  # of the call itself
    source = line.modifier("from")
    named = {*taken, *(source.data if source is not None and isinstance(source.data, dict) else ())}
    given = [(place, port) for place, port in enumerate(expected) if port.name in named or _is_given(values[place])]
    own = ports(*block.decl.inputs)
    filled = {port.name: _counterpart(own, place, port, named) for place, port in given}
    declared = declared_arguments(block)
    lacking = _listed(
        [name for name, counterpart in filled.items() if counterpart is None],
        [name for name in passed if name not in declared],
    )
    required = _listed(
        [p.name for p in own if not p.optional and p.default is None and p.name not in filled.values()],
        [name for name, declaration in declared.items() if declaration.required and name not in passed],
    )
    if not lacking and not required:
        return None
    faults = [f"lacks {lacking}"] if lacking else []
    faults += [f"requires {required}, which the call does not give"] if required else []
    message = f"block {block.name!r} takes the place of another one, and {' and '.join(faults)}"
    related = (Related("called here", line.target_span), Related("in place of the one here", replaced.cursor.key_span))
    return NetcalcError(Diagnostic("E110", message, block.cursor.key_span, related, hint=_interface(replaced)))


def _replaced_block(block: Block, line: Line) -> Block | None:
    """Return the inherited or shipped block that a block of the spec replaces where a line of another file calls it."""
    own, calling = block.cursor.key_span, line.cursor.span
    if own is None or calling is None or own.file == calling.file:
        return None
    parent = block.home.parent
    replaced = (parent.blocks.get(block.name) if parent is not None else None) or shipped_block(block.name)
    return None if replaced is None or replaced.cursor.key_span == own else replaced


def _is_given(value: Value | None) -> bool:
    return value is not None and value is not DEFAULT


def _counterpart(own: Sequence[Port], place: int, port: Port, named: Set[str]) -> str | None:
    """Return the input that an input of the other block is: by its name if the call names it, or else by its place."""
    if port.name in named:
        return next((each.name for each in own if each.name == port.name), None)
    return own[place].name if place < len(own) else None


def _listed(inputs: Sequence[str], arguments: Sequence[str]) -> str:
    """Return names of inputs and arguments as text, empty without any."""
    kinds = {"input": inputs, "argument": arguments}
    return " and ".join(
        f"the {kind}{'' if len(names) == 1 else 's'} {', '.join(names)}" for kind, names in kinds.items() if names
    )


def _interface(block: Block) -> str:
    """Return the declarations of a block's inputs, arguments and outputs as a spec writes them."""
    parts = {"inputs": block.decl.inputs, "args": {n: _brief(value) for n, value in block.decl.args.items()}}
    if block.decl.outputs is not None:
        parts["outputs"] = block.decl.outputs
    return "its interface should be " + ", ".join(f"{key}: {written(value)}" for key, value in parts.items() if value)


def _brief(value: Any) -> Any:
    """Return the declaration of an argument without its description, as a bare type or default if that says all."""
    if isinstance(value, str) and "${" in value:
        return f'"{value}"'
    if not isinstance(value, Mapping) or not value.keys() & {"type", "default"}:
        return value
    rest = {key: _brief(item) for key, item in value.items() if key != "about"}
    return next(iter(rest.values())) if len(rest) == 1 else rest
