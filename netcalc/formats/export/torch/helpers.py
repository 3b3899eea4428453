"""Functions and modules that PyTorch lacks, as text; families register them beside their rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import dedent

_TEXTS: dict[str, str] = {}


def helper(text: str) -> str:
    """Register the text of a function or class and return its name."""
    text = dedent(text).strip("\n")
    found = re.search(r"^(?:class|def) (\w+)", text, re.MULTILINE)
    assert found is not None
    _TEXTS[found[1]] = text
    return found[1]


def helper_names() -> frozenset[str]:
    """Return the names of the registered helpers."""
    return frozenset(_TEXTS)


def helper_texts(names: Iterable[str]) -> Iterator[str]:
    """Yield the texts of helpers, each behind those that it uses."""
    written: dict[str, None] = {}
    for name in names:
        _add(name, written)
    for name in written:
        yield _TEXTS[name]


def _add(name: str, written: dict[str, None]) -> None:
    if name in written:
        return
    for other in _TEXTS:
        if other != name and re.search(rf"\b{other}\b", _TEXTS[name]):
            _add(other, written)
    written[name] = None
