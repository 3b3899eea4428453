"""Documents that are read in pieces: as they are read whole, after every edit."""

from __future__ import annotations

import random
from typing import Any

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
