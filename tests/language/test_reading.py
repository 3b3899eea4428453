"""Documents that are read in pieces: as they are read whole, after every edit."""

from __future__ import annotations

import random
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.language.reading import Reading
from netcalc.spec.cursor import Cursor
from netcalc.spec.shipped import shipped
from netcalc.spec.yaml_document import parse_yaml

#: Signs that begin or end something in YAML.
SIGNS = list("{}[]:,-\"'$ \n\n#|>ax1\t&*")


def _outcome(read: Any, text: str) -> object:
    """Data and places of a text, in order, or its errors."""
    try:
        cursor: Cursor = read(text, "file")
    except NetcalcError as error:
        return error.diagnostics
    return cursor.data, list(cursor.data) if isinstance(cursor.data, dict) else None, dict(cursor.spans)


def drawn_edit(text: str, draw: random.Random) -> str:
    """A text with an edit: cut, with a few characters less or one more, or with one line in place of another."""
    place = draw.randrange(len(text))
    kind = draw.random()
    if kind < 0.3:
        return text[:place]
    if kind < 0.6:
        return text[:place] + text[place + draw.randrange(1, 6) :]
    if kind < 0.9:
        return text[:place] + draw.choice(SIGNS) + text[place:]
    lines = text.split("\n")
    lines[draw.randrange(len(lines))] = draw.choice(lines)
    return "\n".join(lines)


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
