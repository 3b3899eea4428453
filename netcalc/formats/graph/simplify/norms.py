"""Normalization that is written out in arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.formats.graph.model import Line, Value
from netcalc.formats.graph.simplify.pattern import (
    Found,
    Named,
    Pattern,
    anything,
    either,
    idiom,
    last_axis,
    named,
    op,
    parameter,
    square,
)
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule


def _mean(x: str | Pattern) -> Pattern:
    return op("mean", x, axis=last_axis, keepdim=True)


def _over_root(x: str | Pattern, square: Pattern) -> Pattern:
    """Return the pattern of x/√(square + eps)."""
    shifted = op("add", square, value=Named("eps"))
    root = op("sqrt", shifted)
    inverse = either(
        op("rsqrt", shifted),
        op("pow", shifted, value=-0.5),
        op("reciprocal", root),
        op("div", root, value=1, reverse=True),
    )
    return either(op("mul", x, inverse), op("div", x, root))


_CENTERED = op("sub", "x", _mean("x"))
_VARIANCE = either(op("var", "x", axis=last_axis, keepdim=True, correction=0), _mean(square(_CENTERED)))


def rms_norm(work: Rewriter, match: Found) -> Value | None:
    """Return x/√(mean(x²) + eps), without a weight."""
    return work.build.line("rms_norm", [match.values["x"]], {"eps": float(match.number("eps")), "affine": False})


def layer_norm(work: Rewriter, match: Found) -> Value | None:
    """Return (x − mean)/√(variance + eps), without weight and bias."""
    eps = float(match.number("eps"))
    attributes = {"eps": None if eps == 1e-5 else eps, "affine": False}
    return work.build.line("layer_norm", [match.values["x"]], attributes)


def weighted(work: Rewriter, match: Found) -> Value | None:
    """Return a norm with the weight that its result was multiplied by, to which a number may have been added."""
    line, weight = work.maker(match.values["normed"]), match.values["weight"]
    offset = float(match.number("offset", 0))
    if line is None or not _fits_weight(line, weight) or (offset and line.operation != "rms_norm"):
        return None
    attributes = {name: value for name, value in line.attributes.items() if name != "affine"}
    attributes |= {"bias": False} if line.operation == "layer_norm" else {"offset": offset or None}
    return work.build.line(line.operation, line.inputs, attributes, {"weight": weight})


def biased(work: Rewriter, match: Found) -> Value | None:
    """Return a norm with the bias that was added to its result."""
    line, bias = work.maker(match.values["normed"]), match.values["bias"]
    if line is None or not _fits_weight(line, bias):
        return None
    attributes = {name: value for name, value in line.attributes.items() if name != "bias"}
    parameters = {"weight": work.stored(line.parameters["weight"]), "bias": bias}
    return work.build.line(line.operation, line.inputs, attributes, parameters)


def _fits_weight(line: Line, tensor: Value) -> bool:
    """Return True if a tensor has the shape and type of a norm's weight."""
    type_ = line.outputs[0].type
    return tensor.type.shape == type_.shape[-1:] and tensor.type.dtype == type_.dtype


_EITHER_NORM = {"eps": anything, "normalized_shape": lambda sizes, line: sizes is None or len(sizes) == 1}
_UNWEIGHTED = op("rms_norm|layer_norm", "x", affine=False, bias=anything, offset=0.0, **_EITHER_NORM)
_UNBIASED = op("layer_norm", "x", bias=False, **_EITHER_NORM)
_WEIGHT = either(parameter("weight"), op("add", parameter("weight"), value=Named("offset")))

IDIOMS: tuple[Mapping[str, Rule], ...] = (
    # before rms_norm, which is a part of it
    idiom(_over_root(_CENTERED, _VARIANCE), layer_norm),
    idiom(_over_root("x", _mean(square("x"))), rms_norm),
    idiom(op("mul", named("normed", _UNWEIGHTED), _WEIGHT), weighted),
    idiom(op("add", named("normed", _UNBIASED), parameter("bias")), biased),
)
