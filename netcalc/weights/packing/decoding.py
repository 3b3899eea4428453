"""Numbers of packed tensors, by the decoder that their layout names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from netcalc.weights.packing.layouts import Found
from netcalc.weights.pieces import Loads

if TYPE_CHECKING:
    from netcalc.arrays import Array

_DECODERS = "netcalc.weights.packing.decoders"


def decoded(packed: Found, stored: Loads, settings: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
    """Return the numbers that packed tensors stand for, in float32 and in a shape.

    Args:
        packed: the tensors.
        stored: their data.
        settings: sizes of their axes, and the fields of the configuration that apply; others are null.
        shape: the shape of the tensor that they stand for.

    Raises:
        ValueError: the data do not follow the layout, or no decoder is known.
        ExpressionError: an argument of the decoder does not follow from the settings.
    """
    decoder = packed.layout.decoder
    if decoder is None:
        raise ValueError("the layout of its numbers is not known")
    arguments = {
        name: expression.evaluate({**dict.fromkeys(expression.names()), **settings})
        for name, expression in decoder.arguments.items()
    }
    try:
        numbers: Array = function(decoder.place)(_data(packed, stored), shape, **arguments)
    except KeyError as missing:
        raise ValueError(f"it needs a tensor {missing.args[0]}") from missing
    if numbers.shape != shape:
        raise ValueError(f"its data have the shape {numbers.shape}, and {shape} is expected")
    return numbers.astype("float32", copy=False)


def stored_shape(packed: Found, stored: Loads) -> tuple[int, ...] | None:
    """Return the shape that stands in the data of the companions of a packed tensor; None if there is none.

    Raises:
        NetcalcError: E605 if the data cannot be read.
        ValueError: they hold no shape.
    """
    shape: tuple[int, ...] | None = function(packed.layout.shape_reader)(_Companions(packed.companions, stored))
    return shape


def function(place: str) -> Callable[..., Any]:
    """Return a function of the decoders by its place, ``module.function``."""
    module, _, name = place.rpartition(".")
    made: Callable[..., Any] = getattr(import_module(f"{_DECODERS}.{module}"), name)
    return made


class _Companions(Mapping[str, "Array"]):
    """The data of companions by their suffixes, each read when it is asked for."""

    def __init__(self, names: Mapping[str, str], stored: Loads) -> None:
        self._names = names
        self._stored = stored

    def __getitem__(self, suffix: str) -> Array:
        return self._stored.load(self._names[suffix])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _data(packed: Found, stored: Loads) -> dict[str, Array]:
    """Return the data of packed tensors by their suffixes."""
    data = {suffix: stored.load(name) for suffix, name in packed.companions.items()}
    return {**data, packed.layout.suffix: stored.load(packed.name)}
