"""The number of lines that describe layers in a spec: its own, and those of all blocks that it calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

SPECS = Path(__file__).parents[3] / "specs"
#: What stands beside the operation or block of a line.
MODIFIERS = {"name", "from", "as", "repeat", "share", "when", "tie", "module", "inline", "lora", "freeze", "eager"}


def read(text: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(text)
    return found


def shipped(name: str) -> dict[str, Any]:
    """Return the document of a shipped spec, with what it extends applied."""
    document = read(next(SPECS.rglob(f"{name}.yaml")).read_text(encoding="utf-8"))
    if "extends" not in document:
        return document
    parent = shipped(document["extends"])
    merged = {key: {**parent.get(key, {}), **document.get(key, {})} for key in ("vars", "blocks")}
    return {**parent, **document, **merged}


def count(document: Mapping[str, Any], *, shipped_blocks: bool = False) -> int:
    """Return the number of lines under ``layers`` and branches, of a document and of all blocks that it calls."""
    blocks: dict[str, Any] = {}
    if shipped_blocks:
        for file in (SPECS / "blocks").glob("*.yaml"):
            blocks |= read(file.read_text(encoding="utf-8"))["blocks"]
    blocks |= document.get("blocks", {})
    called: set[str] = set()
    total = _lines(document["layers"], called)
    _words(document.get("vars", {}), called)
    done: set[str] = set()
    while pending := (called & blocks.keys()) - done:
        for name in pending:
            done.add(name)
            total += _lines(blocks[name]["layers"], called)
            _words(blocks[name].get("args", {}), called)
    return total


def _lines(lines: list[Any], called: set[str]) -> int:
    total = 0
    for line in lines:
        total += 1
        if isinstance(line, str):
            called.add(line)
            continue
        for key, value in line.items():
            if key not in MODIFIERS:
                called.add(key)
                total += _nested(value, called)
    return total


def _nested(value: Any, called: set[str]) -> int:
    """Return the number of lines in the value of an operation or block: of a sequence, or of branches."""
    if isinstance(value, str):
        called.add(value)
    elif isinstance(value, dict):
        called.update(value)
        return sum(_nested(inner, called) for inner in value.values())
    elif isinstance(value, list) and value and all(_is_line(item) for item in value):
        return _lines(value, called)
    return 0


def _is_line(item: Any) -> bool:
    return isinstance(item, dict) or (isinstance(item, str) and "$" not in item)


def _words(value: Any, called: set[str]) -> None:
    """Note the words in the declarations of vars and arguments, which may be names of blocks."""
    if isinstance(value, str):
        called.add(value)
    elif isinstance(value, dict):
        called.update(value)
        for inner in value.values():
            _words(inner, called)
