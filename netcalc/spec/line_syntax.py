"""The syntax of one line of ``layers``: an operation or block with its arguments, and modifiers beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.spec.cursor import Cursor

if TYPE_CHECKING:
    from netcalc.spec.line_hints import Targets

#: Keys with a meaning of their own beside the operation's; no operation or block may be named so.
MODIFIERS: dict[str, str] = {
    "name": "the line's name, a part of the path of its parameters",
    "from": "its inputs: a value's name, a list of names, or a mapping from port to name",
    "as": "names for its outputs, in order",
    "repeat": "number of iterations, or {times, index, start, take, collect}, or {each: list, as: name, …}",
    "share": "with repeat: every iteration uses the weights of the first",
    "when": "a condition; if it is false the line is skipped, and its names stand for its input",
    "tie": "the weights it uses: the path of a layer, or a mapping from parameter to path",
    "module": "path of the module that the line is a further call of: reports by module count it there",
    "inline": "with a block: its lines have the paths that they would have in place of the line",
    "lora": "with linear: a low-rank adapter, {rank, alpha, rank_stabilized, dropout}, which is trained even if frozen",
    "freeze": "if true, its parameters are not trained",
    "eager": "how PyTorch's eager mode runs it: {inplace: true, holds: names}; only memory under eager follows from it",
}
#: Target of a line that groups other lines.
SEQUENCE = "sequence"


class Line(NamedTuple):
    """A line split into its parts, each with its place."""

    target: str  # the operation or block
    cursor: Cursor  # the whole line
    args: Cursor | None  # None if no arguments are given
    modifiers: dict[str, Cursor]
    place: Cursor | None = None  # of the expression in the operation's place, if there is one
    origin: Span | None = None  # of the name in the value of that expression, if it is written elsewhere

    def modifier(self, name: str) -> Cursor | None:
        """Return the cursor of a modifier, or None."""
        return self.modifiers.get(name)

    @property
    def target_span(self) -> Span | None:
        """Place of the operation's or block's name."""
        return (self.place or self.args or self.cursor).key_span

    def sequence(self) -> Cursor:
        """Return the lines of a ``sequence``; NetcalcError (E107) if its argument is no list."""
        if self.args is None or not isinstance(self.args.data, list):
            raise self.cursor.error("E107", "sequence: should be a list of lines")
        return self.args


def read_line(cursor: Cursor, targets: Targets) -> Line:
    """Return the line at ``cursor``; NetcalcError (E101, E107) if it is malformed."""
    parsed = cursor.derived.get(Line)
    if parsed is not None:
        return parsed  # type: ignore[no-any-return]
    line = cursor.derived[Line] = _read(cursor, targets)
    return line


def _read(cursor: Cursor, known: Targets) -> Line:
    data = cursor.data
    if isinstance(data, str):
        return Line(data, cursor, None, {})
    if not isinstance(data, dict):
        message = "a line should be the name of an operation or block, or a mapping that contains one"
        raise cursor.error("E107", message, "for example `- relu` or `- conv2d: {out: 64, kernel: 3}`")
    modifiers = {key: cursor[key] for key in data if key in MODIFIERS}
    targets = [key for key in data if key not in MODIFIERS]
    if len(targets) != 1:
        raise NetcalcError(_no_single_target(cursor, targets, known))
    args = cursor[targets[0]]
    line = Line(targets[0], cursor, None if args.data is None else args, modifiers)
    if "share" in modifiers and "repeat" not in modifiers:
        message, hint = "share: requires repeat", "to use the weights of an earlier line, write `tie:`"
        raise modifiers["share"].key_error("E107", message, hint)
    return line


def _no_single_target(cursor: Cursor, targets: list[str], known: Targets) -> Diagnostic:
    if not targets:
        message = "this line names no operation or block"
        return Diagnostic("E107", message, cursor.span, hint="add one, as in `relu: {}`")
    # hints are needed for errors only
    from netcalc.spec.foreign_names import operation_advice, suggested_modifier, suggested_operation
    from netcalc.spec.line_hints import misplaced_hint

    names = known.names()
    own = {target: target if target in names else suggested_operation(target, names).name for target in targets}
    unknown = [target for target in targets if target not in names]
    if len(unknown) == len(targets):  # the first may have the name of another library
        unknown = [target for target in targets[1:] if own[targets[0]] is not None]
    if len(targets) - len(unknown) == 1:
        target = next(target for target in targets if target not in unknown)
        attributes = known.attributes(own[target] or target) or ()
        hint = misplaced_hint(target, cursor.data, unknown, attributes) or suggested_modifier(unknown[0], MODIFIERS)
        return Diagnostic("E101", f"unknown modifier {unknown[0]!r}", cursor[unknown[0]].key_span, hint=hint)
    return Diagnostic(
        "E107",
        f"this line names {len(targets)} operations or blocks: {', '.join(targets)}",
        cursor[targets[1]].key_span,
        hint=operation_advice(targets)
        or "arguments go inside the braces of the operation, as in `conv2d: {out: 64, kernel: 3}`",
    )
