"""Conventions against the recorded figures of the tools that they are named after, and the page of both."""

from __future__ import annotations

import pytest

from tests.generators.tools_page import PAGE, page_text


def test_conventions_count_as_their_tools_or_the_difference_is_stated_by_operation(
    request: pytest.FixtureRequest,
) -> None:
    text = page_text()
    if request.config.getoption("--update"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "run pytest --update"
