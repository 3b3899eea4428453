"""Extension of griffe that turns the docstrings of netcalc into Markdown: roles become references, examples code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data|exc):`~?([\w.]+)`")
_EXAMPLE = re.compile(r"^([ ]*)>>> .*\n(?:\1(?!\s*\n)\S.*\n?)*", re.MULTILINE)


def _reference(match: re.Match[str]) -> str:
    return f"`{match[1].removeprefix('netcalc.')}`"


def _code(match: re.Match[str]) -> str:
    return f"{match[1]}```pycon\n{match[0].rstrip()}\n{match[1]}```\n"


def markdown(text: str) -> str:
    """Return a docstring as Markdown."""
    return _EXAMPLE.sub(_code, _ROLE.sub(_reference, text).replace("``", "`"))


class Docstrings(griffe.Extension):
    """Rewriting of each docstring when it has been read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
