"""Normalization by channel, with running statistics for inference."""

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim, product
from netcalc.opdef import (
    ONES,
    ZEROS,
    Buffer,
    Context,
    Example,
    Operation,
    Param,
    Reach,
    RuleError,
    Term,
    aligned,
    attr,
    axes_of,
    every,
    ports,
    require_float,
    require_rank,
)
from netcalc.ops import operation
from netcalc.ops._statistics import (
    NORM_INPUTS,
    affine_terms,
    check_given,
    has_affine,
    learned_affine,
    moments,
    reciprocal_root,
)
from netcalc.tensor_type import TensorType


def _folded_work(affine: bool, **elements: Dim) -> tuple[Term, ...]:
    """Return the work with fixed statistics, folded with the affine map into a scale and a shift per channel."""
    channels = elements["channels"]
    return (
        *reciprocal_root(channels=channels),
        *((Term.of("mul", "folded weight", channels=channels),) if affine else ()),
        Term.of("mul", "folded mean", channels=channels),
        Term.of("add", "folded bias", channels=channels),
        *affine_terms(True, True, **elements),
    )


class _Tracking(Operation):
    """Base of normalization by channel (axis 1), with the statistics of the input or with running statistics."""

    channel_axis = 1
    inputs = (*NORM_INPUTS, *ports("running_mean?", "running_var?"))
    normalizes_channels = True

    eps: float = attr("added to the variance", default=1e-5, ge=0)
    momentum: float | None = attr(
        "weight of the newest statistics in the running statistics", default=0.1, allow_inf_nan=False
    )
    affine: bool = attr("learn a weight for each channel", default=True)
    bias: bool = attr("learn a bias too, if affine", default=True)
    track_running_stats: bool = attr("keep running statistics, and use them in inference", default=True)

    def own_statistics(self, training: bool, *, given: bool = False) -> bool:
        """True if the input is normalized by its own statistics rather than running ones, which may be ``given``."""
        return (training and not given) or not self.track_running_stats

    def checked(self, ctx: Context, x: TensorType, values: Dim, given: Sequence[TensorType | None]) -> TensorType:
        """Return ``x``; RuleError if a mean has too few ``values``, the divisor could be zero, or inputs do not fit."""
        named = self.named((None, *given))
        check_given(self.name, x.shape[1:2], x, **named)
        statistics = [name for name in named if name.startswith("running")]
        if len(statistics) == 1:
            raise RuleError(f"{self.name} takes running_mean and running_var, not {statistics[0]} alone")
        if statistics and not self.track_running_stats:
            raise RuleError(f"{self.name} without track_running_stats takes no {statistics[0]}")
        if self.own_statistics(ctx.training, given=bool(statistics)):
            if values < 2:
                raise RuleError(
                    f"{self.name} with statistics of the input takes more than one value per channel, and this is {x}"
                )
            if self.eps == 0 and self.name == "batch_norm":
                raise RuleError("batch_norm by the input's own statistics takes an eps above 0")
        return x

    def params(
        self,
        ctx: Context,
        x: TensorType,
        weight: TensorType | None = None,
        bias: TensorType | None = None,
        *statistics: TensorType | None,
    ) -> Sequence[Param]:
        channels = x.shape[1]
        learned = learned_affine(self, (channels,), weight, bias)
        if not self.track_running_stats or any(statistics):
            return learned
        return (
            *learned,
            Buffer("running_mean", (channels,), ZEROS),
            Buffer("running_var", (channels,), ONES),
            Buffer("num_batches_tracked", (), ZEROS, dtype="int64"),
        )

    def _mixes(self, others: int, training: bool) -> bool | None:
        """Return True if a norm with so many other inputs uses statistics of its input; None if that is not known."""
        if training and self.track_running_stats and others == 2:  # weight and bias, or mean and variance
            return None
        return self.own_statistics(training, given=others > 2)

    def tracks(self, inputs: Sequence[Any]) -> bool:
        """Return True if the norm keeps running statistics of its own, which are no inputs."""
        return self.track_running_stats and "running_mean" not in self.named(inputs)

    def tracked(self, channels: Dim) -> tuple[Term, ...]:
        """Return the work of updating both running statistics."""
        return (
            Term.of("mul", "unbiased variance", channels=channels),
            Term.of("add", "running statistics", statistics=2, channels=channels, additions=2),
            Term.of("mul", "running statistics", statistics=2, channels=channels),
        )


@operation
class BatchNorm(_Tracking):
    """(x − mean)/√(variance + eps) · weight + bias for each channel (axis 1), over all other axes.

    Training uses the mean and the biased variance of the batch, and updates the running statistics with the weight
    ``momentum`` (null: the cumulative average) and the unbiased variance.  In inference the running statistics are
    used, folded with weight and bias into one multiplication and one addition per element.  Without
    ``track_running_stats`` the statistics of the batch are used in inference too.  Weight, bias and running statistics
    that other lines compute are inputs, and no parameters or buffers then; such statistics are used in training,
    too, and never updated.
    """

    name = "batch_norm"
    reference = "torch.nn.BatchNorm1d, BatchNorm2d, BatchNorm3d; Ioffe & Szegedy 2015, arXiv:1502.03167"
    shape_rule = "(N, C, …) unchanged"
    param_rule = "weight C, bias C; buffers running_mean C, running_var C, num_batches_tracked 1"
    cost_rule = "inference: 1 mul and 1 add per element, 6 operations per channel; training: 4 more per element"
    example = Example(((2, 6, 4, 4),))
    usage = (
        "image: [8, 3, 32, 32]",
        "- conv2d: {out: 64, kernel: 3, padding: 1, bias: false}",
        "- batch_norm",
        "- relu",
    )

    def infer(self, ctx: Context, x: TensorType, *given: TensorType | None) -> TensorType:
        require_float(x, "batch_norm")
        require_rank(x, (2, 3, 4, 5), "batch_norm")
        return self.checked(ctx, x, x.shape[0] * product(x.shape[2:]), given)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        x, *others = inputs
        if (own := self._mixes(len(others), training)) is None:
            return None
        mixed = [axis for axis in range(x.rank) if axis != 1] if own else []
        return [axes_of(x, dict.fromkeys(mixed, "all")), *(every(other, "all") for other in others)]

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, channels, *rest = inputs[0].shape
        elements = {"batch": batch, "channels": channels, "positions": product(rest)}
        weight, bias = has_affine(self, inputs)
        if not self.own_statistics(ctx.training, given=not self.tracks(inputs)):
            return _folded_work(weight, **elements)
        work = (
            *moments(batch * product(rest), channels=channels),
            *reciprocal_root(channels=channels),
            *((Term.of("mul", "folded weight", channels=channels),) if weight else ()),
            *affine_terms(True, bias, **elements),
        )
        if not (ctx.training and self.tracks(inputs)):
            return work
        average = (Term.of("div", "cumulative average"),) if self.momentum is None else ()
        return (*work, *self.tracked(channels), Term.of("add", "batches tracked"), *average)


@operation
class FrozenBatchNorm(Operation):
    """(x − mean)/√(variance + eps) · weight + bias for each channel (axis 1), with fixed values of all four.

    A batch_norm with the statistics and weights of an earlier training, none of which are trained further.  Detectors
    use it in the backbone, since their batches are too small for batch statistics.
    """

    name = "frozen_batch_norm"
    channel_axis = 1
    normalizes_channels = True
    reference = "torchvision.ops.FrozenBatchNorm2d; Carion et al. 2020, arXiv:2005.12872, section 4"
    shape_rule = "(N, C, …) unchanged"
    param_rule = "none; buffers weight C, bias C, running_mean C, running_var C"
    cost_rule = "1 mul and 1 add per element, 6 operations per channel"
    example = Example(((2, 6, 4, 4),))
    usage = (
        "image: [8, 3, 32, 32]",
        "- conv2d: {out: 64, kernel: 3, padding: 1, bias: false}",
        "- frozen_batch_norm",
        "- relu",
    )

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

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [aligned(x, output) for x in inputs]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, channels, *rest = inputs[0].shape
        return _folded_work(True, batch=batch, channels=channels, positions=product(rest))


@operation
class InstanceNorm(_Tracking):
    """(x − mean)/√(variance + eps) for each channel of each sample, then weight and bias if ``affine``.

    With ``track_running_stats`` training updates running statistics (the mean over the samples; unchanged with
    ``momentum: null``, as in PyTorch), and inference normalizes with them.  Inputs in place of parameters and
    buffers are as for ``batch_norm``.
    """

    name = "instance_norm"
    reference = "torch.nn.InstanceNorm1d, InstanceNorm2d, InstanceNorm3d; Ulyanov et al. 2016, arXiv:1607.08022"
    shape_rule = "(N, C, …) unchanged"
    param_rule = "none; with affine: weight C, bias C; with track_running_stats: buffers as in batch_norm"
    cost_rule = "per element: 2 for mean and centering, 2 for the variance, 1 to normalize, 2 for weight and bias"
    example = Example(((2, 6, 4, 4),), {"affine": True})
    usage = (
        "image: [1, 3, 128, 128]",
        "- conv2d: {out: 32, kernel: 9, padding: 4}",
        "- instance_norm: {affine: true}",
        "- relu",
    )

    affine: bool = attr("learn a weight for each channel", default=False)
    track_running_stats: bool = attr("keep running statistics, and use them in inference", default=False)

    def infer(self, ctx: Context, x: TensorType, *given: TensorType | None) -> TensorType:
        require_float(x, "instance_norm")
        require_rank(x, (3, 4, 5), "instance_norm")
        return self.checked(ctx, x, product(x.shape[2:]), given)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        x, *others = inputs
        if (own := self._mixes(len(others), training)) is None:
            return None
        spatial = range(2, x.rank) if own else ()
        return [axes_of(x, dict.fromkeys(spatial, "all")), *(every(other, "all") for other in others)]

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, channels, *rest = inputs[0].shape
        elements = {"batch": batch, "channels": channels, "positions": product(rest)}
        weight, bias = has_affine(self, inputs)
        if not self.own_statistics(ctx.training, given=not self.tracks(inputs)):
            return _folded_work(weight, **elements)
        work = (
            *moments(product(rest), batch=batch, channels=channels),
            *reciprocal_root(batch=batch, channels=channels),
            Term.of("mul", "normalize", **elements),
            *affine_terms(weight, bias, **elements),
        )
        if not (ctx.training and self.tracks(inputs)):
            return work
        return (
            *work,
            Term.of("add", "mean of samples", statistics=2, channels=channels, sums=batch - 1),
            Term.of("div", "mean of samples", statistics=2, channels=channels),
            *self.tracked(channels),
        )
