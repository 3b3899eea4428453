"""Lines that are not written as lines are, and numbers of iterations that there are not: hints and places."""

from __future__ import annotations

import re

import pytest

import netcalc
from tests.spec.remedies import mended
from tests.spec.test_value_hints import problem_of

ROWS = "inputs: {x: [1, 8]}\nlayers:\n"
IMAGE = "inputs: {x: [1, 3, 8, 8]}\nlayers:\n"


@pytest.mark.parametrize(
    ("text", "marked", "written"),
    [
        (ROWS + "  - linear(10)\n", "linear(10)", "linear: 10"),
        (ROWS + "  - relu\n  - linear:10\n", "linear:10", "linear: 10"),
        (ROWS + "  - Linear 10\n", "Linear 10", "linear: 10"),
        (ROWS + "  - nn.ReLU()\n", "nn.ReLU()", "relu"),
        (ROWS + "  - dropout(0.5)\n", "dropout(0.5)", "dropout: 0.5"),
        (ROWS + "  - softmax(dim=-1)\n", "softmax(dim=-1)", "softmax: {axis: -1}"),
        (IMAGE + "  - Conv2d(out_channels=4, kernel_size=3)\n", "Conv2d(", "conv2d: {out: 4, kernel: 3}"),
        (IMAGE + "  - {name: a, repeat: 2, sequence: [relu, conv2d(out=3)]}\n", "conv2d(out=3)", "conv2d: {out: 3}"),
        (ROWS + "  - reshape([2, 4])\n", "reshape([2, 4])", "reshape: [2, 4]"),
        ("inputs: {x: [1, 8]}\nlayers: [linear:10, relu]\n", "linear:10", "linear: 10"),
        ("inputs: {x: [1, 8]}\nblocks:\n  b:\n    layers:\n      - linear:4\nlayers: [b]\n", "linear:4", "linear: 4"),
        ("inputs: {x: [1, 8]}\nblocks: {b: {args: {n: int}, layers: [relu]}}\nlayers:\n  - b(4)\n", "b(4)", "b: 4"),
        (ROWS + "  - {name: s, repeat: 3, linear: 8}\n  - {from: s.5, relu: {}}\n", "s.5", "s.2"),
        (ROWS + "  - {name: s, sequence: [relu, relu]}\n  - {from: s.2, relu: {}}\n", "s.2", "s.1"),
    ],
)  # fmt: skip
def test_the_hint_says_what_to_write_in_place_of_a_line(text: str, marked: str, written: str) -> None:
    found = problem_of(text)
    assert found.span is not None
    assert found.span.text[found.span.column - 1 :].startswith(marked)
    assert re.match(rf"(?:write|use) `{re.escape(written)}`", found.hint or ""), found.hint
    if "out: 3}" not in written:  # lacks an attribute, as the call does
        netcalc.loads(mended("netcalc: 1\n" + text))


@pytest.mark.parametrize(
    ("text", "hint"), [("conv2d(64, 3)", "write `conv2d: {out: …}`"), ("conv2d(64)", "write `conv2d: {out: …}`")]
)
def test_values_without_names_are_left_to_the_reader(text: str, hint: str) -> None:
    assert problem_of(f"{IMAGE}  - {text}\n").hint == hint


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ("  - conv2d:\n    out: 4\n    kernel: 3\n", (5, "out: 4")),
        ("  - conv2d:\n      out: 4\n    kernel: 3\n", (6, "kernel: 3")),
        ("  - Conv2d:\n    out_channels: 4\n    kernel_size: 3\n", (5, "out_channels: 4")),
        ("  - {conv2d: {out: 4}, kernel: 3}\n", (4, "kernel: 3")),
        ("  - sequence:\n      - relu\n      - conv2d:\n        out: 4\n        kernel: 3\n", (7, "out: 4")),
        ("  - {name: a, repeat: 1, conv2d: {out: 4}, kernel: 3}\n", (4, "kernel: 3")),
        ("  - basic_block:\n    channels: 4\n", (5, "channels: 4")),
    ],
)
def test_attributes_beside_their_operation_belong_below_it(lines: str, place: tuple[int, str]) -> None:
    text = f"netcalc: 1\n{IMAGE}{lines}"
    found = problem_of(IMAGE + lines)
    assert found.code == "E101"
    assert found.span is not None
    assert (found.span.line, found.span.text[found.span.column - 1 :][: len(place[1])]) == place
    written = re.search(r"or write `(\w+: .*)`$", found.hint or "")
    assert written
    first = next(line for line in text.split("\n") if written[1].partition(":")[0] in line)
    start = re.match(r"\s*(- sequence:\s*)?- ", first)
    assert start
    head = text[: text.index("layers:")]
    netcalc.loads(mended(f"{head}layers:\n  - {written[1]}\n"))


def test_modifiers_keep_their_hint() -> None:
    assert problem_of(IMAGE + "  - {nam: a, relu: {}}\n").hint == "did you mean 'name'?"
    assert "for example" not in (problem_of(IMAGE + "  - {relu: {}, linear: 4}\n").hint or "")


@pytest.mark.parametrize("line", ["relu - flatten", "relu -flatten", "relu\n    - flatten"])
def test_two_lines_in_one_are_told_apart(line: str) -> None:
    hint = problem_of(f"{ROWS}  - {line}\n").hint or ""
    assert hint == "each line begins with a hyphen of its own: `- relu` and `- flatten`"
    netcalc.loads(f"netcalc: 1\n{ROWS}  " + "\n  ".join(re.findall("`(.*?)`", hint)) + "\n")


@pytest.mark.parametrize(
    ("text", "line", "marked"),
    [
        (ROWS + "  - relu\n    - flatten\n  - relu\n", 5, "- flatten"),
        ("inputs: {x: [1, 8]}\nlayers:\n  - linear: >-\n      ${8 +\n      widht}\n", 6, "widht"),
        (
            "inputs: {x: [1, 8]}\nrequire:\n  - that:\n      2 > 1 and\n      widht\n    message: no\nlayers: [s]\n",
            6,
            "widht",
        ),
    ],
)
def test_a_mistake_on_a_later_line_of_a_text_has_its_line(text: str, line: int, marked: str) -> None:
    found = problem_of(text)
    assert found.span is not None
    assert (found.span.line, found.span.text[found.span.column - 1 : found.span.end - 1]) == (line, marked)


def test_a_hyphen_after_a_mapping_begins_no_line() -> None:
    found = problem_of(ROWS + "  - linear: {out: 3} - relu\n")
    assert (found.code, found.hint) == ("E001", "each line begins with a hyphen of its own")


@pytest.mark.parametrize(
    ("lines", "hint"),
    [
        ("  - relu\n - flatten\n", "indent as the lines before: entries of one list or mapping begin in one column"),
        (
            "  - linear: 4\n    - relu\n",
            "indent as the lines before: entries of one list or mapping begin in one column",
        ),
        ("  - linear {out: 4}\n", "write a colon after the name, as in `linear: {…}`"),
        ("  - conv2d {out: 4, kernel: 3}\n", "write a colon after the name, as in `conv2d: {…}`"),
        ("  - linear: out: 4\n", "write `linear: {out: 4}`, or quote a value that contains ': '"),
        ("about: a: b\n", "quote a value that contains ': '"),
        ("  -relu\n", "write a space after each hyphen, as in `- relu`"),
        ("  - linear=4\n", "write `linear: 4`"),
        ("  - {input: x, linear: 4}\n", "use `from`"),
        ("  - {id: first, linear: 4}\n", "use `name`"),
        ("  - {times: 2, linear: 8}\n", "use `repeat`"),
        ("  - {linear: 4, activation: relu}\n", "write it as a line of its own after this one, as in `- relu`"),
        ("  - {type: linear, out: 4}\n", "a line has its operation as a key, as in `linear: {out: 3}`"),
        ("  - {name: a, op: linear, units: 4}\n", "a line has its operation as a key, as in `linear: {out: 3}`"),
    ],
)
def test_the_hint_at_indentation_and_punctuation(lines: str, hint: str) -> None:
    assert problem_of(ROWS + lines).hint == hint


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (ROWS + "  - linear: {out: 4\n  - relu\n  - flatten\n", (4, 13)),
        ("inputs:\n  x: [1, 8\nlayers:\n  - relu\n", (3, 6)),
        (ROWS + "  - linear: {out: '4}\n  - relu\n", (4, 19)),
    ],
)
def test_what_is_left_open_is_reported_where_it_opens(text: str, place: tuple[int, int]) -> None:
    span = problem_of(text).span
    assert span is not None and (span.line, span.column) == place


@pytest.mark.parametrize("number", ["3", "12", "-1"])
def test_a_number_of_an_iteration_that_there_is_not(number: str) -> None:
    lines = (
        f"  - {{name: s, repeat: 3, sequence: [{{name: fc, linear: 8}}, relu]}}\n  - {{from: s.{number}.fc, relu: }}\n"
    )
    assert problem_of(ROWS + lines).hint == "use `s.2.fc` or one before it: they are numbered from 0"


def test_layers_without_hyphens() -> None:
    found = problem_of("inputs: {x: [1, 8]}\nlayers:\n  linear: 4\n  relu:\n")
    assert (found.code, (found.hint or "").partition(",")[0]) == ("E104", "start each line with a hyphen")


def test_an_index_outside_of_a_repeat() -> None:
    found = problem_of(ROWS + "  - relu\n  - linear: '${index + 1}'\n")
    assert (found.code, found.span is not None and found.span.line) == ("E202", 5)
    assert found.hint == "`index` is the number of an iteration, and known in lines with `repeat`"


def test_an_index_past_the_end_of_a_list() -> None:
    found = problem_of("vars: {w: [1, 2]}\n" + ROWS + "  - {name: s, repeat: 3, linear: '${w[index]}'}\n")
    assert (found.code, found.message) == ("E203", "index 2 is past the end of 2 items, which are counted from 0")
