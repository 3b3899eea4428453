"""Translation of a configuration into a spec document that extends a shipped spec."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import NetcalcError, Span, did_you_mean, written
from netcalc.dtypes import FLOATS
from netcalc.formats.huggingface.activations import activations_of
from netcalc.formats.huggingface.fields import Fields
from netcalc.formats.huggingface.tables import Table
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.declarations import declare_variable
from netcalc.spec.evaluate import words_in

__all__ = ["translated"]

_Spans = dict[Path, tuple[Span | None, Span]]


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
            self._declare(field, origin, used=field not in others)
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

    def _declare(self, field: str, origin: Cursor, *, used: bool) -> None:
        """Make a field a var of its type, with the value in the configuration or the default of its class.

        A field that is not used is no var; its value is checked all the same.
        """
        options = _options(origin.data)
        value, place = self.fields.given.get(field, (options["default"], origin))
        nullable = options["default"] is None or options["type"] == "any" or str(options["type"]).endswith("?")
        if value is None and not nullable:
            self.fields.problem(f"{field} should not be null", place)  # the default of a var may always be
        elif not used:
            try:
                declare_variable(field, options).check(value)
            except ValueError as why:
                self.fields.problem(f"{field} {why}", place)
        if not used:
            return
        name = f"config_{field}" if field in self.vars else field
        self.data["vars"][name] = {**options, "default": value}
        for path in (("vars", name), ("vars", name, "default")):
            self.spans |= _moved(place, path)

    def _copy(self, key: str, source: Cursor) -> None:
        """Copy the entries of a key from the table, or from the entry of an architecture, which comes last."""
        if key not in source.data:
            return
        value = source.data[key]
        self.data[key] = {**self.data[key], **value} if key in ("dims", "vars") else value
        self.spans |= _moved(source[key], (key,))

    def _set(self, key: str, valued: tuple[Any, Cursor]) -> None:
        self.data[key], place = valued
        self.spans[(key,)] = place.spans[place.path]


_TYPES = {bool: "bool", int: "int", float: "float", str: "str", list: "list"}


def _options(declared: Any) -> dict[str, Any]:
    """Return the declaration of a field as that of a var, with a type."""
    options = dict(declared) if isinstance(declared, dict) and "default" in declared else {"default": declared}
    for key in ("also", "length"):
        options.pop(key, None)
    if options.get("type", "").startswith("activation"):
        options["type"] = options["type"].replace("activation", "op")
        options["default"] = activations_of(options).get(options["default"], options["default"])
        options.pop("names", None)
    options.setdefault("type", _TYPES.get(type(options["default"]), "any"))
    return options


def _moved(source: Cursor, target: Path) -> _Spans:
    """Return the places of a value and of all within it, for the same values at another path."""
    found: _Spans = {}
    pending = [(source, target)]
    while pending:
        place, path = pending.pop()
        if place.path in place.spans:
            found[path] = place.spans[place.path]
        if isinstance(place.data, (dict, list)):
            keys = place.data if isinstance(place.data, dict) else range(len(place.data))
            pending += ((place[key], (*path, key)) for key in keys)
    return found
