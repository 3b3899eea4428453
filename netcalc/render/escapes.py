"""Escapes for characters that are not shown: control characters, bidirectional and zero-width marks, line separators.

Text that a user wrote (names, descriptions, paths of files) may contain any character.  A terminal obeys control
characters, and marks that are not shown make two texts look the same.  Every writer of a format calls :func:`clean`
on the texts that it is given, before it measures them; :func:`outgoing` is applied to all that leaves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from unicodedata import category

#: Characters that Unicode lists as default ignorable although they are letters or marks: joiners, fillers of Hangul,
#: selectors of variants.
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"


def clean(text: str) -> str:
    """Return the text with an escape for each character that is not shown, line ends included.

    These are the characters of the categories C (controls, formats, surrogates, private and unassigned), Zl and Zp,
    and those that Unicode ignores by default.

    >>> clean("a\\x1b[31mb\\n\\u202e")
    'a\\\\x1b[31mb\\\\n\\\\u202e'
    """
    return text if _is_shown(text) else _escaped(text, _python_escape)


def json_text(text: str) -> str:
    """Return JSON with ``\\u`` escapes for the characters that :func:`clean` escapes; its value is the same."""
    return text if _is_shown(text) else _escaped(text, _json_escape)


def markup(text: str, *, cell: bool = False) -> str:
    r"""Return clean text for Markdown, in which it is no HTML and no link; in a ``cell``, it is no border.

    >>> markup("<b>|[a](b)", cell=True)
    '&lt;b>\\|[a]\\(b)'
    """
    text = clean(text)
    if "<" in text:
        text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    if "](" in text:
        text = text.replace("](", r"]\(")
    return re.sub(r"(\\*)\|", r"\1\1\\|", text) if cell and "|" in text else text


def outgoing(text: str, *, styled: bool) -> str:
    """Return text as it may leave: line ends and tabs stay, and styles of terminals if it is ``styled``."""
    if text.isprintable() or text.replace("\n", "").isprintable():
        return text
    pattern = r"(\x1b\[[0-9;]*m|[\n\t])" if styled else r"([\n\t])"
    return "".join(part if place % 2 else clean(part) for place, part in enumerate(re.split(pattern, text)))


def _is_shown(text: str) -> bool:
    return text.isprintable() and (text.isascii() or _invisible().search(text) is None)


@cache
def _invisible() -> re.Pattern[str]:
    return re.compile(f"[{_INVISIBLE}]")


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    return "".join(escape(c) if _hidden(c) else c for c in text)


def _hidden(character: str) -> bool:
    kind = category(character)
    return kind[0] == "C" or kind in ("Zl", "Zp") or _invisible().match(character) is not None


def _python_escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _json_escape(character: str) -> str:
    import json

    return json.dumps(character)[1:-1]
