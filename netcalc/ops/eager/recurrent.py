"""Eager execution of :mod:`netcalc.ops.recurrent`: what PyTorch keeps of its steps on CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from netcalc.dims import Dim, integer, product
from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.eager import Eager, EagerCall, Moment, Work, eager, work_bytes

#: Bytes of a page, to which oneDNN rounds each part of a workspace, and numbers of a line of the cache.
_PAGE, _LINE = 4096, 16


class _Cell(NamedTuple):
    """Tensors that single steps keep: activated gates, a tanh, and copies of what is overwritten in place.

    ``each`` are tensors by name and multiples of a state's size, and ``carried`` states that the next step reads.
    """

    each: tuple[tuple[str, int], ...]
    carried: tuple[str, ...]


_CELLS = {
    # the next step reads the result itself
    "rnn": _Cell((("result", 1),), ()),
    "gru": _Cell((("gates", 3), ("state of the new gate", 1), ("difference", 1), ("new gate", 1)), ("hx",)),
    "lstm": _Cell((("gates", 4), ("tanh", 1)), ("hx", "cx")),
}


@eager("rnn", "lstm", "gru")
class LayersEager(Eager):
    """A loop over the steps of each layer, or oneDNN's kernel for LSTMs in float32, which keeps a workspace.

    The workspace is as oneDNN lays it out for processors with AVX-512, each part in whole pages.
    """

    def order(self, op: Any, call: EagerCall) -> Sequence[int] | None:
        return (1, 0, 2) if op.batch_first and call.input().rank == 3 else None

    def saves(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Saved] | None:
        lengths = len(op.inputs) - 1
        weights = [param.name for param in call.params if param.name.startswith("weight")]
        if call.present(lengths) or not all(map(back.wants, weights)):
            return None
        onednn = self._by_kernel(op, call)
        saved = self._starts(op, call, back) + self._inputs(op, call, back, onednn)
        for layer in range(op.layers):
            for _ in range(op.directions):
                last = layer == op.layers - 1 and op.directions == 1
                saved += self._by_onednn(op, call, back, layer, last) if onednn else self._by_steps(op, call, back)
        return [*saved, *(back.saved_parameter(name, name) for name in weights)]

    def backward_moments(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        """Return the gradients of one layer and direction: when those of the next come, its steps are released."""
        if self._by_kernel(op, call):
            return (Moment(),)
        layers: dict[str, list[Work]] = {}
        for param in call.params:
            layers.setdefault(param.name.partition("_l")[2], []).append(call.work(param.name, *param.shape))
        return (Moment(tuple(max(layers.values(), key=work_bytes, default=[])), outputs=False),)

    def _by_kernel(self, op: Any, call: EagerCall) -> bool:
        """Return True for an LSTM that is oneDNN's kernel."""
        return bool(op.name == "lstm" and op.proj_size is None and call.input().dtype in ("float32", "bfloat16"))

    def _extent(self, op: Any, call: EagerCall) -> tuple[Dim, Dim]:
        shape = call.input().shape
        if len(shape) == 2:
            return shape[0], 1
        return (shape[1], shape[0]) if op.batch_first else (shape[0], shape[1])

    def _starts(self, op: Any, call: EagerCall, back: BackwardCall) -> list[Saved]:
        """Return the states before the first step: inputs, or zeros for all layers."""
        _, batch = self._extent(op, call)
        names = ("hx", "cx") if op.name == "lstm" else ("hx",)
        widths = op.handed_on, op.hidden
        return [
            back.saved_input(name, index)
            if call.present(index)
            else back.saved_kept(name, op.layers * op.directions, batch, width)
            for index, (name, width) in enumerate(zip(names, widths, strict=False), 1)
        ]

    def _inputs(self, op: Any, call: EagerCall, back: BackwardCall, onednn: bool) -> list[Saved]:
        """Return the inputs of all layers; directions share one unless it is copied for each."""
        steps, batch = self._extent(op, call)
        x = call.input()
        order = [axis for axis in call.orders[0] if x.shape[axis] != 1]
        by_step = self.order(op, call) or range(x.rank)
        copied = order != [axis for axis in by_step if x.shape[axis] != 1]
        first = [back.saved_input("input")]
        if copied:
            first = [back.saved_kept("input", *x.shape)] * (1 if onednn else op.directions)
        saved, width = first, op.directions * op.handed_on
        for _ in range(op.layers - 1):
            if call.training and op.dropout:
                saved = [
                    *saved,
                    back.saved_kept("mask", steps, batch, width),
                    back.saved_kept("input", steps, batch, width),
                ]
            elif not (onednn and op.directions == 1):  # which reads the result of the layer below
                saved = [*saved, back.saved_kept("input", steps, batch, width)]
        return saved

    def _by_steps(self, op: Any, call: EagerCall, back: BackwardCall) -> list[Saved]:
        steps, batch = self._extent(op, call)
        cell = _CELLS[op.name]
        saved = [back.saved_kept(name, steps, batch, times * op.hidden) for name, times in cell.each]
        widths = {"hx": op.handed_on, "cx": op.hidden}
        if op.name == "lstm" and op.proj_size is not None:
            saved.append(back.saved_kept("unprojected", steps, batch, op.hidden))
        return saved + [back.saved_kept(name, steps - 1, batch, widths[name]) for name in cell.carried]

    def _by_onednn(self, op: Any, call: EagerCall, back: BackwardCall, layer: int, last: bool) -> list[Saved]:
        steps, batch = self._extent(op, call)
        features = call.input().shape[-1] if layer == 0 else op.directions * op.hidden
        workspace = _workspace(integer(steps), integer(batch), integer(features), integer(op.hidden))
        states = [back.saved_kept(name, batch, op.hidden) for name in ("result1", "result2")]
        result = back.saved_output("result0") if last else back.saved_kept("result0", steps, batch, op.hidden)
        return [result, *states, back.saved_kept("result3", workspace, dtype="uint8")]


def _workspace(steps: int, batch: int, features: int, hidden: int) -> int:
    """Return the bytes of oneDNN's workspace of a layer in one direction, whose parts are whole pages.

    They are gates, states after each step, and states and their gradients of two layers before each step and after the
    last: those of the input, of the state, and of the cell.
    """
    rows, states = steps * batch, 2 * (steps + 1) * batch
    wide, own = _row(max(features, hidden)), _row(hidden)
    parts = rows * _row(4 * hidden), rows * own, *[states * wide] * 3, *[states * hidden] * 2
    return sum(-(-4 * part // _PAGE) * _PAGE for part in parts)


def _row(size: int) -> int:
    """Return the numbers that a row takes: whole lines of the cache, and one more where rows would evict each other."""
    lines = -(-size // _LINE) * _LINE
    return lines + _LINE if lines % 256 == 0 else lines


@eager("rnn_cell", "lstm_cell", "gru_cell")
class CellEager(Eager):
    """A single step."""

    def saves(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Saved] | None:
        if not back.wants("weight_ih") or not back.wants("weight_hh"):
            return None
        kind = op.name.removesuffix("_cell")
        rows = product(call.input().shape[:-1])
        saved = [back.saved_input("input")]
        states = ("hx", "cx") if kind == "lstm" else ("hx",)
        given = [back.saved_input(name, index) for index, name in enumerate(states, 1) if call.present(index)]
        saved += given or [back.saved_kept("zeros", rows, op.hidden)]
        if kind == "rnn":
            saved.append(back.saved_output("result"))
        else:
            saved += (back.saved_kept(name, rows, times * op.hidden) for name, times in _CELLS[kind].each)
        return [*saved, *(back.saved_parameter(name, name) for name in ("weight_ih", "weight_hh"))]
