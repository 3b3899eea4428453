"""Reading of the fields of a configuration, and of configurations within it, by tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, Related, did_you_mean, nearest, written
from netcalc.formats.huggingface import layers
from netcalc.formats.huggingface.activations import activations_of
from netcalc.formats.huggingface.common_fields import ABSENT, READ, STATED, has_no_effect
from netcalc.formats.huggingface.quantization import quantization_problems
from netcalc.formats.huggingface.rope import SOURCES, rope_fields
from netcalc.formats.huggingface.tables import Table
from netcalc.schemes.configuration import DTYPE_FIELDS, stated_dtype
from netcalc.spec.cursor import Cursor


class _Unknown(NamedTuple):
    """A field that nothing knows, the type of its configuration, and the nearest known field."""

    name: str
    of_type: str
    near: str | None
    place: Cursor

    def described(self) -> str:
        """Return the field with its value."""
        meant = f"; did you mean {self.near!r}?" if self.near else ""
        return f"{self.name} is {written(self.place.data, length=60)}{meant}"


class Fields:
    """The values of all fields; fields of a configuration within have names with a prefix.

    Attributes:
        given: the values of fields that are given, each with its place.
        chosen: the type of each configuration within.
        stated: vars and fields that a field of the same meaning states a value of, each with the place of the latter.
        problems: errors (E007) for fields and values that nothing knows.
    """

    def __init__(self) -> None:
        self.given: dict[str, tuple[Any, Cursor]] = {}
        self.chosen: dict[str, str] = {}
        self.stated: list[tuple[str, Cursor]] = []
        self.problems: list[Diagnostic] = []
        self._unknown: list[_Unknown] = []
        self._without_effect: set[str] = set()  # names with prefixes, which tables of configurations around may list

    def read(self, config: Cursor, table: Table, prefix: str = "") -> None:
        """Read the fields of a configuration; ``prefix`` precedes the names of a configuration within."""
        also, fields, nested = table.also, table.part("fields"), table.nested
        harmless = {*READ, *table.part("without_effect"), *table.overriding.values(), *nested}
        self._without_effect |= {prefix + name for name in table.part("without_effect")}
        within = ".".join([*(str(part) for part in config.path), ""])
        config = self._without_flat(config, table, prefix)
        for key, place in config.items():
            field = also.get(key, key)
            name = prefix + field
            if field in fields:
                if name in self.given and self.given[name][0] != place.data:
                    self.problem(f"{within + key!r} and {self.given[name][1].path[-1]!r} are one field", place)
                self.given[name] = (self._converted(field, place, fields[field]), place)
            elif (
                key in harmless
                or has_no_effect(key)
                or name in self._without_effect
                or (key in SOURCES and "rope_theta" in fields)
                or (key == layers.SOURCE and table.part("per_layer"))
            ):
                continue
            elif (stated := STATED.get(key, key)) in table.constants:
                if not same(place.data, table.constants[stated]):
                    message = f"{within}{key} = {written(place.data)}, and a model of type {table.model_type} has it "
                    self.problem(f"{message}{written(table.constants[stated])}", place, going_on(within + key))
            elif stated in {*table.part("vars"), *fields} and not prefix:
                self.stated.append((stated, place))
            elif not any(same(place.data, value) for value in ABSENT.get(key, ())):
                names = [*fields, *also]
                near = nearest(key, names) if len(names) > 12 else None
                self._unknown.append(_Unknown(within + key, table.model_type, near, place))
        for unknown in quantization_problems(config):
            self.problem(*unknown)
        self._read_rope(config, fields, prefix)
        self._read_layers(config, table, prefix)
        self._read_labels(config, fields, prefix)
        self._check_lists(fields, prefix)
        for key, kinds in nested.items():
            if config.data.get(key) is None:
                self.given |= {f"{prefix}{key}_{name}": default for name, default in table.defaults_of(key).items()}
            self._read_nested(config, key, kinds, prefix, also=table.option_of(key, "also"))
            if (other := table.overriding.get(key)) and config.data.get(other) is not None:
                for name in [name for name in self.given if name.startswith(f"{prefix}{key}_")]:
                    del self.given[name]
                self._read_nested(config, other, kinds, prefix, key)

    def report_unknown(self, model_type: str) -> None:
        """Add one error for all fields that nothing knows, if there are any."""
        fields = self._unknown
        if len(fields) == 1:
            (name, of_type, near, place) = fields[0]
            hint = f"did you mean {near!r}? {going_on(name)}" if near else going_on(name)
            self.problem(f"the field {name!r} of {of_type} is not known; it is {written(place.data)}", place, hint)
        elif fields:
            message = f"{len(fields)} fields of {model_type} are not known: {', '.join(field.name for field in fields)}"
            related = tuple(Related(field.described(), field.place.key_span) for field in fields)
            hint = "--ignore FIELD goes on without one"
            self.problems.append(Diagnostic("E007", message, fields[0].place.key_span, related, hint=hint))

    def _check_lists(self, fields: dict[str, Any], prefix: str) -> None:
        """Check the number of items of lists that have one for each layer."""
        for field, declared in fields.items():
            value, place = self.given.get(prefix + field, (None, None))
            if place is None or not isinstance(declared, dict) or not isinstance(value, list):
                continue
            if (length := declared.get("length")) is not None:
                default = fields[length]["default"] if isinstance(fields[length], dict) else fields[length]
                number = self.given.get(prefix + length, (default, None))[0]
                if len(value) != number:
                    self.problem(f"{field} has {len(value)} items, and {length} is {written(number)}", place)

    def problem(self, message: str, place: Cursor, hint: str | None = None) -> tuple[None, None]:
        """Add an error at a place."""
        self.problems.append(Diagnostic("E007", message, place.key_span, hint=hint))
        return None, None

    def _without_flat(self, config: Cursor, table: Table, prefix: str) -> Cursor:
        """Read fields of configurations within that stand beside the fields of ``config``, and return the others."""
        rest = dict(config.data)
        for key, kinds in table.nested.items():
            if not table.option_of(key, "flat"):
                continue
            inner = kinds[0]
            names = {*inner.part("fields"), *inner.also, *inner.part("without_effect"), *SOURCES}
            names -= {*table.part("fields"), *table.also, *table.part("without_effect"), key}
            moved = {name: rest.pop(name) for name in list(rest) if name in names}
            if rest.get(key) is not None:  # the configuration within counts alone
                continue
            self.read(Cursor(moved, config.path, config.spans), inner, f"{prefix}{key}_")
        return Cursor(rest, config.path, config.spans)

    def _read_nested(
        self,
        config: Cursor,
        key: str,
        kinds: list[Table],
        prefix: str,
        field: str | None = None,
        also: Mapping[str, str] | None = None,
    ) -> None:
        """Read the configuration under a key, if there is one, as a field's value (by default of the same name)."""
        if config.data.get(key) is None:
            return
        inner = config[key]
        if not isinstance(inner.data, dict):
            self.problem(f"{key} should be an object, not {written(inner.data)}", inner)
            return
        kind = inner.data.get("model_type", kinds[0].model_type)
        kind = (also or {}).get(str(kind), kind)
        table = next((table for table in kinds if table.model_type == kind), None)
        if table is None:
            expected = " or ".join(table.model_type for table in kinds)
            self.problem(f"{key} of type {written(kind, quoted=True)} is not known; {expected} is", inner)
            return
        path = stated_dtype(config.data)
        outer = reduce(getitem, path, config).data if path else "float32"
        for name in DTYPE_FIELDS:
            value = inner.data.get(name)
            if value is not None and value != outer:
                self.problem(f"{key} of {name} {written(value, quoted=True)} in a model of {outer} is not known", inner)
        self.chosen[prefix + (field or key)] = table.model_type
        self.read(inner, table, f"{prefix}{field or key}_")

    def _converted(self, field: str, place: Cursor, declared: Any) -> Any:
        """Return the value of a field as the spec language writes it."""
        if isinstance(declared, dict) and declared.get("type") == "pair":
            return as_pair(place.data)
        if not isinstance(declared, dict) or declared.get("type") != "activation" or not isinstance(place.data, str):
            return with_infinities(place.data)
        names = activations_of(declared)
        if place.data not in names:
            hint = did_you_mean(place.data, names)
            within = ".".join(str(part) for part in place.path)
            self.problem(f"{within}: the activation {place.data!r} is not known", place, hint)
        return names.get(place.data, place.data)

    def _read_rope(self, config: Cursor, fields: dict[str, Any], prefix: str) -> None:
        """Read what the configuration says of rotary embeddings, if the model has them."""
        sources = [name for name in SOURCES if config.data.get(name) is not None]
        if "rope_theta" not in fields or not sources:
            return
        place = config[sources[0]]
        try:
            rope = rope_fields(config.data, fields)
        except ValueError as why:
            self.problem(f"{sources[0]}: {why}", place)
            return
        for name, value in rope.items():
            if name in fields:
                self.given[prefix + name] = (value, place)
            else:
                self.problem(f"{name} = {written(value)} is not known", place)

    def _read_layers(self, config: Cursor, table: Table, prefix: str) -> None:
        """Read the fields that the configuration gives layer by layer, if the table knows such fields."""
        per_layer = table.part("per_layer")
        if not per_layer or config.data.get(layers.SOURCE) is None:
            return
        place = config[layers.SOURCE]
        try:
            given = layers.layer_fields(config.data, per_layer, table.part("fields"))
        except ValueError as why:
            self.problem(f"{layers.SOURCE}: {why}", place)
            return
        self.given |= {prefix + name: (value, place) for name, value in given.items()}

    def _read_labels(self, config: Cursor, fields: dict[str, Any], prefix: str) -> None:
        """Read the number of labels, which is the length of ``id2label`` if there are names."""
        for name in ("num_labels", "id2label"):
            value = config.data.get(name)
            if "num_labels" in fields and value is not None:
                if name == "id2label" and not isinstance(value, (dict, list)):
                    self.problem(f"id2label should be an object, not {written(value, quoted=True)}", config[name])
                    continue
                number = len(value) if isinstance(value, (dict, list)) else value
                self.given[f"{prefix}num_labels"] = (number, config[name])


def same(value: Any, other: Any) -> bool:
    """Return True for equal values, of which both or neither are booleans."""
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def going_on(field: str) -> str:
    """Return the hint at what reads a configuration without a field."""
    return f"--ignore {field} goes on without it"


def as_pair(value: Any) -> Any:
    """Return height and width that a field gives as a list, as an object, or as one number for both."""
    if isinstance(value, dict) and value.keys() == {"height", "width"}:
        return [value["height"], value["width"]]
    return [value, value] if isinstance(value, int) else value


def with_infinities(value: Any) -> Any:
    """Return a value with the numbers that transformers writes as ``{"__float__": "Infinity"}``."""
    if isinstance(value, list):
        return [with_infinities(item) for item in value]
    if not isinstance(value, dict):
        return value
    infinities = {"Infinity": math.inf, "-Infinity": -math.inf}
    if list(value) == ["__float__"]:
        return infinities.get(str(value["__float__"]), value)
    return {name: with_infinities(item) for name, item in value.items()}
