"""Backward passes of :mod:`netcalc.ops.batch_norm`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim, product
from netcalc.opdef import Term
from netcalc.ops._statistics import reciprocal_root
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._statistics import wide_dtype
from netcalc.ops.batch_norm import BatchNorm, FrozenBatchNorm, InstanceNorm

_RULE = (
    "∂L/∂x̂ = ∂L/∂y·γ",
    "∂L/∂σ² = Σ ∂L/∂x̂·(x − μ)·(−½)·(σ² + ε)^(−3/2)",
    "∂L/∂μ = −Σ ∂L/∂x̂/√(σ² + ε) + ∂L/∂σ²·Σ −2·(x − μ)/m",
    "∂L/∂x = ∂L/∂x̂/√(σ² + ε) + ∂L/∂σ²·2·(x − μ)/m + ∂L/∂μ/m",
    "∂L/∂γ = Σ ∂L/∂y·x̂",
    "∂L/∂β = Σ ∂L/∂y",
)
_FIXED = "with running statistics: ∂L/∂x = ∂L/∂y·γ/√(σ² + ε)"


def _is_weighted(op: BatchNorm | InstanceNorm, call: BackwardCall) -> bool:
    return op.affine or call.present(1)


def _saved(call: BackwardCall, name: str, index: int) -> Saved:
    """Return a vector as a saved tensor: an input if it is one, or the parameter or buffer."""
    return call.saved_input(name, index) if call.present(index) else call.saved_parameter(name, name)


class _Channels(Backward):
    """Gradient through the statistics of each channel, or through the affine map by running statistics."""

    def derivatives(self, op: BatchNorm | InstanceNorm) -> tuple[str, ...]:
        learned = _RULE if op.affine and op.bias else _RULE[:5] if op.affine else ("∂L/∂x̂ = ∂L/∂y", *_RULE[1:4])
        fixed = _FIXED if op.affine else _FIXED.replace("·γ", "")
        return (*learned, fixed) if op.track_running_stats else learned

    def groups(self, call: BackwardCall) -> tuple[Dim, Dim]:
        """Return the number of samples with statistics of their own, and the number of values of each channel."""
        raise NotImplementedError

    def saves(self, op: BatchNorm | InstanceNorm, call: BackwardCall) -> Sequence[Saved]:
        x = call.input()
        saved: list[Saved] = []
        own = op.own_statistics(call.training, given=call.present(3))
        if call.wants("weight", 1) or (own and call.wants(0)):
            saved.append(call.saved_input("input"))
        if call.wants(0) and _is_weighted(op, call):
            saved.append(_saved(call, "weight", 1))
        if not call.wants(0, "weight", 1):
            return saved
        if own:
            channels = self.groups(call)[0] * x.shape[1]
            return [*saved, *(call.saved_kept(f"result{n}", channels, dtype=wide_dtype(x)) for n in (1, 2))]
        if call.wants("weight", 1):
            saved.append(_saved(call, "running_mean", 3))
        return [*saved, _saved(call, "running_var", 4)]

    def cost(self, op: BatchNorm | InstanceNorm, call: BackwardCall) -> Sequence[Term]:
        if not op.own_statistics(call.training, given=call.present(3)):
            return _by_fixed(_is_weighted(op, call), call)
        samples, values = self.groups(call)
        channels = {"samples": samples, "channels": call.input().shape[1]}
        every, sums = {**channels, "values": values}, {**channels, "sums": values - 1}
        work: list[Term] = []
        if call.wants(0, "weight", 1):
            work += [Term.of("add", "center", **every), Term.of("mul", "product with centered", **every)]
            work.append(Term.of("add", "sum of products", **sums))
        if call.wants(0, "bias", 2):
            work.append(Term.of("add", "sum of gradient", **sums))
        if call.wants(0):
            work += [
                Term.of("mul", "through variance", **channels, each=2),
                Term.of("div", "means", **channels, each=2),
                Term.of("mul", "through variance", **every),
                Term.of("add", "through statistics", **every, each=2),
                *([Term.of("mul", "folded weight", **channels)] if _is_weighted(op, call) else []),
                Term.of("mul", "by scale", **every),
            ]
        over = {"samples_less_one": samples - 1, "channels": channels["channels"]}
        if call.wants("weight", 1):
            work += [Term.of("mul", "gradient of weight", **channels), Term.of("add", "gradient of weight", **over)]
        if call.wants("bias", 2):
            work.append(Term.of("add", "gradient of bias", **over))
        return work


@backward("batch_norm")
class BatchNormBackward(_Channels):
    """The derivatives of Ioffe & Szegedy 2015, section 3, with the statistics of the batch."""

    rule = (*_RULE, _FIXED)

    def groups(self, call: BackwardCall) -> tuple[Dim, Dim]:
        batch, _, *rest = call.input().shape
        return 1, batch * product(rest)


@backward("instance_norm")
class InstanceNormBackward(_Channels):
    """As for batch_norm, with the statistics of each sample."""

    rule = (*_RULE, _FIXED)

    def groups(self, call: BackwardCall) -> tuple[Dim, Dim]:
        batch, _, *rest = call.input().shape
        return batch, product(rest)


@backward("frozen_batch_norm")
class FrozenBatchNormBackward(Backward):
    """Gradient through a fixed scale for each channel, which the forward pass keeps."""

    rule = ("∂L/∂x = ∂L/∂y·γ/√(σ² + ε)",)

    def saves(self, op: FrozenBatchNorm, call: BackwardCall) -> Sequence[Saved]:
        x = call.input()
        return (call.saved_kept("other", x.shape[1], *(1,) * (x.rank - 2), dtype=wide_dtype(x)),)

    def cost(self, op: FrozenBatchNorm, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("mul", "by scale", elements=call.input().elements),)


def _by_fixed(affine: bool, call: BackwardCall) -> Sequence[Term]:
    """Return the work of the gradients of an affine map with running statistics."""
    batch, channels, *rest = call.input().shape
    values = batch * product(rest)
    every = {"channels": channels, "values": values}
    work: list[Term] = list(reciprocal_root(channels=channels)) if call.wants(0, "weight", 1) else []
    if call.wants(0):
        work += [Term.of("mul", "folded weight", channels=channels)] if affine else []
        work.append(Term.of("mul", "by scale", **every))
    if call.wants("weight", 1):
        work += [Term.of("add", "center", **every), Term.of("mul", "product with centered", **every)]
        work += [Term.of("add", "sum of products", channels=channels, sums=values - 1)]
        work.append(Term.of("mul", "gradient of weight", channels=channels))
    if call.wants("bias", 2):
        work.append(Term.of("add", "gradient of bias", channels=channels, sums=values - 1))
    return work
