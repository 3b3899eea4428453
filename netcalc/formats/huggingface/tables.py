"""Tables of model types: the meaning of each field of a configuration, as data.

A table ``specs/<family>/huggingface/<model_type>.yaml`` has these keys::

    source: the class of the configuration in transformers
    models: {ARCHITECTURE: {extends: SPEC, …}}  # and anything else that a spec may have
    fields: {FIELD: default}                    # of the class; or {type, default, min, max, choices, also, names,
                                                # length: the field that gives the number of items of a list}
    nested: {FIELD: MODEL_TYPE}                 # a configuration within; or a list of types, the default first;
                                                # or {type, over: a field that takes precedence,
                                                # defaults: fields of a configuration that is left out,
                                                # flat: true if its fields are then among those around it,
                                                # also: {other name of a type: the type}}
    per_layer: {TYPE: {FIELD: FIELD}}           # by type of layer and field the one that per_layer_config gives for it
    vars: {VAR: "${an expression of fields}"}   # every var of the spec that is not a field of the same name
    dims: {DIM: "${an expression of fields}"}
    require: [{that: condition, message: text}] # what the spec cannot express is refused
    always: {VAR: value}                        # what the class computes, without a field or a var for it
    init: {PATTERN: INITIALIZER}                # of parameters that the class draws in another way than the spec
    without_effect: [FIELD]                     # on shapes and work

A field of the type ``pair`` is one number for height and width, or both. ``also`` are other names of a field, and
``names`` the names of the activations that a class reads in its own way.

In expressions, a field that has the name of a var with an expression is called ``config_FIELD``, and a field of a
configuration within ``FIELD_INNER``, as it is under ``without_effect`` of the outer table.  If several types are
possible, ``FIELD_model_type`` is that at hand, and fields that it lacks have the defaults of the others.  Types that
are of interest only within others have their tables in ``huggingface/nested``, without ``models``.

An architecture may have ``vars`` of its own, and a ``patch`` with ``outputs`` for another head; a field that only other
architectures use has no effect.  Base models, whose first output is ``last_hidden_state``, keep the caches of the
spec among their outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, UnhintedError
from netcalc.formats.huggingface.common_fields import ABSENT, READ, has_no_effect
from netcalc.formats.table_files import TORCH_HINT, find_table, nearest_known, table_names
from netcalc.spec.cursor import Cursor

#: Fields of a configuration in a table, without those of any model, that make a type similar.
_FEWEST_SHARED = 6

#: The keys of a table.
KEYS = (
    "source",
    "models",
    "fields",
    "nested",
    "per_layer",
    "vars",
    "dims",
    "require",
    "always",
    "init",
    "checkpoint",
    "without_effect",
)


class Table(NamedTuple):
    """The table of a model type."""

    model_type: str
    family: str
    cursor: Cursor

    def part(self, key: str) -> Any:
        """Return the entries of a key; none if the table lacks it."""
        return self.cursor.data.get(key) or ([] if key in ("require", "without_effect") else {})

    @property
    def nested(self) -> dict[str, list[Table]]:
        """The tables of the types that each configuration within may have."""
        return {field: [_nested(kind) for kind in _kinds(kinds)] for field, kinds in self.part("nested").items()}

    def names(self, field: str) -> bool:
        """Return True for a field that the table, or that of a configuration within, says something of."""
        own = {*self.part("fields"), *self.also, *self.part("without_effect"), *self.part("nested")}
        flat = [inner[0] for name, inner in self.nested.items() if self.option_of(name, "flat")]
        own |= {*self.overriding.values(), *self.part("vars"), *self.part("always")}
        return field in own or any(table.names(field) for table in flat)

    @property
    def constants(self) -> dict[str, Any]:
        """The vars that are the same for every configuration; a field that the class does not read may state them."""
        own = {name: value for name, value in self.part("vars").items() if not isinstance(value, str | list | dict)}
        return {**own, **self.part("always")}

    @property
    def overriding(self) -> dict[str, str]:
        """The other field that takes precedence over a configuration within."""
        return {field: other for field in self.part("nested") if (other := self.option_of(field, "over"))}

    def option_of(self, field: str, option: str) -> Any:
        """Return an option of a configuration within; None if it has none."""
        value = self.part("nested")[field]
        return value.get(option) if isinstance(value, dict) else None

    def defaults_of(self, field: str) -> dict[str, tuple[Any, Cursor]]:
        """Return the fields of a configuration within that is left out, if they are not the defaults of its class."""
        defaults = self.option_of(field, "defaults") or {}
        return {name: (value, self.cursor["nested"][field]["defaults"][name]) for name, value in defaults.items()}

    def declarations(self, chosen: Mapping[str, str] = MappingProxyType({})) -> dict[str, Cursor]:
        """Return the declarations of all fields, fields of configurations within included.

        Args:
            chosen: the type of each configuration within that is not of the first possible type.
        """
        fields = {field: self.cursor["fields"][field] for field in self.part("fields")}
        for field, inner in self.nested.items():
            kind = chosen.get(field, inner[0].model_type)
            for table in sorted(inner, key=lambda table: table.model_type != kind):
                for name, declared in table.declarations().items():
                    fields.setdefault(f"{field}_{name}", declared)
            if len(inner) > 1:
                kinds = [table.model_type for table in inner]
                fields[f"{field}_model_type"] = Cursor({"default": kind, "choices": kinds}, (), {})
        return {name: declared for name, declared in fields.items() if name not in self.part("without_effect")}

    @property
    def also(self) -> dict[str, str]:
        """The field that each other name stands for."""
        fields = self.part("fields")
        return {name: field for field, value in fields.items() for name in _options(value).get("also", ())}


def table_of(config: Cursor) -> Table:
    """Return the table of a configuration's ``model_type``; UnhintedError (E007) if there is none."""
    model_type = config.data["model_type"]
    table = read_table(model_type)
    if table is not None:
        return table

    def hint() -> str:
        return f"{_nearest_by_fields(config) or nearest_known(model_type, model_types(), 'type')}; {TORCH_HINT}"

    message = f"models of type {model_type!r} cannot be imported"
    raise UnhintedError(Diagnostic("E007", message, config["model_type"].span), hint)


def type_of_class(name: Any) -> str | None:
    """Return the model type whose table alone has a class; None if none or several have it."""
    if not isinstance(name, str):
        return None
    found = [kind for kind in model_types() if (table := read_table(kind)) is not None and name in table.part("models")]
    return found[0] if len(found) == 1 else None


def spelling(name: str) -> str:
    """Return the name of a class as releases and transformers agree on it: ``kimik25model`` of ``Kimi_K25Model``."""
    return name.lower().replace("_", "")


def unnamed_fields(config: Mapping[str, Any]) -> list[str]:
    """Return the fields of a configuration that the table of its type says nothing of; none without a table."""
    table = read_table(str(config.get("model_type")))
    if table is None:
        return []
    known = {*READ, *(key for key, value in config.items() if value in ABSENT.get(key, ()))}
    return [key for key in config if key not in known and not has_no_effect(key) and not table.names(key)]


def _nearest_by_fields(config: Cursor) -> str | None:
    """Return the hint at the type whose table names most fields of a configuration; None if it names few."""
    others = {*READ, *(key for key, value in config.data.items() if value in ABSENT.get(key, ()))}
    own = {key for key in config.data if not has_no_effect(key)} - others
    fits = []
    for name in model_types():
        table = read_table(name)
        assert table is not None, name
        fields = {*table.part("fields"), *table.also, *table.part("nested"), *table.part("without_effect")}
        fits.append((2 * len(own & fields) - len(own), -len(fields - own), name))
    least, _, near = max(fits)
    unknown = (len(own) - least) // 2
    if len(own) - unknown < _FEWEST_SHARED or least <= 0:
        return None
    return f"the nearest known type is {near!r}, whose table names {len(own) - unknown} of its {len(own)} fields"


@cache
def read_table(model_type: str, folder: str = "huggingface") -> Table | None:
    """Return the table of a model type; None if there is none."""
    table = find_table(model_type, folder)
    return None if table is None else Table(model_type, *table)


def _nested(model_type: str) -> Table:
    table = read_table(model_type, "huggingface/nested") or read_table(model_type)
    assert table is not None, model_type
    return table


def model_types() -> list[str]:
    """Return every model type that has a table."""
    return table_names("huggingface")


def _kinds(value: Any) -> list[str]:
    value = value["type"] if isinstance(value, dict) else value
    return value if isinstance(value, list) else [value]


def _options(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) and "default" in value else {}
