"""Commands that print what a value of a published figure is taken from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from netcalc.arguments import Option, options_of
from netcalc.options import CountOptions, MemoryOptions, ModelOptions, SummaryOptions, TimeOptions
from netcalc.reproduction.papers import FOLDER, NetworkData, Value

_GROUPS = (ModelOptions, CountOptions, SummaryOptions, MemoryOptions, TimeOptions)
#: Folder of the shipped models of papers, from the root of the repository.
_SHIPPED = "netcalc/data/published"


def command_of(value: Value, network: NetworkData | None, folder: Any) -> str:
    """Return the command that prints the result of a value.

    Args:
        value: the value.
        network: its model with all settings; None without one.
        folder: folder of its paper, for models in files; None for a spec of its own.
    """
    if value.mean_field is not None:
        arguments = ", ".join(f"{name}={item!r}" for name, item in value.mean_field.items())
        return f"netcalc.reproduction.mean_field.mean_field({arguments})"
    if network is None:
        return f"the device {value.device} of netcalc/data/devices"
    model = network.model
    if model.endswith(".yaml") and folder is not None:
        model = f"{_SHIPPED if folder == FOLDER else folder}/{model}"
    settings = [f"--set {quote(f'{name}={_word(item)}')}" for name, item in network.set.items()]
    options = {**network.load, **value.arguments}
    words = [value.method or "summary", model, *settings, *_options(options)]
    return f"netcalc {' '.join(words)}"


def _options(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield options of the command line for arguments of the Python API."""
    declared = {name: option for group in _GROUPS for name, option in options_of(group).items()}
    for name, value in values.items():
        flag = _flag(name, declared[name])
        if value is True:
            yield flag
        elif value is not False and value is not None:
            yield from (f"{flag} {quote(_word(item))}" for item in (value if isinstance(value, list) else [value]))


def _flag(name: str, option: Option) -> str:
    return option.flags[0] if option.flags else "--" + name.replace("_", "-")


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
