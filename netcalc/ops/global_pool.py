"""Pooling over everything: one number for each channel."""

from collections.abc import Sequence

from netcalc.dims import Dim, product
from netcalc.opdef import Context, Example, Term, attr
from netcalc.ops import operation
from netcalc.ops._windows import SpatialOperation
from netcalc.tensor_type import TensorType


class GlobalPooling(SpatialOperation):
    """Base of pooling over everything.

    Works at any size.  The pooled axes stay as size 1, or go with ``keepdim: false``.  The input may come without a
    batch axis.
    """

    shape_rule = "(N, C, L…) → (N, C, 1…), or (N, C) with keepdim: false"

    keepdim: bool = attr("keep the pooled axes, as size 1", default=True)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        self.require_spatial(x)
        return x.with_shape(*x.shape[: -self.axes], *(1,) * (self.axes if self.keepdim else 0))

    def joins(self, x: TensorType) -> dict[str, Dim]:
        """The operations that join the elements of each channel into one number, as factors."""
        positions = product(self.sizes_of(x))
        return {"batch": self.batch_of(x), "channels": self.channels_of(x), "positions_less_one": positions - 1}


class GlobalAvgPooling(GlobalPooling):
    """Base of averages over everything."""

    reference = "Lin et al. 2013, arXiv:1312.4400; torch.mean over the spatial axes"
    cost_rule = "L… − 1 adds and one division a channel"

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (
            Term.of("add", "sum", **self.joins(inputs[0])),
            Term.of("div", "mean", elements=outputs[0].elements),
        )


@operation
class GlobalAvgPool1d(GlobalAvgPooling):
    """The mean of each channel along its one axis."""

    axes = 1
    name = "global_avg_pool1d"
    example = Example(((2, 4, 10),))


@operation
class GlobalAvgPool2d(GlobalAvgPooling):
    """The mean of each channel over height and width."""

    axes = 2
    name = "global_avg_pool2d"
    example = Example(((1, 4, 7, 7),))


@operation
class GlobalAvgPool3d(GlobalAvgPooling):
    """The mean of each channel over depth, height and width."""

    axes = 3
    name = "global_avg_pool3d"
    example = Example(((1, 4, 2, 7, 7),))


class GlobalMaxPooling(GlobalPooling):
    """Base of maxima over everything."""

    reference = "torch.amax over the spatial axes"
    cost_rule = "L… − 1 comparisons a channel"

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", "maximum", **self.joins(inputs[0])),)


@operation
class GlobalMaxPool1d(GlobalMaxPooling):
    """The largest element of each channel along its one axis."""

    axes = 1
    name = "global_max_pool1d"
    example = Example(((2, 4, 10),))


@operation
class GlobalMaxPool2d(GlobalMaxPooling):
    """The largest element of each channel over height and width."""

    axes = 2
    name = "global_max_pool2d"
    example = Example(((1, 4, 7, 7),))


@operation
class GlobalMaxPool3d(GlobalMaxPooling):
    """The largest element of each channel over depth, height and width."""

    axes = 3
    name = "global_max_pool3d"
    example = Example(((1, 4, 2, 7, 7),))
