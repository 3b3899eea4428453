"""Attributes of layers that other lines write out: padding, standardized filters, indices that nothing uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from netcalc.formats.graph.model import Line, Value
from netcalc.formats.graph.simplify.pattern import Found, Named, idiom, op
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule

_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d")
_AVERAGES = ("avg_pool1d", "avg_pool2d", "avg_pool3d")
_MAXIMA = ("max_pool1d", "max_pool2d", "max_pool3d")
_ADAPTIVE_MAXIMA = ("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
#: Views that keep the elements in row-major order.
_ORDERED = ("reshape", "flatten", "unflatten", "squeeze", "unsqueeze")


def padded(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Return a layer over windows with the padding that a line before it adds."""
    maker = _only_made_for(work, line.inputs[0], line)
    if maker is None or maker.operation != "pad" or "padding" in line.attributes:
        return None
    if line.operation in _AVERAGES and not line.attributes.keys() <= {"kernel", "stride"}:
        return None  # other averages leave padding out of the count
    mode = maker.attributes.get("mode", "constant")
    filling = -inf if line.operation in _MAXIMA else 0.0
    if mode == "constant" and maker.attributes.get("value", 0.0) != filling:
        return None
    if mode != "constant" and (line.operation not in _CONVOLUTIONS or "padding_mode" in line.attributes):
        return None
    sides = _sides(maker, len(line.outputs[0].type.shape), int(line.operation[-2]))
    if sides is None:
        return None
    added = {"padding": sides, **({} if mode == "constant" else {"padding_mode": mode})}
    parameters = {name: work.stored(stored) for name, stored in line.parameters.items()}
    inputs = [maker.inputs[0], *line.inputs[1:]]
    return work.build.lines(line.operation, inputs, {**line.attributes, **added}, parameters)


def _sides(line: Line, rank: int, axes: int) -> Any:
    """Return the padding of a line ``pad`` for layers over the last axes; None if it is none of these."""
    entries, where = line.attributes["padding"], line.attributes.get("axis")
    padded_axes = range(-len(entries), 0) if where is None else where if isinstance(where, (list, tuple)) else [where]
    sides: list[Any] = [0] * axes
    for axis, entry in zip(padded_axes, entries, strict=True):
        before, after = entry if isinstance(entry, (list, tuple)) else (entry, entry)
        place = axes + (axis if axis < 0 else axis - rank)
        if place < 0 or not isinstance(before, int) or not isinstance(after, int) or min(before, after) < 0:
            return None
        sides[place] = before if before == after else [before, after]
    same = all(entry == sides[0] for entry in sides) and isinstance(sides[0], int)
    return sides[0] if same else sides


def without_indices(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Return a maximum without indices that nothing uses."""
    if len(line.outputs) < 2 or work.users(line.outputs[1]) or work.is_result(line.outputs[1]):
        return None
    attributes = {name: value for name, value in line.attributes.items() if name != "return_indices"}
    return [work.build.line(line.operation, line.inputs, attributes), line.outputs[1]]


def standardized(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Return a convolution that standardizes its filters itself."""
    if len(line.inputs) < 2 or line.inputs[1] is None:
        return None
    norm = _behind_views(work, line.inputs[1], line)
    if (
        norm is None
        or norm.operation != "batch_norm"
        or norm.parameters
        or len(norm.inputs) > 1
        or norm.attributes.get("affine", True)
    ):
        return None
    weight = _behind_views(work, norm.inputs[0], norm)
    filters = line.inputs[1].type
    rows = norm.outputs[0].type.shape[:2]
    if weight is None or weight.operation != "parameter" or rows != (1, filters.shape[0]):
        return None
    if weight.outputs[0].type != filters:
        return None
    eps = norm.attributes.get("eps", 1e-5)
    attributes = {
        **line.attributes,
        "weight_standardization": True,
        "standardization_eps": None if eps == 1e-6 else eps,
    }
    parameters = {name: work.stored(stored) for name, stored in line.parameters.items()}
    parameters["weight"] = work.stored(weight.parameters[""])
    bias = [None, line.inputs[2]] if len(line.inputs) > 2 else []
    return work.build.lines(line.operation, [line.inputs[0], *bias], attributes, parameters)


def _behind_views(work: Rewriter, value: Value | None, user: Line) -> Line | None:
    """Return the line that makes a value but for views in row-major order, if only ``user`` uses it."""
    maker = _only_made_for(work, value, user)
    while maker is not None and maker.operation in _ORDERED:
        maker = _only_made_for(work, maker.inputs[0], maker)
    return maker


def _only_made_for(work: Rewriter, value: Value | None, user: Line) -> Line | None:
    """Return the line that makes a value if only ``user`` uses it."""
    return work.maker(value) if value is not None and work.only_user(value) is user else None


def normalize(work: Rewriter, match: Found) -> Value | None:
    """Return x/max(‖x‖, eps)."""
    axes, order, eps = (match.number(name) for name in ("axis", "ord", "eps"))
    listed = list(axes) if isinstance(axes, tuple) else [axes]
    attributes = {
        "axis": None if listed == [1] else listed[0] if len(listed) == 1 else listed,
        "p": None if order == 2 else order,
        "eps": None if eps == 1e-12 else eps,
    }
    return work.build.line("normalize", [match.values["x"]], attributes)


_NORM = op("vector_norm", "x", axis=Named("axis"), ord=Named("ord"), keepdim=True)

IDIOMS: tuple[Mapping[str, Rule], ...] = (
    idiom(op("div", "x", op("clamp", _NORM, min=Named("eps"))), normalize),
    idiom(op("div", "x", op("maximum", _NORM, value=Named("eps"))), normalize),
)

RULES: dict[str, list[Rule]] = {
    **{name: [padded, standardized] for name in _CONVOLUTIONS},
    **{name: [padded] for name in _AVERAGES},
    **{name: [without_indices, padded] for name in _MAXIMA},
    **{name: [without_indices] for name in _ADAPTIVE_MAXIMA},
}
