"""A table of entries by operation name, filled by decorators and imported on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Generic, TypeVar

_Entry = TypeVar("_Entry")


class Registry(Generic[_Entry]):
    """Entries by name: the operations, and what exists once for an operation (kernels, tables, lowerings).

    ``modules`` maps each name that may have an entry to the module that registers it; the module is imported when the
    name is first looked up.
    """

    def __init__(self, what: str, modules: Mapping[str, str]) -> None:
        self.what = what
        self._modules = modules
        self._entries: dict[str, _Entry] = {}
        self._imported: set[str] = set()

    def register(self, *names: str) -> Callable[[_Entry], _Entry]:
        """Return a decorator that registers its argument under each name.

        Raises:
            ValueError: if a name has an entry already.
        """

        def add(entry: _Entry) -> _Entry:
            for name in names:
                if name in self._entries:
                    raise ValueError(f"{name} has two entries in the table of {self.what}s")
                self._entries[name] = entry
            return entry

        return add

    def get(self, name: str, module: str | None = None) -> _Entry | None:
        """Return the entry of ``name``, importing its module; None if there is none.

        ``module`` is imported for a name that the table has no module for.
        """
        if name not in self._imported and (module := self._modules.get(name, module)):
            import_module(module)  # also where the entry exists: another thread may still be importing its module
            self._imported.add(name)
        return self._entries.get(name)

    def names(self) -> tuple[str, ...]:
        """Return the names that the table has a module for, without importing anything."""
        return tuple(self._modules)

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of ``names`` that have no entry; imports their modules."""
        return tuple(name for name in names if self.get(name) is None)
