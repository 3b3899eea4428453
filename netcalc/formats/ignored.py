"""Fields of configurations that are left out on request, so that the others can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError


class Ignored:
    """Fields that are read as if their file did not have them.

    Attributes:
        found: those that a file had.
    """

    def __init__(self, fields: Iterable[str] = ()) -> None:
        self.found: list[str] = []
        self._fields = tuple(dict.fromkeys(fields))

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on a model that was read without fields."""
        if not self.found:
            return ()
        fields = "the field" if len(self.found) == 1 else "the fields"
        return (f"read without {fields} {', '.join(self.found)} of its configuration, as --ignore says",)

    def without(self, data: Any) -> Any:
        """Return the data of a file without the fields; a field within another one is ``outer.inner``."""
        for field in self._fields:
            rest = _without(data, field)
            if rest is not data:
                data = rest
                self.found += [field] if field not in self.found else []
        return data


def _without(data: Any, field: str) -> Any:
    """Return a value without a field; the same value if it has none."""
    if not isinstance(data, Mapping):
        return data
    if field in data:
        return {key: value for key, value in data.items() if key != field}
    for key, value in data.items():  # names of fields may have dots themselves
        if field.startswith(f"{key}.") and (rest := _without(value, field[len(key) + 1 :])) is not value:
            return {**data, key: rest}
    return data


def check_found(fields: Iterable[str], found: Iterable[str]) -> None:
    """Raise NetcalcError (E502) for fields that are to be left out and that no configuration has."""
    absent = set(fields).difference(found)
    if absent:
        hint = "--ignore names fields as errors name them: mixture_depth, or text_config.mixture_depth"
        problems = (f"--ignore {field}: no configuration has this field" for field in sorted(absent))
        raise NetcalcError(Diagnostic("E502", problem, hint=hint) for problem in problems)
