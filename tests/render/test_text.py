"""Numbers, tables and lines of text."""

from __future__ import annotations

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.diagnostics import Diagnostic, Span
from netcalc.dims import symbol
from netcalc.render.diagnostics import render_diagnostic
from netcalc.render.escapes import clean
from netcalc.render.json_lines import json_lines
from netcalc.render.numbers import bytes_text, exact, measured, shape_text, shapes_text, share, short, work
from netcalc.render.progress import Progress
from netcalc.render.text import Terminal, fill, padded, terminal_of, width_of
from netcalc.tensor_type import TensorType


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.00 k"),
        (1005, "1.01 k"),
        (999_499, "999 k"),
        (999_500, "1.00 M"),
        (21_797_672, "21.8 M"),
        (1_644_171_264, "1.64 G"),
        (175 * 10**9, "175 G"),
        (10**27, "1000 Y"),
        (-1234, "-1.23 k"),
    ],
)
def test_short(value: int, text: str) -> None:
    assert short(value) == text


@given(st.integers(1000, 10**24))
def test_short_is_within_half_a_unit_of_its_last_digit(value: int) -> None:
    digits, unit = short(value).split()
    scale = 1000 ** " kMGTPEZY".index(unit)
    last = scale // 10 ** len(digits.partition(".")[2])
    whole = int(digits.replace(".", "")) * last
    assert abs(whole - value) * 2 <= last
    assert len(digits.replace(".", "")) in (3, 4 if unit == "Y" else 3)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (87_190_688, "83.2 MiB"), (1024**3 - 1, "1.00 GiB")],
)
def test_bytes(value: int, text: str) -> None:
    assert bytes_text(value) == text


def test_symbolic_amounts_are_written_as_formulas() -> None:
    size = symbol("n") * 4 + 1
    assert exact(size) == measured(size) == short(size) == "4·n + 1"
    assert work(size, "MAC") == "(4·n + 1) MAC"
    assert share(size, 10) == ""


def test_work_has_four_digits() -> None:
    assert work(3_663_761_408, "MAC") == "3.664 GMAC"
    assert work(7, "FLOP") == "7 FLOP"


def test_shapes() -> None:
    n = symbol("n")
    assert shape_text(()) == "scalar"
    assert shape_text((n, 3, n * 2 + 1)) == "n×3×(2·n + 1)"
    assert shapes_text([TensorType((2, 3)), TensorType((2, 3)), TensorType((4,))]) == "2 of 2×3, 4"


def test_wide_characters_are_padded_by_their_width() -> None:
    assert [width_of(text) for text in ("abc", "層", "é", "e\u0301", "×")] == [3, 2, 1, 1, 1]
    assert padded("層", 4) == "層  "


def test_user_text_cannot_reach_the_terminal() -> None:
    assert clean("a\x1b[31m\r\u202eb") == "a\\x1b[31m\\r\\u202eb"


def test_paragraphs_are_wrapped_between_words() -> None:
    assert fill("one two three", 8) == "one two\nthree"
    assert fill("one two three", 8, "", "  ") == "one two\n  three"
    assert fill("one two", None) == "one two"
    assert fill("one incredibly-long-word-that-does-not-fit", 20) == "one\nincredibly-long-\nword-that-does-not-\nfit"


def test_properties_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"):
        monkeypatch.delenv(name, raising=False)
    pipe = io.StringIO()
    assert terminal_of(pipe) == Terminal(False, None)
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    terminal.fileno = lambda: 1  # type: ignore[method-assign]
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((77, 20)))
    assert terminal_of(terminal) == Terminal(True, 77)
    monkeypatch.setenv("COLUMNS", "120")
    assert terminal_of(terminal) == Terminal(True, 120)
    monkeypatch.setenv("TERM", "dumb")
    assert terminal_of(terminal) == Terminal(False, 120)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert terminal_of(pipe) == Terminal(True, 120)
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal_of(terminal) == Terminal(False, 120)


def test_the_caret_is_under_the_span_after_tabs_and_wide_characters() -> None:
    span = Span("f.yaml", 12, 4, 7, "\t層 bad")
    lines = render_diagnostic(Diagnostic("E104", "no", span)).splitlines()
    assert lines == ["error[E104]: no", "  --> f.yaml:12:4", "   |", "12 |     層 bad", "   |        ^^^"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=30),
        lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
        max_leaves=40,
    )
)
def test_json_round_trips(value: object) -> None:
    import json

    assert json.loads("\n".join(json_lines({"a": value, "b": [value, value]}, rows="b"))) == {
        "a": value,
        "b": [value, value],
    }
    assert json.loads("\n".join(json_lines({"rows": iter_list(value)}, rows="rows"))) == {"rows": iter_list(value)}


def iter_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def test_progress_is_shown_on_terminals_only_and_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("netcalc.render.progress.monotonic", lambda: clock[0])
    quiet, terminal = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    with Progress(quiet) as silent, Progress(terminal) as shown:
        for done in range(1, 41):
            clock[0] += 0.05
            silent(done, 40, f"[b]layer{done}")
            shown(done, 40, f"[b]layer{done}")
    assert quiet.getvalue() == ""
    erase = "\x1b[2K"
    _, *frames, last = terminal.getvalue().split(erase)
    assert "layer19" not in "".join(frames)  # nothing in the first second
    assert any("[b]layer20" in frame and " 50%" in frame for frame in frames)
    assert last == ""


def test_a_very_long_word_is_broken_in_linear_time() -> None:
    """Measuring the rest of the word for each line, or character by character, would take minutes."""
    lines = fill("n" * 200_000, 80).split("\n")
    assert {len(line) for line in lines} == {80} and len(lines) == 2_500
    assert fill("e\u0301" * 100, 80).split("\n") == ["e\u0301" * 80, "e\u0301" * 20]
