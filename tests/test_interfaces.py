"""Interfaces of shipped specs and blocks against the record of what they were (``pytest --update`` adds what is new).

A name that goes away needs a former name (``formerly``), and is taken out of the record by hand when that goes.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.generators.interfaces import Interfaces, breaks, interfaces, interfaces_text, read_interfaces

RECORD = Path(__file__).with_name("interfaces.json")


def test_shipped_interfaces_keep_what_is_recorded(request: pytest.FixtureRequest) -> None:
    present = interfaces()
    recorded = read_interfaces(RECORD.read_text(encoding="utf-8"))
    assert list(breaks(recorded, present)) == []
    if request.config.getoption("--update"):
        RECORD.write_text(interfaces_text(present), encoding="utf-8")
    assert interfaces_text(present) == RECORD.read_text(encoding="utf-8"), "new names: pytest --update records them"


OLD: Interfaces = {
    "specs": {"net": {"dims": ["batch"], "vars": ["units"], "paths": ["fc.weight"]}},
    "blocks": {"layer": {"inputs": ["x", "mask?"], "args": ["heads", "rate?"], "outputs": ["y", "cache?"]}},
}


@pytest.mark.parametrize(
    ("group", "changes", "found"),
    [
        ("specs", {"dims": []}, ["net: batch of dims is gone"]),
        ("specs", {"vars": ["width"]}, ["net: units of vars is gone"]),
        ("specs", {"paths": ["head.weight"]}, ["net: fc.weight of paths is gone"]),
        ("specs", {"vars": ["units", "more"], "paths": ["fc.bias", "fc.weight"]}, []),
        ("blocks", {"args": ["heads"]}, ["layer: argument rate is gone"]),
        ("blocks", {"args": ["heads", "rate?", "window?"]}, []),
        ("blocks", {"args": ["heads", "rate?", "window"]}, ["layer: window of args is required"]),
        ("blocks", {"args": ["heads", "rate"]}, ["layer: rate of args is required"]),
        ("blocks", {"args": ["heads?", "rate?"]}, []),
        ("blocks", {"inputs": ["mask?", "x"]}, ["layer: the first inputs are not x, mask"]),
        ("blocks", {"inputs": ["x", "mask?", "past?"]}, []),
        ("blocks", {"inputs": ["x", "mask?", "past"]}, ["layer: past of inputs is required"]),
        ("blocks", {"inputs": ["x", "mask"]}, ["layer: mask of inputs is required"]),
        ("blocks", {"outputs": ["y"]}, ["layer: the first outputs are not y, cache"]),
        ("blocks", {"outputs": ["y?", "cache?"]}, ["layer: output y may be absent"]),
        ("blocks", None, ["blocks: layer is gone"]),
    ],
)
def test_what_breaks_an_interface(group: str, changes: dict[str, Any] | None, found: list[str]) -> None:
    present = deepcopy(OLD)
    if changes is None:
        present[group].clear()
    else:
        (entry,) = present[group].values()
        entry |= changes
    assert list(breaks(OLD, present)) == found


def test_equal_entries_are_written_once() -> None:
    found = {"specs": dict.fromkeys(("a", "b"), OLD["specs"]["net"]), "blocks": {}}
    text = interfaces_text(found)
    assert '"b": "a"' in text
    assert read_interfaces(text) == found
