"""Windows of an image as columns (im2col), and the reverse (col2im)."""

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim, divided, equal, product
from netcalc.opdef import Context, Example, RuleError, Term, attr, require_float, require_rank
from netcalc.ops import operation
from netcalc.ops._windows import Padding, Sizes, SpatialOperation
from netcalc.tensor_type import TensorType


class _Columns(SpatialOperation):
    """Base of the conversions between an image and its windows."""

    kernel_suffices = "rearranges windows: used outside the time-critical layers of the shipped specs"
    axes = 2
    windowed = True

    kernel: Sizes = attr("size of the window")
    stride: Sizes = attr("distance between windows", default=1)
    padding: Padding = attr("zeros added on both sides of the image", default=0)
    dilation: Sizes = attr("distance between the elements of a window", default=1)

    def counts(self, ctx: Context, sizes: Sequence[Dim]) -> tuple[Any, ...]:
        """Return the numbers of windows of an image of these sizes, along height and width."""
        return self.window_counts(ctx, sizes, self.kernel, self.stride, self.padding, self.dilation)


@operation
class Unfold(_Columns):
    """Cuts an image into windows, one column each: (N, C, H, W) → (N, C·kernel, windows).

    Within a column the elements are ordered by channel, then row, then column of the window (im2col).
    """

    name = "unfold"
    channel_axis = None
    reference = "torch.nn.Unfold"
    shorthand = "kernel"
    shape_rule = "(N, C, H, W) → (N, C·k·k, H'·W'), H' = ⌊(H + 2·p − d·(k − 1) − 1)/s⌋ + 1, so W'"
    cost_rule = "none: data moves"
    example = Example(((1, 3, 8, 8),), {"kernel": 2, "stride": 2})
    usage = ("image: [1, 3, 224, 224]", "- unfold: {kernel: 16, stride: 16}", "- transpose: [1, 2]")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        self.require_spatial(x)
        counts = self.counts(ctx, self.sizes_of(x))
        return x.with_shape(*x.shape[:-3], self.channels_of(x) * product(self.kernel), product(counts))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


@operation
class Fold(_Columns):
    """Adds windows, one column each, into an image: (N, C·kernel, windows) → (N, C, H, W).

    This is the reverse of ``unfold``, except that overlapping elements are summed (col2im).
    """

    name = "fold"
    channel_axis = None
    reference = "torch.nn.Fold"
    shape_rule = "(N, C·k·k, H'·W') → (N, C, H, W), H' = ⌊(H + 2·p − d·(k − 1) − 1)/s⌋ + 1, so W'"
    cost_rule = "N·C·k·k·H'·W' adds"
    example = Example(((1, 12, 16),), {"output_size": 8, "kernel": 2, "stride": 2})
    usage = ("patches: [1, 768, 196]", "- fold: {output_size: 224, kernel: 16, stride: 16}")

    output_size: Sizes = attr("height and width of the image")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, "fold")
        require_rank(x, (2, 3), "fold")
        *batch, rows, columns = x.shape
        channels = divided(rows, product(self.kernel))
        if channels is None:
            taps = "×".join(map(str, self.kernel))
            raise RuleError(f"fold: {rows} rows do not divide into windows of {taps}")
        windows = product(self.counts(ctx, self.output_size))
        if not equal(windows, columns):
            image = "×".join(map(str, self.output_size))
            raise RuleError(f"fold: an image of {image} has {windows} windows, and the input has {columns} columns")
        return x.with_shape(*batch, channels, *self.output_size)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        *batch, rows, columns = inputs[0].shape
        return (Term.of("add", "overlap", batch=product(batch), rows=rows, windows=columns),)
