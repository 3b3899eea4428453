"""Names of activations in configurations (transformers.activations.ACT2FN)."""

from __future__ import annotations

from typing import Any

__all__ = ["ACTIVATIONS"]

_TANH_GELU = {"gelu": {"approximate": "tanh"}}

#: The operation of each name.
ACTIVATIONS: dict[str, Any] = {
    "gelu": "gelu",
    "gelu_accurate": _TANH_GELU,
    "gelu_fast": _TANH_GELU,
    "gelu_new": _TANH_GELU,
    "gelu_python": "gelu",
    "gelu_python_tanh": _TANH_GELU,
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
