"""Values of published figures: fields of results of netcalc, each result computed once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from netcalc.analysis.devices import device_named
from netcalc.diagnostics import NetcalcError
from netcalc.expressions import ExpressionError, parse
from netcalc.records.writing import record
from netcalc.reproduction.commands import command_of
from netcalc.reproduction.mean_field import mean_field
from netcalc.reproduction.papers import FigureData, NetworkData, PaperFile, Value
from netcalc.reproduction.report import Working

#: Makes a network of a model and options of ``netcalc.load``.
Load = Callable[..., Any]


class Values:
    """Values of figures.

    Args:
        load: function that loads a network, as ``netcalc.load`` does.
    """

    def __init__(self, load: Load) -> None:
        self.load = load
        self._results: dict[str, Any] = {}

    def of(self, file: PaperFile, figure: FigureData) -> tuple[Any, tuple[Working, ...]]:
        """Return the value of a figure in units without a prefix, and all that it follows from.

        Raises:
            NetcalcError: what netcalc refuses, and errors of expressions and fields, at the place of the figure.
        """
        scope: dict[str, Any] = {}
        working: list[Working] = []
        try:
            for name, value in file.values_of(figure).items():
                if isinstance(value, str):
                    scope[name] = parse(value).evaluate(scope)
                    working.append(Working(name, scope[name], value, "", ""))
                elif isinstance(value, Value):
                    scope[name] = self._value(file, value)
                    path = _filtered(value)
                    command = command_of(value, file.network(value) if value.model else None, file.folder)
                    working.append(Working(name, scope[name], path, command, value.about))
                else:
                    scope[name] = value
                    working.append(Working(name, value, "", "", "stated"))
            return parse(figure.expression).evaluate(scope), tuple(working)
        except ExpressionError as error:
            raise file.error(figure, error.code, error.message) from None
        except NetcalcError as error:
            if any(problem.span is not None for problem in error.diagnostics):
                raise
            first = error.diagnostics[0]
            raise file.error(figure, first.code, first.message, first.hint) from None
        except (ValueError, TypeError, LookupError) as error:
            raise file.error(figure, "E104", str(error)) from None

    def _value(self, file: PaperFile, value: Value) -> Any:
        result = self._result(file, value)
        found = _field(result, value.field.split("/") if "/" in value.field else value.field.split("."), value.where)
        if not isinstance(found, int | float) or isinstance(found, bool):
            raise ValueError(f"{value.field}: {found!r} is no number")
        return found

    def _result(self, file: PaperFile, value: Value) -> Any:
        """Return the record of a method, or an object whose attributes are fields."""
        if value.device:
            return device_named(value.device)
        if value.mean_field is not None:
            return self._once(value.mean_field, lambda: mean_field(**value.mean_field or {}))
        source = file.network(value)
        network = self._once(["", *_key(source, file)], lambda: self._network(source, file))
        if not value.method:
            return network
        return self._once(
            [value.method, value.arguments, *_key(source, file)],
            lambda: record(getattr(network, value.method)(**value.arguments), *_record_name(value)),
        )

    def _network(self, source: NetworkData, file: PaperFile) -> Any:
        model = str(file.folder / source.model) if source.model.endswith(".yaml") else source.model
        return self.load(model, set=source.set, **source.load)

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        text = json.dumps(key, sort_keys=True)
        if text not in self._results:
            self._results[text] = make()
        return self._results[text]


def _record_name(value: Value) -> tuple[str, ...]:
    return (value.arguments.get("view", "summary"),) if value.method == "summary" else ()


def _key(source: NetworkData, file: PaperFile) -> list[Any]:
    folder = str(file.folder) if source.model.endswith(".yaml") else ""
    return [folder, source.model, source.set, source.load]


def _filtered(value: Value) -> str:
    """Return the field of a value in words."""
    wanted = ", ".join(f"{name}: {'null' if pattern is None else pattern}" for name, pattern in value.where.items())
    return f"{value.field} where {wanted}" if wanted else value.field


def _field(value: Any, path: list[str], where: Mapping[str, Any]) -> Any:
    """Return the field of a value at a path; of a list the sum over the items that patterns match.

    Raises:
        LookupError: there is no such field, or no item.
    """
    for place, name in enumerate(path):
        if isinstance(value, list):
            items = [item for item in value if _matches(item, where)]
            if not items:
                raise LookupError(f"no item of {'.'.join(path[:place])} is {dict(where)}")
            return sum(item.get("repeat", 1) * _field(item, path[place:], where) for item in items)
        try:
            value = value[name] if isinstance(value, Mapping) else getattr(value, name)
        except (KeyError, AttributeError):
            raise LookupError(f"there is no field {'.'.join(path[: place + 1])}") from None
    return value


def _matches(item: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Return True if the fields of an item match patterns; null matches null alone."""
    return all(
        item.get(name) is None if pattern is None else fnmatchcase(str(item.get(name, "")), str(pattern))
        for name, pattern in where.items()
    )
