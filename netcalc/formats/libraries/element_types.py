"""Element types of documents whose model is released in another type than the one that it was captured in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: The type of the network in expressions.
_DEFAULT = "${default_dtype}"


def following_default(data: Any) -> Any:
    """Return lines whose float32 tensors have the type of the network instead.

    A model casts its masks and rotary angles to the type of its activations.  In float32, in which it is captured, such
    a cast changes nothing and leaves no trace: the tensors would stay in float32 beside activations in bfloat16.
    """
    if isinstance(data, list):
        return [following_default(item) for item in data]
    if not isinstance(data, dict):
        return data
    lines = {key: following_default(value) for key, value in data.items()}
    if lines.get("cast") == "float32":
        lines["cast"] = _DEFAULT
    if lines.get("dtype") == "float32":
        lines["dtype"] = _DEFAULT
    if "constant" in lines:
        lines["constant"] = _typed(lines["constant"])
    return lines


def _typed(constant: Any) -> Any:
    """Return a constant that has the type of the network, if it has a fraction and no type of its own."""
    attributes = constant if isinstance(constant, dict) else {"value": constant}
    if "dtype" in attributes or not any(isinstance(number, float) for number in _numbers(attributes.get("value"))):
        return constant
    return {**attributes, "dtype": _DEFAULT}


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    else:
        yield value
