"""Maximum pooling with a sliding window."""

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Context, Example, Term, attr, ports
from netcalc.ops import operation
from netcalc.ops._pooling import Pooling
from netcalc.ops._windows import Sizes
from netcalc.tensor_type import TensorType


class MaxPooling(Pooling):
    """Base of maximum pooling.

    Padding is −∞.  With ``ceil_mode`` a last window that starts inside the input, or in the padding before it, is kept
    even if it reaches past the end.  ``return_indices`` adds a second output: the index of each maximum in the
    flattened spatial axes of its channel.  Of equal elements the first is taken.  The batch axis is optional.
    """

    outputs = ports("output", "indices?")
    cost_rule = "k… − 1 comparisons per output element"

    dilation: Sizes = attr("distance between the elements of a window", default=1)
    return_indices: bool = attr("also return the index of each maximum", default=False)

    @property
    def dilations(self) -> tuple[Any, ...]:
        return self.dilation

    def infer(self, ctx: Context, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        y = super().infer(ctx, x)
        return (y, y.with_dtype("int64")) if self.return_indices and isinstance(y, TensorType) else y

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", "maximum", **self.results(outputs[0]), taps_less_one=self.reductions()),)


@operation
class MaxPool1d(MaxPooling):
    """The largest element of each window along one axis, channel by channel."""

    axes = 1
    name = "max_pool1d"
    reference = "torch.nn.MaxPool1d"
    example = Example(((2, 4, 16),), {"kernel": 2})
    usage = ("x: [1, 64, 1000]", "- $op: 4")


@operation
class MaxPool2d(MaxPooling):
    """The largest element of each window over height and width, channel by channel."""

    axes = 2
    name = "max_pool2d"
    reference = "torch.nn.MaxPool2d"
    example = Example(((1, 4, 16, 16),), {"kernel": 3, "stride": 2, "padding": 1})
    usage = ("x: [1, 64, 112, 112]", "- $op: {kernel: 3, stride: 2, padding: 1}")


@operation
class MaxPool3d(MaxPooling):
    """The largest element of each window over depth, height and width, channel by channel."""

    axes = 3
    name = "max_pool3d"
    reference = "torch.nn.MaxPool3d"
    example = Example(((1, 4, 4, 8, 8),), {"kernel": 2})
    usage = ("x: [1, 64, 16, 28, 28]", "- $op: 2")
