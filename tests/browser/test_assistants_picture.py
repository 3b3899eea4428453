"""Calls of the server for assistants and its answers, as they were sent; ``pytest --update`` writes their picture."""

from __future__ import annotations

import html
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.browser.pictures import shrink

DOCS = Path(__file__).parent.parent.parent / "docs"
SPEC = "netcalc: 1\ninputs: {x: [1, 784]}\nlayers:\n  - linear: 512\n  - rellu\n  - linear: 10\n"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("fit", {"model": "llama-3.1-8b", "device": "24GiB"}),
    ("shapes", {"model": SPEC}),
]
#: Members of the record of ``fit`` that are shown, with "…" for others.
SHOWN = ("dtype", "workload", "need", "total", "fits", "margin", "largest_batch", "largest_length")
STYLE = """
body { margin: 0; padding: 14px; background: #fff; color: #14171c; font: 13px/1.45 'DejaVu Sans Mono', monospace }
h2 { margin: 0 0 4px; font: 600 14px 'DejaVu Sans', sans-serif; color: #2457b0 }
section { border: 1px solid #d8dce3; border-radius: 8px; padding: 10px 14px }
section.answer { margin: 8px 0 16px 48px; background: #f5f7fa }
section.error { background: #fdf3f1 } section.error h2 { color: #b3261e }
section:last-child { margin-bottom: 0 } pre { margin: 0; font: inherit; white-space: pre-wrap }
"""


def answers() -> list[Any]:
    """Return the results of the calls, from a server that the protocol's own client starts."""

    async def asked() -> list[Any]:
        command = StdioServerParameters(command=sys.executable, args=["-m", "netcalc", "mcp"])
        async with Client(stdio_client(command)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in CALLS]

    with ThreadPoolExecutor() as threads:  # the thread of the test has the loop of the browser
        return threads.submit(anyio.run, asked).result()


def test_the_page_has_a_picture_of_calls_and_answers(
    chromium: Any, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    folder = DOCS if pytestconfig.getoption("--update") else tmp_path
    fit, shapes = answers()
    assert fit.structured_content["fits"] and shapes.is_error
    assert "did you mean 'relu'?" in shapes.content[0].text
    record = {name: fit.structured_content[name] for name in SHOWN}
    parts = [
        _part("call", "Call of the tool fit", _members(CALLS[0][1])),
        _part("answer", "Answer", _members(record) + "\n…"),
        _part("call", "Call of the tool shapes", f"model: |\n{SPEC.rstrip()}".replace("\n", "\n  ")),
        _part("answer error", "Error, for the assistant to correct", shapes.content[0].text.strip()),
    ]
    context = chromium.new_context(viewport={"width": 780, "height": 600})
    page = context.new_page()
    page.set_content(f"<style>{STYLE}</style>{''.join(parts)}")
    picture = folder / "assistants/exchange.png"
    picture.parent.mkdir(exist_ok=True)
    page.locator("body").screenshot(path=picture)
    context.close()
    shrink(picture)
    assert "assistants/exchange.png" in (DOCS / "assistants.md").read_text()


def _part(kind: str, title: str, text: str) -> str:
    return f"<section class='{kind}'><h2>{title}</h2><pre>{html.escape(text)}</pre></section>"


def _members(data: dict[str, Any]) -> str:
    """Return the members of an object, one on each line."""
    return "\n".join(f"{name}: {json.dumps(value)}" for name, value in data.items())
