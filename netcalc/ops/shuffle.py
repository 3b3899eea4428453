"""Pixel shuffling and channel shuffling."""

from collections.abc import Sequence

from netcalc.dims import Dim, divided
from netcalc.opdef import Context, Example, Reach, RuleError, Size, attr, axes_of
from netcalc.ops import operation
from netcalc.ops._movement import MOVES, Movement
from netcalc.tensor_type import TensorType


@operation
class PixelShuffle(Movement):
    """Rearranges groups of r² channels into an image of r times the height and width (sub-pixel convolution)."""

    name = "pixel_shuffle"
    channel_axis = 1
    kernel_suffices = MOVES
    reference = "torch.nn.PixelShuffle; Shi et al. 2016, arXiv:1609.05158"
    shorthand = "upscale_factor"
    shape_rule = "(…, C·r², H, W) → (…, C, H·r, W·r)"
    example = Example(((1, 8, 4, 5),), {"upscale_factor": 2})
    usage = ("x: [1, 64, 64, 64]", "- conv2d: {out: 12, kernel: 3, padding: 1}", "- pixel_shuffle: 2")

    upscale_factor: Size = attr("factor r of height and width")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        channels, height, width = _image("pixel_shuffle", x)
        r = self.upscale_factor
        if divided(channels, r * r) is None:
            raise RuleError(f"pixel_shuffle by {r} takes a multiple of {r * r} channels, and there are {channels}: {x}")
        return x.with_shape(
            *x.shape[:-3],
            ctx.size("channels", "C//r**2", C=channels, r=r),
            ctx.size("height", "H*r", H=height, r=r),
            ctx.size("width", "W*r", W=width, r=r),
        )


@operation
class PixelUnshuffle(Movement):
    """Rearranges each square of r×r pixels into channels: the inverse of pixel_shuffle (space to depth)."""

    name = "pixel_unshuffle"
    channel_axis = 1
    kernel_suffices = MOVES
    reference = "torch.nn.PixelUnshuffle; Shi et al. 2016, arXiv:1609.05158"
    shorthand = "downscale_factor"
    shape_rule = "(…, C, H·r, W·r) → (…, C·r², H, W)"
    example = Example(((1, 2, 8, 10),), {"downscale_factor": 2})
    usage = ("image: [1, 3, 256, 256]", "- pixel_unshuffle: 2")

    downscale_factor: Size = attr("divisor r of height and width")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        channels, height, width = _image("pixel_unshuffle", x)
        r = self.downscale_factor
        for size, side in ((height, "height"), (width, "width")):
            if divided(size, r) is None:
                raise RuleError(f"pixel_unshuffle by {r} takes a {side} that is a multiple of {r}, not {size}: {x}")
        return x.with_shape(
            *x.shape[:-3],
            ctx.size("channels", "C*r**2", C=channels, r=r),
            ctx.size("height", "H//r", H=height, r=r),
            ctx.size("width", "W//r", W=width, r=r),
        )


@operation
class ChannelShuffle(Movement):
    """Interleaves the channels of the groups, so that each group of the next convolution has channels of every group.

    Channel c of group g becomes channel c·groups + g.
    """

    name = "channel_shuffle"
    channel_axis = 1
    reference = "torch.nn.ChannelShuffle; Zhang et al. 2018, arXiv:1707.01083"
    shorthand = "groups"
    shape_rule = "unchanged"
    example = Example(((1, 8, 3, 3),), {"groups": 2})
    usage = ("x: [1, 240, 28, 28]", "- channel_shuffle: 3")

    groups: Size = attr("number of groups, which divides the number of channels")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if x.rank < 3:
            raise RuleError(f"channel_shuffle takes (N, C, …), at least 3 dimensions, and this input is {x}")
        if divided(x.shape[1], self.groups) is None:
            raise RuleError(f"channel_shuffle: {self.groups} groups do not divide {x.shape[1]} channels: {x}")
        return x

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [axes_of(x, {1: "all"})]


def _image(what: str, x: TensorType) -> tuple[Dim, Dim, Dim]:
    if x.rank < 3:
        raise RuleError(f"{what} takes (…, C, H, W), and this input is {x}")
    channels, height, width = x.shape[-3:]
    return channels, height, width
