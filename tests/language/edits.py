"""Edits of texts, drawn at random."""

from __future__ import annotations

from random import Random

#: Signs that begin or end something in YAML, and letters.
SIGNS = list("{}[]:,-\"'$ \n\n#|>ax1\t&*")


def drawn_edit(text: str, draw: Random) -> str:
    """A text with an edit: cut, with a few characters less or one more, or with one line in place of another."""
    place = draw.randrange(len(text))
    kind = draw.random()
    if kind < 0.3:
        return text[:place]
    if kind < 0.6:
        return text[:place] + text[place + draw.randrange(1, 6) :]
    if kind < 0.9:
        return text[:place] + draw.choice(SIGNS) + text[place:]
    lines = text.split("\n")
    lines[draw.randrange(len(lines))] = draw.choice(lines)
    return "\n".join(lines)
