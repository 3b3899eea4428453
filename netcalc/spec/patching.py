"""Application of patches to lines, while they are elaborated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, NamedTuple

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, TooLargeError
from netcalc.ir import Value, join
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.iterations import is_named_by_variable
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE, Line, read_line
from netcalc.spec.modifiers import condition_holds, line_name
from netcalc.spec.patches import Patch
from netcalc.spec.scope import Scope
from netcalc.spec.targets import TargetNames, block_of, resolve_target

#: Modifiers of a replaced line that its replacement keeps, unless it has its own.
_KEPT = ("name", "from", "as", "when")


class Edit(NamedTuple):
    """A line with the changes that patches make.

    ``removed`` is True if the line is left out; ``before`` and ``after`` are patches that insert lines. ``patches`` are
    those that changed the line, and ``floor`` the number of the last one that replaced it.
    """

    line: Line
    removed: bool = False
    before: tuple[Patch, ...] = ()
    after: tuple[Patch, ...] = ()
    patches: tuple[Patch, ...] = ()
    floor: int = -1


def patched_line(elaboration: Elaboration, item: Cursor, scope: Scope) -> Edit:
    """Return the line at ``item`` as patches change it; NetcalcError if the line or a patch is malformed."""
    edit = Edit(read_line(item, TargetNames(elaboration, scope)))
    if not scope.patches:
        return edit
    line = edit.line
    if "repeat" in line.modifiers and is_named_by_variable(line):
        return edit  # each iteration has a path of its own
    name = line_name(line, scope)
    if "repeat" in line.modifiers or condition_holds(line, scope):
        line = resolve_target(line, scope)
    elif name is None:
        for omitted in _names_in(line.args) if line.target == SEQUENCE else ():
            _omit(elaboration, join(scope.prefix, omitted), scope)
        return edit
    path = _path(line, name, scope)
    if path is None:
        return edit
    edit = _apply_patches(elaboration, edit, path, scope)
    is_left_out = "repeat" not in edit.line.modifiers and not condition_holds(edit.line, scope)
    if is_left_out:  # as before the patches, or because of them
        _omit(elaboration, path, scope)
        edit = edit._replace(removed=True, before=(), after=())
    if name is None:
        _reserve(path, edit, scope)
    return edit


def _omit(elaboration: Elaboration, path: str, scope: Scope) -> None:
    """Record patches of an omitted line and of lines inside it as applied: other settings may include the line."""
    for pending in scope.patches:
        if pending.matches(path) or pending.below(path) is not None:
            elaboration.patch_log.applied(pending.patch)


def _names_in(lines: Cursor | None) -> Iterator[str]:
    """Yield the names of lines, also inside unnamed sequences, except names that are expressions."""
    for item in lines.elements() if lines is not None and isinstance(lines.data, list) else ():
        data = item.data if isinstance(item.data, dict) else {}
        if isinstance(data.get("name"), str):
            yield data["name"]
        elif SEQUENCE in data and "name" not in data:
            yield from _names_in(item[SEQUENCE])


def patched_iteration(elaboration: Elaboration, line: Line, scope: Scope, path: str) -> Edit:
    """Return a repeated line as the patches of the iteration at ``path`` change it."""
    edit = Edit(line)
    return _apply_patches(elaboration, edit, path, scope, is_iteration=True) if scope.patches else edit


def patching(elaboration: Elaboration, edit: Edit, item: Cursor, scope: Scope) -> AbstractContextManager[None]:
    """Add the patches of a line to the errors reported inside; a replaced line is subject to later patches only."""
    is_changed = bool(edit.patches) or edit.floor >= 0
    return _patching(elaboration, edit, item, scope) if is_changed else nullcontext()


@contextmanager
def _patching(elaboration: Elaboration, edit: Edit, item: Cursor, scope: Scope) -> Iterator[None]:
    outer = scope.patches
    scope.patches = tuple(p for p in outer if p.patch.number > edit.floor) if edit.floor >= 0 else outer
    with ExitStack() as stack:
        if edit.patches:
            stack.enter_context(elaboration.reporter.inside("in a line that a patch changes", item.span))
        for patch in edit.patches:
            stack.enter_context(elaboration.reporter.inside("changed here", patch.content.span))
        try:
            yield
        except TooLargeError:
            raise
        except NetcalcError as error:
            chain = tuple(elaboration.reporter.chain) if edit.patches else ()
            raise NetcalcError(d._replace(chain=d.chain or chain) for d in error.diagnostics) from None
        finally:
            scope.patches = outer


def elaborate_inserted(
    elaboration: Elaboration, patches: tuple[Patch, ...], scope: Scope, current: Value | None
) -> Value | None:
    """Elaborate the lines that patches insert at one place, and return the last value."""
    for patch in patches:
        outer = scope.patches
        scope.patches = tuple(p for p in outer if p.patch.number > patch.number)
        try:
            with elaboration.reporter.inside("in lines that a patch inserts", patch.place.span):
                current = elaboration.lines(patch.content, scope, current)
        finally:
            scope.patches = outer
    return current


def _path(line: Line, name: str | None, scope: Scope) -> str | None:
    """Return the path that a line gets in its body; None if it has none of its own."""
    if name is not None:
        return join(scope.prefix, name)
    is_repeat = "repeat" in line.modifiers
    if line.target == SEQUENCE or line.modifier("inline") is not None or (is_repeat and scope.numbered):
        return None
    branches = line.args.data if line.args is not None and isinstance(line.args.data, (dict, list)) else ()
    is_join = ops.find(line.target) is not None and any(
        isinstance(value, list) and any(isinstance(item, (str, dict)) for item in value)
        for value in (branches.values() if isinstance(branches, dict) else branches)
    )
    if is_join and _mentions(branches, line.target):
        return None  # its branches take the path first
    if scope.numbered and not is_join:
        return join(scope.prefix, str(scope.counter[0]))
    return scope.body.unique(join(scope.prefix, line.target))


def _mentions(data: Any, target: str) -> bool:
    if isinstance(data, dict):
        return target in data or any(_mentions(value, target) for value in data.values())
    return any(_mentions(item, target) for item in data) if isinstance(data, list) else data == target


def _reserve(path: str, edit: Edit, scope: Scope) -> None:
    """Reserve the path of a line that was removed or renamed, so that later unnamed lines keep their paths."""
    name = edit.line.modifier("name")
    if not edit.removed and name is None:
        return
    if scope.numbered and path == join(scope.prefix, str(scope.counter[0])):
        scope.counter[0] += 1
    elif edit.removed or (name is not None and join(scope.prefix, str(name.data)) != path):
        scope.body.paths.setdefault(path, edit.line.cursor.span)


def _apply_patches(
    elaboration: Elaboration, edit: Edit, path: str, scope: Scope, *, is_iteration: bool = False
) -> Edit:
    """Return the line with the patches applied that match its path, in order."""
    elaboration.patch_log.saw(scope.patches, path)
    for pending in scope.patches:
        patch = pending.patch
        if edit.removed or not pending.matches(path):
            continue
        elaboration.patch_log.applied(patch)
        match patch.action:
            case "set":
                item = _with_set(elaboration, edit.line, patch, scope, is_iteration=is_iteration)
            case "replace":
                item = _replacement_of(edit.line, patch, path, scope, is_iteration=is_iteration)
                edit = edit._replace(floor=patch.number)
            case "remove":
                edit = edit._replace(removed=True)
                continue
            case "before":
                edit = edit._replace(before=(*edit.before, patch))
                continue
            case _:
                edit = edit._replace(after=(patch, *edit.after))
                continue
        line = read_line(item, TargetNames(elaboration, scope))
        edit = edit._replace(line=resolve_target(line, scope), patches=(*edit.patches, patch))
    return edit


def _with_set(elaboration: Elaboration, line: Line, patch: Patch, scope: Scope, *, is_iteration: bool) -> Cursor:
    """Return the line with other values of attributes, arguments and modifiers."""
    line = resolve_target(line, scope)
    modifiers, arguments = dict(line.modifiers), _arguments(elaboration, line, patch, scope)
    allowed = ("freeze",) if is_iteration else tuple(key for key in MODIFIERS if key != "name")
    for key, value in patch.content.items():
        if key not in MODIFIERS:
            arguments[key] = value
        elif key in allowed:
            modifiers[key] = value
        else:
            what = "of one iteration" if is_iteration else "of a line"
            message = f"patch: {key!r} {what} cannot be set"
            hint = "replace the line" if key == "name" else "give the path of the whole repeat, without a number"
            raise NetcalcError(Diagnostic("E104", message, value.key_span, hint=hint))
    if line.target == SEQUENCE:
        return _merged_mapping({**modifiers, SEQUENCE: line.args or line.cursor}, line.cursor)
    return _merged_mapping(
        {**modifiers, line.target: _merged_mapping(arguments, line.args or line.cursor)}, line.cursor
    )


def _arguments(elaboration: Elaboration, line: Line, patch: Patch, scope: Scope) -> dict[str, Cursor]:
    """Return the attributes or arguments of a line by name, the value of a shorthand included."""
    if line.target == SEQUENCE:
        other = [key for key in patch.content.data if key not in MODIFIERS]
        if other:
            hint = "give the path of one of its lines"
            raise patch.content[other[0]].key_error("E103", f"patch: a sequence has no attribute {other[0]!r}", hint)
        return {}
    if line.args is None or isinstance(line.args.data, dict):
        return {} if line.args is None else dict(line.args.items())
    declared = ops.find(line.target)
    if declared is not None and isinstance(line.args.data, list) and declared.inputs and declared.inputs[0].variadic:
        return {str(number): branch for number, branch in enumerate(line.args.elements())}
    names = [declared.shorthand] if declared is not None else list(block_of(elaboration, line, scope).decl.args)
    return {names[0]: line.args} if names and names[0] is not None else {}


def _replacement_of(line: Line, patch: Patch, path: str, scope: Scope, *, is_iteration: bool) -> Cursor:
    """Return the replacement of a line, with the line's name, and its inputs and condition unless it gives its own."""
    new = patch.content
    if isinstance(new.data, str):
        new = _merged_mapping({new.data: new.replaced(None)}, new)
    if not isinstance(new.data, dict):
        return new  # malformed
    if is_iteration:
        modifiers = {key: value for key, value in line.modifiers.items() if key not in ("name", "as", "when")}
        surplus = next((key for key in new.data if key in MODIFIERS and key not in ("from", "freeze", "tie")), None)
        if surplus is not None:
            raise new[surplus].key_error("E104", f"patch: the replacement of one iteration cannot have {surplus!r}")
        modifiers |= {key: line.modifiers[key] for key in ("name",) if key in line.modifiers}
    else:
        modifiers = {key: line.modifiers[key] for key in _KEPT if key in line.modifiers}
        if "name" not in modifiers and "name" not in new.data:
            stem = scope.prefix + "." if scope.prefix else ""
            modifiers["name"] = line.cursor.replaced(path.removeprefix(stem))
    own = dict(new.items())
    return _merged_mapping({**{key: value for key, value in modifiers.items() if key not in own}, **own}, new)


def _merged_mapping(entries: Mapping[str, Cursor], place: Cursor) -> Cursor:
    """Return a mapping at a place whose entries come from several places."""
    spans: dict[Path, Any] = {(): (place.key_span, place.span)}
    for key, cursor in entries.items():
        spans[key,] = (cursor.key_span, cursor.span)
        start = len(cursor.path)
        spans |= {(key, *p[start:]): span for p, span in cursor.spans.items() if p[:start] == cursor.path}
    return Cursor({key: cursor.data for key, cursor in entries.items()}, (), spans)
