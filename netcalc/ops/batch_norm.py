"""Normalisation by channel, with running statistics for evaluation."""

from collections.abc import Sequence

from netcalc.dims import Dim, product
from netcalc.opdef import (
    ONES,
    ZEROS,
    Buffer,
    Context,
    Example,
    Operation,
    Param,
    RuleError,
    Term,
    attr,
    require_float,
    require_rank,
)
from netcalc.ops import operation
from netcalc.ops._statistics import affine_params, affine_terms, moments, reciprocal_root
from netcalc.tensor_type import TensorType


def _folded(affine: bool, **elements: Dim) -> tuple[Term, ...]:
    """Work with given statistics: they and the affine map become one scale and one shift for each channel."""
    channels = elements["channels"]
    return (
        *reciprocal_root(channels=channels),
        *((Term.of("mul", "folded weight", channels=channels),) if affine else ()),
        Term.of("mul", "folded mean", channels=channels),
        Term.of("add", "folded bias", channels=channels),
        *affine_terms(True, True, **elements),
    )


class _Tracking(Operation):
    """Normalises channels (axis 1), by the input's own statistics or by running ones."""

    normalises_channels = True

    eps: float = attr("added to the variance", default=1e-5, ge=0)
    momentum: float | None = attr("weight of the newest statistics in the running ones", default=0.1)
    affine: bool = attr("learn a weight for each channel", default=True)
    bias: bool = attr("learn a bias too, where affine", default=True)
    track_running_stats: bool = attr("keep running statistics, and use them in evaluation", default=True)

    def own_statistics(self, training: bool) -> bool:
        """True if the input is normalised by its own statistics rather than the running ones."""
        return training or not self.track_running_stats

    def checked(self, ctx: Context, x: TensorType, values: Dim) -> TensorType:
        """``x``, where its ``values`` numbers for each mean are enough and ``eps`` keeps the divisor from zero."""
        if self.own_statistics(ctx.training):
            if values < 2:
                raise RuleError(f"{self.name} by the input's own statistics takes more than one value, and this is {x}")
            if self.eps == 0 and self.name == "batch_norm":
                raise RuleError("batch_norm by the input's own statistics takes an eps above 0")
        return x

    def params(self, ctx: Context, x: TensorType) -> Sequence[Param]:
        channels = x.shape[1]
        learned = affine_params((channels,), self.affine, self.affine and self.bias)
        if not self.track_running_stats:
            return learned
        return (
            *learned,
            Buffer("running_mean", (channels,), ZEROS),
            Buffer("running_var", (channels,), ONES),
            Buffer("num_batches_tracked", (), ZEROS, dtype="int64"),
        )

    def tracked(self, channels: Dim) -> tuple[Term, ...]:
        """Work of moving both running statistics by ``momentum`` towards the newest."""
        return (
            Term.of("mul", "unbiased variance", channels=channels),
            Term.of("add", "running statistics", statistics=2, channels=channels, additions=2),
            Term.of("mul", "running statistics", statistics=2, channels=channels),
        )


@operation
class BatchNorm(_Tracking):
    """(x − mean)/√(variance + eps) · weight + bias for each channel (axis 1), over all other axes.

    In training the mean and the biased variance are the batch's own, and the running ones move towards them by
    ``momentum`` (null: the cumulative average), the variance by the unbiased estimate.  In evaluation the running
    ones serve, folded with weight and bias into one multiplication and one addition for each element;
    without ``track_running_stats`` the batch's own serve there too.
    """

    name = "batch_norm"
    reference = "torch.nn.BatchNorm1d, BatchNorm2d, BatchNorm3d; Ioffe & Szegedy 2015, arXiv:1502.03167"
    shape_rule = "(N, C, …) unchanged"
    param_rule = "weight C, bias C; buffers running_mean C, running_var C, num_batches_tracked 1"
    cost_rule = "evaluation: 1 mul and 1 add an element, 6 a channel; training: 4 an element more for the statistics"
    example = Example(((2, 6, 4, 4),))

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, "batch_norm")
        require_rank(x, (2, 3, 4, 5), "batch_norm")
        return self.checked(ctx, x, x.shape[0] * product(x.shape[2:]))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, channels, *rest = inputs[0].shape
        elements = {"batch": batch, "channels": channels, "positions": product(rest)}
        if not self.own_statistics(ctx.training):
            return _folded(self.affine, **elements)
        work = (
            *moments(batch * product(rest), channels=channels),
            *reciprocal_root(channels=channels),
            *((Term.of("mul", "folded weight", channels=channels),) if self.affine else ()),
            *affine_terms(True, self.affine and self.bias, **elements),
        )
        if not (ctx.training and self.track_running_stats):
            return work
        average = (Term.of("div", "cumulative average"),) if self.momentum is None else ()
        return (*work, *self.tracked(channels), Term.of("add", "batches tracked"), *average)


@operation
class FrozenBatchNorm(Operation):
    """(x − mean)/√(variance + eps) · weight + bias for each channel (axis 1), all four of them fixed.

    A batch_norm as it came out of another training: nothing of it is learned, and training changes nothing.
    Detectors, whose batches are too small for statistics of their own, keep such norms in their backbone.
    """

    name = "frozen_batch_norm"
    normalises_channels = True
    reference = "torchvision.ops.FrozenBatchNorm2d; Carion et al. 2020, arXiv:2005.12872, section 4"
    shape_rule = "(N, C, …) unchanged"
    param_rule = "none; buffers weight C, bias C, running_mean C, running_var C"
    cost_rule = "1 mul and 1 add an element, 6 a channel"
    example = Example(((2, 6, 4, 4),))

    eps: float = attr("added to the variance", default=1e-5, ge=0)

    def own_statistics(self, training: bool) -> bool:
        """Return False: the statistics are always the fixed ones."""
        return False

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, "frozen_batch_norm")
        require_rank(x, (2, 3, 4, 5), "frozen_batch_norm")
        return x

    def params(self, ctx: Context, x: TensorType) -> Sequence[Param]:
        starts = {"weight": ONES, "bias": ZEROS, "running_mean": ZEROS, "running_var": ONES}
        return tuple(Buffer(name, (x.shape[1],), init) for name, init in starts.items())

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, channels, *rest = inputs[0].shape
        return _folded(True, batch=batch, channels=channels, positions=product(rest))


@operation
class InstanceNorm(_Tracking):
    """(x − mean)/√(variance + eps) for each channel of each sample, then weight and bias where ``affine``.

    With ``track_running_stats`` training keeps running statistics (the mean over the samples; ``momentum: null``
    leaves them alone, as PyTorch does), and evaluation normalises by them.
    """

    name = "instance_norm"
    reference = "torch.nn.InstanceNorm1d, InstanceNorm2d, InstanceNorm3d; Ulyanov et al. 2016, arXiv:1607.08022"
    shape_rule = "(N, C, …) unchanged"
    param_rule = "none; weight C, bias C where affine; running statistics as batch_norm where tracked"
    cost_rule = "an element: 2 for the mean and centring, 2 for the variance, 1 to divide, 2 for weight and bias"
    example = Example(((2, 6, 4, 4),), {"affine": True})

    affine: bool = attr("learn a weight for each channel", default=False)
    track_running_stats: bool = attr("keep running statistics, and use them in evaluation", default=False)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, "instance_norm")
        require_rank(x, (3, 4, 5), "instance_norm")
        return self.checked(ctx, x, product(x.shape[2:]))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, channels, *rest = inputs[0].shape
        elements = {"batch": batch, "channels": channels, "positions": product(rest)}
        if not self.own_statistics(ctx.training):
            return _folded(self.affine, **elements)
        work = (
            *moments(product(rest), batch=batch, channels=channels),
            *reciprocal_root(batch=batch, channels=channels),
            Term.of("mul", "normalise", **elements),
            *affine_terms(self.affine, self.affine and self.bias, **elements),
        )
        if not (ctx.training and self.track_running_stats):
            return work
        return (
            *work,
            Term.of("add", "mean of samples", statistics=2, channels=channels, sums=batch - 1),
            Term.of("div", "mean of samples", statistics=2, channels=channels),
            *self.tracked(channels),
        )
