"""Spec documents built from the fields of a model in a foreign format and a table that says what they mean.

The fields are vars of the document, and the vars of the shipped spec that it extends follow from them by the
expressions of the table.  Values have their places in the foreign file, expressions theirs in the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.formats.repetition import shortened
from netcalc.ir.storage import OwnStorage
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.declarations import declare_variable
from netcalc.spec.evaluate import evaluate, words_in
from netcalc.spec.library import Loaded, load_document
from netcalc.spec.settings import resolve_settings

_Spans = dict[Path, tuple[Span | None, Span]]
_TYPES = {bool: "bool", int: "int", float: "float", str: "str", list: "list"}
#: Keys of a document that come first, in the text of a spec.
_HEAD = ("netcalc", "name", "about", "family", "architecture", "extends", "dtype")

#: Keys of an entry for a model that are no keys of a document.
_OF_TABLES = ("when", "fields")


class Description(NamedTuple):
    """The spec document of a model in a foreign format."""

    document: Cursor
    fields: set[str]  # of the foreign configuration, which are vars of the document
    of_file: tuple[str, ...] = ()  # keys of the document that are of use with the file of the model only
    storage: OwnStorage = OwnStorage()
    used: frozenset[str] = frozenset()  # settings that the document was made with


class Document:
    """A document under construction; ``expressed`` are the vars that have an expression in the table."""

    def __init__(self, problems: list[Diagnostic]) -> None:
        self.problems = problems
        self.expressed: set[str] = set()
        self.data: dict[str, Any] = {"netcalc": 1}
        self.spans: _Spans = {}

    def problem(self, message: str, place: Cursor, hint: str | None = None) -> None:
        """Add an error (E007) at a place."""
        self.problems.append(Diagnostic("E007", message, place.key_span, hint=hint))

    def finished(self) -> Cursor:
        """Return the document; NetcalcError with all problems if there are any."""
        if self.problems:
            raise NetcalcError(self.problems)
        return Cursor(self.data, (), self.spans)

    def declare(self, field: str, options: Mapping[str, Any], value: Any, place: Cursor, *, used: bool) -> None:
        """Make a field a var of its type with a value.

        A field that is not used is no var; its value is checked all the same.
        """
        nullable = options["default"] is None or options["type"] == "any" or str(options["type"]).endswith("?")
        if value is None and not nullable:
            self.problem(f"{field} should not be null", place)  # the default of a var may always be
        elif not used:
            try:
                declare_variable(field, dict(options)).check(value)
            except ValueError as why:
                self.problem(f"{field} {why}", place)
        if not used:
            return
        name = f"config_{field}" if field in self.expressed else field
        self.data["vars"][name] = {**options, "default": value}
        for path in (("vars", name), ("vars", name, "default")):
            self.spans |= _moved(place, path)

    def begin(self, name: str, about: str, family: str, dtype: str, place: Cursor) -> None:
        """Set what comes before the fields; ``place`` is where the element type stands."""
        self.data |= {"name": name, "about": about, "family": family}
        self.set("dtype", dtype, place)
        self.data |= {"dims": {}, "vars": {}}

    def copy_entries(self, table: Cursor, entry: Cursor | None) -> None:
        """Copy what a table says of all its models, and what its entry for one says beside its own keys."""
        for key in ("dims", "vars", "require", "checkpoint", "init"):
            self.copy(key, table)
        if entry is not None:
            for key in entry.data:
                if key not in _OF_TABLES:
                    self.copy(key, entry)

    def copy(self, key: str, source: Cursor) -> None:
        """Copy the entries of a key from the table, or from an entry in it that comes last."""
        if key not in source.data:
            return
        value, before = source.data[key], self.data.get(key)
        if key == "require" and before:
            self.data[key] = [*before, *value]
            for index in range(len(value)):
                self.spans |= _moved(source[key][index], (key, len(before) + index))
            return
        if key == "init" and before:  # the first pattern that matches counts
            self.data[key] = {**value, **{name: text for name, text in before.items() if name not in value}}
            self.spans |= _moved(source[key], (key,))
            return
        self.data[key] = {**before, **value} if before and key in ("dims", "vars", "checkpoint") else value
        self.spans |= _moved(source[key], (key,))

    def set(self, key: str, value: Any, place: Cursor) -> None:
        """Give a key a value that stands at a place."""
        self.data[key] = value
        self.spans[(key,)] = place.spans[place.path]


def typed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declaration of a var with a type, by default the type of its value."""
    return {**options, "type": options.get("type", _TYPES.get(type(options["default"]), "any"))}


def imported(
    description: Description, loaded: Loaded, settings: Mapping[str, Any], notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a document with numbers in place of fields, as data that can be written to a file.

    Args:
        description: the document, with expressions.
        loaded: the spec of the document.
        settings: values of fields, dims and vars by name, in place of the document's values.
        notes: remarks on how the model was read.

    Raises:
        NetcalcError: for invalid settings.
    """
    fields, left_out = description.fields, ("require", *description.of_file)
    values = resolve_settings(loaded, settings, ())
    data = {key: value for key, value in description.document.data.items() if key not in left_out}
    remarks = {"notes": [{"text": note} for note in notes]} if notes else {}
    if "extends" not in data:  # complete in itself
        dims = {"dims": _with_defaults(data["dims"], settings)} if "dims" in data else {}
        return {**data, **remarks, **dims}
    parent = load_document(data["extends"]).document
    head = {key: data.pop(key) for key in _HEAD if key in data}
    own, dims = data.pop("vars"), data.pop("dims")
    if "init" in data:
        data["init"] = _evaluated(description.document["init"], values)
    used = words_in(data) - {*fields, *(f"config_{name}" for name in fields)}
    names = {name for name in own if name in parent.vars or name in used}
    dims = {name: values[name] for name in {**dims, **settings} if name in parent.dims}
    variables = {name: _plain_data(values[name]) for name in loaded.document.vars if name in names}
    return {**head, **remarks, "dims": dims, "vars": variables, **data}


def _with_defaults(dims: Mapping[str, Any], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return declarations of dims with other default sizes."""
    changed = {
        name: {**dim, "default": sizes[name]} if isinstance(dim := dims[name], dict) else sizes[name]
        for name in sizes
        if name in dims
    }
    return {**dims, **changed}


def _evaluated(place: Cursor, values: Mapping[str, Any]) -> Any:
    """Return texts with the values of their expressions."""
    if isinstance(place.data, Mapping):
        return {key: _evaluated(place[key], values) for key in place.data}
    return str(evaluate(place, values))


def _plain_data(value: Any) -> Any:
    """Return a value of a var as plain data."""
    if isinstance(value, Mapping):
        return {str(key): _plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return shortened([_plain_data(item) for item in value])
    return str(value) if isinstance(value, str) else value


def _moved(source: Cursor, target: Path) -> _Spans:
    """Return the places of a value and of all within it, for the same values at another path."""
    spans: _Spans = {}
    pending = [(source, target)]
    while pending:
        place, path = pending.pop()
        if place.path in place.spans:
            spans[path] = place.spans[place.path]
        if isinstance(place.data, (dict, list)):
            keys = place.data if isinstance(place.data, dict) else range(len(place.data))
            pending += ((place[key], (*path, key)) for key in keys)
    return spans
