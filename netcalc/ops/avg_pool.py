"""Average pooling with a sliding window."""

from collections.abc import Sequence
from typing import Any

from netcalc.models import field_validator
from netcalc.opdef import Context, Example, Term, attr
from netcalc.ops import operation
from netcalc.ops._pooling import Pooling
from netcalc.tensor_type import TensorType


class AvgPooling(Pooling):
    """Base of average pooling.

    The sum of a window is divided by the number of its elements.  Padding is zeros, and counts as elements unless
    ``count_include_pad`` is false.  The part of a window that ``ceil_mode`` lets reach past the padding does not count.
    ``divisor_override`` divides by a fixed number instead.  The batch axis is optional.
    """

    cost_rule = "k… − 1 adds and 1 div per output element"

    count_include_pad: bool = attr("count padding in the average", default=True)
    divisor_override: int | None = attr("divisor to use instead of the number of elements", default=None)

    @field_validator("divisor_override")
    @classmethod
    def _not_zero(cls, value: Any) -> Any:
        if value == 0:
            raise ValueError("should not be zero")
        return value

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        results = self.results(outputs[0])
        return (Term.of("add", "sum", **results, taps_less_one=self.reductions()), Term.of("div", "mean", **results))


@operation
class AvgPool1d(AvgPooling):
    """The mean of each window along one axis, channel by channel."""

    axes = 1
    name = "avg_pool1d"
    reference = "torch.nn.AvgPool1d"
    example = Example(((2, 4, 16),), {"kernel": 2})
    usage = ("x: [1, 64, 1000]", "- $op: 4")


@operation
class AvgPool2d(AvgPooling):
    """The mean of each window over height and width, channel by channel."""

    axes = 2
    name = "avg_pool2d"
    reference = "torch.nn.AvgPool2d"
    example = Example(((1, 4, 16, 16),), {"kernel": 2})
    usage = ("x: [1, 64, 112, 112]", "- $op: 2")


@operation
class AvgPool3d(AvgPooling):
    """The mean of each window over depth, height and width, channel by channel.

    As in PyTorch the kernel may not be larger than the unpadded input.
    """

    axes = 3
    fits_bare = True
    name = "avg_pool3d"
    reference = "torch.nn.AvgPool3d"
    example = Example(((1, 4, 4, 8, 8),), {"kernel": 2})
    usage = ("x: [1, 64, 16, 28, 28]", "- $op: 2")
