"""YAML text to ruamel's nodes, which know their places."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.reader import Reader

__all__ = ["compose"]


class _Reader(Reader):
    """ruamel's reader, with a quick look ahead of its search for characters that YAML does not allow.

    All that Unicode calls printable is allowed; ruamel's regular expression takes longer to compile than most specs
    take to read.
    """

    def check_printable(self, data: Any) -> None:
        if not data.replace("\n", "").isprintable():
            super().check_printable(data)


def compose(text: str) -> Any:
    """The node of the one document in a text, by YAML 1.2; None where there is none."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Reader = _Reader
    return yaml.compose(text)
