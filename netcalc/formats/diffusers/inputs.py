"""Inputs of models of diffusers, made from the configuration.

``data/diffusers_inputs.yaml`` describes them; of several descriptions the model is called with the first that it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from inspect import Parameter, signature
from itertools import islice, product
from pathlib import Path
from typing import Any

from netcalc.formats.libraries.inputs import Sizes
from netcalc.formats.torch.examples import Example, read_example
from netcalc.spec.yaml_document import parse_yaml

_FILE = Path(__file__).parent.parent.parent / "data" / "diffusers_inputs.yaml"
#: Most combinations of descriptions that are tried.
_MOST = 24


def calls_of(model: Any) -> Iterator[list[Example]]:
    """Yield the arguments that a model may be called with, the most likely first."""
    table = _table_of(type(model).__name__)
    scope = Sizes(lambda name: None if name.startswith("_") else model.config.get(name), table["sizes"])
    names = _called_with(signature(model.forward).parameters, table["given"], scope)
    described = [scope.described(table["arguments"].get(name, ())) for name in names]
    for texts in islice(product(*described), _MOST):
        chosen = zip(names, texts, strict=True)
        yield [read_example(f"{name}={text}") for name, text in chosen if text is not None]


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


def _called_with(declared: Mapping[str, Parameter], given: Mapping[str, str | None], scope: Sizes) -> list[str]:
    """Return the arguments that a model is called with."""
    positional = [p for p in declared.values() if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    chosen = {p.name for p in positional if p.default is Parameter.empty}
    chosen |= {name for name, condition in given.items() if condition is None or scope.value(condition)}
    return [name for p in positional for name in sorted(chosen) if name.partition(".")[0] == p.name]
