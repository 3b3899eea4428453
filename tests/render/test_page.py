"""Pages: the place of the answer in text, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from netcalc.render.page import Answer, Line, Page, Paragraph, page_html, page_markdown, page_text
from netcalc.render.table import Column, Row, Table
from tests.conftest import CommandResult


def page(rows: int) -> Page:
    yield Paragraph([Line("head")])
    yield Table([Column("row")], [Row([f"row {number}"]) for number in range(rows)])
    yield Answer([Paragraph([Line("answer")]), Paragraph([Line("second")])])
    yield Paragraph([Line("note")])


@pytest.mark.parametrize(("rows", "short"), [(10, True), (11, False)])
def test_a_page_of_twenty_lines_begins_with_its_answer_and_a_longer_one_ends_with_it(rows: int, short: bool) -> None:
    text = "\n".join(page_text(page(rows))).split("\n")
    assert len(text) == rows + 10
    if short:
        assert text[:7] == ["head", "", "answer", "", "second", "", "row"]
        assert text[-1] == "note"
    else:
        assert text[:3] == ["head", "", "row"]
        assert text[-5:] == ["note", "", "answer", "", "second"]


def test_markdown_and_html_have_the_same_parts() -> None:
    assert list(page_markdown(page(2)))[:5] == ["head", "", "answer", "", "second"]
    assert list(page_markdown(page(30)))[-1] == "second"
    assert page_html(page(2)).count("<p>") == 4


@pytest.mark.parametrize(
    ("command", "first", "last"),
    [
        (["summary", "resnet34"], "", "3.664 GMAC, 7.342 GFLOP, counted as netcalc does"),
        (["summary", "resnet34", "--top", "3"], "layer ", ""),
        (["summary", "resnet34", "--top", "30"], "", "columns not shown"),
        (["memory", "resnet34"], "", "% weights: --quantize"),
        (["memory", "mlp", "--top", "2"], "", "% weights: --quantize"),
        (["compare", "resnet34", "resnet18"], "", "FLOPs "),
        (["compare", "resnet34", "resnet34"], "total ", ""),
        (["signal", "mlp", "--seeds", "1"], "", "steady: "),
        (["verify", "mlp"], "all 22 predictions are correct", ""),
        (["check", "mlp"], "", ""),
    ],
)
def test_answers(command: list[str], first: str, last: str, netcalc: Callable[..., CommandResult]) -> None:
    """``first`` begins the paragraph after the head, ``last`` begins a line of the last paragraph."""
    ran = netcalc(*command)
    paragraphs = ran.out.strip().split("\n\n")
    assert ran.code == 0
    assert (ran.out.count("\n") <= 20) == (not last)
    assert paragraphs[1].startswith(first)
    assert any(last in line for line in paragraphs[-1].split("\n"))
