"""Generated pages of docs/ against the declarations (``pytest --update`` writes them)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generators.option_reference import option_reference
from tests.generators.reference_pages import generated_pages

DOCS = Path(__file__).parent.parent / "docs"


def test_generated_pages(request: pytest.FixtureRequest) -> None:
    pages = {**generated_pages(), "options.md": "\n".join([*option_reference(), ""])}
    if request.config.getoption("--update"):
        for name, text in pages.items():
            (DOCS / name).parent.mkdir(exist_ok=True)
            (DOCS / name).write_text(text)
    stale = [name for name, text in pages.items() if not (DOCS / name).is_file() or (DOCS / name).read_text() != text]
    assert not stale
    stray = {f"operations/{p.name}" for p in (DOCS / "operations").glob("*.md")} - pages.keys()
    assert not stray
