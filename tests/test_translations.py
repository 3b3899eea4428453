"""Pages in Chinese: the blocks of the English page, one for one, and prose in Chinese.

A block stands in the English page, which the tests run; ``pytest --update`` copies it to the translation.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^```.*\n(?:.*\n)*?```$", re.MULTILINE)
#: English and Chinese pages.
PAIRS = [
    (ROOT / "README.md", ROOT / "README.zh-CN.md"),
    *(
        (ROOT / "docs" / page.relative_to(ROOT / "docs/zh"), page)
        for page in sorted((ROOT / "docs/zh").glob("**/*.md"))
    ),
]
BOTH = pytest.mark.parametrize(("english", "chinese"), PAIRS, ids=lambda page: page.relative_to(ROOT).as_posix())


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def test_the_course_and_the_tutorials_are_translated() -> None:
    translated = {english for english, _ in PAIRS}
    assert {*(ROOT / "docs/course").glob("*.md"), *(ROOT / "docs").glob("tutorial*.md")} <= translated


@BOTH
def test_blocks_are_those_of_the_english_page(english: Path, chinese: Path, request: pytest.FixtureRequest) -> None:
    source = _FENCE.findall(english.read_text(encoding="utf-8"))
    text = chinese.read_text(encoding="utf-8")
    copied = _FENCE.findall(text)
    assert len(copied) == len(source), "a block is missing, or there is one too many"
    if request.config.getoption("--update"):
        blocks = iter(source)
        chinese.write_text(_FENCE.sub(lambda _: next(blocks), text), encoding="utf-8")
        copied = _FENCE.findall(chinese.read_text(encoding="utf-8"))
    assert copied == source, "run pytest --update"


@BOTH
def test_headings_and_pictures_correspond(english: Path, chinese: Path) -> None:
    for pattern in (r"^(#+) ", r"!\[[^\]]*\]\(([^)]*)\)"):
        here, there = (re.findall(pattern, prose(page), re.MULTILINE) for page in (english, chinese))
        assert [Path(link).name for link in here] == [Path(link).name for link in there]


@BOTH
def test_each_page_links_to_the_other_language(english: Path, chinese: Path) -> None:
    for page, other, name in ((english, chinese, "中文"), (chinese, english, "English")):
        top = "\n".join(page.read_text(encoding="utf-8").splitlines()[:6])
        links = re.findall(rf"\[{name}\]\(([^)]+)\)", top)
        assert [(page.parent / link).resolve() for link in links] == [other.resolve()]


@BOTH
def test_prose_is_in_chinese(english: Path, chinese: Path) -> None:
    paragraphs = re.split(r"\n\s*\n", prose(chinese))
    plain = [re.sub(r"`[^`]*`|\]\([^)]*\)|[|#>*_-]", " ", paragraph) for paragraph in paragraphs]
    foreign = [
        text for text in plain if len(re.findall(r"[A-Za-z]{2,}", text)) > 12 and not re.search(r"[一-鿿]", text)
    ]
    assert foreign == []
    punctuation = re.findall(r"[一-鿿][,;:!?](?=[一-鿿])", "\n".join(plain))
    assert punctuation == [], "full-width punctuation between Chinese characters"
