"""Settings of a client: convention, symbolic dims, settings of dims and vars, and what stands behind lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.language import Options, checked_options

#: What may stand behind a line.
FIGURES = ("shapes", "params", "macs", "flops")


@dataclass(frozen=True)
class Settings:
    """Choices of a user, by which texts are analyzed and hints are written."""

    options: Options = field(default_factory=Options)
    hints: tuple[str, ...] = ("shapes", "params")


def read_settings(given: Any) -> tuple[Settings, list[str]]:
    """Return the settings that a client gives, perhaps below ``netcalc``, and what is wrong with others."""
    data = given.get("netcalc", given) if isinstance(given, Mapping) else given
    if data is None:
        return Settings(), []
    if not isinstance(data, Mapping):
        return Settings(), ["netcalc: the settings should be an object"]
    wrong: list[str] = []
    values = dict(_values(data, wrong))
    hints = values.pop("hints", ("shapes", "params"))
    try:
        options = checked_options(Options(**values))
    except NetcalcError as error:
        wrong += (f"netcalc: {item.message}" for item in error.diagnostics)
        options = Options(symbolic=values.get("symbolic", ()), settings=values.get("settings", {}))
    return Settings(options, tuple(hints)), wrong


def _values(data: Mapping[str, Any], wrong: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the settings that are as they should be; what others should be is added to ``wrong``."""
    for name, value in data.items():
        if value is None:
            continue
        if name in ("convention", "dtype"):
            if isinstance(value, str):
                yield name, value
                continue
            wrong.append(f"netcalc.{name} should be a text")
        elif name in ("symbolic", "hints"):
            listed = isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
            unknown = [item for item in value if item not in FIGURES] if listed and name == "hints" else []
            if listed and not unknown:
                yield name, tuple(value)
                continue
            what = f"a list of {', '.join(FIGURES)}" if name == "hints" else "a list of names of dims"
            wrong.append(f"netcalc.{name} should be {what}")
        elif name == "settings":
            if isinstance(value, Mapping):
                yield name, dict(value)
                continue
            wrong.append("netcalc.settings should be an object of dims and vars")
