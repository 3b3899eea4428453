"""Backward passes of :mod:`netcalc.ops.conv`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim, product
from netcalc.opdef import Term
from netcalc.ops._windows import per_group
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._windows import bias_gradient, padding_gradient, saved_weight, single_or_wider
from netcalc.ops.conv import Convolution


@backward("conv1d", "conv2d", "conv3d")
class ConvolutionBackward(Backward):
    """Convolutions of the gradient with the filters and with the input.

    As PyTorch, the forward pass keeps input and weight whichever gradients are wanted.
    """

    rule = (
        "∂L/∂x[n, c, p] = Σ g[n, o, q]·W[o, c, t] over o and q, where q·stride + t·dilation = p + padding",
        "∂L/∂W[o, c, t] = Σ g[n, o, q]·x[n, c, q·stride + t·dilation − padding] over n and q",
        "∂L/∂b[o] = Σ g[n, o, q] over n and q",
    )

    def derivatives(self, op: Convolution) -> tuple[str, ...]:
        lines: tuple[str, ...] = self.rule
        if op.padding_mode != "zeros":
            lines += ("the gradient of the padding is added to the elements that it repeats",)
        if op.weight_standardization:
            lines += ("∂L/∂w = (h − mean h − W·mean(h·W))/√(var w + eps), h = ∂L/∂W, for each filter w",)
        return lines

    def saves(self, op: Convolution, call: BackwardCall) -> Sequence[Saved]:
        x = call.saved_input("input")
        if not op.weight_standardization:
            return x, saved_weight(call)
        filters = call.saved_kept("weight", *_filters(op, call))
        if not call.wants("weight", 1):
            return x, filters
        return x, filters, call.saved_kept("result2", op.out, dtype=single_or_wider(call.outputs[0].dtype))

    def cost(self, op: Convolution, call: BackwardCall) -> Sequence[Term]:
        x, y = call.input(), call.outputs[0]
        _, channels, *kernel = _filters(op, call)
        sizes = {
            "batch": op.batch_of(y),
            **op.by_axis("out", op.sizes_of(y)),
            "out_channels": op.out,
            "in_channels_per_group": channels,
            **op.by_axis("kernel", kernel),
        }
        work: list[Term] = []
        if call.wants(0):
            work.append(Term.of("mac", "gradient of input", **sizes))
            if op.padding_mode != "zeros":
                pads = op.pads(op.sizes_of(x))
                padded = [size + before + after for size, (before, after) in zip(op.sizes_of(x), pads, strict=True)]
                work += padding_gradient(op.batch_of(x) * op.channels_of(x), op.sizes_of(x), padded, pads)
        if call.wants("weight", 1):
            work.append(Term.of("mac", "gradient of weight", **sizes))
            if op.weight_standardization:
                work += _standardization(op.out, channels * product(kernel))
        if call.wants("bias", 2):
            work.append(bias_gradient(op, call))
        return work


def _filters(op: Convolution, call: BackwardCall) -> tuple[Dim, ...]:
    return (op.out, per_group(op.name, "input", op.channels_of(call.input()), op.groups), *op.kernel)


def _standardization(filters: Dim, taps: Dim) -> list[Term]:
    return [
        Term.of("mul", "gradient of standardization", filters=filters, weights=taps, each=3),
        Term.of("add", "gradient of standardization", filters=filters, weights=taps, each=2),
        Term.of("add", "means of gradient", filters=filters, weights_less_one=taps - 1, each=2),
        Term.of("div", "means of gradient", filters=filters, each=2),
    ]
