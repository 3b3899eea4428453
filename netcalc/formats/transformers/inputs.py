"""Inputs of models of transformers, made from the configuration by modality.

``data/transformers_inputs.yaml`` describes them; of several descriptions the model is called with the first that it
takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from inspect import Parameter, signature
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any

from netcalc.formats.torch.examples import Example, read_example
from netcalc.spec.yaml_document import parse_yaml

_FILE = Path(__file__).parent.parent.parent / "data" / "transformers_inputs.yaml"
#: Most combinations of descriptions that are tried for one set of arguments.
_MOST = 12


def configurations(config: Any) -> Iterator[Any]:
    """Yield a configuration and those within it."""
    yield config
    for value in vars(config).values():
        if hasattr(value, "model_type") and hasattr(value, "to_dict"):
            yield from configurations(value)


def calls_of(model: Any, config: Any) -> Iterator[list[Example]]:
    """Yield the arguments that a model may be called with, the most likely first."""
    for described in _sets(model, config):
        for texts in islice(product(*described.values()), _MOST):
            arguments = zip(described, texts, strict=True)
            yield [read_example(f"{name}={_with_sizes(text, config)}") for name, text in arguments]


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return table


def _sets(model: Any, config: Any) -> Iterator[dict[str, list[str]]]:
    """Yield sets of arguments with their descriptions: with every modality that the model has, with one, with none."""
    described, declared = _table()["arguments"], signature(model.forward).parameters
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
    return [name for name in names if name in declared]


def _with_sizes(text: str, config: Any) -> str:
    """Return the description of an argument with numbers in place of names of sizes."""
    dtype, colon, sizes = text.partition(":")
    if not colon or sizes.startswith("["):
        return text
    numbers = []
    for size in sizes.split(","):
        dim, equals, name = size.rpartition("=")
        numbers.append(dim + equals + (name if name.isdecimal() else str(_size(name, config))))
    return f"{dtype}:{','.join(numbers)}"


def _size(name: str, config: Any) -> int:
    """Return a size of a configuration, or its default if no field gives it."""
    row = _table()["sizes"][name]
    if "product" in row:
        factors = [_field([fields] if isinstance(fields, str) else fields, config) for fields in row["product"]]
        known = [factor for factor in factors if factor is not None]
        return prod(known) if len(known) == len(factors) else int(row["default"])
    value = _field(row["fields"], config, last=name == "image_width")
    if value is None:
        return int(row["default"])
    value *= int(row.get("times", 1))
    return min(value, int(row.get("most", value)))


def _field(names: Iterable[str], config: Any, *, last: bool = False) -> int | None:
    """Return the first of some fields that a configuration has, itself or within."""
    for part in configurations(config):
        for name in names:
            value = getattr(part, name, None)
            if isinstance(value, (list, tuple)) and value and isinstance(value[0], int):
                value = value[-1] if last else value[0]
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
