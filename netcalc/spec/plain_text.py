"""Text that UTF-8 can write."""

from __future__ import annotations


def joined_surrogates(text: str) -> str:
    """Return a text with each pair of surrogates, as JSON escapes them, as the character that it stands for.

    Raises:
        UnicodeError: a surrogate that is not part of a pair.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    return text
