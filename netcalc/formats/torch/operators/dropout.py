"""Dropout: by the mode of the module, which a network has too, or in either mode."""

from __future__ import annotations

from math import sqrt

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import with_unused
from netcalc.formats.torch.operators.random import bernoulli_of_number

#: The negative of the limit of SELU for small inputs, which alpha dropout puts in place of what it drops.
_ALPHA = 1.7580993408473766


@operator("aten.dropout.default", "aten.dropout_.default")
def dropout(build: Builder, input: Value, p: float, train: bool | None) -> Value:
    return _dropped(build, input, p, train, channelwise=False)


@operator("aten.feature_dropout.default", "aten.feature_dropout_.default")
def feature_dropout(build: Builder, input: Value, p: float, train: bool) -> Value:
    if not train and input.type.rank < 2:  # there are no channels to drop, which PyTorch refuses in training alone
        return input
    return _dropped(build, input, p, train, channelwise=True)


operator("aten.native_dropout.default")(with_unused(dropout))


def _dropped(build: Builder, input: Value, p: float, train: bool | None, *, channelwise: bool) -> Value:
    """Return the input with elements dropped in training, or in inference too if the module does so in its mode."""
    if not p or not input.type.is_float or (train is False and build.graph.training):
        return input
    if (train is not False) == build.graph.training:
        return build.line("dropout", [input], {"p": p, "channelwise": channelwise or None})
    return dropped(build, input, p, channelwise=channelwise)


def dropped(build: Builder, input: Value, p: float, *, channelwise: bool = False) -> Value:
    """Return the input with a share of its elements, or of its channels, dropped in inference too."""
    if p == 1:
        return build.line("mul", [input], {"value": 0.0})
    mask = _mask(build, input, p, channelwise=channelwise)
    return build.line("mul", [input, build.line("div", [mask], {"value": 1 - p})])


def _mask(build: Builder, input: Value, p: float, *, channelwise: bool) -> Value:
    """Return random ones, and zeros with the probability p, for the elements or the channels (axis 1) of a tensor."""
    sizes = input.type.shape
    shape = (*sizes[:2], *(1 for _ in sizes[2:])) if channelwise else sizes
    return bernoulli_of_number(build, Value(input.type.with_shape(*shape)), 1 - p)


@operator("aten.alpha_dropout.default", "aten.alpha_dropout_.default")
def alpha_dropout(build: Builder, input: Value, p: float, train: bool) -> Value:
    return _alpha_dropped(build, input, p, train, channelwise=False)


@operator("aten.feature_alpha_dropout.default", "aten.feature_alpha_dropout_.default")
def feature_alpha_dropout(build: Builder, input: Value, p: float, train: bool) -> Value:
    return _alpha_dropped(build, input, p, train, channelwise=True)


def _alpha_dropped(build: Builder, input: Value, p: float, train: bool, *, channelwise: bool) -> Value:
    """Return the input with −1.758 in place of what is dropped, scaled and moved so that mean and variance stay."""
    if not p or not train:
        return input
    if p == 1:
        return build.line("mul", [input], {"value": 0.0})
    mask = _mask(build, input, p, channelwise=channelwise)
    scale = 1 / sqrt((_ALPHA**2 * p + 1) * (1 - p))
    dropped = build.line("mul", [build.line("add", [mask], {"value": -1.0})], {"value": _ALPHA * scale})
    moved = build.line("add", [dropped], {"value": _ALPHA * scale * p})
    return build.line("add", [build.line("mul", [input, build.line("mul", [mask], {"value": scale})]), moved])
