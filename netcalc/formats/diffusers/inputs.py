"""Inputs of models of diffusers, made from the configuration.

``data/diffusers_inputs.yaml`` describes them; of several descriptions the model is called with the first that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from inspect import Parameter, signature
from itertools import islice, product
from pathlib import Path
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.expressions import ExpressionError, parse
from netcalc.formats.torch.examples import Example, read_example
from netcalc.spec.yaml_document import parse_yaml

_FILE = Path(__file__).parent.parent.parent / "data" / "diffusers_inputs.yaml"
#: Most combinations of descriptions that are tried.
_MOST = 24


def calls_of(model: Any) -> Iterator[list[Example]]:
    """Yield the arguments that a model may be called with, the most likely first."""
    table = _table_of(type(model).__name__)
    scope = _Fields({name: value for name, value in model.config.items() if not name.startswith("_")}, table["sizes"])
    names = _called_with(signature(model.forward).parameters, table["given"], scope)
    described = [_described(table["arguments"].get(name, ()), scope) for name in names]
    for texts in islice(product(*described), _MOST):
        chosen = zip(names, texts, strict=True)
        yield [read_example(f"{name}={text}") for name, text in chosen if text is not None]


class _Fields(dict[str, Any]):
    """Fields of a configuration, and sizes by name; a name that is neither is None."""

    def __init__(self, fields: Mapping[str, Any], sizes: Mapping[str, list[Any]]) -> None:
        super().__init__(fields)
        self._sizes = sizes

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return self.size(name) if name in self._sizes else None

    def value(self, text: Any) -> Any:
        """Return the value of an expression; None if it has none."""
        try:
            return parse(str(text)).evaluate(self)
        except (ExpressionError, NetcalcError):
            return None

    def size(self, name: str) -> int | None:
        """Return a size by its name, or by an expression; None if the configuration does not say it."""
        found = (self.value(text) for text in self._sizes.get(name, [name]))
        return next((value for value in found if type(value) is int and value > 0), None)


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return table


def _table_of(name: str) -> dict[str, dict[str, Any]]:
    """Return what the table says of a class."""
    table = _table()
    own = [
        entry
        for patterns, entry in table["classes"].items()
        if any(fnmatchcase(name, pattern) for pattern in patterns.split("|"))
    ]
    keys = ("sizes", "arguments", "given")
    return {key: {**table[key], **{k: v for entry in own for k, v in entry.get(key, {}).items()}} for key in keys}


def _called_with(declared: Mapping[str, Parameter], given: Mapping[str, str | None], scope: _Fields) -> list[str]:
    """Return the arguments that a model is called with."""
    positional = [p for p in declared.values() if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    chosen = {p.name for p in positional if p.default is Parameter.empty}
    chosen |= {name for name, condition in given.items() if condition is None or scope.value(condition)}
    return [name for p in positional for name in sorted(chosen) if name.partition(".")[0] == p.name]


def _described(texts: Iterable[str | None], scope: _Fields) -> list[str | None]:
    """Return descriptions of an argument with numbers in place of sizes, without those whose sizes are not known."""
    found: list[str | None] = []
    for text in texts:
        dtype, colon, sizes = (text or "").partition(":")
        pairs = [size.rpartition("=")[::2] for size in sizes.split(",")] if colon else []
        numbers = [scope.size(size) for _, size in pairs]
        if None not in numbers:
            named = [f"{dim}={number}" if dim else str(number) for (dim, _), number in zip(pairs, numbers, strict=True)]
            found.append(f"{dtype}:{','.join(named)}" if colon else text)
    return found
