"""Names of modules, inputs and keys: ordinary ones, those of operations and lines of specs, and odd ones."""

from __future__ import annotations

import keyword
from collections.abc import Container
from random import Random

__all__ = ["Palette", "is_plain"]

_ORDINARY = (
    *("fc", "fc1", "proj", "norm", "norm1", "attn", "mlp", "head", "stem", "encoder", "query", "key", "value", "conv1"),
    *("layers", "blocks", "act", "emb", "out", "gate", "weight", "bias", "layer1", "users", "items_", "h"),
)
_OPERATIONS = (
    *("sum", "add", "mul", "relu", "linear", "conv", "softmax", "concat", "identity", "reshape", "mean", "max", "norm"),
    *("layer_norm", "embedding", "dropout", "gelu", "matmul", "slice", "stack", "parameter", "buffer", "cast", "sub"),
    *("transpose", "repeat", "unknown", "batch_norm", "flatten", "lstm", "parallel", "residual", "layers", "tanh"),
)
_VALUES = (
    *("product", "quotient", "joined", "projected", "same", "weights", "part", "repeated", "normed", "difference"),
    *("attended", "output", "outputs", "input", "inputs", "x", "y", "z", "turn", "index", "args", "dims", "name", "on"),
    *("block", "outer_fc", "main", "yes", "no", "null_", "n", "true", "checkpoint", "tie", "from_", "shape", "body"),
)
_SUFFIXES = ("", "", "", "", "_1", "_2", "_3", "_4", "_input", "_output", "_", "_0", "1", "_in_turn_0")
_KEYWORDS = ("in", "class", "from", "lambda", "is", "None", "if", "or")
_ODD = (
    *("first task", "first_task", "1:1", "a-b", "x/y", "é", "0", "1", "$", "#1", "a[0]", "null", "~", "- x", "1e3"),
    *("${index}", "{x}", "'", "@1", "*", "a*", "ключ", "off", "a, b", "%", "sum", "relu_1", "in", "in_"),
)


class Palette:
    """The names of one drawn module, few enough to come again in its classes, inputs and results."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        pools = [_ORDINARY, _OPERATIONS, _VALUES]
        self._names = [rng.choice(rng.choice(pools)) + rng.choice(_SUFFIXES) for _ in range(rng.choice((3, 6, 12)))]
        stem = rng.choice(_OPERATIONS)
        self._names += [f"{stem}{suffix}" for suffix in rng.sample(_SUFFIXES, 3)]

    def plain(self, taken: Container[str]) -> str:
        """Return a name that Python takes as it is."""
        return self._free(self._rng.choice(self._names), taken)

    def attribute(self, taken: Container[str]) -> str:
        """Return a name of a submodule; it may be a keyword."""
        return self._free(self._rng.choice(_KEYWORDS), taken) if self._rng.random() < 0.04 else self.plain(taken)

    def key(self, taken: Container[str]) -> str:
        """Return a key of a mapping, with any characters but points."""
        return self._free(self._rng.choice(_ODD), taken) if self._rng.random() < 0.4 else self.plain(taken)

    def _free(self, name: str, taken: Container[str]) -> str:
        while name in taken:
            name += self._rng.choice(("_1", "_2", "_"))
        return name


def is_plain(name: str) -> bool:
    """Return True for a name that can stand after a point."""
    return name.isidentifier() and not keyword.iskeyword(name)
