"""Translation of a configuration into a spec document that extends a shipped spec."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import getitem
from typing import Any

from netcalc.diagnostics import did_you_mean, written
from netcalc.dtypes import FLOATS
from netcalc.formats.documents import Document, typed
from netcalc.formats.huggingface.activations import activations_of
from netcalc.formats.huggingface.common_fields import AT_LEAST_ONE, NUMBERS_OF_LAYERS
from netcalc.formats.huggingface.fields import Fields, as_pair, going_on, same
from netcalc.formats.huggingface.tables import Table, spelling
from netcalc.limits import MAX_TIMES
from netcalc.schemes.configuration import assumed_dtype, stated_dtype
from netcalc.spec.cursor import Cursor
from netcalc.spec.document import InputDecl
from netcalc.spec.evaluate import words_in
from netcalc.spec.library import load_cursor, load_document
from netcalc.spec.settings import resolve_settings


def translated(config: Cursor, table: Table, name: str) -> Cursor:
    """Return the spec document of a configuration: its fields are vars, from which the shipped spec's vars follow.

    Values have their places in the configuration, expressions theirs in the table.

    Raises:
        NetcalcError: E007 with every field and value that netcalc does not know.
    """
    return _Translation(config, table).translated(name)


class _Translation:
    def __init__(self, config: Cursor, table: Table) -> None:
        self.config = config
        self.table = table
        self.fields = Fields()
        self.document = Document(self.fields.problems)

    def translated(self, name: str) -> Cursor:
        architecture, entry = self._model()
        document = self.document
        document.expressed = {*self.table.part("vars"), *(entry.data.get("vars", ()) if entry else ())}
        self.fields.read(self.config, self.table)
        document.begin(name, f"{architecture} of transformers", self.table.family, *self._dtype())
        document.data["architecture"] = self.table.model_type
        others = self._fields_of_others(architecture)
        for field, origin in self.table.declarations(self.fields.chosen).items():
            options = _options(field, origin.data)
            value, place = self.fields.given.get(field, (options["default"], origin))
            document.declare(field, options, value, place, used=field not in others)
        document.copy_entries(self.table.cursor, entry)
        if entry is not None:
            self._keep_caches(entry)
        self.fields.report_unknown(self.table.model_type)
        finished = document.finished()
        return self._checked(finished) if self.fields.stated else finished

    def _keep_caches(self, entry: Cursor) -> None:
        """Add the caches of the shipped spec to the outputs of a base model, whose class returns them too."""
        outputs = entry.data.get("outputs", {})
        if next(iter(outputs), None) != "last_hidden_state":
            return
        parent = load_document(entry.data["extends"]).document
        if not isinstance(parent.outputs, dict):  # caches have names
            return
        declared = [decl for decl in parent.inputs.values() if isinstance(decl, InputDecl) and decl.cache is not None]
        caches = {decl.cache.next: parent.outputs[decl.cache.next] for decl in declared if decl.cache}
        self.document.data["outputs"] = {**outputs, **caches}

    def _checked(self, document: Cursor) -> Cursor:
        """Return the finished document if vars have the values that other fields state; NetcalcError (E007) if not."""
        values = resolve_settings(load_cursor(document, self.config.span.file if self.config.span else ""), {}, ())
        for name, place in self.fields.stated:
            if not same(place.data, values[name]):
                key = ".".join(map(str, place.path))
                message = f"{key} = {written(place.data)}, and by the other fields it is {written(values[name])}"
                self.fields.problem(message, place, going_on(key))
        return self.document.finished()

    def _model(self) -> tuple[str | None, Cursor | None]:
        """Return the architecture that the configuration names, and its entry in the table."""
        models = self.table.cursor["models"]
        named = self.config.data.get("architectures") or _base_model(models.data)
        place = self.config.at(("architectures",))
        if not isinstance(named, list) or len(named) != 1 or not isinstance(named[0], str):
            message = f"architectures should name one class, not {written(named, quoted=True)}"
            names = ", ".join(models.data)
            return self.fields.problem(message, place, f"for models of type {self.table.model_type}: {names}")
        known = {spelling(name): name for name in models.data}.get(spelling(named[0]))
        if known is None:
            hint = did_you_mean(named[0], models.data)
            if self.config.data.get("auto_map"):
                hint = "the repository has code of its own for it, which is not run"
            message = f"the architecture {named[0]!r} is not known"
            return self.fields.problem(message, self.config["architectures"][0], hint)
        return known, models[known]

    def _fields_of_others(self, architecture: str | None) -> frozenset[str]:
        """Return the words of other architectures alone: the fields among them have no effect on this one."""
        models = dict(self.table.part("models"))
        own = words_in([models.pop(architecture, {}), *(self.table.part(key) for key in ("vars", "dims", "require"))])
        return words_in(list(models.values())) - own

    def _dtype(self) -> tuple[str, Cursor]:
        """Return the element type, without a field for it that of the method of quantization, or float32."""
        path = stated_dtype(self.config.data)
        if path is None:
            return assumed_dtype(self.config.data), self.config
        name, place = path[-1], reduce(getitem, path, self.config)
        value = place.data.removeprefix("torch.") if isinstance(place.data, str) else place.data
        if not isinstance(value, str) or value not in FLOATS:
            self.fields.problem(f"{name} = {written(value, quoted=True)} is not known", place)
        return value, place


def _base_model(models: Iterable[str]) -> list[str] | None:
    """Return the class of a configuration that names none, as transformers' ``AutoModel`` does."""
    found = [name for name in models if name.endswith("Model")]
    return found if len(found) == 1 else None


def _options(field: str, declared: Any) -> dict[str, Any]:
    """Return the declaration of a field as the declaration of a var, with a type."""
    options = dict(declared) if isinstance(declared, dict) and "default" in declared else {"default": declared}
    for key in ("also", "length"):
        options.pop(key, None)
    if options.get("type", "").startswith("activation"):
        options["type"] = options["type"].replace("activation", "op")
        options["default"] = activations_of(options).get(options["default"], options["default"])
        options.pop("names", None)
    if options.get("type") == "pair":
        options |= {"type": "list[int]", "default": as_pair(options["default"])}
    options = typed(options)
    if field in AT_LEAST_ONE and options["type"].startswith("int"):
        options.setdefault("min", 1)
    if field in NUMBERS_OF_LAYERS and options["type"].startswith("int"):
        options.setdefault("max", int(MAX_TIMES))
    return options
