"""Backward passes of :mod:`netcalc.ops.blur_pool`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._windows import padding_gradient
from netcalc.ops.blur_pool import BlurPool2d


@backward("blur_pool2d")
class BlurPoolBackward(Backward):
    """Products of the gradient with the filters, as in a depthwise convolution; the filters are not trained."""

    rule = ("∂L/∂x[n, c, p] = Σ g[n, c, q]·filt[t] over q and t, where q·stride + t = p + padding",)

    def derivatives(self, op: BlurPool2d) -> tuple[str, ...]:
        repeated = ("the gradient of the padding is added to the elements that it repeats",)
        return self.rule + (repeated if op.pad_mode != "constant" else ())

    def saves(self, op: BlurPool2d, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_parameter("weight", "filt"),)

    def cost(self, op: BlurPool2d, call: BackwardCall) -> Sequence[Term]:
        x, y = call.input(), call.outputs[0]
        positions = {"batch": op.batch_of(y), **op.by_axis("out", op.sizes_of(y)), "channels": op.channels_of(y)}
        work = [Term.of("mac", "gradient of input", **positions, **op.by_axis("kernel", (op.filt_size,) * 2))]
        if op.pad_mode != "constant":
            padded = [size + sum(pad) for size, pad in zip(op.sizes_of(x), op.pads(), strict=True)]
            work += padding_gradient(op.batch_of(x) * op.channels_of(x), op.sizes_of(x), padded, op.pads())
        return work
