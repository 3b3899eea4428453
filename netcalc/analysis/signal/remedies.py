"""Remedies for a stage in which signals vanish or explode, without what is in use in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netcalc.analysis.signal.report import SignalRow
from netcalc.analysis.signal.stages import Run

NORMS = {"batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm"}
#: Recurrent operations, which have weights.
RECURRENT = {"rnn", "lstm", "gru"}
#: Relative difference of variances below which initializers are taken for the same.
_SAME = 0.15


class _Keeping(NamedTuple):
    """Initializer that keeps the variance before an activation function; ``variance`` is its variance times fan in."""

    init: str
    text: str
    variance: float


_HE = _Keeping("he_normal(nonlinearity=relu)", "2/fan_in", 2.0)
_XAVIER = _Keeping("xavier_normal", "about 1/fan_in", 1.0)
_LINEAR = _Keeping("he_normal(nonlinearity=linear)", "1/fan_in", 1.0)
_KEEPING = {
    "relu": _HE,
    "leaky_relu": _HE._replace(init="he_normal", text="about 2/fan_in"),
    "gelu": _HE._replace(text="about 2/fan_in"),
    "silu": _HE._replace(text="about 2/fan_in"),
    "selu": _LINEAR,
    "tanh": _XAVIER,
    "softsign": _XAVIER,
    "": _LINEAR,
}


class Around(NamedTuple):
    """Operations between the first and the last line of a stage."""

    rows: tuple[SignalRow, ...]
    residual: bool
    activation: str

    @property
    def ops(self) -> frozenset[str]:
        """Names of the operations."""
        return frozenset(row.op for row in self.rows)

    @property
    def spread(self) -> float | None:
        """Mean of the variances of weights times fan in; None without linear layers and convolutions."""
        spreads = [row.measured.spread for row in self.rows if row.measured.spread is not None]
        return sum(spreads) / len(spreads) if spreads else None


def around(run: Run, activations: frozenset[str]) -> Around:
    """Return the operations of a stage, with the most frequent of its activation functions."""
    used = [row.op for row in run.rows if row.op in activations]
    return Around(run.rows, run.residual, max(dict.fromkeys(used), key=used.count, default=""))


def remedies(stage: Around, small: bool, saturated: bool) -> str:
    """Return what would help where signals vanish (``small``) or explode, in words."""
    return "; ".join(_remedies(stage, small, saturated)) or "fewer layers in a row: what else helps is in use"


def _remedies(stage: Around, small: bool, saturated: bool) -> Iterator[str]:
    keeping, spread, ops = _KEEPING.get(stage.activation), stage.spread, stage.ops
    if stage.activation == "sigmoid" and small:
        yield "relu or tanh in place of sigmoid, whose slope is at most ¼"
    elif keeping is not None and spread is not None and not ops & NORMS:
        differs = abs(spread - keeping.variance) > _SAME * keeping.variance
        if differs and (saturated or small == (spread < keeping.variance) or stage.activation in {"tanh", "softsign"}):
            before = f" before {stage.activation}" if stage.activation else ""
            yield f"--init '{keeping.init}': weights of variance {keeping.text} keep the scale{before}"
    if "rnn" in ops and small:
        yield "a gated cell: lstm or gru"
    if not ops & NORMS:
        yield "batch_norm or layer_norm before the activation functions"
    if not stage.residual:
        yield "residual connections"
    elif not small and not ops & NORMS:
        yield "smaller weights at the end of each residual branch"
