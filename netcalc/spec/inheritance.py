"""Inheritance: the document of a spec that extends another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, Span, did_you_mean
from netcalc.limits import MAX_ERRORS
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.declarations import former_names, replacement
from netcalc.spec.evaluate import names_in, used_by_others, words_in

#: Keys whose entries are merged by name with the parent's.
_MERGED = ("dims", "vars", "inputs", "blocks", "init", "checkpoint", "tensor_parallel")
#: Those whose entries are patterns: of several that match, the first counts.
_FIRST_MATCH = ("checkpoint", "init", "tensor_parallel")
#: Keys whose entries are appended to the parent's.
_APPENDED = ("require", "patch")
_Places: TypeAlias = tuple[Span | None, Span]


def with_current_names(parent: Cursor, child: Cursor) -> tuple[Cursor, list[Diagnostic]]:
    """Return the child's document with former names of the parent's vars replaced, and a warning for each.

    A former name is a var of the child's own where the present one is an expression of it, as a field of a
    configuration that has this name.
    """
    declared, own = parent.data.get("vars"), child.data.get("vars")
    if not isinstance(declared, dict) or not isinstance(own, dict):
        return child, []
    former = ((old, new) for new, value in declared.items() for old in former_names(value) if old in own)
    renamed = {old: new for old, new in former if old not in names_in(own.get(new))}
    if not renamed:
        return child, []
    warnings = []
    for old, new in renamed.items():
        span = child["vars"][old].key_span
        if new in own:
            raise NetcalcError(Diagnostic("E106", f"{old!r} is a former name of {new!r}, which is given too", span))
        warnings.append(Diagnostic("W102", f"var {old!r} is now called {new!r}", span))
    data = {**child.data, "vars": {renamed.get(name, name): value for name, value in own.items()}}
    spans = {
        ("vars", renamed[str(p[1])], *p[2:]) if p[:1] == ("vars",) and p[1:2] and p[1] in renamed else p: span
        for p, span in child.spans.items()
    }
    return Cursor(data, child.path, spans), warnings


def merged(parent: Cursor, child: Cursor) -> Cursor:
    """Return the parent's document with the child's keys in place of its own, or merged (:data:`_MERGED`)."""
    data: dict[str, Any] = dict(parent.data)
    if "layers" in child.data:
        for key in ("patch", "notes", "architecture"):  # they change and describe the lines of the parent
            data.pop(key, None)
    counts: dict[str, int] = {}
    for key, value in child.data.items():
        if key in _MERGED and isinstance(data.get(key), dict) and isinstance(value, dict):
            entries = dict(data[key])
            changed = {n: _override(key, n, entries[n], entry) if n in entries else entry for n, entry in value.items()}
            # of the patterns of parameters that match one the first is used: the child's
            data[key] = {**changed, **entries, **changed} if key in _FIRST_MATCH else {**entries, **changed}
        elif key in _APPENDED and isinstance(data.get(key), list) and isinstance(value, list):
            counts[key] = len(data[key])
            data[key] = [*data[key], *value]
        else:
            data[key] = value
    _check_names(parent, child)
    data.pop("extends", None)
    data.pop("without", None)  # the parent's document is already without them
    if "checkpoint" in data:
        # an element type of its own is not that of the parent's checkpoint, whose packed parameters are its own alone
        published = {"packed", *({"dtype"} & child.data.keys())} - (child.data.get("checkpoint") or {}).keys()
        data["checkpoint"] = {n: entry for n, entry in data["checkpoint"].items() if n not in published}
    for described in {"published", "budget"} - child.data.keys():
        data.pop(described, None)  # published figures and limits are those of the parent only
    if "aliases" not in child.data:
        data.pop("aliases", None)  # and so do its other names
    if "import" in data and "import" not in child.data:
        data.pop("import")  # the parent's imported blocks are already in its blocks
    document = Cursor(data, (), _MergedSpans(parent, child, counts))
    for key, value in data.items():
        _keep_same(document, key, value, child, parent)
        if key == "blocks" and isinstance(value, dict):
            places = [origin["blocks"] for origin in (child, parent) if isinstance(origin.data.get("blocks"), dict)]
            for name, block in value.items():
                _keep_same(document["blocks"], name, block, *places)
    return document


def _keep_same(document: Cursor, key: str, value: Any, *origins: Cursor) -> None:
    """Take the cursor of a value from the document that it comes from, with what follows from it."""
    origin = next((one for one in origins if key in one.data and one.data[key] is value), None)
    if origin is not None and isinstance(value, (dict, list)):
        document.keep(key, origin[key])


class _MergedSpans(Mapping[Path, _Places]):
    """The places of a document that is merged of two, found in these when they are asked for.

    ``counts`` are the numbers of the parent's entries under the keys whose entries are appended to them.
    """

    def __init__(self, parent: Cursor, child: Cursor, counts: Mapping[str, int]) -> None:
        self._parent = parent.spans
        self._child = child.spans
        self._counts = counts
        self._replaced = child.data.keys() - counts.keys()
        merged_keys = self._replaced & {*_MERGED}
        declared = {key: (parent.data.get(key), child.data[key]) for key in merged_keys}
        self._entries: dict[str, dict[str, Any]] = {
            key: own for key, (old, own) in declared.items() if isinstance(old, dict) and isinstance(own, dict)
        }

    def __getitem__(self, path: Path) -> _Places:
        key = path[0] if path else ""
        if len(path) > 1 and key in self._counts and (number := int(path[1]) - self._counts[str(key)]) >= 0:
            return self._child[key, number, *path[2:]]
        is_own = key in self._replaced and (
            len(path) == 1 or key not in self._entries or path[1] in self._entries[str(key)]
        )
        return (self._child if is_own else self._parent)[path]

    def __contains__(self, path: object) -> bool:
        try:
            return isinstance(path, tuple) and self[path] is not None
        except KeyError:
            return False

    def __iter__(self) -> Iterator[Path]:
        for path in self._parent:
            key = path[0] if path else ""
            own = self._entries.get(str(key))
            if key not in self._replaced or (own is not None and len(path) > 1 and path[1] not in own):
                yield path
        for path in self._child:
            if path and path[0] in self._replaced:
                yield path
            elif len(path) > 1 and path[0] in self._counts:
                yield (path[0], int(path[1]) + self._counts[str(path[0])], *path[2:])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def with_appended_lines(document: Cursor) -> Cursor:
    """Return a document with the lines that patches append among its lines."""
    patches, lines = document.data.get("patch"), document.data.get("layers")
    appending = [n for n, p in enumerate(patches or ()) if "append" in p]
    if not appending or not isinstance(lines, list):
        return document
    remaining = [number for number in range(len(patches)) if number not in appending]
    moved: dict[Path, Path] = {("patch", number): ("patch", place) for place, number in enumerate(remaining)}
    lines = list(lines)
    for number in appending:
        added = patches[number]["append"]
        moved |= {("patch", number, "append", n): ("layers", len(lines) + n) for n in range(len(added))}
        lines += added
    spans = {path: span for path, span in document.spans.items() if path[:1] != ("patch",) or len(path) == 1}
    for path, span in document.spans.items():
        length = next((n for n in (2, 4) if path[:n] in moved and len(path) >= n), None)
        if length is not None and path[:1] == ("patch",):
            spans[*moved[path[:length]], *path[length:]] = span
    return Cursor({**document.data, "patch": [patches[n] for n in remaining], "layers": lines}, (), spans)


def _override(key: str, name: str, old: Any, new: Any) -> Any:
    """Return the entry of a child in place of its parent's.

    A new default of a dim or var keeps the limits declared by the parent, and a whole declaration its former names.
    Tensors of a checkpoint that the parent ignores stay ignored.
    """
    if key == "checkpoint" and name == "ignore" and isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    if not (_declares(key, old) and key in ("dims", "vars")):
        return new
    if not _declares(key, new):
        return {**old, "default": new}
    return {"formerly": old["formerly"], **new} if "formerly" in old else new


def _declares(key: str, entry: Any) -> bool:
    """Return True if the entry is a declaration with limits, not only a value; a dim's need not have a default."""
    return isinstance(entry, dict) and (key == "dims" or "default" in entry)


def _check_names(parent: Cursor, child: Cursor) -> None:
    """Raise NetcalcError (E101) for new dims and vars of the child that nothing in it uses: they must be misspelled."""
    problems: list[Diagnostic] = []
    for key in ("dims", "vars"):
        inherited, own = parent.data.get(key) or {}, child.data.get(key) or {}
        new = [name for name in own if name not in inherited]
        used = _used_names(child, key) if new else frozenset()
        for name in new:
            if name in used:
                continue
            if len(problems) > MAX_ERRORS:
                break
            message = f"the extended spec has no {key[:-1]} {name!r}"
            if "layers" in child.data or "blocks" in child.data:
                message += ", and nothing in this spec uses it"
            span = child[key][name].key_span
            hint = replacement(name, inherited) or did_you_mean(name, inherited)
            problems.append(Diagnostic("E101", message, span, hint=hint))
    if problems:
        raise NetcalcError(problems)


def _used_names(child: Cursor, key: str) -> frozenset[str]:
    """Return the names that the child's document uses outside their declarations under ``key``."""
    rest = words_in({other: value for other, value in child.data.items() if other not in (key, "without")})
    return rest | used_by_others({name: words_in({name: value}) for name, value in child.data[key].items()})
