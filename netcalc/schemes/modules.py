"""Fields of single modules in a configuration: which entry counts for a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

#: Parts of the path of a module that HQQ leaves out of its tag.
_NOT_IN_TAGS = ("model", "layers")
_PATH = re.compile(r"[\w.-]+")


class ModuleFields(NamedTuple):
    """The place and the meaning of the entries that have names of modules; see :mod:`netcalc.schemes.methods`."""

    places: tuple[str, ...]
    match: str
    fields: tuple[str, ...]
    inherits: bool
    default: str
    ending: str
    known: frozenset[str]

    @classmethod
    def of(cls, data: Mapping[str, Any], known: Iterable[str]) -> ModuleFields:
        """Return them as a file of schemes declares them; ``known`` are fields beside the entries."""
        way = tuple(part for part in data.get("fields", "").split(".") if part)
        return cls(
            tuple(data["in"]),
            data["match"],
            way,
            data.get("inherits", False),
            data.get("default", ""),
            data.get("ending", ""),
            frozenset(known),
        )

    def entries(self, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the place that has entries, and these by their names; the last place and none if there are none."""
        place = ""
        found: dict[str, Any] = {}
        for place in self.places:
            found = {name: entry for name, entry in _at(settings, place.split(".")).items() if name not in self.known}
            if found:
                break
        if not self.ending:
            return place, found
        joined: dict[str, Any] = {}
        for name, value in found.items():
            module, _, field = name.removesuffix(self.ending).rpartition(".")
            joined.setdefault(module, {})[field] = value
        return place, joined

    def names(self, name: str, module: str) -> bool:
        """Return True if the name of an entry means a module, or its weight."""
        if self.match == "tag":
            return name == ".".join(
                part for part in module.split(".") if not part.isdigit() and part not in _NOT_IN_TAGS
            )
        regular = self.regular(name)
        if regular is None:
            return name in (module, f"{module}.weight")
        try:
            return re.match(regular, module) is not None
        except re.error:
            return False

    def regular(self, name: str) -> str | None:
        """Return the regular expression that the beginning of a module's path matches; None if a name is none."""
        if self.match == "search" or (self.match == "path" and _PATH.fullmatch(name) is None):
            return name if name.startswith(("^", ".*")) else f".*{name}"
        if self.match == "fqn" and name.startswith("re:"):
            return f"{name[3:].removesuffix('$')}$"
        return None

    def ordered(self, entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the entries in the order in which they are tried: paths before regular expressions."""
        named = [item for item in entries.items() if item[0] != self.default]
        yield from sorted(named, key=lambda item: self.regular(item[0]) is not None)

    def entry_of(self, entries: Mapping[str, Any], module: str) -> tuple[bool, Any]:
        """Return whether an entry counts for a module, and it."""
        for name, entry in self.ordered(entries):
            if self.names(name, module):
                return True, entry
        return (True, entries[self.default]) if self.default in entries else (False, None)


def _at(data: Any, path: list[str]) -> Mapping[str, Any]:
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data if isinstance(data, Mapping) else {}
