"""Hints at what is no line of a spec: ``linear(10)``, ``relu - flatten``, attributes beside their operation."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from netcalc.diagnostics import NetcalcError, written
from netcalc.spec.foreign_names import suggested_attribute, suggested_operation
from netcalc.spec.yaml_document import parse_yaml

#: ``linear(10)``, ``linear:10``, ``linear=10`` and ``linear 10``.
_CALL = re.compile(r"([A-Za-z_][\w.]*)\s*(?:\((.*)\)|[:= ](.*))", re.DOTALL)
#: Longest line that is read for a hint.
_LONGEST = 200
_KEYWORD = re.compile(r"(\w+)\s*=\s*")
_BETWEEN_LINES = re.compile(r"\s+-\s*")


class Targets(Protocol):
    """Operations and blocks that lines may apply; they are asked for only to explain an error."""

    def names(self) -> list[str]:
        """Return the names of all of them."""

    def attributes(self, name: str) -> Collection[str] | None:
        """Return the attributes of an operation or arguments of a block; None if there is none of the name."""

    def takes_value(self, name: str) -> bool:
        """Return True if a bare value sets an attribute or argument."""


def line_hint(text: str, targets: Targets) -> str | None:
    """Return what to write for a line that is no name of an operation or block."""
    names = targets.names()
    if len(text) > _LONGEST:
        return None
    parts = _BETWEEN_LINES.split(text)
    if len(parts) > 1 and all(parts):
        return "each line begins with a hyphen of its own: " + " and ".join(f"`- {part}`" for part in parts)
    call = _CALL.fullmatch(text.strip())
    own = None if call is None else call[1] if call[1] in names else suggested_operation(call[1], names).name
    known = None if own is None else targets.attributes(own)
    if call is None or own is None or known is None:
        return suggested_operation(text, names).hint
    given = (call[2] if call[2] is not None else call[3]).strip()
    if given.startswith("{"):
        return f"write a colon after the name, as in `{own}: {{…}}`"
    return f"write `{own}: {_arguments(given, known, targets.takes_value(own))}`" if given else f"write `{own}`"


def _arguments(text: str, known: Collection[str], takes_value: bool) -> str:
    """Return the arguments of a call as a spec has them: a single value, or a mapping of those with a name."""
    try:
        values = parse_yaml("[" + _KEYWORD.sub(r"\1: ", text) + "]", "").data
    except NetcalcError:
        values = []
    if takes_value and len(values) == 1 and not isinstance(values[0], dict):
        return written(values[0])
    if values and all(isinstance(value, dict) for value in values):
        named = {name: value for pair in values for name, value in pair.items()}
        return written(
            {suggested_attribute(name, known).name or name: value for name, value in named.items()}, quoted=True
        )
    return f"{{{next(iter(known), 'attribute')}: …}}"


def misplaced_hint(target: str, line: Mapping[str, Any], others: Sequence[str], known: Collection[str]) -> str | None:
    """Return how to write attributes that stand beside an operation or block, and not below it; None for other keys.

    Args:
        target: the operation or block.
        line: the line as data.
        others: keys of the line that have no meaning there.
        known: attributes of the operation, or arguments of the block.
    """
    own = line[target]
    if not (own is None or isinstance(own, dict)):
        return None
    if not all(name in known or suggested_attribute(name, known).name for name in others):
        return None
    names = " and ".join(f"`{name}`" for name in others)
    whole = written({**(own or {}), **{name: line[name] for name in others}}, quoted=True)
    return f"indent {names} below `{target}:`, or write `{target}: {whole}`"
