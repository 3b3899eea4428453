"""Products of :mod:`netcalc.ops.routing`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.routing import slots
from netcalc.numerics.kernels.sorting import taken
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._inner import through
from netcalc.ops.routing import Experts, TopKRouter


@vjp("top_k_router")
def top_k_router(op: TopKRouter, back: Back, gradient: Array, _: Array | None = None) -> Gradients:
    g, scores = wide(gradient), wide(back.saved["result"])
    indices = np.asarray(back.saved["indices"])
    selected = taken(scores, indices) if op.order == "score_first" else scores
    if op.scale != 1:
        g = g * op.scale
    if op.normalize:
        total = wide(back.saved["other"])
        share = g / total
        g = share - np.add.reduce(share * selected, axis=-1, keepdims=True) / total
    if op.order == "select_first":
        g = through(op.score(), back, g, result=scores)
    of_all = np.zeros(back.shape(), g.dtype)
    np.put_along_axis(of_all, indices, np.asarray(g), axis=-1)
    of_scores = like(g, of_all)
    return {0: of_scores if op.order == "select_first" else through(op.score(), back, of_scores, result=scores)}


class _Pairs:
    """The pairs of a token and an expert as rows of the MLPs: one after the other, or in the slots of experts."""

    def __init__(self, op: Experts, back: Back) -> None:
        shape = back.shape()
        self.op, self.features = op, shape[-1]
        #: (sequences, tokens, k)
        self.shape = (-1, shape[-2] if len(shape) > 1 else 1, back.shape(1)[-1])
        chosen = np.asarray(back.saved["indices"]).reshape(self.shape)
        self.shape = chosen.shape
        self.expert = chosen.reshape(-1)
        self.slot: tuple[Array, ...] | None = None
        if "place" in back.saved:
            place = np.asarray(back.saved["place"])
            ranked = chosen.transpose(0, 2, 1).reshape(place.shape)
            self.used = np.nonzero(place >= 0)
            self.slot = ranked[self.used], self.used[0], place[self.used]

    def rows(self, pairs: Array) -> Array:
        """Return (sequences, tokens, k, features) as rows of the MLPs; slots that are not used hold zeros."""
        if self.slot is None:
            return pairs.reshape(-1, self.features)
        sequences, length, k = self.shape
        ranked = pairs.transpose(0, 2, 1, 3).reshape(sequences, k * length, -1)
        places = slots(self.op, k, length)
        filled = like(pairs, np.zeros((self.op.experts, sequences, places, self.features), pairs.dtype))
        filled[self.slot] = ranked[self.used]
        return filled.reshape(self.op.experts, -1, self.features)

    def pairs(self, rows: Array) -> Array:
        """Return rows of the MLPs as (sequences, tokens, k, features); zeros where a pair has no slot."""
        if self.slot is None:
            return rows.reshape(*self.shape, self.features)
        sequences, length, k = self.shape
        ranked = like(rows, np.zeros((sequences, k * length, self.features), rows.dtype))
        ranked[self.used] = rows.reshape(self.op.experts, sequences, -1, self.features)[self.slot]
        return ranked.reshape(sequences, k, length, -1).transpose(0, 2, 1, 3)

    def back_through(self, of_y: Array, weight: Array) -> Array:
        """Return the gradients of the rows that weights (experts, out, in) projected."""
        if self.slot is not None:
            product: Array = np.matmul(of_y, weight)
            return product
        of_x = like(of_y, np.empty((len(of_y), weight.shape[-1]), of_y.dtype))
        for number in np.unique(self.expert):
            its = self.expert == number
            of_x[its] = np.matmul(of_y[its], weight[number])
        return of_x

    def of_weight(self, of_y: Array, x: Array) -> Array:
        """Return the gradients of the weights (experts, out, in) that projected the rows x."""
        if self.slot is not None:
            product: Array = np.matmul(of_y.swapaxes(1, 2), x)
            return product
        total = like(of_y, np.zeros((self.op.experts, of_y.shape[-1], x.shape[-1]), of_y.dtype))
        for number in np.unique(self.expert):
            its = self.expert == number
            total[number] = np.matmul(of_y[its].T, x[its])
        return total

    def of_bias(self, of_y: Array) -> Array:
        """Return the gradients of the biases (experts, out)."""
        if self.slot is not None:
            sums: Array = np.add.reduce(of_y, axis=1)
            return sums
        total = like(of_y, np.zeros((self.op.experts, of_y.shape[-1]), of_y.dtype))
        np.add.at(total, self.expert, of_y)
        return total


@vjp("experts")
def experts(op: Experts, back: Back, gradient: Array) -> Gradients:
    pairs = _Pairs(op, back)
    saved = {name: array if array.dtype.kind in "bi" else wide(array) for name, array in back.saved.items()}
    g = wide(gradient).reshape(*pairs.shape[:2], 1, pairs.features)
    share = saved["weights"].reshape(*pairs.shape, 1) if "weights" in saved else None
    on_output = op.weights_on == "output"
    first = "gate_up_proj" if op.gated else "up_proj"
    to_rows = back.wants(0) or (back.wants(1) and not on_output)
    inside = to_rows or back.wants(first, f"{first}_bias")
    gradients: Gradients = {}
    if back.wants(1) and on_output:
        gradients[1] = np.add.reduce(g * saved["down"], axis=-1).reshape(back.shape(1))
    if not (inside or back.wants("down_proj", "down_proj_bias")):
        return gradients
    of_pairs = g * share if on_output else np.broadcast_to(g, (*pairs.shape, pairs.features), subok=True)
    of_y = pairs.rows(of_pairs)
    gradients |= back.only(
        {
            "down_proj": lambda: pairs.of_weight(of_y, saved["hidden" if "hidden" in saved else "activation_result"]),
            "down_proj_bias": lambda: pairs.of_bias(of_y),
        }
    )
    if not inside:
        return gradients
    of_first = _through_activation(op, back, saved, pairs.back_through(of_y, saved["down_proj"]))
    gradients |= back.only(
        {first: lambda: pairs.of_weight(of_first, saved["rows"]), f"{first}_bias": lambda: pairs.of_bias(of_first)}
    )
    if to_rows:
        of_rows = pairs.pairs(pairs.back_through(of_first, saved[first]))
        if back.wants(1) and not on_output:
            x = saved["input"].reshape(*pairs.shape[:2], 1, -1)
            gradients[1] = np.add.reduce(of_rows * x, axis=-1).reshape(back.shape(1))
        if back.wants(0):
            own = of_rows if on_output else of_rows * share
            gradients[0] = np.add.reduce(own, axis=2).reshape(back.shape())
    return gradients


def _through_activation(op: Experts, back: Back, saved: dict[str, Array], of_hidden: Array) -> Array:
    """Return the gradient of the first projection's output from the gradient of the hidden features."""
    prefix = "activation_"
    of_gate = of_hidden
    if op.gated:
        of_up = of_hidden * saved["activated" if "activated" in saved else "activation_result"]
        of_gate = of_hidden * saved["up"]
    of_activation = {name.removeprefix(prefix): array for name, array in saved.items() if name.startswith(prefix)}
    of_gate = through(op.activation, back, of_gate, **of_activation)
    if not op.gated:
        return of_gate
    both = like(of_gate, np.empty((*of_gate.shape[:-1], 2 * of_gate.shape[-1]), of_gate.dtype))
    halves = (slice(0, None, 2), slice(1, None, 2))
    if not op.interleaved:
        halves = (slice(op.hidden), slice(op.hidden, None))
    if op.limit is not None:
        gate, up = (saved["gate_up"][..., half] for half in halves)
        of_gate = select(gate <= op.limit, of_gate, np.zeros_like(of_gate))
        of_up = select(up <= op.limit, select(up >= -op.limit, of_up, np.zeros_like(of_up)), np.zeros_like(of_up))
    both[..., halves[0]], both[..., halves[1]] = of_gate, of_up
    return both
