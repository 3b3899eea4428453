"""Base of the results of verbs, and what the classes of results declare of their JSON records."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

#: A number that is text in JSON where it is infinite or NaN.
Real: TypeAlias = Annotated[float, "text if it is not finite"]
#: Mark of a field that is a record of its own, whose schema is that of its name: ``Annotated[Summary, NESTED]``.
NESTED = "a record of its own"


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
        """Return the page, fitted to the terminal if the standard output is one."""
        return self.to_text(_presentations().terminal_width())

    def to_text(self, width: int | None = None) -> str:
        """Return the page in lines of this width; in full by default."""
        return "\n".join(_presentations().text(self, width))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the rows by column, as ``--format csv`` has them: numbers, texts, and None for no value.

        Data frames take it as it is: ``pandas.DataFrame(result.to_dict())``.
        """
        columns: dict[str, list[Any]] = _presentations().columns(self)
        return columns

    def records(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row, with the columns of :meth:`to_dict`."""
        columns = self.to_dict()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def plot(self, path: str | Path) -> None:
        """Write the charts of the result below one another, replacing the file.

        Args:
            path: an ``.svg`` file, which follows light and dark mode, or a ``.png``, which needs the extra ``plot``.

        Raises:
            NetcalcError: E502 for another suffix, a result without charts, or a file that cannot be written.
        """
        _presentations().plot(self, path)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the page as text and HTML, for notebooks."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        html: str = _presentations().html(self)
        return html


def _presentations() -> Any:
    # by its name, since it lies above all results
    return import_module("netcalc.render.presentations")
