"""Products of :mod:`netcalc.ops.chunked_scan`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.chunked_scan import chunked, every_head
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._chunks import of_groups, to_end, turned, unchunked
from netcalc.numerics.vjps._delta_rule import gated_delta_rule
from netcalc.numerics.vjps._inner import through
from netcalc.ops.activation import Softplus
from netcalc.ops.chunked_scan import SsdScan


def _of_between(x: Array) -> Array:
    """Return the gradient of the numbers whose sums between two places have the gradients x (…, to, from)."""
    places = x.shape[-1]
    sums = np.add.accumulate(x[..., ::-1, :], axis=-2)[..., ::-1, :]
    below = np.tri(places, k=-1, dtype=bool)
    total: Array = np.add.reduce(select(below, sums, np.zeros_like(sums)), axis=-1)
    return total


class _Ssd:
    """The backward pass of one ssd_scan; arrays of positions are (batch, chunks, heads, chunk, features)."""

    def __init__(self, op: SsdScan, back: Back, gradient: Array | None, last: Array | None) -> None:
        self.op, self.back = op, back
        self.saved = {name: wide(array) for name, array in back.saved.items()}
        self.batch, self.length, self.heads, self.size = back.shape()
        self.g = None if gradient is None else wide(gradient)
        self.of_y = None if self.g is None else chunked(self.g, op.chunk)
        self.last = None if last is None else wide(last)
        self.delta = back.wants(1, 6)
        self.decay = self.delta or back.wants(2)
        self.written = self.delta or back.wants(0)
        self.states = self.decay or self.written or back.wants(3, 7)
        #: gradients of C, B, what is written, and the sums of decay, as far as they are known
        self.of_c: Array | None = None
        self.of_b: Array | None = None
        self.of_written: Array | None = None
        self.of_sums: Array | None = None
        self.of_decay: Array | None = None

    def projection(self, port: str) -> Array:
        return chunked(every_head(self.saved[port], self.heads), self.op.chunk)

    def output(self) -> Array | None:
        """Go from the output to scores, what is written, and the states that are read, whose gradient is returned."""
        if self.of_y is None:
            return None
        saved, back = self.saved, self.back
        of_read = self.of_y * saved["since"][..., None]
        if self.decay:
            self.of_sums = np.add.reduce(self.of_y * saved["read"], axis=-1) * saved["since"]
        if back.wants(3, 4) or self.decay:
            of_scores = np.matmul(self.of_y, turned(saved["written"]))
        if self.written:
            self.of_written = np.matmul(turned(saved["scores"]), self.of_y)
        if back.wants(3, 4):
            of_products = of_scores * saved["between"]
        if back.wants(4):
            own = np.matmul(of_read, saved["states"][:, :-1])
            self.of_c = own + np.matmul(of_products, self.projection("B"))
        if back.wants(3):
            self.of_b = np.matmul(turned(of_products), self.projection("C"))
        if self.decay:
            self.of_decay = _of_between(of_scores * saved["scores"])
        return np.matmul(turned(of_read), self.projection("C")) if self.states else None

    def between_chunks(self, of_states: Array | None) -> Array:
        """Return the gradient of the initial state and go on to what each chunk writes into the states."""
        saved, back = self.saved, self.back
        passing = saved["passing"]
        count = passing.shape[-1]
        state = back.shape(3)[3]
        shape = (self.batch, count, self.heads, self.size, state)
        of_passed = like(passing, np.zeros(shape, passing.dtype))
        if of_states is not None:
            of_passed[:, :-1] = of_states
        if self.last is not None:
            of_passed[:, -1] = self.last
        flat = of_passed.swapaxes(1, 2).reshape(self.batch, self.heads, count, -1)
        entering = np.matmul(turned(passing), flat).reshape(self.batch, self.heads, count, self.size, state)
        entering = entering.swapaxes(1, 2)
        if self.written:
            own = np.matmul(saved["b_decayed"], turned(entering[:, 1:]))
            self.of_written = own if self.of_written is None else self.of_written + own
        if back.wants(3) or self.decay:
            of_decayed = np.matmul(saved["written"], entering[:, 1:])
        if back.wants(3):
            own = of_decayed * saved["remaining"][..., None]
            self.of_b = own if self.of_b is None else self.of_b + own
        if self.decay:
            entering_states = saved["entering"].swapaxes(1, 2).reshape(flat.shape)
            of_chunks = _of_between(np.matmul(flat, turned(entering_states)) * passing)[..., 1:].swapaxes(1, 2)
            self.decays(of_decayed, of_chunks)
        first: Array = entering[:, 0]
        return first

    def decays(self, of_decayed: Array, of_chunks: Array) -> None:
        """Go from the exponentials to the decay of each position."""
        saved = self.saved
        ending = np.add.reduce(of_decayed * self.projection("B"), axis=-1) * saved["remaining"]
        sums = np.negative(ending) if self.of_sums is None else self.of_sums - ending
        sums[..., -1] = sums[..., -1] + (np.add.reduce(ending, axis=-1) + of_chunks)
        own = to_end(sums)
        self.of_decay = own if self.of_decay is None else self.of_decay + own


@vjp("ssd_scan")
def ssd_scan(op: SsdScan, back: Back, gradient: Array | None, last: Array | None = None) -> Gradients:
    it = _Ssd(op, back, gradient, last)
    gradients: Gradients = {}
    of_states = it.output() if it.states or back.wants(4) else None
    if it.states:
        first = it.between_chunks(of_states)
        if back.wants(7):
            gradients[7] = first
    for source, part in ((3, it.of_b), (4, it.of_c)):
        if back.wants(source):
            shape = back.shape(source)
            gradients[source] = np.zeros(shape) if part is None else of_groups(unchunked(part, it.length), shape[2])
    if back.wants(5):
        gradients[5] = np.zeros(it.heads) if it.g is None else np.add.reduce(it.g * it.saved["u"], axis=(0, 1, 3))
    return gradients | _ssd_inputs(op, back, it)


def _ssd_inputs(op: SsdScan, back: Back, it: _Ssd) -> Gradients:
    """Return the gradients of u, delta and its bias, and a."""
    gradients: Gradients = {}
    saved = it.saved
    of_written = None if it.of_written is None else unchunked(it.of_written, it.length)
    of_decay = None if it.of_decay is None else unchunked(it.of_decay[..., None], it.length)[..., 0]
    if back.wants(0):
        assert of_written is not None
        own = of_written * saved["steps"][..., None]
        gradients[0] = own if it.g is None or "D" not in saved else own + it.g * saved["D"][:, None]
    if back.wants(2):
        assert of_decay is not None
        gradients[2] = np.add.reduce(of_decay * saved["steps"], axis=(0, 1))
    if it.delta:
        assert of_written is not None and of_decay is not None
        of_delta = np.add.reduce(of_written * saved["u"], axis=-1) + of_decay * saved["a"]
        limited = saved["self"]
        of_delta = select(limited >= limited.dtype.type(op.delta_min), of_delta, np.zeros_like(of_delta))
        if op.delta_max is not None:
            of_delta = select(limited <= limited.dtype.type(op.delta_max), of_delta, np.zeros_like(of_delta))
        if op.delta_softplus:
            of_delta = through(Softplus(), back, of_delta, self=saved["biased"])
        if back.wants(1):
            gradients[1] = of_delta
        if back.wants(6):
            gradients[6] = np.add.reduce(of_delta, axis=(0, 1))
    return gradients


vjp("gated_delta_rule")(gated_delta_rule)
