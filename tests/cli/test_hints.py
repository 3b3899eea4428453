"""Every hint of the golden error cases, followed: the error is gone afterwards."""

from __future__ import annotations

import re

import pytest

import netcalc
from netcalc.diagnostics import Diagnostic, NetcalcError
from tests.cli.test_errors import SPECS

#: Cases whose hint is no plain replacement: the change that a reader of the hint makes, as text and its replacement.
FIXES: dict[tuple[str, str], tuple[str, str]] = {
    ("E001", "brackets"): ("{out: 4\n", "{out: 4}\n"),
    ("E001", "tab"): ("\t- relu", "  - relu"),
    ("E002", "duplicate-key"): ("out: 4, ", ""),
    ("E101", "key"): ("layer:\n  - relu\n", ""),  # the key that is meant is given too
    ("E103", "attribute"): ("kernal: 3, ", ""),
    ("E103", "argument"): ("widht: 3, ", ""),
    ("E105", "version"): ("name: a", "netcalc: 1\ninputs: {x: [1, 8]}\nname: a"),
    ("E107", "two-operations"): ("{relu: {}, linear: 4}", "{linear: 4}"),
    ("E204", "block-in-itself"): ("layers: [b]", "layers: [relu]"),
    ("E302", "later"): ("from: end", "from: x"),
    ("E304", "tie"): ("4}\n  - {name: b, tie: a, linear: 4}", "8}\n  - {name: b, tie: a, linear: 8}"),
    ("E401", "add"): (
        "shortcut: []",
        'shortcut: [{conv2d: {out: 3, kernel: 1, stride: "${stride}"}}]',
    ),
    ("E401", "too-small"): ("kernel: 9", "kernel: 9, padding: 1"),
    ("E403", "repeat"): ("outputs: [d, e]\n    layers: [{name: d, linear: 4}", "layers: [{name: d, linear: 8}"),
}


def errors(text: str) -> tuple[Diagnostic, ...]:
    try:
        netcalc.loads(text)
    except NetcalcError as error:
        return error.diagnostics
    return ()


HINTED = [case for case, text in SPECS.items() if any(found.hint for found in errors(text))]


@pytest.mark.parametrize("case", HINTED, ids="-".join)
def test_following_the_hint_removes_the_error(case: tuple[str, str]) -> None:
    text = SPECS[case]
    found = next(one for one in errors(text) if one.hint)
    if case in FIXES:
        old, new = FIXES[case]
        assert text.count(old) == 1
        fixed = text.replace(old, new)
    else:
        meant = re.match(r"did you mean '(.*)'\?", found.hint or "")
        assert meant, f"{found.hint}: add the change that it asks for to FIXES"
        fixed = replaced(text, found, meant[1])
    left = [(one.code, one.message) for one in errors(fixed)]
    assert (found.code, found.message) not in left
    assert found.code not in {code for code, _ in left}


def replaced(text: str, found: Diagnostic, name: str) -> str:
    """Return the spec with the name at the place of an error replaced."""
    assert found.span is not None
    lines = text.splitlines(keepends=True)
    line = lines[found.span.line - 1]
    lines[found.span.line - 1] = line[: found.span.column - 1] + name + line[found.span.end - 1 :]
    return "".join(lines)
