"""YAML text parsed by ruamel into nodes that carry their places."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.reader import Reader

__all__ = ["compose"]


class _Reader(Reader):
    """ruamel's reader with a fast path in its search for characters that YAML forbids.

    YAML allows every character that Unicode calls printable, and ruamel's regular expression takes longer to compile
    than most specs take to read.
    """

    def check_printable(self, data: Any) -> None:
        if not data.replace("\n", "").isprintable():
            super().check_printable(data)


def compose(text: str) -> Any:
    """Return the root node of the only document in a text, by YAML 1.2; None if the text is empty."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Reader = _Reader
    return yaml.compose(text)
