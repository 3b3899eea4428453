"""Documents that are read in pieces: as they are read whole, after every edit."""

from __future__ import annotations

import random
from typing import Any

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.language.reading import Reading
from netcalc.spec.cursor import Cursor
from netcalc.spec.shipped import shipped
from netcalc.spec.yaml_document import parse_yaml
from tests.language.edits import drawn_edit


def _outcome(read: Any, text: str) -> object:
    """Data and places of a text, in order, or its errors."""
    try:
        cursor: Cursor = read(text, "file")
    except NetcalcError as error:
        return error.diagnostics
    return cursor.data, list(cursor.data) if isinstance(cursor.data, dict) else None, dict(cursor.spans)


def test_a_text_is_read_in_pieces_as_it_is_whole() -> None:
    draw = random.Random(38)
    for path in draw.sample(sorted(shipped().values()), 12):
        reading, text = Reading(), path.read_text(encoding="utf-8")
        for _ in range(10):
            edited = drawn_edit(text, draw)
            assert _outcome(reading.read, edited) == _outcome(parse_yaml, edited), repr(edited)
            text = edited if draw.random() < 0.2 and edited else text


@pytest.mark.parametrize("is_changed", [False, True])
@pytest.mark.parametrize(
    "item",
    [
        "  - name: x\n    when:\n",
        "  - name: x\n    when: # no\n\n  # none\n",
        "  - about: text\n     that goes on\n",
        "  - about: >\n      text\n\n      that goes on\n\n",
        "  - about: |+\n      text\n\n\n",
        '  - {about: "\\u0041", relu:\n      {}}\n',
    ],
)
@pytest.mark.parametrize("begins", ["layers:\n", "layers:\n  - relu\n"])
def test_items_that_are_not_plain_are_read_in_pieces_too(begins: str, item: str, is_changed: bool) -> None:
    text = f"netcalc: 1\nname: x\n{begins}{item}  - relu\n  - {{linear: 4}}\n"
    reading = Reading()
    assert _outcome(reading.read, text) == _outcome(parse_yaml, text)
    edited = (
        text.replace("text", "texts").replace("x\n", "y\n") if is_changed else text.replace("linear: 4", "linear: 5")
    )
    before = reading.read(text, "file").data["layers"][-3]
    assert _outcome(reading.read, edited) == _outcome(parse_yaml, edited)
    assert (reading.read(edited, "file").data["layers"][-3] is before) or is_changed


@pytest.mark.parametrize("item", ["  - &a relu\n  - *a\n", "  - relu: 1\n  - [\t]\n", "  - !x y\n"])
def test_what_reaches_across_pieces_is_read_as_a_whole(item: str) -> None:
    text = f"netcalc: 1\nname: x\nlayers:\n{item}"
    assert _outcome(Reading().read, text) == _outcome(parse_yaml, text)


def test_a_changed_item_alone_is_read_again() -> None:
    items = "".join(f"  - {{name: fc{number}, linear: 4}}\n" for number in range(100))
    text = f"netcalc: 1\ninputs: {{x: [1, 4]}}\nlayers:\n{items}"
    reading = Reading()
    before = reading.read(text, "file")
    after = reading.read(text.replace("fc50", "fc_50"), "file")
    assert [before.data["layers"][n] is after.data["layers"][n] for n in (0, 49, 50, 51, 99)] == [
        True,
        True,
        False,
        True,
        True,
    ]
