"""Backward passes of :mod:`netcalc.ops.norm`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim, product
from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._norms import norm_gradient
from netcalc.ops.backward._statistics import normal_terms, through_statistics, wide_dtype
from netcalc.ops.norm import GroupNorm, LayerNorm, LocalResponseNorm, Normalize, RMSNorm


def _affine(call: BackwardCall, rows: Dim, features: Dim) -> list[Term]:
    """Return the work of the gradients of weight and bias, which are sums over all rows."""
    work: list[Term] = []
    if call.wants("weight", 1):
        work.append(Term.of("mul", "gradient of weight", rows=rows, features=features))
        work.append(Term.of("add", "gradient of weight", rows_less_one=rows - 1, features=features))
    if call.wants("bias", 2):
        work.append(Term.of("add", "gradient of bias", rows_less_one=rows - 1, features=features))
    return work


def _saved_tensors(call: BackwardCall, *statistics: Saved) -> list[Saved]:
    """Return the input, the weight if the input's gradient needs it, and the statistics."""
    saved: list[Saved] = []
    if call.wants(0, "weight", 1):
        saved += [call.saved_input("input"), *statistics]
    if call.wants(0) and call.present(1):
        saved.append(call.saved_input("weight", 1))
    elif call.wants(0) and call.param("weight"):
        saved.append(call.saved_parameter("weight", "weight"))
    return saved


@backward("layer_norm")
class LayerNormBackward(Backward):
    """Gradient through the mean and the variance of each row."""

    rule = (
        "h = ∂L/∂y·γ, x̂ = (x − μ)/√(σ² + ε)",
        "∂L/∂x = (h − mean(h) − x̂·mean(h·x̂))/√(σ² + ε)",
        "∂L/∂γ = Σ ∂L/∂y·x̂, over all rows",
        "∂L/∂β = Σ ∂L/∂y, over all rows",
    )

    def saves(self, op: LayerNorm, call: BackwardCall) -> Sequence[Saved]:
        x = call.input()
        each = (*x.shape[: -op.count], *(1,) * op.count)
        statistics = (call.saved_kept(name, *each, dtype=wide_dtype(x)) for name in ("result1", "result2"))
        return _saved_tensors(call, *statistics)

    def cost(self, op: LayerNorm, call: BackwardCall) -> Sequence[Term]:
        rows, shape = op.split(call.input())
        features = product(shape)
        elements = {"rows": rows, "features": features}
        work: list[Term] = []
        if call.wants(0, "weight", 1):
            work += normal_terms(**elements)
        if call.wants(0):
            work += [Term.of("mul", "by weight", **elements)] if op.affine or call.present(1) else []
            work += through_statistics(features, rows=rows)
        return [*work, *_affine(call, rows, features)]


@backward("rms_norm")
class RMSNormBackward(Backward):
    """Gradient through the mean square of each row."""

    rule = (
        "h = ∂L/∂y·γ, x̂ = x/√(mean(x²) + ε)",
        "∂L/∂x = (h − x̂·mean(h·x̂))/√(mean(x²) + ε)",
        "∂L/∂γ = Σ ∂L/∂y·x̂, over all rows",
    )

    def saves(self, op: RMSNorm, call: BackwardCall) -> Sequence[Saved]:
        x = call.input()
        each = (*x.shape[: -op.count], *(1,) * op.count)
        return _saved_tensors(call, call.saved_kept("result1", *each, dtype=wide_dtype(x)))

    def cost(self, op: RMSNorm, call: BackwardCall) -> Sequence[Term]:
        rows, shape = op.split(call.input())
        features = product(shape)
        elements = {"rows": rows, "features": features}
        work = [Term.of("mul", "normalize", **elements)]
        if call.wants(0):
            if op.affine or call.present(1):
                work += [Term.of("add", "offset", features=features)] if op.offset else []
                work.append(Term.of("mul", "by weight", **elements))
            work += through_statistics(features, centered=False, rows=rows)
        return [*work, *_affine(call, rows, features)]


@backward("group_norm")
class GroupNormBackward(Backward):
    """Gradient through the mean and the variance of each group of channels."""

    rule = (
        *LayerNormBackward.rule[:2],
        "∂L/∂γ = Σ ∂L/∂y·x̂, over samples and positions",
        "∂L/∂β = Σ ∂L/∂y, over samples and positions",
    )

    def saves(self, op: GroupNorm, call: BackwardCall) -> Sequence[Saved]:
        x = call.input()
        names = ("result1", "result2")
        return _saved_tensors(
            call, *(call.saved_kept(name, x.shape[0], op.groups, dtype=wide_dtype(x)) for name in names)
        )

    def cost(self, op: GroupNorm, call: BackwardCall) -> Sequence[Term]:
        batch, channels, *rest = call.input().shape
        positions = product(rest)
        elements = {"batch": batch, "channels": channels, "positions": positions}
        work: list[Term] = []
        if call.wants(0, "weight", 1):
            work += normal_terms(**elements)
        if call.wants(0):
            work += [Term.of("mul", "by weight", **elements)] if op.affine or call.present(1) else []
            work += through_statistics(channels // op.groups * positions, batch=batch, groups=op.groups)
        return [*work, *_affine(call, batch * positions, channels)]


@backward("local_response_norm")
class LocalResponseNormBackward(Backward):
    """Gradient of x/d^β, and through d = k + α·mean(x²) to all channels in whose windows a channel is."""

    rule = ("d = k + α/size·Σ x² over the window", "∂L/∂x = g/d^β − 2·α·β/size·x·Σ g·x/d^(β + 1) over the windows")

    def saves(self, op: LocalResponseNorm, call: BackwardCall) -> Sequence[Saved]:
        x = call.input()
        divisor, base = (call.saved_kept(name, *x.shape, dtype=wide_dtype(x)) for name in ("other", "pow_self"))
        return call.saved_input("self"), divisor, base

    def cost(self, op: LocalResponseNorm, call: BackwardCall) -> Sequence[Term]:
        elements = {"elements": call.input().elements}
        return (
            Term.of("div", "by divisor", **elements, each=2),
            Term.of("mul", "by element", **elements),
            Term.of("add", "windows", **elements, sums=op.size - 1),
            Term.of("mul", "through window", **elements, each=2),
            Term.of("add", "difference", **elements),
        )


@backward("normalize")
class NormalizeBackward(Backward):
    """Gradient of x/d, and through the norm where it is the divisor d."""

    rule = ("d = max(‖x‖ₚ, ε)", "∂L/∂x = g/d − Σ g·x/d²·∂‖x‖ₚ/∂x, without the second part where ‖x‖ₚ < ε")

    def saves(self, op: Normalize, call: BackwardCall) -> Sequence[Saved]:
        x = call.input()
        along = op.along(x.rank)
        shape = (1 if axis in along else size for axis, size in enumerate(x.shape))
        norm = call.saved_kept("result", *shape, dtype=wide_dtype(x))
        return (call.saved_input("self"), norm) if op.p else (norm,)

    def cost(self, op: Normalize, call: BackwardCall) -> Sequence[Term]:
        x = call.input()
        along = op.along(x.rank)
        vectors = product(size for axis, size in enumerate(x.shape) if axis not in along)
        length = product(x.shape[axis] for axis in along)
        every = {"vectors": vectors, "length": length}
        direct = (Term.of("compare", "epsilon", vectors=vectors), Term.of("div", "by norm", **every))
        if not op.p:
            return direct
        return (
            *direct,
            Term.of("mul", "product with input", **every),
            Term.of("add", "sum of products", vectors=vectors, sums=length - 1),
            Term.of("div", "through divisor", vectors=vectors),
            Term.of("compare", "norm below epsilon", vectors=vectors),
            *norm_gradient(op.p, vectors, length),
            Term.of("add", "difference", **every),
        )
