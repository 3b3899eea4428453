"""Descriptions of inputs as data: arguments as ``--example`` writes them, with sizes that a configuration gives.

A size without a number is an expression over the fields of the configuration and over sizes by name, or the name of
one: ``float32:batch=1,channels,height=rows``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.expressions import ExpressionError, parse


class Sizes(dict[str, Any]):
    """Sizes of a configuration: a scope of expressions in which a name that is neither field nor size is None.

    Args:
        field: the value of a field of the configuration by its name; None if it has no such field.
        sizes: expressions of sizes by name, of which the first that has a value counts.
    """

    def __init__(self, field: Callable[[str], Any], sizes: Mapping[str, Iterable[Any]]) -> None:
        super().__init__()
        self._field, self._sizes = field, sizes

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        value = self._field(name)
        return self.size(name) if value is None and name in self._sizes else value

    def value(self, text: Any) -> Any:
        """Return the value of an expression; None if it has none."""
        try:
            return parse(str(text)).evaluate(self)
        except (ExpressionError, NetcalcError):
            return None

    def size(self, name: str) -> int | None:
        """Return a size by its name, or by an expression; None if the configuration does not say it."""
        found = (self.value(text) for text in self._sizes.get(name, [name]))
        return next((value for value in found if type(value) is int and value > 0), None)

    def described(self, texts: Iterable[str | None]) -> list[str | None]:
        """Return descriptions of an argument with numbers for sizes, without those whose sizes are not known."""
        found: list[str | None] = []
        for text in texts:
            dtype, colon, sizes = (text or "").partition(":")
            if not colon or sizes.startswith("["):
                found.append(text)
                continue
            pairs = [size.rpartition("=")[::2] for size in sizes.split(",")]
            numbers = [self.size(size) for _, size in pairs]
            if None not in numbers:
                named = zip((dim for dim, _ in pairs), map(str, numbers), strict=True)
                found.append(f"{dtype}:{','.join(f'{dim}={number}' if dim else number for dim, number in named)}")
        return found
