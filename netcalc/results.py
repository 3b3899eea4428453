"""Base of the results of verbs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Result"]


class Result:
    """Base of the typed results of verbs: a result prints as the command of its verb does, in notebooks too.

    :mod:`netcalc.render.presentations` draws it, and is imported when something is printed.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(_presentations().text(self))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the page as text and HTML, for notebooks."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        html: str = _presentations().html(self)
        return html


def _presentations() -> Any:
    # by its name, since it lies above all results
    return import_module("netcalc.render.presentations")
