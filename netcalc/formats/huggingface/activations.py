"""Names of activations in configurations (transformers.activations.ACT2FN)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TANH_GELU = {"gelu": {"approximate": "tanh"}}
_WRITTEN_OUT = {"gelu": {"approximate": "tanh", "composed": True}}

#: The operation of each name.
_ACTIVATIONS: dict[str, Any] = {
    "gelu": "gelu",
    "gelu_accurate": _WRITTEN_OUT,
    "gelu_fast": _WRITTEN_OUT,
    "gelu_new": _WRITTEN_OUT,
    "gelu_python": {"gelu": {"composed": True}},
    "gelu_python_tanh": _WRITTEN_OUT,
    "gelu_pytorch_tanh": _TANH_GELU,
    "hardswish": "hardswish",
    "leaky_relu": "leaky_relu",
    "linear": "identity",
    "mish": "mish",
    "quick_gelu": "quick_gelu",
    "relu": "relu",
    "relu2": "squared_relu",
    "relu6": "relu6",
    "sigmoid": "sigmoid",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}


def activations_of(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operation of each activation that a field may name; ``names`` of the table limits and changes them.

    A meaning that is no name of an activation is one of a block.
    """
    names = declared.get("names")
    return _ACTIVATIONS if names is None else {name: _ACTIVATIONS.get(meant, meant) for name, meant in names.items()}
