"""A headless Chromium for tests of pages; they are skipped where it, or Playwright's package, is missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.static_server import Served, serving

#: Folder of the page that counts in the browser.
DIST = Path(__file__).parent.parent.parent / "web/dist"
#: Chromium as Debian installs it.
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="the extra 'browser' is not installed")
    if not Path(CHROMIUM).is_file():
        pytest.skip("there is no Chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a file; nothing may be printed on the console, and nothing requested."""
    problems: list[str] = []
    contexts: list[Any] = []

    def page_of(file: Path, *, width: int = 1280, dark: bool = False, fragment: str = "") -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", accept_downloads=False
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda sent: None if sent.url.startswith("file:") else problems.append(sent.url))
        page.goto(f"{file.as_uri()}{fragment}")
        page.wait_for_selector("main")
        return page

    yield page_of
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="session")
def site() -> Iterator[Served]:
    """The page that counts in the browser, as ``python web/build.py`` built it, at a subpath."""
    if not (DIST / "index.html").is_file():
        pytest.skip("the page is not built: python web/build.py")
    with serving(DIST) as served:
        yield served
