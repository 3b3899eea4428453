"""The operation or block that a line applies."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.spec.cursor import within
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate
from netcalc.spec.library import Block, find_block
from netcalc.spec.line_syntax import SEQUENCE, Line
from netcalc.spec.op_values import place_of
from netcalc.spec.scope import Scope
from netcalc.spec.shipped import shipped_blocks


class TargetNames(NamedTuple):
    """Operations and blocks that lines of a scope may apply, for explanations of errors."""

    elaboration: Elaboration
    scope: Scope

    def names(self) -> list[str]:
        """Return the names of all of them."""
        return [*ops.names(), *self.scope.home.blocks, *shipped_blocks(), SEQUENCE]

    def attributes(self, name: str) -> Collection[str] | None:
        """Return the attributes of an operation or arguments of a block; None if there is none of the name."""
        declared = ops.find(name)
        if declared is not None:
            return list(declared.model_fields)
        block = find_block(name, self.scope.home, self.elaboration.loaded)
        return None if block is None else list(block.decl.args)

    def takes_value(self, name: str) -> bool:
        """Return True if a bare value sets an attribute or argument."""
        declared = ops.find(name)
        return len(self.attributes(name) or ()) == 1 if declared is None else declared.shorthand is not None


def resolve_target(line: Line, scope: Scope) -> Line:
    """Return the line with ``${…}`` in the operation's place replaced by its value.

    The expression gives a name, or a mapping from the name to arguments, which the line's own arguments override.
    """
    if "${" not in line.target:
        return line
    place = line.args or line.cursor
    value = evaluate(line.cursor.replaced(line.target), scope)
    is_mapping = isinstance(value, dict) and len(value) == 1
    target, defaults = next(iter(value.items())) if is_mapping else (value, None)
    if not isinstance(target, str):
        got = written(value, quoted=True)
        message = f"{line.target} should be an operation or block, by name or with arguments, not {got}"
        raise place.key_error("E104", message)
    arguments = line.args.data if line.args is not None else None
    merged = arguments or defaults
    if isinstance(defaults, dict) and isinstance(arguments, dict):
        merged = {**defaults, **arguments}
    args = line.args if defaults is None else None if merged is None else place.replaced(merged)
    written_at = place_of(value)
    origin = None if written_at is None else written_at.span
    if written_at is not None and isinstance(written_at.data, dict) and target in written_at.data:
        origin = written_at[target].key_span
        if args is not None:
            own = arguments if isinstance(arguments, dict) else {} if arguments is None else None
            args = args.overlaid(written_at[target], own)
    return line._replace(target=str(target), args=args, place=place, origin=origin)


def block_of(elaboration: Elaboration, line: Line, scope: Scope) -> Block:
    """Return the block that the line applies; NetcalcError (E102) if there is none of that name."""
    # a shipped or imported block may call a block of the spec: one passed as an argument, or one that replaces another
    block = elaboration.block(line.target, scope.home)
    if block is None:
        from netcalc.spec.line_hints import line_hint  # hints are needed for errors only

        hint = line_hint(line.target, TargetNames(elaboration, scope))
        message = f"unknown operation or block {line.target!r}"
        place = line.origin or line.target_span
        if place is not None and place.more and " - " in line.target:  # the line after it is indented too far
            place = within(place, line.target, line.target.index(" - ") + 1, len(line.target))
        raise NetcalcError(Diagnostic("E102", message, place, hint=hint))
    elaboration.note_called(block)
    return block
