"""The rectifier, max(x, 0), and its variants."""

from collections.abc import Sequence

from netcalc.dims import equal
from netcalc.opdef import Context, Init, Param, Reach, RuleError, Size, aligned, attr
from netcalc.ops import operation
from netcalc.ops._elementwise import Elementwise
from netcalc.tensor_type import TensorType


@operation
class ReLU(Elementwise):
    """max(x, 0)."""

    name = "relu"
    reference = "torch.nn.ReLU; Nair & Hinton 2010"
    work = {"compare": 1}

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if x.dtype == "bool":
            raise RuleError("relu takes numbers, and its input is bool", code="E402")
        return x


@operation
class ReLU6(Elementwise):
    """min(max(x, 0), 6)."""

    name = "relu6"
    reference = "torch.nn.ReLU6; Howard et al. 2017, arXiv:1704.04861"
    work = {"compare": 2}


@operation
class LeakyReLU(Elementwise):
    """x where positive, negative_slope·x elsewhere."""

    name = "leaky_relu"
    reference = "torch.nn.LeakyReLU; Maas et al. 2013"
    shorthand = "negative_slope"
    work = {"compare": 1, "mul": 1}
    usage = ("x: [1, 64, 56, 56]", "- leaky_relu: 0.2")

    negative_slope: float = attr("slope below zero", default=0.01)


@operation
class PReLU(Elementwise):
    """x where positive, weight·x elsewhere; one learned slope for all channels, or one for each channel (axis 1).

    A tensor of fewer than 2 dimensions has one channel.
    """

    name = "prelu"
    channel_axis = 1
    kernel_suffices = "its slope may differ by channel: a few NumPy calls"
    elementwise = False  # the slope differs by channel
    reference = "torch.nn.PReLU; He et al. 2015, arXiv:1502.01852"
    shorthand = "num_parameters"
    param_rule = "weight num_parameters"
    work = {"compare": 1, "mul": 1}
    usage = ("x: [1, 64, 56, 56]", "- prelu: 64")

    num_parameters: Size = attr("number of learned slopes: 1, or the number of channels", default=1)
    init: float = attr("initial value of the slopes", default=0.25)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        channels = x.shape[1] if x.rank > 1 else 1
        if self.num_parameters != 1 and not equal(self.num_parameters, channels):
            raise RuleError(
                f"prelu has {self.num_parameters} slopes for {channels} channels",
                hint=f"num_parameters is 1 or {channels}",
            )
        return super().infer(ctx, x)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [aligned(x, output) for x in inputs]

    def params(self, ctx: Context, x: TensorType) -> Sequence[Param]:
        return (Param("weight", (self.num_parameters,), Init.of("constant", value=self.init)),)


@operation
class SquaredReLU(Elementwise):
    """max(x, 0)²."""

    name = "squared_relu"
    reference = "So et al. 2021, arXiv:2109.08668"
    work = {"compare": 1, "mul": 1}
