"""Patches of a spec: changes of inherited lines, found by the paths of the lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, did_you_mean
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import names_in

#: Number of paths that are compared with a pattern that matches none.
_CANDIDATES = 1_000


class Patch(NamedTuple):
    """A change of the lines at the paths that a pattern matches, part by part; ``*`` matches any text of a part."""

    number: int  # patches are applied in order
    action: str  # set, replace, remove, before or after
    pattern: str
    place: Cursor  # the pattern
    content: Cursor  # what is set, replaced or inserted


class Pending(NamedTuple):
    """A patch as it is seen from a body: ``depth`` parts of its pattern match the path of the body."""

    patch: Patch
    parts: tuple[str, ...]
    depth: int = 0

    def matches(self, path: str) -> bool:
        """Return True if the rest of the pattern matches a path in the body."""
        names = path.split(".")
        return len(names) == len(self.parts) - self.depth and self._starts_with(names)

    def below(self, path: str) -> Pending | None:
        """Return the patch as it is seen from the body that is called at a path, None if it does not lead there."""
        names = path.split(".") if path else []
        depth = self.depth + len(names)
        return self._replace(depth=depth) if depth < len(self.parts) and self._starts_with(names) else None

    def _starts_with(self, names: Sequence[str]) -> bool:
        return all(fnmatchcase(name, part) for name, part in zip(names, self.parts[self.depth :], strict=False))


def patches_of(document: Cursor) -> tuple[Pending, ...]:
    """Return the patches of a spec, seen from its top."""
    pending: list[Pending] = []
    for number, entry in enumerate(document["patch"].elements() if "patch" in document.data else ()):
        key = next(key for key in ("at", "remove", "before", "after") if key in entry.data)
        content = next((entry[name] for name in ("set", "replace", "insert") if name in entry.data), entry)
        action = key if key != "at" else "set" if "set" in entry.data else "replace"
        pattern = entry[key].data
        pending.append(Pending(Patch(number, action, pattern, entry[key], content), tuple(pattern.split("."))))
    return tuple(pending)


def below(patches: Sequence[Pending], path: str) -> tuple[Pending, ...]:
    """Return the patches that apply to lines of the body that is called at a path."""
    return tuple(inner for pending in patches if (inner := pending.below(path)) is not None)


def same_until(patches: Sequence[Pending], stem: str, number: int, end: int) -> int:
    """Return the first number above ``number`` from which other patches may apply, or ``end``.

    The iterations of a repeat have the paths ``stem`` with a number.
    """
    base, _, head = stem.rpartition(".")
    depth = len(base.split(".")) if base else 0
    for pending in patches:
        inner = pending.below(base)
        if inner is None:
            continue
        part = inner.parts[pending.depth + depth].removeprefix(head)
        if part.isdecimal():
            end = min([end, *(bound for bound in (int(part), int(part) + 1) if bound > number)])
        elif part != "*" and inner.parts[pending.depth + depth] != "*":
            return number + 1
    return end


def uses_names(patches: Sequence[Pending], path: str, names: Collection[str | None]) -> bool:
    """Return True if the expressions of a patch that applies below a path use one of these names."""
    return any(
        pending.below(path) is not None and not names_in(pending.patch.content.data).isdisjoint(names)
        for pending in patches
    )


class PatchLog:
    """Record of the patches that were applied, and of the paths that the others may mean."""

    def __init__(self) -> None:
        self._applied: set[int] = set()
        self._known: dict[int, dict[str, None]] = {}

    def saw(self, patches: Sequence[Pending], path: str) -> None:
        """Record a path in the body from which the patches are seen."""
        names = path.split(".")
        for pending in patches:
            seen = self._known.setdefault(pending.patch.number, {})
            if len(seen) < _CANDIDATES:
                parts, reached = pending.parts, pending.depth + len(names)
                candidate = ".".join([*parts[: pending.depth], *names, *parts[reached:]])
                if candidate != pending.patch.pattern:
                    seen[candidate] = None

    def applied(self, patch: Patch) -> None:
        """Record that a patch was applied."""
        self._applied.add(patch.number)

    def unmatched(self, patches: Sequence[Pending]) -> Iterator[Diagnostic]:
        """Yield the error of each patch that matched nothing."""
        for pending in patches:
            patch = pending.patch
            if patch.number not in self._applied:
                hint = did_you_mean(patch.pattern, self._known.get(patch.number, ()))
                message = f"patch: there is no line with the path {patch.pattern!r}"
                yield Diagnostic("E503", message, patch.place.span, hint=hint)
