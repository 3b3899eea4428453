"""Notices about work that takes long, for whoever wants to show them."""

from __future__ import annotations

from collections.abc import Callable

#: Functions that take the text of a notice; the command line prints it to standard error.
listeners: list[Callable[[str], None]] = []


def notify(text: str) -> None:
    """Give a notice to all listeners."""
    for listener in listeners:
        listener(text)
