"""Pooling over all spatial axes: one number for each channel."""

from collections.abc import Sequence

from netcalc.dims import Dim, product
from netcalc.opdef import Context, Example, Reach, Term, attr, axes_of
from netcalc.ops import operation
from netcalc.ops._windows import SpatialOperation
from netcalc.tensor_type import TensorType


class GlobalPooling(SpatialOperation):
    """Base of pooling over all spatial axes.

    The pooled axes are kept with size 1, or removed with ``keepdim: false``.  The batch axis is optional.
    """

    shape_rule = "(N, C, L…) → (N, C, 1…), or (N, C) with keepdim: false"

    keepdim: bool = attr("keep the pooled axes, with size 1", default=True)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        self.require_spatial(x)
        return x.with_shape(*x.shape[: -self.axes], *(1,) * (self.axes if self.keepdim else 0))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [axes_of(x, dict.fromkeys(range(-self.axes, 0), "all"))]

    def reductions(self, x: TensorType) -> dict[str, Dim]:
        """Return the number of binary operations that reduce each channel, as factors."""
        positions = product(self.sizes_of(x))
        return {"batch": self.batch_of(x), "channels": self.channels_of(x), "positions_less_one": positions - 1}


class GlobalAvgPooling(GlobalPooling):
    """Base of global average pooling."""

    reference = "Lin et al. 2013, arXiv:1312.4400; torch.mean over the spatial axes"
    cost_rule = "L… − 1 adds and 1 div per channel"

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (
            Term.of("add", "sum", **self.reductions(inputs[0])),
            Term.of("div", "mean", elements=outputs[0].elements),
        )


@operation
class GlobalAvgPool1d(GlobalAvgPooling):
    """The mean of each channel along one axis."""

    axes = 1
    name = "global_avg_pool1d"
    example = Example(((2, 4, 10),))
    usage = ("x: [1, 512, 250]", "- $op", "- flatten", "- linear: 10")


@operation
class GlobalAvgPool2d(GlobalAvgPooling):
    """The mean of each channel over height and width."""

    axes = 2
    name = "global_avg_pool2d"
    example = Example(((1, 4, 7, 7),))
    usage = ("x: [1, 512, 7, 7]", "- $op", "- flatten", "- linear: 1000")


@operation
class GlobalAvgPool3d(GlobalAvgPooling):
    """The mean of each channel over depth, height and width."""

    axes = 3
    name = "global_avg_pool3d"
    example = Example(((1, 4, 2, 7, 7),))
    usage = ("x: [1, 512, 2, 7, 7]", "- $op", "- flatten", "- linear: 400")


class GlobalMaxPooling(GlobalPooling):
    """Base of global maximum pooling."""

    reference = "torch.amax over the spatial axes"
    cost_rule = "L… − 1 comparisons per channel"

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", "maximum", **self.reductions(inputs[0])),)


@operation
class GlobalMaxPool1d(GlobalMaxPooling):
    """The largest element of each channel along one axis."""

    axes = 1
    name = "global_max_pool1d"
    example = Example(((2, 4, 10),))
    usage = ("x: [1, 512, 250]", "- $op", "- flatten", "- linear: 10")


@operation
class GlobalMaxPool2d(GlobalMaxPooling):
    """The largest element of each channel over height and width."""

    axes = 2
    name = "global_max_pool2d"
    example = Example(((1, 4, 7, 7),))
    usage = ("x: [1, 512, 7, 7]", "- $op", "- flatten", "- linear: 1000")


@operation
class GlobalMaxPool3d(GlobalMaxPooling):
    """The largest element of each channel over depth, height and width."""

    axes = 3
    name = "global_max_pool3d"
    example = Example(((1, 4, 2, 7, 7),))
    usage = ("x: [1, 512, 2, 7, 7]", "- $op", "- flatten", "- linear: 400")
