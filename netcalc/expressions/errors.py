"""Errors of expressions, and the limits on their values."""

from __future__ import annotations

from netcalc.limits import MAX_BITS, MAX_EXPRESSION_DEPTH, MAX_ITEMS


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
    return ExpressionError(f"nested deeper than {MAX_EXPRESSION_DEPTH}", column, code="E201")


def limit_bits(bits: int) -> None:
    """Raise ValueError if a number would have more bits than allowed."""
    if bits > MAX_BITS:
        raise ValueError(f"a number of over {MAX_BITS:,} bits")


def limit_items(items: int) -> None:
    """Raise ValueError if a list or text would have more items than allowed."""
    if items > MAX_ITEMS:
        raise ValueError(f"over {MAX_ITEMS:,} items")
