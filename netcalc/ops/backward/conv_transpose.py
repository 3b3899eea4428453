"""Backward passes of :mod:`netcalc.ops.conv_transpose`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops._windows import per_group
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._windows import bias_gradient, saved_weight
from netcalc.ops.conv_transpose import TransposedConvolution


@backward("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
class TransposedConvolutionBackward(Backward):
    """Convolution of the gradient with the filters, and with the input.

    As PyTorch, the forward pass keeps input and weight whichever gradients are wanted.
    """

    rule = (
        "∂L/∂x[n, c, p] = Σ g[n, o, p·stride + t·dilation − padding]·W[c, o, t] over o and t",
        "∂L/∂W[c, o, t] = Σ g[n, o, p·stride + t·dilation − padding]·x[n, c, p] over n and p",
        "∂L/∂b[o] = Σ g[n, o, q] over n and q",
    )

    def saves(self, op: TransposedConvolution, call: BackwardCall) -> Sequence[Saved]:
        return call.saved_input("input"), saved_weight(call)

    def cost(self, op: TransposedConvolution, call: BackwardCall) -> Sequence[Term]:
        x = call.input()
        sizes = {
            "batch": op.batch_of(x),
            **op.by_axis("in", op.sizes_of(x)),
            "in_channels": op.channels_of(x),
            "out_channels_per_group": per_group(op.name, "output", op.out, op.groups),
            **op.by_axis("kernel", op.kernel),
        }
        work: list[Term] = []
        if call.wants(0):
            work.append(Term.of("mac", "gradient of input", **sizes))
        if call.wants("weight", 1):
            work.append(Term.of("mac", "gradient of weight", **sizes))
        if call.wants("bias", 2):
            work.append(bias_gradient(op, call))
        return work
