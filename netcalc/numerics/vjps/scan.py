"""Products of :mod:`netcalc.ops.scan`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels.scan import grouped
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._inner import through
from netcalc.ops.activation import SiLU, Softplus
from netcalc.ops.scan import SelectiveScan, Wkv

_U, _DELTA, _A, _B, _C, _D, _Z, _BIAS, _START = range(9)


def _by_group(x: Array, rank: int) -> Array:
    """Return gradients (batch, length, groups, state) in the shape of B or C, which has this rank."""
    if rank == 2:
        total: Array = np.add.reduce(x, axis=(0, 1))
        return total
    return x[:, :, 0] if rank == 3 else x


def _groups(back: Back, index: int) -> int:
    """Return the number of groups of channels that share B or C; a fixed one has a row for each channel."""
    shape = back.shape(index)
    return {2: back.shape()[1], 3: 1}.get(len(shape)) or shape[2]


@vjp("selective_scan")
def selective_scan(op: SelectiveScan, back: Back, gradient: Array | None, last: Array | None = None) -> Gradients:
    """Return the gradients; arrays on the way are (batch, length, channels, state)."""
    saved = {name: wide(array) for name, array in back.saved.items()}
    wants_delta = back.wants(_DELTA, _BIAS)
    wants_states = wants_delta or back.wants(_U, _A, _B, _START)
    gradients: Gradients = {}
    g = None if gradient is None else wide(gradient)
    if g is None:
        gradients |= {source: np.zeros(back.shape(int(source))) for source in back.among(_C, _D, _Z)}
    else:
        if back.wants(_Z):
            gradients[_Z] = through(SiLU(), back, g * saved["ungated"], self=saved["z"])
        if "gate" in saved:
            g = g * saved["gate"]
        if back.wants(_D):
            gradients[_D] = np.add.reduce(g * saved["u"], axis=(0, 2))
        if back.wants(_C):
            gradients[_C] = _of_reader(back, saved["states"], g)
    if not wants_states:
        return gradients
    of_states, of_start = _through_states(back, saved, g, None if last is None else wide(last))
    if back.wants(_START):
        gradients[_START] = of_start
    if back.wants(_B):
        groups = _groups(back, _B)
        channels, size = of_states.shape[2:]
        weighted = saved["weighted"].swapaxes(1, 2)[..., None]
        each = (of_states * weighted).reshape(*of_states.shape[:2], groups, channels // groups, size)
        gradients[_B] = _by_group(np.add.reduce(each, axis=3), len(back.shape(_B)))
    return gradients | _to_inputs(op, back, saved, g, of_states)


def _of_reader(back: Back, states: Array, g: Array) -> Array:
    """Return the gradient of C, which reads the states of the channels of its group."""
    batch, length, channels, size = states.shape
    groups = _groups(back, _C)
    rows = g.swapaxes(1, 2).reshape(batch, length, groups, 1, channels // groups)
    read = np.matmul(rows, states.reshape(batch, length, groups, channels // groups, size))
    return _by_group(read[..., 0, :], len(back.shape(_C)))


def _through_states(back: Back, saved: dict[str, Array], g: Array | None, last: Array | None) -> tuple[Array, Array]:
    """Return the gradients of the states after each position, and of the initial one."""
    decay = saved["decay"]
    batch, length, channels, size = decay.shape
    of_states = like(decay, np.zeros(decay.shape, decay.dtype))
    if g is not None:
        c = grouped(saved["C"], length)
        rows = g.swapaxes(1, 2).reshape(batch, length, c.shape[2], channels // c.shape[2], 1)
        of_states = np.matmul(rows, c[:, :, :, None, :]).reshape(decay.shape)
    following = last
    for t in reversed(range(length)):
        if following is not None:
            of_states[:, t] = following if g is None else of_states[:, t] + following
        if t or back.wants(_START):
            following = of_states[:, t] * decay[:, t]
    start = np.zeros((batch, channels, size)) if following is None else following
    return of_states, start


def _to_inputs(op: SelectiveScan, back: Back, saved: dict[str, Array], g: Array | None, of_states: Array) -> Gradients:
    """Return the gradients of A, u, delta and its bias."""
    gradients: Gradients = {}
    wants_delta = back.wants(_DELTA, _BIAS)
    batch, length, channels, size = of_states.shape
    if wants_delta or back.wants(_A):
        first = saved["initial_state"][:, None] if "initial_state" in saved else np.zeros_like(saved["states"][:, :1])
        before = np.concatenate([first, saved["states"]], axis=1)[:, :length]
        of_exponents = of_states * like(of_states, before) * saved["decay"]
    if back.wants(_A):
        gradients[_A] = np.add.reduce(of_exponents * saved["delta"].swapaxes(1, 2)[..., None], axis=(0, 1))
    if not (wants_delta or back.wants(_U)):
        return gradients
    b = grouped(saved["B"], length)
    parts = of_states.reshape(batch, length, b.shape[2], channels // b.shape[2], size) * b[:, :, :, None, :]
    of_weighted = np.add.reduce(parts, axis=-1).reshape(batch, length, channels).swapaxes(1, 2)
    if back.wants(_U):
        own = of_weighted * saved["delta"]
        gradients[_U] = own if g is None or "D" not in saved else own + g * saved["D"][:, None]
    if wants_delta:
        of_delta = of_weighted * saved["u"] + np.add.reduce(of_exponents * saved["A"], axis=-1).swapaxes(1, 2)
        if op.delta_softplus:
            of_delta = through(Softplus(), back, of_delta, self=saved["self"])
        if back.wants(_DELTA):
            gradients[_DELTA] = of_delta
        if back.wants(_BIAS):
            gradients[_BIAS] = np.add.reduce(of_delta, axis=(0, 2))
    return gradients


@vjp("wkv")
def wkv(op: Wkv, back: Back, gradient: Array, *others: Array | None) -> Gradients:
    saved = {name: wide(array) for name, array in back.saved.items()}
    key, value, decay, bonus = (back.wants(n) for n in range(4))
    scaled = wide(gradient) / saved["down"]
    gradients: Gradients = {}
    numerator, denominator, exponent = (back.wants(n) for n in (4, 5, 6))
    start = numerator or denominator or exponent
    own = scaled * saved["new_output"] if key or value or bonus else scaled
    of_exponent = own * (saved["value"] - saved["result"]) if key or bonus else own
    if bonus:
        gradients[3] = np.add.reduce(of_exponent, axis=(0, 1))
    if not (key or value or decay or start):
        return gradients
    # gradients of the sums that each position takes, of all positions if those before the first are wanted
    first = 0 if start else 1
    above = scaled[:, first:] * saved["old_output"][:, first:]
    below = above * saved["result"][:, first:] if key or decay or denominator or exponent else None
    for t in reversed(range(above.shape[1] - 1)):
        old = saved["old"][:, t + first]
        if below is not None:
            below[:, t] = below[:, t] + old * below[:, t + 1]
        above[:, t] = above[:, t] + old * above[:, t + 1]
    if start:
        gradients.update(_of_earlier_sums(back, saved, above[:, :1].sum(axis=1), below))
        above, below = above[:, 1:], None if below is None else below[:, 1:]
    if value:
        gradients[1] = like(own, own.copy())
        gradients[1][:, :-1] = own[:, :-1] + saved["new"][:, :-1] * above
    if key:
        assert below is not None
        gradients[0] = like(own, of_exponent.copy())
        passed = saved["new"][:, :-1] * (above * saved["value"][:, :-1] - below)
        gradients[0][:, :-1] = of_exponent[:, :-1] + passed
    if decay:
        assert below is not None
        sums = saved["above"][:, :-1] * above - saved["below"][:, :-1] * below
        gradients[2] = np.add.reduce(saved["old"][:, :-1] * sums, axis=(0, 1))
    return gradients


def _of_earlier_sums(back: Back, saved: dict[str, Array], above: Array, below: Array | None) -> Gradients:
    """Return the gradients of the sums before the first position: the gradient of the second is −``below``."""
    gradients: Gradients = {4: above} if back.wants(4) else {}
    if below is None:
        return gradients
    below = below[:, :1].sum(axis=1)
    if back.wants(5):
        gradients[5] = -below
    if back.wants(6):  # the sums are relative to it
        gradients[6] = saved["numerator"] * above - saved["denominator"] * below
    return gradients
