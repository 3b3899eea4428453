"""Generated pages of the documentation site: the API reference and the table of shipped networks."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import netcalc
from netcalc.render.numbers import short

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
_WRITTEN = "<!-- Written by `pytest --update tests/test_site.py`. -->"
_API = {
    "functions": ("Functions", "Functions of the package `netcalc`, which make networks, or answer without one."),
    "network": ("Network", "The class whose methods are the commands."),
    "results": ("Results", "Classes of what functions and methods return, and of what they raise."),
}
_NETWORKS = f"""# Table of the shipped networks

{_WRITTEN}

`netcalc specs` prints this table, `netcalc specs --search WORD` a part of it, and `netcalc specs NAME` one network.
Work is that of a forward pass at the sizes of the spec, as netcalc counts it.
[The shipped specs](zoo.md) describes the families.

| network | parameters | MACs | what it is | tags |
|:--|--:|--:|:--|:--|
"""


def pages() -> Mapping[Path, str]:
    """Return the text of each page."""
    return {**{DOCS / "api" / f"{page}.md": _api_page(page) for page in _API}, DOCS / "networks.md": _networks()}


def _api_page(page: str) -> str:
    title, about = _API[page]
    items = "\n".join(f"::: netcalc.{name}\n" for name in public_names() if _page_of(name) == page)
    return f"# {title}\n\n{_WRITTEN}\n\n{about}\n\n{items}"


def public_names() -> Iterator[str]:
    """Yield the public names of the package."""
    yield from (name for name in dir(netcalc) if not name.startswith("_"))


def _page_of(name: str) -> str:
    if inspect.isfunction(getattr(netcalc, name)):
        return "functions"
    return "network" if name == "Network" else "results"


def _networks() -> str:
    catalogue: dict[str, dict[str, Any]] = json.loads((ROOT / "specs" / "catalogue.json").read_text(encoding="utf-8"))
    rows = (
        f"| `{name}` | {short(entry['params'], elements=True)} | {short(entry['macs']['netcalc'])} "
        f"| {_cell(entry['about'])} | {', '.join(entry['tags'])} |\n"
        for name, entry in sorted(catalogue.items())
    )
    return _NETWORKS + "".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
