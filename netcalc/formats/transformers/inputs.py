"""Inputs of models of transformers, made from the configuration by modality.

``data/transformers_inputs.yaml`` describes them; of several descriptions the model is called with the first that it
takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, partial
from inspect import Parameter, signature
from itertools import islice, product
from pathlib import Path
from typing import Any

from netcalc.formats.libraries.inputs import Sizes
from netcalc.formats.torch.examples import Example, read_example
from netcalc.spec.yaml_document import parse_yaml

_FILE = Path(__file__).parent.parent.parent / "data" / "transformers_inputs.yaml"
#: Most combinations of descriptions that are tried for one set of arguments.
_MOST = 24


def configurations(config: Any) -> Iterator[Any]:
    """Yield a configuration and those within it."""
    yield config
    for value in vars(config).values():
        if hasattr(value, "model_type") and hasattr(value, "to_dict"):
            yield from configurations(value)


def calls_of(model: Any, config: Any) -> Iterator[list[Example]]:
    """Yield the arguments that a model may be called with, the most likely first."""
    scope = Sizes(partial(_field, config), _table()["sizes"])
    for chosen in _sets(model, config):
        described = [scope.described(texts) for texts in chosen.values()]
        for texts in islice(product(*described), _MOST):
            named = zip(chosen, texts, strict=True)
            yield [read_example(f"{name}={text}") for name, text in named if text is not None]


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return table


def _sets(model: Any, config: Any) -> Iterator[dict[str, list[str | None]]]:
    """Yield sets of arguments with their descriptions: of the class, with every modality, with one, with none."""
    described, declared = _table()["arguments"], signature(model.forward).parameters
    yield from (call for pattern, call in _table()["calls"].items() if fnmatchcase(type(model).__name__, pattern))
    names = _called_with(declared, model.main_input_name, config)
    modalities = [
        {name: given or described[name] for name, given in row["arguments"].items()}
        for row in _table()["modalities"]
        if declared.keys() >= {*row["has"]}
    ]
    for chosen in (*_unions(modalities), *modalities, {}):
        if all(name in chosen or name in described for name in names):
            yield {**{name: described[name] for name in names if name not in chosen}, **chosen}


def _unions(modalities: list[dict[str, list[str]]]) -> Iterable[dict[str, list[str]]]:
    """Return the union of several modalities, in which the first that describes an argument counts."""
    union: dict[str, list[str]] = {}
    for modality in reversed(modalities):
        union |= modality
    return [union] if len(modalities) > 1 else []


def _called_with(declared: Mapping[str, Parameter], main: str | list[str], config: Any) -> list[str]:
    """Return the arguments that every call of a model has."""
    names = dict.fromkeys([main] if isinstance(main, str) else main)
    for name, parameter in declared.items():
        if parameter.default is Parameter.empty and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
            names.setdefault(name)
    if "decoder_input_ids" in declared and config.is_encoder_decoder:
        names.setdefault("decoder_input_ids")
    known = [name for name in names if name in declared]
    return known or [name for name in declared if name in _table()["arguments"]][:1]


def _field(config: Any, name: str) -> Any:
    """Return the value of a field of a configuration, or of the first within it that has one; a part as a dict."""
    values = (getattr(part, name, None) for part in configurations(config))
    value: Any = next((value for value in values if value is not None), None)
    return value.to_dict() if hasattr(value, "to_dict") else value
