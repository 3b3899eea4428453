"""The page that counts in the browser, as tests use it: its parts by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.browser.static_server import Served

#: Milliseconds for an answer; a machine that does other things takes long to start Python.
PATIENCE = 90_000


class CountingPage:
    """A visit of the page in a context of its own; nothing may be printed on the console, nor asked of others."""

    def __init__(self, browser: Any, site: Served, *, width: int = 1280, fragment: str = "", **options: Any) -> None:
        self.site = site
        self.problems: list[str] = []
        size = {"width": width, "height": 850}
        permissions = ["clipboard-read", "clipboard-write"]
        self.context = browser.new_context(viewport=size, permissions=permissions, **options)
        self.context.on("request", lambda sent: self._asked(sent.url))
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.goto(site.address + fragment)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.site.address, f"blob:{self.site.origin}")):
            self.problems.append(url)

    def close(self) -> None:
        """End the visit, with what was found while it lasted."""
        self.context.close()
        assert self.problems == []

    def total(self, figure: str, value: str) -> None:
        """Wait until a total is a number, of the text that is shown."""
        place = f".result:not(.stale) .total[data-figure={figure}] .exact"
        self.page.locator(place, has_text=value).wait_for(timeout=PATIENCE)

    def open_spec(self, name: str) -> None:
        """Open a shipped spec by search."""
        self.page.click("header .open")
        self.page.fill("#open .search", name)
        self.page.click(f"#open [data-spec='{name}']", timeout=PATIENCE)
        self.page.locator("#open").wait_for(state="hidden")

    def paste(self, text: str) -> None:
        """Put a text in place of that of the editor."""
        self.page.click(".cm-content")
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.page.keyboard.press("ControlOrMeta+v")

    def text(self) -> str:
        """Return the text of the current tab."""
        found: str = self.page.evaluate("document.querySelector('.cm-content').cmTile.view.state.doc.toString()")
        return found

    def panel(self, name: str) -> None:
        """Show a panel of the results."""
        self.page.click(f"#tab-{name}")

    def drop(self, *files: Path) -> None:
        """Choose files, as dropping them does."""
        self.page.set_input_files("#file", [str(file) for file in files])
