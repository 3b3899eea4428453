"""Texts after an edit: what is reused of the text before makes no difference."""

from __future__ import annotations

import re
from random import Random

import pytest

from netcalc.ir import Body, CallNode
from netcalc.language import Document
from netcalc.spec.shipped import shipped
from tests.language.edits import drawn_edit

BLOCKS = """\
netcalc: 1
vars: {width: 4}
inputs: {x: [2, 8]}
blocks:
  inner:
    args: {out: int}
    layers:
      - {linear: "${out}"}
      - relu
  outer:
    args: {act: op}
    layers:
      - {name: first, inner: {out: "${width}"}}
      - "${act}"
      - {name: second, inner: {out: 3}}
layers:
  - {name: one, outer: {act: relu}}
  - {name: two, outer: {act: gelu}}
  - {name: three, from: one, outer: {act: {inner: {out: 5}}}}
"""


def _numbers(text: str, draw: Random) -> str:
    """The text with another number in one of its lines."""
    lines = text.split("\n")
    place = draw.choice([number for number, line in enumerate(lines) if re.search(r"\d", line)])
    lines[place] = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), lines[place], count=1)
    return "\n".join(lines)


def _moved(text: str, draw: Random) -> str:
    """The text with two of its lines exchanged, or an empty one more."""
    lines = text.split("\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    if one < other:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        lines.insert(one, "")
    return "\n".join(lines)


@pytest.mark.parametrize(("name", "count"), [("", 80), ("qwen3-vl-8b", 6), ("plain34", 10)])
def test_an_analysis_after_edits_is_that_of_a_new_document(name: str, count: int) -> None:
    path = shipped()[name] if name else None
    text = path.read_text(encoding="utf-8") if path is not None else BLOCKS
    document, draw = Document(text, path), Random(name)
    document.analyze()
    for _ in range(count):
        edited = draw.choice((drawn_edit, _numbers, _moved))(text, draw)
        document.update(edited)
        assert document.analyze() == Document(edited, path).analyze(), edited
        if document.analyze().totals is not None and draw.random() < 0.5:
            text = edited


def _hints(document: Document) -> dict[str, str]:
    """The text of hints by the paths of their lines."""
    return {hint.path: hint.text() for hint in document.analyze().hints}


@pytest.mark.parametrize(
    ("old", "new", "path", "hint"),
    [
        ('linear: "${out}"', 'linear: "${out + 1}"', "one", "→ 2×4 · 69"),  # 8·5 + 5, 5·4 + 4
        ("width: 4", "width: 6", "first", "→ 2×6 · 54"),  # 8·6 + 6
        ("act: gelu", "act: {inner: {out: 7}}", "two", "→ 2×3 · 75"),  # 3·4 + 4, 4·7 + 7, 7·3 + 3
        ("  inner:\n", "  other:\n", "one", ""),
    ],
)
def test_a_block_is_made_anew_if_anything_in_it_means_something_else(old: str, new: str, path: str, hint: str) -> None:
    document = Document(BLOCKS)
    document.analyze()
    document.update(BLOCKS.replace(old, new))
    assert _hints(document).get(path, "") == hint
    document.update(BLOCKS)
    assert document.analyze() == Document(BLOCKS).analyze()


def _bodies(document: Document) -> list[Body]:
    """The bodies that the lines of the network call."""
    program = document.state.program
    assert program is not None
    return [node.body for node in program.main.nodes if isinstance(node, CallNode)]


def test_blocks_that_are_as_they_were_are_reused() -> None:
    document = Document(BLOCKS)
    before = _bodies(document)
    document.update(BLOCKS.replace("{name: two, outer: {act: gelu}}", "{name: two, outer: {act: gelu}, freeze: false}"))
    assert [one is other for one, other in zip(before, _bodies(document), strict=True)] == [True, True, True]
    document.update(BLOCKS.replace("act: gelu", "act: silu"))
    assert [one is other for one, other in zip(before, _bodies(document), strict=True)] == [True, False, True]
