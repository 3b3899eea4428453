"""Regularization by dropping: a no-op in inference."""

from collections.abc import Sequence
from typing import Literal

from netcalc.opdef import Context, Example, Operation, RuleError, Term, attr, require_float
from netcalc.ops import operation
from netcalc.tensor_type import TensorType


class _Drop(Operation):
    """Base of multiplication by a random mask in training; the identity in inference."""

    takes_empty = True
    no_op_in_inference = True
    shorthand = "p"
    shape_rule = "unchanged"

    p: float = attr("probability of dropping", default=0.5, ge=0, le=1)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, self.name)
        return x

    def masked(self, x: TensorType) -> TensorType:
        """Return the type of the random mask, which broadcasts to ``x``."""
        raise NotImplementedError(self.name)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        if not ctx.training:
            return ()
        (x,) = inputs
        return (Term.of("compare", "mask", drawn=self.masked(x).elements), Term.of("mul", "scale", elements=x.elements))


@operation
class Dropout(_Drop):
    """Zeroes elements with probability p in training and scales the others by 1/(1 − p); a no-op in inference.

    With ``channelwise`` whole channels (axis 1) are dropped.  Drawing random numbers is not counted as work.
    """

    name = "dropout"
    reference = "torch.nn.Dropout, torch.nn.Dropout2d (channelwise); Srivastava et al. 2014, JMLR 15"
    cost_rule = "none in inference; in training 1 comparison per random number and 1 mul per element"
    example = Example(((2, 8),), {"p": 0.1})
    usage = ("x: [32, 784]", "- linear: 256", "- relu", "- dropout: 0.5")

    channelwise: bool = attr("drop whole channels (axis 1) of each sample", default=False)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if self.channelwise and x.rank < 2:
            raise RuleError(f"channelwise dropout takes an input of at least 2 dimensions, and this one has {x.rank}")
        return super().infer(ctx, x)

    def masked(self, x: TensorType) -> TensorType:
        return x.with_shape(*x.shape[:2], *(1,) * (x.rank - 2)) if self.channelwise else x


@operation
class StochasticDepth(_Drop):
    """Zeroes a residual branch with probability p in training, else scales it by 1/(1 − p); a no-op in inference.

    ``mode: row`` decides for each sample (axis 0) separately, ``batch`` for the whole batch.
    """

    name = "stochastic_depth"
    reference = "torchvision.ops.StochasticDepth; Huang et al. 2016, arXiv:1603.09382"
    cost_rule = "none in inference; in training 1 comparison per sample (or per batch) and 1 mul per element"
    example = Example(((2, 8, 4, 4),), {"p": 0.2})
    usage = (
        "x: [8, 64, 14, 14]",
        "- add:",
        "    shortcut: []",
        "    residual:",
        "      - conv2d: {out: 64, kernel: 3, padding: 1}",
        "      - stochastic_depth: 0.1",
    )

    mode: Literal["row", "batch"] = attr("unit that is dropped: each sample, or the whole batch", default="row")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if self.mode == "row" and x.rank < 1:
            raise RuleError("stochastic_depth by row takes an input of at least 1 dimension, and this one is a scalar")
        return super().infer(ctx, x)

    def masked(self, x: TensorType) -> TensorType:
        return x.with_shape(*(size if axis == 0 and self.mode == "row" else 1 for axis, size in enumerate(x.shape)))
