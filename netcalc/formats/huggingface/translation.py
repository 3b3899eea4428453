"""Translation of a configuration into a spec document that extends a shipped spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, Span, did_you_mean, written
from netcalc.dtypes import FLOATS
from netcalc.formats.huggingface.activations import ACTIVATIONS
from netcalc.formats.huggingface.common_fields import READ, REFUSED, WITHOUT_EFFECT
from netcalc.formats.huggingface.rope import SOURCES, rope_fields
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
        self.fields: dict[str, Any] = table.part("fields")
        self.vars: set[str] = set()  # with an expression
        self.problems: list[Diagnostic] = []
        self.given: dict[str, tuple[Any, Cursor]] = {}  # values of fields, each with its place
        self.data: dict[str, Any] = {"netcalc": 1}
        self.spans: _Spans = {}

    def document(self, name: str) -> Cursor:
        architecture, entry = self._model()
        self.vars = {*self.table.part("vars"), *(entry.data.get("vars", ()) if entry else ())}
        self._read_fields()
        self.data |= {"name": name, "about": f"{architecture} of transformers"}
        self.data["family"] = self.table.family
        self._set("dtype", self._dtype())
        for key in ("dims", "vars"):
            self.data[key] = {}
        others = self._fields_of_others(architecture)
        for field, declared in self.fields.items():
            if field not in others:
                self._declare(field, declared)
        for key in ("dims", "vars", "require"):
            self._copy(key, self.table.cursor)
        if entry is not None:
            for key in entry.data:
                self._copy(key, entry)
        if self.problems:
            raise NetcalcError(self.problems)
        return Cursor(self.data, (), self.spans)

    def _model(self) -> tuple[str | None, Cursor | None]:
        """Return the architecture that the configuration names, and its entry in the table."""
        models = self.table.cursor["models"]
        named = self.config.data.get("architectures")
        place = self.config.at(("architectures",))
        if not isinstance(named, list) or len(named) != 1 or not isinstance(named[0], str):
            message = f"architectures should name one class, not {written(named, quoted=True)}"
            known = ", ".join(models.data)
            return self._problem(message, place, f"for models of type {self.table.model_type}: {known}")
        if named[0] not in models.data:
            hint = did_you_mean(named[0], models.data)
            return self._problem(f"the architecture {named[0]!r} is not known", self.config["architectures"][0], hint)
        return named[0], models[named[0]]

    def _problem(self, message: str, place: Cursor, hint: str | None = None) -> tuple[None, None]:
        self.problems.append(Diagnostic("E007", message, place.key_span, hint=hint))
        return None, None

    def _fields_of_others(self, architecture: str | None) -> frozenset[str]:
        """Return the words of other architectures alone: the fields among them have no effect on this one."""
        models = dict(self.table.part("models"))
        own = words_in([models.pop(architecture, {}), *(self.table.part(key) for key in ("vars", "dims", "require"))])
        return words_in(list(models.values())) - own

    def _read_fields(self) -> None:
        """Read the values of all fields; those that nothing knows are errors."""
        also = self.table.also
        harmless = {*WITHOUT_EFFECT, *READ, *self.table.part("without_effect")} - set(self.fields)
        for key, place in self.config.items():
            field = also.get(key, key)
            if field in self.fields:
                if field in self.given and self.given[field][0] != place.data:
                    self._problem(f"{key!r} and {self.given[field][1].path[-1]!r} are one field", place)
                self.given[field] = (self._converted(field, place), place)
            elif key in REFUSED and key not in harmless:
                if place.data not in REFUSED[key]:
                    self._problem(f"{key} = {written(place.data, quoted=True)} is not known", place)
            elif key not in harmless and not (key in SOURCES and "rope_theta" in self.fields):
                known = [*self.fields, *also]
                message = f"the field {key!r} of {self.table.model_type} is not known; it is {written(place.data)}"
                self._problem(message, place, did_you_mean(key, known) if len(known) > 12 else None)
        if "quantization_config" in self.config.data and self.config.data["quantization_config"] is not None:
            self._problem("quantised models cannot be imported", self.config["quantization_config"])
        self._read_rope()
        self._read_labels()

    def _converted(self, field: str, place: Cursor) -> Any:
        """Return the value of a field as the spec language writes it."""
        declared = self.fields[field]
        if not isinstance(declared, dict) or declared.get("type") != "activation" or not isinstance(place.data, str):
            return place.data
        if place.data not in ACTIVATIONS:
            hint = did_you_mean(place.data, ACTIVATIONS)
            self._problem(f"{field}: the activation {place.data!r} is not known", place, hint)
        return ACTIVATIONS.get(place.data, place.data)

    def _read_rope(self) -> None:
        """Read what the configuration says of rotary embeddings, if the model has them."""
        sources = [name for name in SOURCES if self.config.data.get(name) is not None]
        if "rope_theta" not in self.fields or not sources:
            return
        place = self.config[sources[0]]
        try:
            found = rope_fields(self.config.data, self.fields)
        except ValueError as why:
            self._problem(f"{sources[0]}: {why}", place)
            return
        for name, value in found.items():
            if name in self.fields:
                self.given[name] = (value, place)
            else:
                self._problem(f"{name} = {written(value)} is not known", place)

    def _read_labels(self) -> None:
        """Read the number of labels, which is that of ``id2label`` if there are names."""
        for name in ("num_labels", "id2label"):
            value = self.config.data.get(name)
            if "num_labels" in self.fields and value is not None:
                number = len(value) if isinstance(value, (dict, list)) else value
                self.given["num_labels"] = (number, self.config[name])

    def _dtype(self) -> tuple[str, Cursor]:
        """Return the element type, which is float32 if the configuration has none."""
        name = "dtype" if self.config.data.get("dtype") is not None else "torch_dtype"
        if self.config.data.get(name) is None:
            return "float32", self.config
        place = self.config[name]
        value = place.data.removeprefix("torch.") if isinstance(place.data, str) else place.data
        if value not in FLOATS:
            self._problem(f"{name} = {written(value, quoted=True)} is not known", place)
        return value, place

    def _declare(self, field: str, declared: Any) -> None:
        """Make a field a var of its type, with the value in the configuration or the default of its class."""
        origin = self.table.cursor["fields"][field]
        options = dict(declared) if isinstance(declared, dict) and "default" in declared else {"default": declared}
        options.pop("also", None)
        if options.get("type", "").startswith("activation"):
            options["type"] = options["type"].replace("activation", "op")
            options["default"] = ACTIVATIONS.get(options["default"], options["default"])
        options.setdefault("type", _TYPES.get(type(options["default"]), "any"))
        value, place = self.given.get(field, (options["default"], origin))
        if value is None and options["default"] is not None and options["type"] != "any":
            self._problem(f"{field} should not be null", place)  # the default of a var may always be
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
