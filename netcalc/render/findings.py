"""Findings of ``check`` for other tools: SARIF 2.1.0, and annotations of GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from netcalc.analysis.checks import CheckRow, Place
from netcalc.diagnostics import CODES
from netcalc.version import __version__

#: Rules of checks that have no code.
_RULES = {
    "published": "published figure that is not what netcalc counts",
    "budget": "figure that exceeds the budget of the spec",
}


def sarif(rows: Iterable[CheckRow]) -> Mapping[str, Any]:
    """Return the failed checks as a log in SARIF 2.1.0 (OASIS 2020) of one run.

    Files below the current folder are named relative to it, as code scanning expects; lines and columns count from 1,
    columns in Unicode characters.
    """
    failed = [row for row in rows if not row.ok]
    rules = dict.fromkeys(map(_rule, failed))
    driver = {
        "name": "netcalc",
        "version": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": _described(rule)}} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(row, [*rules].index(_rule(row))) for row in failed],
    }
    schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}


def github(rows: Iterable[CheckRow]) -> Iterator[str]:
    """Yield a workflow command of GitHub Actions for each failed check, which marks its line in a pull request."""
    for row in rows:
        if row.ok:
            continue
        properties = {"file": _relative(row.place.file if row.place else row.spec)}
        if row.place:
            place = row.place
            properties |= {"line": str(place.line), "col": str(place.column), "endColumn": str(_last(place))}
        properties["title"] = f"netcalc {_rule(row)}"
        listed = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
        yield f"::{_level(row)} {listed}::{_escaped(_message(row))}"


def _result(row: CheckRow, rule: int) -> dict[str, Any]:
    place = row.place
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file if place else row.spec)}}
    if place:
        location["region"] = {"startLine": place.line, "startColumn": place.column, "endColumn": place.end}
    return {
        "ruleId": _rule(row),
        "ruleIndex": rule,
        "level": _level(row),
        "message": {"text": _message(row)},
        "locations": [{"physicalLocation": location}],
    }


def _last(place: Place) -> int:
    """Return the last column of a place, which GitHub counts in."""
    return max(place.end - 1, place.column)


def _rule(row: CheckRow) -> str:
    return row.expected if row.check in ("error", "warning") else row.check.partition(" ")[0]


def _described(rule: str) -> str:
    return CODES.get(rule) or _RULES[rule]


def _level(row: CheckRow) -> str:
    return "warning" if row.check == "warning" else "error"


def _message(row: CheckRow) -> str:
    if row.counted is None:
        return row.detail
    what = f"{row.check}: {row.expected}, and netcalc counts {row.counted:,}"
    return f"{what} ({row.detail})" if row.detail else what


def _escaped(text: str, signs: str = "") -> str:
    """Return a text as workflow commands take it."""
    for sign in ("%", "\r", "\n", *signs):
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def _relative(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


def _uri(file: str) -> str:
    relative = _relative(file)
    return Path(relative).as_uri() if Path(relative).is_absolute() else quote(relative)
