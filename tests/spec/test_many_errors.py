"""Many errors in one spec: their number, their text and the work for each are bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netcalc.diagnostics import Diagnostic, NetcalcError, Span, clipped, did_you_mean, distinct, written
from netcalc.limits import MAX_ERRORS, MAX_MESSAGE, MAX_SHOWN_ERRORS
from netcalc.loading import loads
from netcalc.records.errors import errors_record
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
    found = problems("inputs: {x: [2, 8]}\n" + MANY[kind])
    assert result.code == 2
    text = result.err
    assert text.count("error[") == MAX_SHOWN_ERRORS
    assert f"… and over {len(found) - 1 - MAX_SHOWN_ERRORS} more" in text
    assert text.endswith(f"\n\nover {len(found) - 1} errors\n")
    assert len(text) < MAX_SHOWN_ERRORS * 1500
    assert MAX_ERRORS // 2 < len(found) <= MAX_ERRORS + 1
    assert (found[-1].code, found[-1].message) == ("E003", "over 200 errors; the rest is not reported")
    assert "E003" not in {other.code for other in found[:-1]}


def test_the_text_of_an_error_holds_the_first_only() -> None:
    error = NetcalcError(Diagnostic("E101", f"unknown key {i}") for i in range(MAX_SHOWN_ERRORS + 5))
    assert str(error).splitlines()[-1] == "… and 5 more"
    assert len(str(error).splitlines()) == MAX_SHOWN_ERRORS + 1


@pytest.mark.parametrize("count", [MAX_ERRORS, MAX_ERRORS + 1, 3 * MAX_ERRORS])
def test_a_list_of_errors_says_that_it_is_not_complete(count: int) -> None:
    found = NetcalcError(Diagnostic("E101", f"unknown key {i}") for i in range(count)).diagnostics
    assert NetcalcError(found).diagnostics == found
    record = errors_record(found)["errors"]
    if count == MAX_ERRORS:
        assert {error["code"] for error in record} == {"E101"}
        assert len(record) == count
        assert render_diagnostics(found).endswith("\n\n… and 180 more\n\n200 errors")
    else:
        assert [error["code"] for error in record] == ["E101"] * MAX_ERRORS + ["E003"]
        assert render_diagnostics(found).endswith("\n\n… and over 180 more\n\nover 200 errors")
        assert str(NetcalcError(found)).endswith("\n… and over 180 more")


def test_entries_that_match_nothing_are_listed_up_to_the_limit() -> None:
    entries = "".join(f"  no_such_{i}.*: {{from: a}}\n" for i in range(3 * MAX_ERRORS))
    found = problems("inputs: {x: [2, 8]}\nlayers: [{linear: 2}]\ncheckpoint:\n" + entries)
    assert len(found) == MAX_ERRORS + 1
    assert (found[0].code, found[-1].code) == ("E109", "E003")


class Counted(list[int]):
    """A list that counts the items that are read."""

    read = 0

    def __iter__(self) -> Iterator[int]:
        for item in super().__iter__():
            self.read += 1
            yield item


def test_a_large_value_is_written_as_far_as_it_is_shown() -> None:
    large = Counted(range(100_000))
    assert written(large).endswith("…")
    assert len(written({"a": [large, large]}, length=60)) == 60
    assert large.read < 1_000
    assert written([[large]] * 3, length=8) == "[[[0, 1…"
    assert written([1, [], {}, ()], length=15) == "[1, [], {}, []]"


def test_errors_with_large_arguments_in_force() -> None:
    large = [Counted(range(10_000))]
    found = [Diagnostic("E101", f"unknown key {i}", bindings={"a": large, "b": [1]}) for i in range(MAX_ERRORS)]
    record = errors_record(NetcalcError(found).diagnostics)["errors"]
    assert all(len(error["bindings"]["a"]) == MAX_MESSAGE and error["bindings"]["b"] == [1] for error in record)
    assert large[0].read < 3_000 * MAX_ERRORS


def test_former_names_are_noted_once() -> None:
    names = [f"old{i}" for i in range(30)]
    spec = HEAD + f"vars: {{new: {{default: 3, formerly: [{', '.join(names)}]}}}}\nlayers:\n"
    spec += "".join(f"- linear: ${{{name}}}\n" for name in [*names, *names])
    assert [warning.code for warning in loads(spec).warnings].count("W102") == 30


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
