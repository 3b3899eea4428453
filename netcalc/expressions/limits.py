"""Limits on expressions, and the error of an invalid one."""

from __future__ import annotations

__all__ = [
    "MAX_BITS",
    "MAX_DEPTH",
    "MAX_ITEMS",
    "MAX_LENGTH",
    "ExpressionError",
    "limit_bits",
    "limit_items",
    "too_deep",
]

MAX_LENGTH = 2_000
MAX_DEPTH = 100
MAX_BITS = 4_096
MAX_ITEMS = 10_000


class ExpressionError(Exception):
    """An expression that does not parse or cannot be evaluated; ``column`` counts from 0 within it."""

    def __init__(self, message: str, column: int, *, code: str, name: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.code = code
        self.name = name  # the unknown name, for E202


def too_deep(column: int) -> ExpressionError:
    """Return the error of an expression nested beyond the limit."""
    return ExpressionError(f"nested deeper than {MAX_DEPTH}", column, code="E201")


def limit_bits(bits: int) -> None:
    """Raise ValueError if a number would have more bits than allowed."""
    if bits > MAX_BITS:
        raise ValueError(f"a number of over {MAX_BITS:,} bits")


def limit_items(items: int) -> None:
    """Raise ValueError if a list or text would have more items than allowed."""
    if items > MAX_ITEMS:
        raise ValueError(f"over {MAX_ITEMS:,} items")
