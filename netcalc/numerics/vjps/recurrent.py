"""Products of :mod:`netcalc.ops.recurrent`: backpropagation through time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.recurrent import NORM_GROUPS, scaled_mask
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._statistics import through_statistics

#: Gradients of the sums of gates, from the input's and from the state's side, and what reaches the states before.
_Sums: TypeAlias = tuple[Array, Array, "Array | None", "Array | None"]

#: What layer norms keep of the products with input and state, and of the cell state.
_NORMS = tuple(f"{what}_{kind}" for kind in ("ih", "hh", "c") for what in ("normal", "root"))


@dataclass(slots=True)
class _Line:
    """A layer in one direction: what it kept, as (steps, batch, …), in the order of execution."""

    op: Any
    weights: Mapping[str, Array]
    #: The state h before each step, and after it; the cell state likewise.
    h_before: Array | None
    h_after: Array | None
    c_before: Array | None
    c_after: Array | None
    gates: Array | None
    valid: Array | None
    wants_h: bool
    wants_c: bool
    wants_weight: bool
    #: What layer norms kept, by name.
    norms: Mapping[str, Array]


@dataclass(slots=True)
class _Through:
    """Gradients of one layer in one direction: of the sums of gates, of the projected state, of the first states."""

    of_x: Array
    of_h: Array
    projected: Array | None
    first: list[Array | None]
    #: Gradients of the products with the state, before layer norms if there are any, and of the normalized cell state.
    before_h: Array
    of_c: Array | None


def _elman(line: _Line, t: int, dh: Array, dc: Array | None) -> _Sums:
    assert line.h_after is not None
    y = line.h_after[t]
    sums = dh * (1 - y * y) if line.op.nonlinearity == "tanh" else select(y <= 0, 0, dh)
    return sums, sums, None, None


def _through_norm(line: _Line, kind: str, g: Array, t: int | slice) -> Array:
    """Return the gradient of what a layer norm reads, from that of what its gain and bias make of it."""
    if f"root_{kind}" not in line.norms:
        return g
    h = g * line.weights[f"gain_{kind}"]
    normal, roots = line.norms[f"normal_{kind}"][t], line.norms[f"root_{kind}"][t]
    groups = (1,) if kind == "c" else NORM_GROUPS[line.op.name.removesuffix("_cell")]
    ends = np.cumsum(groups)[:-1] * line.op.hidden
    pieces = zip(np.split(h, ends, axis=-1), np.split(normal, ends, axis=-1), strict=True)
    parts = [
        through_statistics(of_group, group, roots[..., number : number + 1], (-1,))
        for number, (of_group, group) in enumerate(pieces)
    ]
    return like(g, np.concatenate(parts, axis=-1))


def _finished(line: _Line, t: int | slice) -> Array:
    """Return the cell state as tanh reads it: after its layer norm, if there is one."""
    if "normal_c" not in line.norms:
        assert line.c_after is not None
        return line.c_after[t]
    finished: Array = line.norms["normal_c"][t] * line.weights["gain_c"]
    return finished + line.weights["bias_c"] if "bias_c" in line.weights else finished


def _memory(line: _Line, t: int, dh: Array, dc: Array | None) -> _Sums:
    assert line.gates is not None and line.c_before is not None
    i, f, g, o = np.split(line.gates[t], 4, axis=-1)
    top = np.tanh(_finished(line, t))
    of_o = dh * top
    own = dh * o * (1 - top * top)
    through = _through_norm(line, "c", own, t)
    of_c = through if dc is None else through + dc
    of_i, of_f, of_g = of_c * g, of_c * line.c_before[t], of_c * i
    parts = [of_i * (i * (1 - i)), of_f * (f * (1 - f)), of_g * (1 - g * g), of_o * (o * (1 - o))]
    sums = like(dh, np.concatenate(parts, axis=-1))
    return sums, sums, of_c, own


def _gated(line: _Line, t: int, dh: Array, dc: Array | None) -> _Sums:
    assert line.gates is not None and line.h_before is not None
    r, z, n, new_h = np.split(line.gates[t], 4, axis=-1)
    of_old = dh * z
    of_z = dh * (line.h_before[t] - n)
    of_new = (dh - of_old) * (1 - n * n)
    of_r = of_new * new_h
    parts = [of_r * (r * (1 - r)), of_z * (z * (1 - z))]
    of_x = like(dh, np.concatenate([*parts, of_new], axis=-1))
    of_h = like(dh, np.concatenate([*parts, of_new * r], axis=-1))
    return of_x, of_h, of_old, None


_STEPS: dict[str, Callable[[_Line, int, Array, Array | None], _Sums]] = {"rnn": _elman, "lstm": _memory, "gru": _gated}


def _through_time(line: _Line, out: Array | None, last: list[Array | None], shape: tuple[int, int, int]) -> _Through:
    """Go back from the last step to the first, from gradients of the outputs (``out``) and of the last states."""
    kind = line.op.name.removesuffix("_cell")
    steps, batch, size = shape
    projection = line.weights.get("weight_hr")
    dh, dc = last[0], last[1] if len(last) > 1 else None
    model = next(x for x in (out, dh, dc) if x is not None)
    of_x: list[Array] = []
    of_h: list[Array] = []
    projected: list[Array] = []
    before_h: list[Array] = []
    finished: list[Array] = []
    for t in reversed(range(steps)):
        valid = None if line.valid is None else line.valid[t]
        if out is not None:
            part = out[t] if valid is None else select(valid, out[t], np.zeros_like(out[t]))
            dh = part if dh is None else dh + part
        if dh is None:
            dh = like(model, np.zeros((batch, size), model.dtype))
        raw = dh if projection is None else np.matmul(dh, projection)
        x_sums, h_sums, direct, own = _STEPS[kind](line, t, raw, dc)
        for gathered, sums in ((of_x, x_sums), (of_h, h_sums), (projected, dh), (finished, own)):
            if sums is not None:
                gathered.append(sums if valid is None else select(valid, sums, np.zeros_like(sums)))
        needed = t or line.wants_h or line.wants_weight
        before_h.append(_through_norm(line, "hh", of_h[-1], t) if needed else of_h[-1])
        before, c_before = None, None
        if t or line.wants_h:
            before = np.matmul(before_h[-1], line.weights["weight_hh"])
            if kind == "gru":
                assert direct is not None
                before = before + direct
        if kind == "lstm" and (t or line.wants_c):
            assert direct is not None and line.gates is not None
            c_before = direct * np.split(line.gates[t], 4, axis=-1)[1]
        if valid is not None:
            before = None if before is None else select(valid, before, dh)
            held = np.zeros_like(raw) if dc is None else dc
            c_before = None if c_before is None else select(valid, c_before, held)
        dh, dc = before, c_before
    return _Through(
        like(model, np.stack(of_x[::-1])),
        like(model, np.stack(of_h[::-1])),
        None if projection is None else like(model, np.stack(projected[::-1])),
        [dh, dc],
        like(model, np.stack(before_h[::-1])),
        like(model, np.stack(finished[::-1])) if finished else None,
    )


def _to_parameters(
    back: Back, line: _Line, through: _Through, before_x: Array | None, suffix: str, x: Array | None
) -> Gradients:
    """Return the gradients of the parameters of one layer in one direction.

    Args:
        before_x: gradients of the products with its input, if they are needed.
        x: its input, if it was kept.
    """
    gradients: Gradients = _to_gains(back, line, through, suffix)
    of_x = through.of_x.reshape(-1, through.of_x.shape[-1])
    of_h = through.of_h.reshape(-1, through.of_h.shape[-1])
    if back.wants(f"weight_ih{suffix}"):
        assert x is not None and before_x is not None
        rows = before_x.reshape(-1, before_x.shape[-1])
        gradients[f"weight_ih{suffix}"] = np.matmul(rows.T, x.reshape(-1, x.shape[-1]))
    if back.wants(f"weight_hh{suffix}"):
        assert line.h_before is not None
        rows = through.before_h.reshape(-1, through.before_h.shape[-1])
        gradients[f"weight_hh{suffix}"] = np.matmul(rows.T, line.h_before.reshape(-1, line.h_before.shape[-1]))
    for name, sums in (("bias_ih", of_x), ("bias_hh", of_h)):
        if back.wants(name + suffix):
            gradients[name + suffix] = np.add.reduce(sums, axis=0)
    if back.wants(f"weight_hr{suffix}"):
        assert through.projected is not None and line.gates is not None and line.c_after is not None
        output = np.split(line.gates, 4, axis=-1)[3]
        top = np.tanh(np.asarray(_finished(_uncounted(line), slice(None))))  # tanh was computed on the way
        raw = output * top
        rows = through.projected.reshape(-1, through.projected.shape[-1])
        gradients[f"weight_hr{suffix}"] = np.matmul(rows.T, raw.reshape(-1, raw.shape[-1]))
    return gradients


def _uncounted(line: _Line) -> _Line:
    """Return the layer with plain arrays, on which work is not counted."""
    weights, norms = (
        {name: np.asarray(array) for name, array in arrays.items()} for arrays in (line.weights, line.norms)
    )
    cells = None if line.c_after is None else np.asarray(line.c_after)
    return replace(line, c_after=cells, weights=weights, norms=norms)


def _to_gains(back: Back, line: _Line, through: _Through, suffix: str) -> Gradients:
    """Return the gradients of the gains of layer norms, and of the bias of the cell state."""
    gradients: Gradients = {}
    for kind, sums in (("ih", through.of_x), ("hh", through.of_h), ("c", through.of_c)):
        if back.wants(f"gain_{kind}{suffix}"):
            assert sums is not None
            rows = (sums * line.norms[f"normal_{kind}"]).reshape(-1, sums.shape[-1])
            gradients[f"gain_{kind}{suffix}"] = np.add.reduce(rows, axis=0)
    if back.wants(f"bias_c{suffix}"):
        assert through.of_c is not None
        gradients[f"bias_c{suffix}"] = np.add.reduce(through.of_c.reshape(-1, through.of_c.shape[-1]), axis=0)
    return gradients


class _Stack:
    """The layers of one operation: shapes and saved tensors."""

    def __init__(self, op: Any, back: Back) -> None:
        self.op, self.back = op, back
        self.saved = {
            name: wide(array) if array.dtype.kind == "f" or array.dtype.itemsize == 2 else array
            for name, array in back.saved.items()
        }
        shape = back.shape()
        if len(shape) == 2:
            self.steps, self.batch = shape[0], 1
        else:
            self.steps, self.batch = (shape[1], shape[0]) if op.batch_first else shape[:2]
        self.suffixes = ("", "_reverse") if op.bidirectional else ("",)
        self.lstm = op.name == "lstm"
        self.valid = None
        if "lengths" in self.saved:
            self.valid = np.asarray(np.arange(self.steps)[:, None] < self.saved["lengths"])[..., None]

    def by_time(self, x: Array) -> Array:
        """Return x as (steps, batch, features)."""
        if x.ndim == 2:
            return x[:, None]
        return x.swapaxes(0, 1) if self.op.batch_first else x

    def as_given(self, x: Array) -> Array:
        """Return (steps, batch, features) with the axes of the input."""
        if len(self.back.shape()) == 2:
            return x[:, 0]
        return x.swapaxes(0, 1) if self.op.batch_first else x

    def row(self, name: str, row: int) -> Array | None:
        """Return the states of one layer in one direction, from the gradient or the input of all of them."""
        array = self.saved.get(name)
        return None if array is None else array[row].reshape(self.batch, -1)

    def line(self, layer: int, direction: int) -> _Line:
        row = layer * len(self.suffixes) + direction
        turn = slice(None, None, -1 if direction else 1)
        suffix = f"_l{layer}{self.suffixes[direction]}"

        def kept(name: str) -> Array | None:
            return self.saved[name][row][turn] if name in self.saved else None

        h, c = kept("hidden"), kept("cells")
        weights = {
            n: self.saved[n + suffix]
            for n in ("weight_ih", "weight_hh", "weight_hr", "gain_ih", "gain_hh", "gain_c", "bias_c")
            if n + suffix in self.saved
        }
        norms = {name: self.saved[name][row][turn] for name in _NORMS if name in self.saved}
        return _Line(
            self.op,
            weights,
            _before(h, self.row("hx", row)),
            h,
            _before(c, self.row("cx", row)),
            c,
            kept("workspace"),
            None if self.valid is None else self.valid[turn],
            self.back.wants(1),
            self.lstm and self.back.wants(2),
            self.back.wants(f"weight_hh{suffix}"),
            norms,
        )

    def input_of(self, layer: int) -> Array | None:
        """Return the input of a layer, if it was kept."""
        if layer == 0:
            x = self.saved.get("input")
            return None if x is None else self.by_time(x)
        if self.back.training and self.op.dropout:
            dropped = self.saved.get("dropped")
            return None if dropped is None else dropped[layer - 1]
        if "hidden" not in self.saved:
            return None
        first = (layer - 1) * len(self.suffixes)
        x = like(
            self.saved["hidden"], np.concatenate(self.saved["hidden"][first : first + len(self.suffixes)], axis=-1)
        )
        return x if self.valid is None else select(self.valid, x, np.zeros_like(x))


def _before(states: Array | None, first: Array | None) -> Array | None:
    """Return the states before each step, from those after it; zeros before the first unless it is given."""
    if states is None:
        return None
    start = np.zeros_like(states[:1]) if first is None else first[None]
    return like(states, np.concatenate([start, states[:-1]]))


@vjp("rnn", "lstm", "gru")
def layers(op: Any, back: Back, gradient: Array | None, *of_states: Array | None) -> Gradients:
    stack = _Stack(op, back)
    directions = len(stack.suffixes)
    out = None if gradient is None else stack.by_time(wide(gradient))
    last = [None if g is None else wide(g).reshape(op.layers * directions, stack.batch, -1) for g in of_states]
    size = op.hidden if op.name != "lstm" or op.proj_size is None else op.proj_size
    gradients: Gradients = {}
    firsts: dict[int, list[Array | None]] = {}
    started = back.wants(1) or (stack.lstm and back.wants(2))
    for layer in reversed(range(op.layers)):
        below = back.wants(0) or any(_wants_layer(back, lower) for lower in range(layer))
        parts: list[Array] = []
        for direction, name in enumerate(stack.suffixes):
            suffix = f"_l{layer}{name}"
            if not (below or started or _wants(back, suffix)):
                continue
            line = stack.line(layer, direction)
            turn = slice(None, None, -1 if direction else 1)
            row = layer * directions + direction
            own = None if out is None else out[..., direction * size : (direction + 1) * size][turn]
            ends = [None if g is None else g[row] for g in last]
            through = _through_time(line, own, ends, (stack.steps, stack.batch, size))
            firsts[row] = through.first
            x = stack.input_of(layer)
            before_x = None
            if below or (started and layer) or back.wants(f"weight_ih{suffix}"):
                before_x = _through_norm(line, "ih", through.of_x, slice(None))
            gradients |= _to_parameters(back, line, through, before_x, suffix, None if x is None else x[turn])
            if below or (started and layer):
                assert before_x is not None
                parts.append(np.matmul(before_x, line.weights["weight_ih"])[turn])
        if not parts:
            break
        out = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        if layer and back.training and op.dropout:
            out = out * like(out, scaled_mask(stack.saved["result1"][layer - 1], op.dropout, out.dtype))
    if back.wants(0):
        assert out is not None
        gradients[0] = stack.as_given(out)
    for source in range(1, 3 if stack.lstm else 2):
        if back.wants(source):
            rows = [firsts[row][source - 1] for row in range(op.layers * directions)]
            gradients[source] = np.stack([r for r in rows if r is not None]).reshape(back.shape(source))
    return gradients


def _wants(back: Back, suffix: str) -> bool:
    """Return True if the gradient of a parameter of one layer in one direction is wanted."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr", "gain_ih", "gain_hh", "gain_c", "bias_c")
    return back.wants(*(name + suffix for name in names))


def _wants_layer(back: Back, layer: int) -> bool:
    return _wants(back, f"_l{layer}") or _wants(back, f"_l{layer}_reverse")


@vjp("rnn_cell", "lstm_cell", "gru_cell")
def cell(op: Any, back: Back, *of_states: Array | None) -> Gradients:
    saved = {name: wide(array) for name, array in back.saved.items()}
    batch, features = (*back.shape()[:-1], 1)[0], back.shape()[-1]

    def step(name: str) -> Array | None:
        return saved[name].reshape(1, batch, -1) if name in saved else None

    model = next(g for g in of_states if g is not None)

    def first(name: str) -> Array:
        saved_step = step(name)
        return like(model, np.zeros((1, batch, op.hidden), wide(model).dtype)) if saved_step is None else saved_step

    line = _Line(
        op,
        saved,
        first("hx"),
        step("result"),
        first("cx"),
        step("cy"),
        step("workspace"),
        None,
        back.wants(1),
        op.name == "lstm_cell" and back.wants(2),
        back.wants("weight_hh"),
        {name: saved[name].reshape(1, batch, -1) for name in _NORMS if name in saved},
    )
    last = [None if g is None else wide(g).reshape(batch, -1) for g in of_states]
    through = _through_time(line, None, last, (1, batch, op.hidden))
    before_x = None
    if back.wants(0, "weight_ih"):
        before_x = _through_norm(line, "ih", through.of_x, slice(None))
    gradients = _to_parameters(back, line, through, before_x, "", step("input"))
    if back.wants(0):
        assert before_x is not None
        gradients[0] = np.matmul(before_x, saved["weight_ih"]).reshape(*back.shape()[:-1], features)
    for source, state in zip((1, 2), through.first, strict=True):
        if back.wants(source):
            assert state is not None
            gradients[source] = state.reshape(back.shape(source))
    return gradients
