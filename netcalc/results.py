"""Base of the results of verbs, and what the classes of results declare of their JSON records."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

#: A number that is text in JSON where it is infinite or NaN.
Real: TypeAlias = Annotated[float, "text if it is not finite"]


class Entry(NamedTuple):
    """A field of the JSON object of a class that is not simply an attribute of the same name.

    Args:
        name: name in JSON.
        attribute: the attribute or method, which may belong to an attribute (``deviation.cosine``); by default
            it has the name.
        optional: True to leave the field out where the value is None.
        by: attribute by which the items of a sequence are an object.
    """

    name: str
    attribute: str = ""
    optional: bool = False
    by: str | None = None


def recorded(*fields: str | Entry, name: str | None = None) -> Callable[[type[T]], type[T]]:
    """Declare the JSON object of a dataclass or a named tuple whose fields are not simply the fields of the class.

    Args:
        fields: names of attributes, and entries, in the order of JSON; by default the fields of the class.
        name: name of the record, for the result of a verb.
    """

    def declare(kind: type[T]) -> type[T]:
        for attribute, declared in {"record_fields": fields, "record_name": name}.items():
            if declared:
                setattr(kind, attribute, declared)
        return kind

    return declare


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
