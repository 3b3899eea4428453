"""Dims, vars and inputs of an extended spec that ``without`` leaves out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, Span, did_you_mean
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.evaluate import names_in
from netcalc.spec.mentions import mentioned_inputs

#: Keys of a spec whose entries can be left out.
_KEYS = ("dims", "vars", "inputs")
#: Modifiers that stay with a line that is replaced.
_OF_PLACES = ("from", "as", "when")
#: Keys of an input with expressions.
_EXPRESSIONS = ("repeat", "shape", "range", "when")


def without_names(parent: Cursor, child: Cursor) -> Cursor:
    """Return the parent's document without what the child leaves out, and without requirements that concern it.

    Raises:
        NetcalcError: E101 for a name that the parent does not have, E106 for one that the child declares, E202 for one
            that something else that the child inherits uses.
    """
    if "without" not in child.data:
        return parent
    names = [name for key in _KEYS for name in parent.data.get(key) or ()]
    dropped: dict[str, Cursor] = {}
    problems: list[Diagnostic] = []
    for item in child["without"].elements():
        matching = [name for name in names if fnmatchcase(name, item.data)]
        if not matching:
            message = f"without: the extended spec has no dim, var or input {item.data!r}"
            problems.append(Diagnostic("E101", message, item.span, hint=did_you_mean(item.data, names)))
        dropped |= dict.fromkeys(matching, item)
    for key in _KEYS:
        for name in dropped.keys() & (child.data.get(key) or ()):
            message = f"{name!r} is declared here, and left out by `without`"
            problems.append(Diagnostic("E106", message, child[key][name].key_span))
    remaining = {key: {n: v for n, v in (parent.data.get(key) or {}).items() if n not in dropped} for key in _KEYS}
    problems += _uses(parent, child, remaining, dropped)
    if problems:
        raise NetcalcError(problems)
    required = [n for n, entry in enumerate(parent.data.get("require") or ()) if not _concerns(entry, dropped)]
    return _with_requirements(parent, remaining, required)


def _uses(
    parent: Cursor, child: Cursor, remaining: dict[str, dict[str, Any]], dropped: dict[str, Cursor]
) -> Iterator[Diagnostic]:
    """Yield the errors of names that are left out, and that something else which is inherited uses."""
    users: dict[str, frozenset[str]] = {}
    for key, entries in remaining.items():
        for name, entry in entries.items():
            if name not in (child.data.get(key) or ()):
                users[f"the {key[:-1]} {name!r}"] = _names_in_entry(key, entry)
    if "layers" not in child.data:
        lines = [_staying(parent.data.get("layers") or (), child.data.get("patch") or ()), parent.data.get("patch")]
        users["an inherited line"] = names_in(lines) | mentioned_inputs(parent.data.get("inputs") or {}, lines)
    if "loss" not in child.data and (loss := parent.data.get("loss")):
        inputs = (_names_in_entry("inputs", entry) for entry in (loss.get("inputs") or {}).values())
        users["the inherited loss"] = names_in(loss["layers"]).union(*inputs)
    for name, item in dropped.items():
        using = [user for user, used in users.items() if name in used]
        if using:
            verb = "uses" if len(using) == 1 else "use"
            hint = "leave out what uses it too, or declare it anew"
            yield Diagnostic("E202", f"without: {', '.join(using)} {verb} {name!r}", item.span, hint=hint)


def _staying(lines: Iterable[Any], patches: Iterable[Any]) -> list[Any]:
    """Return the lines, and of those that patches of their paths replace or remove the modifiers that stay."""
    gone = {patch.get("remove") or patch["at"] for patch in patches if "remove" in patch or "replace" in patch}
    return [
        {key: line[key] for key in _OF_PLACES if key in line}
        if isinstance(line, Mapping) and line.get("name") in gone
        else line
        for line in lines
    ]


def left_out_with(name: str, data: Mapping[str, Any]) -> list[str]:
    """Return a dim, var or input, and all of a document that cannot stay without it, in the order of the document."""
    used = {n: _names_in_entry(key, entry) for key in _KEYS for n, entry in (data.get(key) or {}).items()}
    names = {name}
    while more := {user for user in used.keys() - names if not used[user].isdisjoint(names)}:
        names |= more
    return [name, *(other for other in used if other in names and other != name)]


def _names_in_entry(key: str, entry: Any) -> frozenset[str]:
    """Return the names that the declaration of a dim, var or input uses."""
    if key != "inputs":
        precedes = entry.get("precedes") if key == "dims" and isinstance(entry, dict) else None
        return names_in(entry) | ({precedes} if isinstance(precedes, str) else frozenset())
    if isinstance(entry, list):
        return names_in(entry, is_expression=True)
    parts = [entry.get(part) for part in _EXPRESSIONS]
    return names_in([*parts, (entry.get("cache") or {}).get("window")], is_expression=True)


def _concerns(requirement: Any, names: Collection[str]) -> bool:
    return not names_in(requirement["that"], is_expression=True).isdisjoint(names)


def _with_requirements(parent: Cursor, entries: dict[str, dict[str, Any]], numbers: list[int]) -> Cursor:
    """Return the parent's document with these entries and the requirements of these numbers."""
    data = {**parent.data, **{key: value for key, value in entries.items() if key in parent.data}}
    if "require" in data:
        data["require"] = [data["require"][number] for number in numbers]
    places = {old: new for new, old in enumerate(numbers)}
    spans: dict[Path, tuple[Span | None, Span]] = {}
    for path, span in parent.spans.items():
        if path[:1] != ("require",) or len(path) == 1:
            spans[path] = span
        elif path[1] in places:
            spans["require", places[int(path[1])], *path[2:]] = span
    return Cursor(data, parent.path, spans)
