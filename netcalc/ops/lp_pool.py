"""Power-average pooling with a sliding window."""

from collections.abc import Sequence

from netcalc.opdef import Context, Example, Term, attr
from netcalc.ops import operation
from netcalc.ops._pooling import Pooling
from netcalc.tensor_type import TensorType


class LPPooling(Pooling):
    """Base of power-average pooling.

    (Σ xᵖ)^(1/p) over each window, with p = ``norm_type``: the sum for p = 1, close to the maximum for large p.  As in
    PyTorch no absolute value is taken, so that negative elements with an odd power can give NaN.  A window that
    ``ceil_mode`` lets reach past the end is scaled as if it were full.  The batch axis is optional.
    """

    shorthand = None  # norm_type is required too
    kernel_suffices = "windows of powers: rare in the shipped specs"
    cost_rule = "1 power per input element; k… − 1 adds and 1 root per output element, and 1 mul with ceil_mode"

    norm_type: float = attr("the power p", gt=0, allow_inf_nan=False)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        results = self.results(outputs[0])
        terms = [
            Term.of("transcendental", "power", elements=inputs[0].elements),
            Term.of("add", "sum", **results, taps_less_one=self.reductions()),
            Term.of("transcendental", "root", **results),
        ]
        if self.ceil_mode:
            terms.append(Term.of("mul", "scale", **results))
        return terms


@operation
class LPPool1d(LPPooling):
    """The p-norm of each window along one axis, channel by channel."""

    axes = 1
    name = "lp_pool1d"
    reference = "torch.nn.LPPool1d"
    example = Example(((2, 4, 16),), {"norm_type": 2, "kernel": 2})
    usage = ("x: {shape: [1, 64, 1000], range: [0, 1]}", "- $op: {norm_type: 2, kernel: 4}")


@operation
class LPPool2d(LPPooling):
    """The p-norm of each window over height and width, channel by channel."""

    axes = 2
    name = "lp_pool2d"
    reference = "torch.nn.LPPool2d"
    example = Example(((1, 4, 16, 16),), {"norm_type": 2, "kernel": 2})
    usage = ("x: {shape: [1, 64, 56, 56], range: [0, 1]}", "- $op: {norm_type: 2, kernel: 2}")


@operation
class LPPool3d(LPPooling):
    """The p-norm of each window over depth, height and width, channel by channel.

    As in PyTorch the kernel may not be larger than the input, even with ``ceil_mode``.
    """

    axes = 3
    fits_bare = True
    name = "lp_pool3d"
    reference = "torch.nn.LPPool3d"
    example = Example(((1, 4, 4, 8, 8),), {"norm_type": 2, "kernel": 2})
    usage = ("x: {shape: [1, 64, 8, 28, 28], range: [0, 1]}", "- $op: {norm_type: 2, kernel: 2}")
