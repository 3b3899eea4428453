"""Anti-aliased subsampling."""

from collections.abc import Sequence
from typing import Literal

from netcalc.dims import equal
from netcalc.opdef import Buffer, Context, Example, Init, Param, Reach, RuleError, Size, Term, attr
from netcalc.ops import operation
from netcalc.ops._windows import Pads, Sizes, SpatialOperation, check_pad_mode
from netcalc.tensor_type import TensorType


@operation
class BlurPool2d(SpatialOperation):
    """Blurs each channel with a binomial filter, then keeps every stride-th row and column.

    The filter is the outer product of a row of Pascal's triangle with itself, scaled to sum 1.  It is a fixed buffer
    that checkpoints omit: one filter per channel if ``channels`` is set, otherwise one shared filter.  The padding is
    ⌊(stride + filt_size − 2)/2⌋ on each side.  The work is the same as for a depthwise convolution.
    """

    axes = 2
    name = "blur_pool2d"
    kernel_suffices = "windows of fixed filters: rare in the shipped specs"
    windowed = True
    reference = "timm.layers.BlurPool2d; Zhang 2019, arXiv:1904.11486"
    shape_rule = "(N, C, H, W) → (N, C, H', W'), H' = ⌊(H + 2·p − k)/s⌋ + 1, so W'"
    param_rule = "none; the buffer filt has channels·k·k elements, or k·k without channels"
    cost_rule = "N·H'·W'·C·k·k MACs"
    example = Example(((1, 4, 16, 16),))
    usage = ("x: [1, 64, 56, 56]", "- blur_pool2d")

    channels: Size | None = attr("channels of the input, for one filter per channel", default=None)
    filt_size: int = attr("height and width of the filter", default=3, ge=2)
    stride: Sizes = attr("distance between the kept rows and columns", default=2)
    pad_mode: Literal["reflect", "replicate", "circular", "constant"] = attr(
        "padding mode; constant is zeros", default="reflect"
    )

    def pads(self) -> Pads:
        """Return the padding before and after each axis."""
        each = tuple((s + self.filt_size - 2) // 2 for s in self.stride)
        return tuple((p, p) for p in each)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        self.require_spatial(x)
        channels = self.channels_of(x)
        if self.channels is not None and not equal(self.channels, channels):
            raise RuleError(f"blur_pool2d is declared for {self.channels} channels, and its input has {channels}")
        sizes = self.sizes_of(x)
        check_pad_mode(self.name, self.pad_mode, sizes, self.pads())
        counts = self.window_counts(ctx, sizes, (self.filt_size,) * 2, self.stride, self.pads())
        return x.with_shape(*x.shape[:-2], *counts)

    def params(self, ctx: Context, x: TensorType) -> Sequence[Param]:
        shape = (1 if self.channels is None else self.channels, 1, self.filt_size, self.filt_size)
        return (Buffer("filt", shape, Init.of("table"), persistent=False),)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        if self.pad_mode != "constant" and any(before != 0 for before, _ in self.pads()):
            return None
        return [self.windows(x, (self.filt_size,) * 2, self.stride, self.pads())]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (y,) = outputs
        positions = {
            "batch": self.batch_of(y),
            **self.by_axis("out", self.sizes_of(y)),
            "channels": self.channels_of(y),
        }
        return (Term.of("mac", "product", **positions, **self.by_axis("kernel", (self.filt_size,) * 2)),)
