"""Channels traded for pixels, and channels mixed between groups."""

from netcalc.dims import Dim, exact_div
from netcalc.opdef import Context, Example, RuleError, Size, attr
from netcalc.ops import operation
from netcalc.ops._movement import Movement
from netcalc.tensor_type import TensorType


@operation
class PixelShuffle(Movement):
    """Makes an image r times as high and wide from the r² groups of its channels (sub-pixel convolution)."""

    name = "pixel_shuffle"
    reference = "torch.nn.PixelShuffle; Shi et al. 2016, arXiv:1609.05158"
    shorthand = "upscale_factor"
    shape_rule = "(…, C·r², H, W) → (…, C, H·r, W·r)"
    example = Example(((1, 8, 4, 5),), {"upscale_factor": 2})

    upscale_factor: Size = attr("the factor r of height and width")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        channels, height, width = _image("pixel_shuffle", x)
        r = self.upscale_factor
        if exact_div(channels, r * r) is None:
            raise RuleError(f"pixel_shuffle by {r} takes a multiple of {r * r} channels, and there are {channels}: {x}")
        return x.with_shape(
            *x.shape[:-3],
            ctx.size("channels", "C//r**2", C=channels, r=r),
            ctx.size("height", "H*r", H=height, r=r),
            ctx.size("width", "W*r", W=width, r=r),
        )


@operation
class PixelUnshuffle(Movement):
    """Packs each square of r × r pixels into channels: the inverse of pixel_shuffle, space to depth."""

    name = "pixel_unshuffle"
    reference = "torch.nn.PixelUnshuffle; Shi et al. 2016, arXiv:1609.05158"
    shorthand = "downscale_factor"
    shape_rule = "(…, C, H·r, W·r) → (…, C·r², H, W)"
    example = Example(((1, 2, 8, 10),), {"downscale_factor": 2})

    downscale_factor: Size = attr("the factor r that height and width are divided by")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        channels, height, width = _image("pixel_unshuffle", x)
        r = self.downscale_factor
        for size, side in ((height, "height"), (width, "width")):
            if exact_div(size, r) is None:
                raise RuleError(f"pixel_unshuffle by {r} takes a multiple of {r} as {side}, and it is {size}: {x}")
        return x.with_shape(
            *x.shape[:-3],
            ctx.size("channels", "C*r**2", C=channels, r=r),
            ctx.size("height", "H//r", H=height, r=r),
            ctx.size("width", "W//r", W=width, r=r),
        )


@operation
class ChannelShuffle(Movement):
    """Deals the channels of the groups out in turn, so that every group after it sees channels of every one before.

    Channel c of group g goes to place c·groups + g.
    """

    name = "channel_shuffle"
    reference = "torch.nn.ChannelShuffle; Zhang et al. 2018, arXiv:1707.01083"
    shorthand = "groups"
    shape_rule = "unchanged"
    example = Example(((1, 8, 3, 3),), {"groups": 2})

    groups: Size = attr("how many groups, which divide the channels")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if x.rank < 3:
            raise RuleError(f"channel_shuffle takes (N, C, …), at least 3 dimensions, and this input is {x}")
        if exact_div(x.shape[1], self.groups) is None:
            raise RuleError(f"channel_shuffle: {x.shape[1]} channels do not divide into {self.groups} groups: {x}")
        return x


def _image(what: str, x: TensorType) -> tuple[Dim, Dim, Dim]:
    if x.rank < 3:
        raise RuleError(f"{what} takes (…, C, H, W), and this input is {x}")
    channels, height, width = x.shape[-3:]
    return channels, height, width
