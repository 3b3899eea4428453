"""Distributions of initial values, by the formulas of torch.nn.init, and those that each operation starts from.

A law is a distribution function on an interval.  Mean and deviation are integrals of it, so that they depend on no
other formula.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from netcalc.verification.figure_references.formulas import formula_values, number_at
from netcalc.verification.references import Array, Attributes, Shape

__all__ = ["Law", "default_law", "law", "law_of_text", "matches"]

#: Intervals of integrals, and limits of an unbounded variable in standard deviations.
_INTERVALS, _TAIL = 20_000, 9.0
_SQRT2 = math.sqrt(2)


class Law:
    """Distribution of the elements of a tensor.

    ``below`` gives the probability of an element at or below each of some numbers.  ``low`` and ``high`` are the limits
    of the elements, infinite if there are none, and ``reach`` the limits of integrals.  A ``gain`` is that of an
    orthogonal matrix, and ``values`` are all elements where they are fixed.
    """

    def __init__(
        self,
        below: Callable[[Array], Array] | None,
        low: float,
        high: float,
        reach: tuple[float, float] | None = None,
        *,
        gain: float | None = None,
        values: Any = None,
        moments: tuple[float, float] | None = None,
    ) -> None:
        self.below, self.low, self.high = below, low, high
        self.gain, self.values = gain, values
        self._reach = reach or (low, high)
        self._moments = moments

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation, by the integrals b − ∫F and b² − 2∫xF."""
        if self._moments is not None:
            return self._moments
        if self.below is None:
            elements = np.asarray(self.values, np.float64)
            if not elements.size:
                return 0.0, 0.0
            if elements.min() == elements.max():  # of infinite ones, too
                return float(elements.min()), 0.0
            return float(elements.mean()), float(elements.std())
        low, high = self._reach
        x = np.linspace(low, high, _INTERVALS + 1)
        below = self.below(x)
        middle = (low + high) / 2  # around which squares lose no digits
        mean = high - _integral(below, x)
        square = (high - middle) ** 2 - 2 * _integral((x - middle) * below, x)
        return mean, math.sqrt(max(square - (mean - middle) ** 2, 0.0))


def _integral(y: Array, x: Array) -> float:
    """Return an integral by trapezoids."""
    return float(np.sum((y[1:] + y[:-1]) * np.diff(x)) / 2)


def fixed(values: Any) -> Law:
    """Return the law of elements that are not drawn."""
    elements = np.asarray(values, np.float64)
    return Law(None, float(elements.min(initial=math.inf)), float(elements.max(initial=-math.inf)), values=elements)


def uniform(low: float, high: float) -> Law:
    """Return the uniform law between two limits."""
    if low == high:
        return fixed(low)
    return Law(lambda x: np.clip((x - low) / (high - low), 0, 1), low, high)


def normal(mean: float, std: float) -> Law:
    """Return the normal law."""
    if std == 0:
        return fixed(mean)
    reach = mean - _TAIL * std, mean + _TAIL * std
    return Law(lambda x: _normal_below((x - mean) / std), -math.inf, math.inf, reach)


def truncated(mean: float, std: float, low: float, high: float) -> Law:
    """Return the normal law without what is below and above two limits."""
    first, last = (float(_normal_below(np.array((limit - mean) / std))) for limit in (low, high))
    if last <= first:
        return fixed(low if low > mean else high)

    def below(x: Array) -> Array:
        return np.clip((_normal_below((x - mean) / std) - first) / (last - first), 0, 1)

    reach = max(low, mean - _TAIL * std), min(high, mean + _TAIL * std)
    return Law(below, low, high, reach)


def _normal_below(z: Array) -> Array:
    return np.asarray(np.vectorize(lambda value: math.erfc(-value / _SQRT2) / 2, otypes=[np.float64])(z))


def _log_uniform(low: float, high: float) -> Law:
    """Return the law of the logarithm of a uniform variable."""
    return Law(lambda y: np.clip((np.exp(y) - low) / (high - low), 0, 1), math.log(low), math.log(high))


def _step_size(low: float, high: float) -> Law:
    """Return the law of a number whose softplus has a uniform logarithm."""
    first, last = math.log(low), math.log(high)

    def below(y: Array) -> Array:
        return np.clip((np.log(np.logaddexp(0, y)) - first) / (last - first), 0, 1)

    return Law(below, math.log(math.expm1(low)), math.log(math.expm1(high)))


def _fan(shape: Shape, mode: str) -> int:
    if len(shape) < 2:
        raise ValueError("a fan needs two axes")
    window = int(np.prod(shape[2:], dtype=np.int64))
    return (shape[1] if mode == "fan_in" else shape[0]) * window


def _gain(nonlinearity: str, slope: float) -> float:
    table = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": 2**0.5, "selu": 0.75}
    return table[nonlinearity] if nonlinearity in table else (2 / (1 + slope**2)) ** 0.5


def _spread(name: str, std: float) -> Law:
    """Return the uniform or normal law of mean 0 and this deviation, as the name ends."""
    return uniform(-(3**0.5) * std, 3**0.5 * std) if name.endswith("uniform") else normal(0.0, std)


def law(name: str, args: Mapping[str, Any], shape: Shape) -> Law | None:
    """Return the law of an initializer of torch.nn.init on a shape; None for one without a law.

    Raises:
        ValueError: if the initializer does not apply to the shape.
    """
    get = args.get
    if 0 in shape:
        return None
    if name == "constant":
        return None if isinstance(args["value"], (list, tuple)) else fixed(args["value"])
    if name in ("zeros", "ones"):
        return fixed(float(name == "ones"))
    if name == "uniform":
        bound = get("bound")
        return uniform(get("a", 0.0), get("b", 1.0)) if bound is None else uniform(-bound, bound)
    if name == "normal":
        return normal(get("mean", 0.0), get("std", 1.0))
    if name == "truncated_normal":
        return truncated(get("mean", 0.0), get("std", 1.0), get("a", -2.0), get("b", 2.0))
    if name.startswith("kaiming"):
        fan = _fan(shape, get("mode", "fan_in"))
        return _spread(name, _gain(get("nonlinearity", "leaky_relu"), get("a", 0.0)) / fan**0.5)
    if name.startswith("xavier"):
        return _spread(name, get("gain", 1.0) * (2 / (_fan(shape, "fan_in") + _fan(shape, "fan_out"))) ** 0.5)
    if name == "lecun_normal":  # cut off at two deviations of the whole, and scaled to the variance 1 / fan in
        wide = _fan(shape, "fan_in") ** -0.5 / truncated(0.0, 1.0, -2.0, 2.0).moments[1]
        return truncated(0.0, wide, -2 * wide, 2 * wide)
    if name == "log_of_uniform":
        return _log_uniform(get("a", 1.0), get("b", 16.0))
    if name == "step_size":
        return _step_size(get("a", 1e-3), get("b", 0.1))
    if name == "log_range":
        return fixed(np.log(np.arange(1, (shape[-1] if shape else 1) + 1)))
    if name == "orthogonal":
        longest = max(shape[0], int(np.prod(shape[1:], dtype=np.int64))) if len(shape) > 1 else _fan(shape, "fan_in")
        scale = get("gain", 1.0)
        return Law(None, -abs(scale), abs(scale), gain=scale, moments=(0.0, abs(scale) / longest**0.5))
    return None


def _formula(text: str, shape: Shape, path: str) -> Law | None:
    """Return the law of elements that a formula gives."""
    values = None if 0 in shape else formula_values(text, shape, path)
    return None if values is None else fixed(values)


_ALIASES = {"he_": "kaiming_", "glorot_": "xavier_"}
_ORDER = {
    "kaiming_uniform": ("a", "mode", "nonlinearity"),
    "kaiming_normal": ("a", "mode", "nonlinearity"),
    "xavier_uniform": ("gain",),
    "xavier_normal": ("gain",),
    "orthogonal": ("gain",),
    "normal": ("mean", "std"),
    "truncated_normal": ("mean", "std", "a", "b"),
    "constant": ("value",),
}


def law_of_text(text: str, shape: Shape, path: str) -> Law | None:
    """Return the law of an initializer as it is written in an option or a spec, ``normal(std=0.02)``.

    A formula depends on the numbers in the path of the parameter, too.

    Raises:
        ValueError: if the initializer does not apply to the shape.
    """
    found = re.match(r"\s*(\w+)\s*(?:\((.*)\))?\s*$", text)
    assert found is not None
    name = found[1]
    for short, full in _ALIASES.items():
        name = re.sub(f"^{short}", full, name)
    if name == "formula":
        return _formula(found[2] or "", shape, path)
    args: dict[str, Any] = {}
    for position, part in enumerate(filter(str.strip, (found[2] or "").split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = _ORDER.get(name, ("a", "b"))[position], part
        word = value.strip()
        args[key.strip()] = word if word[0].isalpha() else number_at(word, path)
    return law(name, args, shape)


def matches(pattern: str, text: str) -> bool:
    """Return True for a text that a pattern with ``*``, ``?`` and ``[…]`` covers as a whole."""
    parts = re.split(r"(\*|\?|\[[^]]+\])", pattern)
    wild = {"*": ".*", "?": "."}
    expression = "".join(
        wild.get(part) or (part.replace("[!", "[^") if part.startswith("[") and len(part) > 2 else re.escape(part))
        for part in parts
    )
    return re.fullmatch(expression, text, re.DOTALL) is not None


# -- what operations start from ---------------------------------------------------------------------


def default_law(
    op: Attributes, name: str, shapes: Mapping[str, Shape], inputs: Sequence[Shape | None], path: str
) -> Law | None:
    """Return the law of a parameter or buffer of an operation, as torch's ``reset_parameters``; None if it is unknown.

    Args:
        op: the attributes.
        name: the parameter.
        shapes: shapes of all parameters.
        inputs: shapes of the inputs.
        path: that of the parameter.
    """
    if op.name == "parameter" and op.init.kind == "formula":
        return _formula(dict(op.init.args)["expression"], shapes[name], path)
    rule = _DEFAULTS.get(op.name)
    return None if rule is None or 0 in shapes[name] else rule(op, name, shapes, inputs)


def _by_size(size: int) -> Law:
    return uniform(-(size**-0.5), size**-0.5)


def _by_weight(op: Attributes, name: str, shapes: Mapping[str, Shape], inputs: Sequence[Shape | None]) -> Law:
    """Return the law of a weight and of its bias, by the elements that an output is a sum of."""
    weight = shapes.get("weight")
    if weight is None:  # the weight is an input
        weight = inputs[1]
    assert weight is not None
    return _by_size(int(np.prod(weight[1:], dtype=np.int64)))


def _bilinear(op: Attributes, name: str, shapes: Mapping[str, Shape], inputs: Sequence[Shape | None]) -> Law:
    first = inputs[0]
    assert first is not None
    return _by_size(first[-1])


def _recurrent(op: Attributes, name: str, shapes: Mapping[str, Shape], inputs: Sequence[Shape | None]) -> Law:
    if getattr(op, "layer_norm", False) and not name.startswith("weight"):
        return fixed(float(name.startswith("gain")))
    return _by_size(op.hidden)


def _experts(op: Attributes, name: str, shapes: Mapping[str, Shape], inputs: Sequence[Shape | None]) -> Law:
    x = inputs[0]
    assert x is not None
    return _by_size(op.hidden if name.startswith("down") else x[-1])


def _norm(op: Attributes, name: str, shapes: Mapping[str, Shape], inputs: Sequence[Shape | None]) -> Law:
    return fixed(float(name in ("weight", "running_var")))


def _rms_norm(op: Attributes, name: str, shapes: Mapping[str, Shape], inputs: Sequence[Shape | None]) -> Law:
    """Return the law of a weight that multiplies by 1 together with its offset."""
    return fixed(1 - op.offset)


def _standard(op: Attributes, name: str, shapes: Mapping[str, Shape], inputs: Sequence[Shape | None]) -> Law:
    return normal(0.0, 1.0)


def _stated(op: Attributes, name: str, shapes: Mapping[str, Shape], inputs: Sequence[Shape | None]) -> Law | None:
    return law(op.init.kind, dict(op.init.args), shapes[name])


_Rule = Callable[[Attributes, str, Mapping[str, Shape], Sequence[Shape | None]], Law | None]
_CONVOLUTIONS = [f"conv{kind}{axes}d" for kind in ("", "_transpose") for axes in (1, 2, 3)]
_DEFAULTS: Mapping[str, _Rule] = {
    **dict.fromkeys(("linear", "linear_weight", *_CONVOLUTIONS), _by_weight),
    **dict.fromkeys(("rnn", "lstm", "gru", "rnn_cell", "lstm_cell", "gru_cell"), _recurrent),
    **dict.fromkeys(("batch_norm", "frozen_batch_norm", "instance_norm", "layer_norm", "group_norm"), _norm),
    **dict.fromkeys(("embedding", "embedding_bag", "learned_positions", "t5_position_bias"), _standard),
    "bilinear": _bilinear,
    "experts": _experts,
    "rms_norm": _rms_norm,
    "prelu": lambda op, *_: fixed(op.init),
    "relative_position_bias": lambda *_: truncated(0.0, 0.02, -2.0, 2.0),
    "top_k_router": lambda *_: fixed(0.0),
    "parameter": _stated,
}


def padding_row(op: Attributes, text: str | None) -> int | None:
    """Return the row of a table that starts at zero; None if there is none, or if the initializer draws it as well."""
    if text is not None and re.search(r"padding\s*=\s*drawn", text):
        return None
    return getattr(op, "padding_idx", None)
