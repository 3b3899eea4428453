"""Texts where other values are meant: hints at numbers, expressions and shapes, each followed to a spec that loads."""

from __future__ import annotations

import pytest

import netcalc
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.spec.value_hints import OPEN_SIZE
from tests.spec.remedies import mended

HEAD = "vars: {width: 8, sizes: [4, 2], text: relu}\ndims: {rows: 4}\ninputs: {x: [rows, 8]}\n"
ROWS = HEAD + "layers:\n"
IMAGE = "inputs: {x: [1, 3, 8, 8]}\nlayers:\n"

#: A spec with one mistake, the marked text, and what to write there.
CASES: list[tuple[str, str, str]] = [
    # a var without ${}
    (ROWS + "  - linear: width\n", "width", '"${width}"'),
    (ROWS + "  - linear: {out: width}\n", "width", '"${width}"'),
    (ROWS + "  - linear:\n      out: width * 2\n", "width * 2", '"${width * 2}"'),
    (ROWS + "  - linear: rows\n", "rows", '"${rows}"'),
    (ROWS + "  - reshape: [1, rows, 8]\n", "rows", '"${rows}"'),
    (ROWS + "  - unflatten: {axis: 1, sizes: sizes}\n", "sizes", '"${sizes}"'),
    (ROWS + "  - feed_forward: {hidden: width}\n", "width", '"${width}"'),
    (ROWS + "  - add:\n      a: [{linear: 4}]\n      b:\n        - linear: sizes[0]\n", "sizes[0]", '"${sizes[0]}"'),
    (ROWS + "  - {name: a, repeat: 2, linear: index + 2}\n", "index + 2", '"${index + 2}"'),
    (ROWS + "  - sequence:\n      - relu\n      - linear: width\n", "width", '"${width}"'),
    (HEAD + "blocks:\n  b:\n    args: {n: 4}\n    layers:\n      - linear: n\nlayers: [b]\n", "n", '"${n}"'),
    ("extends: mlp\nvars: {more: 3}\nlayers:\n  - flatten\n  - linear: more\n", "more", '"${more}"'),
    ("extends: mlp\nvars: {more: 3}\npatch:\n  - {at: output, set: {out: more}}\n", "more", '"${more}"'),
    ("dims: {a: 4, b: a * 2}\ninputs: {x: [b, 8]}\nlayers: [relu]\n", "a * 2", '"${a * 2}"'),
    # a number in quotes
    (ROWS + "  - linear: '64'\n", "'64'", "64"),
    (ROWS + '  - feed_forward: {hidden: "7"}\n', '"7"', "7"),
    (ROWS + "  - dropout: {p: '0.5'}\n", "'0.5'", "0.5"),
    (ROWS + "  - reshape: [1, '4', 8]\n", "'4'", "4"),
    ("dims: {a: '8'}\ninputs: {x: [a, 8]}\nlayers: [relu]\n", "'8'", "8"),
    ("vars: {width: '64'}\ninputs: {x: [4, 8]}\nlayers:\n  - relu\n  - linear: '${width}'\n", "'64'", "64"),
    ("vars: {n: {default: '64'}}\ninputs: {x: [4, 8]}\nlayers: [{feed_forward: {hidden: '${n}'}}]\n", "'64'", "64"),
    # an expression as other languages write it
    (ROWS + "  - linear: $width\n", "$width", '"${width}"'),
    (ROWS + "  - linear: $(width + 1)\n", "$(width", '"${width + 1}"'),
    (ROWS + "  - linear: '{{ width }}'\n", "'{{ width", '"${width}"'),
    (ROWS + "  - linear: {out: {width}}\n", "{width}", '"${width}"'),
    (ROWS + '  - linear: "${width / 2}"\n', '"${width / 2}"', '"${width // 2}"'),
    # a bool, a whole number and a list in another form
    (ROWS + "  - linear: {out: 4, bias: 'false'}\n", "'false'", "false"),
    (ROWS + "  - linear: {out: 4, bias: No}\n", "No", "false"),
    (ROWS + "  - feed_forward: {hidden: 4, bias: 'yes'}\n", "'yes'", "true"),
    (ROWS + "  - linear: 1e3\n", "1e3", "1000"),
    (ROWS + "  - linear: 1,024\n", "1,024", "1024"),
    (IMAGE + "  - conv2d: {out: 4, kernel: 3x1}\n", "3x1", "[3, 1]"),
    (IMAGE + "  - conv2d: {out: 4, kernel: '(3, 1)'}\n", "'(3, 1)'", "[3, 1]"),
    (IMAGE + "  - max_pool2d: 2, 2\n", "2, 2", "[2, 2]"),
    # shapes
    ("inputs: [1, 3, 32, 32]\nlayers: [relu]\n", "[1, 3, 32, 32]", "{x: [1, 3, 32, 32]}"),
    ("inputs: 1x3x32x32\nlayers: [relu]\n", "1x3x32x32", "{x: [1, 3, 32, 32]}"),
    ("inputs: {x: 1x3x32x32}\nlayers: [relu]\n", "1x3x32x32", "[1, 3, 32, 32]"),
    ("inputs:\n  x: 1×3×32\nlayers: [relu]\n", "1×3×32", "[1, 3, 32]"),
    ("dims: {rows: 4}\ninputs:\n  x:\n    shape: rows, 3, 32\nlayers: [relu]\n", "rows, 3, 32", "[rows, 3, 32]"),
    ("inputs:\n  x: (1, 3)\nlayers: [relu]\n", "(1, 3)", "[1, 3]"),
    ("inputs: {x: 10}\nlayers: [relu]\n", "10", "[10]"),
    ("inputs: {x: [1, 8]}\nlayers: relu\n", "relu", "[relu]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "marked", "written"), CASES, ids=range(len(CASES)))
def test_the_hint_says_what_to_write_at_the_place_of_the_mistake(text: str, marked: str, written: str) -> None:
    found = problem_of(text)
    assert found.span is not None
    assert found.span.text[found.span.column - 1 :].startswith(marked)
    assert (found.hint or "").startswith(f"write `{written}`")
    netcalc.loads(mended("netcalc: 1\n" + text))


def problem_of(text: str) -> Diagnostic:
    with pytest.raises(NetcalcError) as caught:
        netcalc.loads("netcalc: 1\n" + text)
    return caught.value.diagnostics[0]


@pytest.mark.parametrize(
    "text",
    [
        ROWS + "  - linear: unknown\n",
        ROWS + "  - linear: text\n",  # a var, but no number
        ROWS + "  - linear: '0.5'\n",
        ROWS + "  - linear: true\n",
        ROWS + "  - linear: '-3'\n",
        ROWS + "  - linear: rows.width\n",
        "inputs: {x: image}\nlayers: [relu]\n",
    ],
)
def test_no_hint_is_better_than_a_wrong_one(text: str) -> None:
    assert problem_of(text).hint is None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("inputs: [a, b]\nlayers: [relu]\n", "write each input with its shape, as in `inputs: {x: [1, 8]}`"),
        ("inputs:\n  - x: [1, 8]\nlayers: [relu]\n", "write each input with its shape, as in `inputs: {x: [1, 8]}`"),
        ("inputs:\nlayers: [relu]\n", "write each input with its shape, as in `inputs: {x: [1, 8]}`"),
        ("inputs: {x: [rows, 8]}\nlayers: [relu]\n", "declare it under `dims`, as in `dims: {rows: 1}`"),
        ("inputs: {x: [2 * rows, 8]}\nlayers: [relu]\n", "declare it under `dims`, as in `dims: {rows: 1}`"),
        ("inputs: {x: [null, 8]}\nlayers: [relu]\n", OPEN_SIZE),
        ("inputs: {x: {shape: [-1, 8]}}\nlayers: [relu]\n", OPEN_SIZE),
        ("inputs: {x: {shape: [1, 8], dtype: torch.long}}\nlayers: [cast]\n", "use `int64`"),
        (IMAGE + "  - cast: half\n", "use `float16`"),
        (IMAGE + "  - pad: {padding: [1], mode: edge}\n", "use `replicate`"),
        (IMAGE + "  - conv2d: {out: 4, kernel: 3, padding: SAME}\n", "use `same`"),
        (ROWS + "  - linear: '${width / 3}'\n", None),
        ("inputs: {x: [1, 8]}\nlayers: [relu]\noutputs: relu\n", "write `[relu]`"),
        ("variables: {w: 3}\ninputs: {x: [1, 8]}\nlayers: [relu]\n", "use `vars`"),
        ("inputs: {x: [1, 8]}\nmodel: [relu]\n", "use `layers`"),
        ("inputs: {x: {shape: [1, 8], type: int64}}\nlayers: [relu]\n", "use `dtype`"),
        ("inputs: {x: [1, 8]}\n", "list them under `layers`, as in `layers: [relu, {linear: 8}]`"),
    ],
)
def test_the_hint_at_a_mistake_in_inputs_keys_and_values(text: str, hint: str | None) -> None:
    assert problem_of(text).hint == hint


def test_the_message_shows_the_value_of_an_expression() -> None:
    assert problem_of(ROWS + "  - linear: '${text}'\n").message.endswith("should be a whole number, not 'relu'")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("relu", "relu takes 1 input, got 0: input is missing"),
        ("conv2d: {out: 4, kernel: 3}", "conv2d takes 1 to 3 inputs, got 0: input is missing"),
        ("concat", "concat takes 1 or more inputs, got 0"),
        ("{repeat: 2, linear: 8}", "linear takes 1 to 3 inputs, got 0: input is missing"),
        ("{name: a, sequence: [{linear: 8}]}", "linear takes 1 to 3 inputs, got 0: input is missing"),
        ("basic_block: {channels: 4}", "basic_block takes 1 input, got 0: in is missing"),
        ("matmul", "matmul takes 2 inputs, got 0: input and other are missing"),
    ],
)
def test_a_spec_without_inputs_is_told_how_to_declare_them(line: str, message: str) -> None:
    found = problem_of(f"layers:\n  - {line}\n")
    assert found.message == message
    assert "`inputs: {x: [" in (found.hint or "")
    assert "[{" not in (found.hint or "")


def test_the_declaration_of_inputs_that_a_hint_shows_is_right() -> None:
    for line in ("relu", "conv2d: {out: 4, kernel: 3}", "max_pool1d: 2", "batch_norm", "lstm: 8", "logical_not"):
        hint = problem_of(f"layers:\n  - {line}\n").hint or ""
        declaration = hint.partition("as in `")[2].removesuffix("`")
        netcalc.loads(f"netcalc: 1\n{declaration}\nlayers:\n  - {line}\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{from: [x, x], relu: {}}", "relu takes 1 input, got 2"),
        ("{from: [x, x, x], matmul: {}}", "matmul takes 2 inputs, got 3"),
        ("matmul", "matmul takes 2 inputs, got 1: other is missing"),
        ("where", "where takes 3 inputs, got 1: input and other are missing"),
        ("add", "add takes 2 or more inputs, or 1 and a value, got 1"),
        ("sub", "sub takes 2 inputs, or 1 and a value, got 1"),
        ("logical_and", "logical_and takes 2 or more inputs, got 1"),
        ("{from: [x], constant: 3}", "constant takes no inputs, got 1"),
        ("{from: [x, x], basic_block: {channels: 4}}", "basic_block takes 1 input, got 2"),
        ("{from: [x, x, x, x, x, x, x, x], attend: {heads: 2}}", "attend takes 1 to 7 inputs, got 8"),
    ],
)
def test_inputs_are_counted_in_one_way(line: str, message: str) -> None:
    assert problem_of(f"inputs: {{x: [1, 8, 4, 4]}}\nlayers:\n  - {line}\n").message == message
