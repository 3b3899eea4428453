"""Findings on signals in words: where they vanish or explode, from which layer, why, and what would help."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from netcalc.analysis.signal.report import Figures, Finding, SignalReport, SignalRow
from netcalc.analysis.walk import instances
from netcalc.ir import Program

#: Factor between the first and the last layer from which signals are said to vanish or explode.
_FAR = 20.0
#: Factor that marks the layer where it begins.
_BEGINS = 5.0
#: Share of elements or units that is worth a remark.
_MANY = 0.5
#: Share of the mean square that all samples have in common, from which their outputs are said to be alike.
_ALIKE = 0.99
#: Number of sums above which they are followed in place of the layers of the branches.
_FEW = 2
#: Part of the whole factor, in powers, from which a kind of operation is named as a reason.
_PART = 0.2

_NORMS = {"batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm"}
#: Recurrent operations, which have weights.
RECURRENT = {"rnn", "lstm", "gru"}
#: Initializers that keep the variance before an activation function, and the variance of their weights.
_KEEPING = {
    "relu": ("he_normal(nonlinearity=relu)", "2/fan_in"),
    "leaky_relu": ("he_normal", "about 2/fan_in"),
    "gelu": ("he_normal(nonlinearity=relu)", "about 2/fan_in"),
    "silu": ("he_normal(nonlinearity=relu)", "about 2/fan_in"),
    "selu": ("he_normal(nonlinearity=linear)", "1/fan_in"),
    "tanh": ("xavier_normal", "about 1/fan_in"),
    "softsign": ("xavier_normal", "about 1/fan_in"),
    "": ("he_normal(nonlinearity=linear)", "1/fan_in"),
}


class _Network(NamedTuple):
    """Layers with weights, sums and operations of a program, by which a report is judged."""

    layers: Sequence[SignalRow]
    stream: Sequence[SignalRow]
    rows: Sequence[SignalRow]
    ops: frozenset[str]
    activation: str

    @property
    def residual(self) -> bool:
        """True if sums of two tensors bypass layers."""
        return bool(self.stream)

    @property
    def followed(self) -> Sequence[SignalRow]:
        """The rows that are compared with each other: sums of a residual network, or else layers with weights."""
        return self.stream if len(self.stream) > _FEW else self.layers


def diagnose(report: SignalReport, program: Program) -> tuple[Finding, ...]:
    """Return the findings on a report at full depth."""
    sums = {
        instance.path
        for instance in instances(program)
        if instance.node.op.name == "add" and sum(x is not None for x in instance.node.inputs) > 1
    }
    activations = [row.op for row in report.rows if row.op in _KEEPING or row.op == "sigmoid"]
    main = max(dict.fromkeys(activations), key=activations.count, default="")
    stream = [row for row in report.rows if row.path in sums]
    network = _Network(report.layers, stream, report.rows, frozenset(row.op for row in report.rows), main)
    findings = [
        *_growth_of_sizes(network, "activations", lambda figures: figures.rms, lambda figures: figures.gain),
        *_growth_of_sizes(network, "gradients", lambda figures: figures.gradient, lambda figures: figures.back),
        *_saturated_and_dead(network, report.data),
        *_alike_samples(network, report.data),
    ]
    return tuple(findings) or tuple(_steady(network))


def _growth_of_sizes(
    network: _Network, what: str, size: Callable[[Figures], float | None], gain: Callable[[Figures], float | None]
) -> Iterator[Finding]:
    """Yield a finding if the size of activations or gradients changes far between the layers.

    Activations are followed from the first layer to the last one, gradients from the last to the first.
    """
    sizes = [(row, measured_size) for row in network.followed if (measured_size := size(row.measured)) is not None]
    if what == "gradients":
        sizes.reverse()
    if len(sizes) < 2 or not sizes[0][1]:
        return
    (first, start), (last, end) = sizes[0], sizes[-1]
    factor = end / start
    steps = len(sizes) - 1
    if 1 / _FAR < factor < _FAR:
        return
    small = factor <= 1 / _FAR
    begins = next(row for row, value in sizes if not (value > start / _BEGINS if small else value < start * _BEGINS))
    verb = "vanish" if small else "explode"
    measure = "root mean square" if what == "activations" else "norm"
    text = f"their {measure} goes from {start:.3g} at {first.path} to {end:.3g} at {last.path}, " + (
        f"by a factor of {factor ** (1 / steps):.3g} per layer" if 0 < factor < math.inf else f"over {steps} layers"
    )
    why, kinds = _reasons(network, gain, small)
    yield Finding(f"{what} {verb}", begins.path, text, why, _remedies(network, small, kinds))


def _reasons(network: _Network, gain: Callable[[Figures], float | None], small: bool) -> tuple[str, frozenset[str]]:
    """Return the reasons in words, and the kinds of operations that they name."""
    logs: dict[str, list[float]] = {}
    nil: dict[str, None] = {}
    for row in network.rows:
        factor = gain(row.measured)
        if factor is not None and 0 < factor < math.inf:
            logs.setdefault("layers" if row.weighted else row.op, []).append(math.log(factor))
        elif factor == 0 and small:
            nil["layers" if row.weighted else row.op] = None
    sign = -1 if small else 1
    total = sum(max(sign * sum(each), 0.0) for each in logs.values())
    kinds = list(nil)
    parts = [f"{'a layer with weights' if op == 'layers' else op} multiplies by 0" for op in nil]
    for op, each in sorted(logs.items(), key=lambda item: sign * sum(item[1]), reverse=True):
        if total and sign * sum(each) >= _PART * total:
            mean = math.exp(sum(each) / len(each))
            who = "a layer with weights" if op == "layers" else op
            parts.append(f"{who} multiplies by {mean:.3g} on average")
            kinds.append(op)
    for row_op in dict.fromkeys(row.op for row in network.rows):
        shares = [r.measured.saturated for r in network.rows if r.op == row_op and r.measured.saturated is not None]
        if shares and sum(shares) / len(shares) >= _MANY:
            parts.append(f"{_percent(sum(shares) / len(shares))} of the elements of {row_op} are saturated")
    if small and not network.residual and len(network.layers) > 2:
        parts.append("no residual connection bypasses the layers")
    return "; ".join(parts), frozenset(kinds)


def _remedies(network: _Network, small: bool, kinds: frozenset[str]) -> str:
    """Return what would help, in words."""
    parts = []
    if network.activation == "sigmoid" and small:
        parts.append("relu or tanh in place of sigmoid, whose slope is at most ¼")
    elif kinds & {"layers", network.activation} and network.activation in _KEEPING:
        init, variance = _KEEPING[network.activation]
        before = f" before {network.activation}" if network.activation else ""
        parts.append(f"--init '{init}': weights of variance {variance} keep the scale{before}")
    if network.ops & RECURRENT - {"lstm", "gru"} and small:
        parts.append("a gated cell: lstm or gru")
    if not network.ops & _NORMS:
        parts.append("batch_norm or layer_norm before the activation functions")
    if small and not network.residual:
        parts.append("residual connections")
    if not small and network.residual and not network.ops & _NORMS:
        parts.append("smaller weights at the end of each residual branch")
    return "; ".join(parts)


def _saturated_and_dead(network: _Network, data: int) -> Iterator[Finding]:
    """Yield findings on saturated and dead units; of one datum, half of all units are 0 without being dead."""
    for op in dict.fromkeys(row.op for row in network.rows):
        rows = [row for row in network.rows if row.op == op]
        saturated = [row for row in rows if (row.measured.saturated or 0.0) >= _MANY]
        dead = [row for row in rows if data > 1 and (row.measured.dead or 0.0) >= _MANY]
        if saturated:
            worst = max(row.measured.saturated or 0.0 for row in saturated)
            yield Finding(
                "saturation",
                saturated[0].path,
                f"{op} saturates in {len(saturated)} of {len(rows)} layers: up to {_percent(worst)} of its elements "
                "have less than a tenth of its greatest slope",
                "its inputs are large beside the range where it rises",
                "smaller weights; batch_norm or layer_norm before it",
            )
        if dead:
            worst = max(row.measured.dead or 0.0 for row in dead)
            yield Finding(
                "dead units",
                dead[0].path,
                f"{op} is 0 for all data in up to {_percent(worst)} of the units of {len(dead)} of {len(rows)} layers",
                "the inputs of these units are negative for all data: a common mean or biases outweigh what differs",
                "normalization before it, leaky_relu, or biases of 0",
            )


def _alike_samples(network: _Network, data: int) -> Iterator[Finding]:
    """Yield a finding if the outputs of different samples have become alike."""
    rows = [(row, share) for row in network.layers if data > 1 and (share := _share_of_means(row.measured)) is not None]
    if len(rows) > 2 and rows[0][1] < _ALIKE <= rows[-1][1]:
        begins = next(row for row, share in rows if share >= _ALIKE)
        yield Finding(
            "samples alike",
            begins.path,
            f"at {rows[-1][0].path} the means of channels make up {_percent(rows[-1][1], 1)} of the mean square",
            "means of activations and biases grow beside what differs between samples, the ordered phase",
            "normalization over the batch; weights nearer to the edge of chaos",
        )


def _percent(share: float, digits: int = 0) -> str:
    return f"{share:.{digits}%}".replace("%", " %")


def _share_of_means(figures: Figures) -> float | None:
    """Return the share of the mean square that is squared means of channels."""
    if figures.channel_square is None or figures.channel_variance is None:
        return None
    total = figures.channel_square + figures.channel_variance
    return figures.channel_square / total if 0 < total < math.inf else None


def _steady(network: _Network) -> Iterator[Finding]:
    if len(network.followed) < 2:
        return
    first, last = network.followed[0], network.followed[-1]
    text = (
        f"neither vanishes nor explodes over {len(network.followed)} layers: the root mean square goes from "
        f"{first.measured.rms or 0:.3g} to {last.measured.rms or 0:.3g}"
    )
    if first.measured.gradient is not None and last.measured.gradient is not None:
        text += (
            f", the norm of gradients from {last.measured.gradient:.3g} at {last.path} to "
            f"{first.measured.gradient:.3g} at {first.path}"
        )
    yield Finding("steady", first.path, text, "", "")
