"""The documentation site: pages that are generated for it, and the navigation."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.generators.site import DOCS, ROOT, pages

#: Folders whose pages an index links to.
INDEXED = {"errors", "operations"}


def test_generated_pages_are_current(request: pytest.FixtureRequest) -> None:
    for page, text in pages().items():
        if request.config.getoption("--update"):
            page.parent.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")
        assert page.read_text(encoding="utf-8") == text, f"{page.name}: run pytest --update"


def test_navigation_names_every_page_once() -> None:
    navigation = list(_entries(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))
    written = {page.relative_to(DOCS) for page in DOCS.glob("**/*.md")}
    assert sorted(navigation) == sorted(str(page) for page in written if page.parts[0] not in INDEXED)


def _entries(items: list[Any]) -> Iterator[str]:
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            yield from (entry for children in item.values() for entry in _entries(children))


def test_docstrings_become_markdown() -> None:
    pytest.importorskip("griffe")
    from tests.generators.docstrings import markdown

    text = "See :func:`netcalc.load`.\n\n>>> net[1]\n('a', 2)\n\nArgs:\n    x: a ``number``.\n"
    expected = "See `load`.\n\n```pycon\n>>> net[1]\n('a', 2)\n```\n\nArgs:\n    x: a `number`.\n"
    assert markdown(text) == expected
