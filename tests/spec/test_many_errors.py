"""Many errors in one spec: their number, their text and the work for each are bounded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netcalc.diagnostics import Diagnostic, NetcalcError, Span, clipped, did_you_mean, distinct
from netcalc.limits import MAX_ERRORS, MAX_MESSAGE, MAX_SHOWN_ERRORS
from netcalc.render.diagnostics import render_diagnostic, render_diagnostics
from netcalc.spec.evaluate import used_by_others
from netcalc.spec.library import load_text
from tests.conftest import CommandResult
from tests.spec.harness import problems

HEAD = "netcalc: 1\ninputs: {x: [2, 8]}\n"
ATTRIBUTES = "layers: [{linear: {" + ", ".join(f"unknown_attribute_{i}: 1" for i in range(2000)) + "}}]\n"
MANY = {
    "attributes": ATTRIBUTES,
    "keys": "".join(f"unknown_key_{i}: 1\n" for i in range(20_000)) + "layers: [relu]\n",
    "values": "layers:\n" + "".join(f"- {{from: unknown_{i}, as: known_{i}, relu: }}\n" for i in range(3_000)),
    "operations": "layers:\n" + "".join(f"- unknown_operation_{i}\n" for i in range(3_000)),
    "vars": "vars: {" + ", ".join(f"v{i}: '${{w{i}}}'" for i in range(3_000)) + "}\nlayers: [relu]\n",
    "require": "require: ["
    + ", ".join(f"{{that: 'w{i} > 0', message: m}}" for i in range(3_000))
    + "]\nlayers: [relu]\n",
    "blocks": "blocks: {"
    + ", ".join(f"b{i}: {{inputs: {i}, layers: []}}" for i in range(3_000))
    + "}\nlayers: [relu]\n",
}


@pytest.mark.parametrize("kind", MANY)
def test_many_errors_are_counted_and_few_are_shown(
    kind: str, tmp_path: Path, netcalc: Callable[..., CommandResult]
) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(HEAD + MANY[kind])
    result = netcalc("shapes", str(path))
    assert result.code == 2
    text = result.err
    assert text.count("error[") == MAX_SHOWN_ERRORS
    assert "… and " in text
    assert len(text) < MAX_SHOWN_ERRORS * 1500
    found = problems("inputs: {x: [2, 8]}\n" + MANY[kind])
    assert MAX_ERRORS <= len(found) <= MAX_ERRORS + 2
    assert found[-1].code == "E003" or kind in ("vars", "require")


def test_the_text_of_an_error_holds_the_first_only() -> None:
    error = NetcalcError(Diagnostic("E101", f"unknown key {i}") for i in range(MAX_SHOWN_ERRORS + 5))
    assert str(error).splitlines()[-1] == "… and 5 more"
    assert len(str(error).splitlines()) == MAX_SHOWN_ERRORS + 1


def test_a_long_line_is_shown_around_the_place() -> None:
    line = "".join(f"{i:06}," for i in range(5_000))
    for column in (1, 20, 2_100, 34_990):
        span = Span("a.yaml", 1, column, column + 6, line)
        shown = render_diagnostic(Diagnostic("E101", "here", span)).splitlines()
        place = shown[-1].index("^")
        assert len(shown[-2]) < 200
        assert shown[-2][place : place + 6] == line[column - 1 : column + 5]
        assert shown[-1].count("^") == 6
    everything = render_diagnostic(Diagnostic("E101", "here", Span("a.yaml", 1, 1, len(line), line)))
    assert len(everything) < 500


def test_messages_and_hints_are_clipped() -> None:
    long = "x" * 100_000
    found = Diagnostic("E101", long, hint=long, bindings={"a": [long] * 10})
    assert len(render_diagnostics([found])) < 3 * MAX_MESSAGE
    assert clipped("abc", 3) == "abc"


def test_suggestions_are_bounded() -> None:
    assert did_you_mean("x" * 10_000, ["x" * 10_000 + "y"] * 20) is None
    assert did_you_mean("hiden", ["hidden", *(f"name{i}" for i in range(2_000))]) == "did you mean 'hidden'?"


def test_diagnostics_are_distinct_by_all_of_their_parts() -> None:
    one = Diagnostic("E101", "a", bindings={"i": [1]})
    assert distinct(
        [one, one._replace(bindings={"i": [1]}), one._replace(bindings={"i": [2]}), one._replace(hint="b")]
    ) == [
        one,
        one._replace(bindings={"i": [2]}),
        one._replace(hint="b"),
    ]


def test_names_that_other_entries_use() -> None:
    assert used_by_others({"a": {"a", "b"}, "b": {"c"}, "c": {"c"}, "d": {"d"}}) == {"b", "c"}


def test_a_spec_with_many_unused_names_is_read() -> None:
    load_text(HEAD + "vars:\n" + "".join(f"  v{i}: 1\n" for i in range(20_000)) + "layers: [relu]\n")
