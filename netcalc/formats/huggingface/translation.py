"""Translation of a configuration into a spec document that extends a shipped spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netcalc.diagnostics import NetcalcError, Span, did_you_mean, written
from netcalc.dtypes import FLOATS
from netcalc.formats.huggingface.activations import activations_of
from netcalc.formats.huggingface.fields import Fields
from netcalc.formats.huggingface.tables import Table
from netcalc.spec.cursor import Cursor, Spans
from netcalc.spec.evaluate import words_in

__all__ = ["translated"]

_Spans = dict[tuple[str | int, ...], tuple[Span | None, Span]]


def translated(config: Cursor, table: Table, name: str) -> Cursor:
    """Return the spec document of a configuration: its fields are vars, and those of the shipped spec follow from them.

    Values have their places in the configuration, expressions theirs in the table.

    Raises:
        NetcalcError: E007 with every field and value that netcalc does not know.
    """
    return _Translation(config, table).document(name)


class _Translation:
    def __init__(self, config: Cursor, table: Table) -> None:
        self.config = config
        self.table = table
        self.fields = Fields()
        self.vars: set[str] = set()  # with an expression
        self.data: dict[str, Any] = {"netcalc": 1}
        self.spans: _Spans = {}

    def document(self, name: str) -> Cursor:
        architecture, entry = self._model()
        self.vars = {*self.table.part("vars"), *(entry.data.get("vars", ()) if entry else ())}
        self.fields.read(self.config, self.table)
        self.data |= {"name": name, "about": f"{architecture} of transformers"}
        self.data["family"] = self.table.family
        self._set("dtype", self._dtype())
        for key in ("dims", "vars"):
            self.data[key] = {}
        others = self._fields_of_others(architecture)
        for field, origin in self.table.declarations(self.fields.chosen).items():
            if field not in others:
                self._declare(field, origin)
        for key in ("dims", "vars", "require"):
            self._copy(key, self.table.cursor)
        if entry is not None:
            for key in entry.data:
                self._copy(key, entry)
        if self.fields.problems:
            raise NetcalcError(self.fields.problems)
        return Cursor(self.data, (), self.spans)

    def _model(self) -> tuple[str | None, Cursor | None]:
        """Return the architecture that the configuration names, and its entry in the table."""
        models = self.table.cursor["models"]
        named = self.config.data.get("architectures")
        place = self.config.at(("architectures",))
        if not isinstance(named, list) or len(named) != 1 or not isinstance(named[0], str):
            message = f"architectures should name one class, not {written(named, quoted=True)}"
            known = ", ".join(models.data)
            return self.fields.problem(message, place, f"for models of type {self.table.model_type}: {known}")
        if named[0] not in models.data:
            hint = did_you_mean(named[0], models.data)
            return self.fields.problem(
                f"the architecture {named[0]!r} is not known", self.config["architectures"][0], hint
            )
        return named[0], models[named[0]]

    def _fields_of_others(self, architecture: str | None) -> frozenset[str]:
        """Return the words of other architectures alone: the fields among them have no effect on this one."""
        models = dict(self.table.part("models"))
        own = words_in([models.pop(architecture, {}), *(self.table.part(key) for key in ("vars", "dims", "require"))])
        return words_in(list(models.values())) - own

    def _dtype(self) -> tuple[str, Cursor]:
        """Return the element type, which is float32 if the configuration has none."""
        name = "dtype" if self.config.data.get("dtype") is not None else "torch_dtype"
        if self.config.data.get(name) is None:
            return "float32", self.config
        place = self.config[name]
        value = place.data.removeprefix("torch.") if isinstance(place.data, str) else place.data
        if value not in FLOATS:
            self.fields.problem(f"{name} = {written(value, quoted=True)} is not known", place)
        return value, place

    def _declare(self, field: str, origin: Cursor) -> None:
        """Make a field a var of its type, with the value in the configuration or the default of its class."""
        declared = origin.data
        options = dict(declared) if isinstance(declared, dict) and "default" in declared else {"default": declared}
        for key in ("also", "length"):
            options.pop(key, None)
        if options.get("type", "").startswith("activation"):
            options["type"] = options["type"].replace("activation", "op")
            options["default"] = activations_of(options).get(options["default"], options["default"])
            options.pop("names", None)
        options.setdefault("type", _TYPES.get(type(options["default"]), "any"))
        value, place = self.fields.given.get(field, (options["default"], origin))
        nullable = options["default"] is None or options["type"] == "any" or str(options["type"]).endswith("?")
        if value is None and not nullable:
            self.fields.problem(f"{field} should not be null", place)  # the default of a var may always be
        name = f"config_{field}" if field in self.vars else field
        self.data["vars"][name] = {**options, "default": value}
        self.spans |= _moved(place.spans, place.path, ("vars", name))
        self.spans |= _moved(place.spans, place.path, ("vars", name, "default"))

    def _copy(self, key: str, source: Cursor) -> None:
        """Copy the entries of a key from the table, or from the entry of an architecture, which comes last."""
        if key not in source.data:
            return
        value = source.data[key]
        self.data[key] = {**self.data[key], **value} if key in ("dims", "vars") else value
        self.spans |= _moved(source.spans, (*source.path, key), (key,))

    def _set(self, key: str, valued: tuple[Any, Cursor]) -> None:
        self.data[key], place = valued
        self.spans |= _moved(place.spans, place.path, (key,))


_TYPES = {bool: "bool", int: "int", float: "float", str: "str", list: "list"}


def _moved(spans: Spans, source: tuple[str | int, ...], target: tuple[str | int, ...]) -> _Spans:
    """Return the places of the values below a path, for the same values below another path."""
    return dict(_below(spans, source, target))


def _below(
    spans: Spans, source: tuple[str | int, ...], target: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], tuple[Span | None, Span]]]:
    depth = len(source)
    for path, place in spans.items():
        if path[:depth] == source:
            yield (*target, *path[depth:]), place
