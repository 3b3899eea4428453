"""Fields of single modules in a configuration: which entry counts for a module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from netcalc.schemes.module_lists import ModuleList


class Entry(NamedTuple):
    """An entry for modules: its name, the modules, and fields of their own; None if they stay plain."""

    name: str
    modules: ModuleList
    fields: Mapping[str, Any] | None


class ModuleFields(NamedTuple):
    """The place and the meaning of the entries that have names of modules; see :mod:`netcalc.schemes.methods`."""

    places: tuple[str, ...]
    match: str
    fields: tuple[str, ...]
    inherits: bool
    default: str
    ending: str
    prefix: str
    plain: str
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
            data.get("prefix", ""),
            data.get("plain", ""),
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

    def entry(self, name: str, value: Any) -> Entry:
        """Return an entry.

        Raises:
            ValueError: as :class:`~netcalc.schemes.module_lists.ModuleList`.
        """
        if self.plain and name.startswith(self.plain):
            return Entry(name, ModuleList([name.removeprefix(self.plain)], self.match), None)
        modules = ModuleList([name.removeprefix(self.prefix)], self.match)
        return Entry(name, modules, value if isinstance(value, Mapping) else None)

    def ordered(self, entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the entries but the default: names before others, in the order in which they are tried."""
        named = [item for item in entries.items() if item[0] != self.default]
        yield from sorted(named, key=lambda item: not all(c.isalnum() or c in "._-" for c in item[0]))


def _at(data: Any, path: list[str]) -> Mapping[str, Any]:
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data if isinstance(data, Mapping) else {}
