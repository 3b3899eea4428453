"""The course: its claims with their table, and its pictures.  The commands run with the other blocks of docs/."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CommandResult
from tests.generators.course import DOCS, PAGES, VERDICTS, claims, with_table

COURSE = DOCS / "course"
_FENCE = re.compile(r"^```(\S+)?[ ]?(.*)\n((?:.*\n)*?)```$", re.MULTILINE)


@pytest.mark.parametrize("folder", VERDICTS)
def test_every_claim_has_a_number_a_verdict_and_a_command(folder: str) -> None:
    found = claims(folder)
    assert [claim.number for claim in found] == list(range(1, len(found) + 1))
    assert len(found) >= 60
    headings = [
        line
        for page in PAGES
        for line in _FENCE.sub("", (DOCS / folder / f"{page}.md").read_text(encoding="utf-8")).splitlines()
        if line.startswith("### ")
    ]
    assert len(headings) == len(found)
    assert [claim for claim in found if not claim.text or not claim.commands] == []
    assert all(command.startswith("netcalc ") for claim in found for command in claim.commands)
    counts = Counter(claim.verdict for claim in found)
    assert min(counts[verdict] for verdict in VERDICTS[folder]) >= 2


@pytest.mark.parametrize("folder", VERDICTS)
def test_the_table_lists_the_claims_of_the_pages(folder: str, request: pytest.FixtureRequest) -> None:
    file, table = DOCS / folder / "README.md", with_table(folder)
    if request.config.getoption("--update"):
        file.write_text(table, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == table, "run pytest --update"


def test_verdicts_are_the_same_in_both_languages() -> None:
    english, chinese = (
        [(claim.number, claim.verdict, claim.page, claim.commands) for claim in claims(folder)] for folder in VERDICTS
    )
    assert english == chinese


def test_pictures_are_those_that_the_commands_draw(
    netcalc: Callable[..., CommandResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    drawn = []
    for page in PAGES:
        text = (COURSE / f"{page}.md").read_text(encoding="utf-8")
        plots = [c for claim in claims("course") if claim.page == page for c in claim.commands if "--plot" in c]
        for match in _FENCE.finditer(text):
            if match[2].startswith("file="):
                Path(match[2].split()[0].removeprefix("file=")).write_text(match[3], encoding="utf-8")
        for command in plots:
            words = shlex.split(command)
            name = words[words.index("--plot") + 1]
            assert netcalc(*words[1:]).code == 0
            file = COURSE / name
            if request.config.getoption("--update"):
                file.write_text(Path(name).read_text(encoding="utf-8"), encoding="utf-8")
            assert file.read_text(encoding="utf-8") == Path(name).read_text(encoding="utf-8"), "run pytest --update"
            assert file.stat().st_size < 20_000
            assert f"]({name})" in text
            drawn.append(name)
    assert sorted(drawn) == sorted(file.name for file in COURSE.glob("*.svg"))
