"""Pooling with a sliding window: maximum, average and power average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import field_validator

from netcalc.dims import Dim, product
from netcalc.ir import TensorType
from netcalc.opdef import Context, Example, RuleError, Term, attr, operation, ports
from netcalc.ops._windows import AXES, Offsets, OptionalSizes, Sizes, Windowed


class Pooling(Windowed):
    """Base of pooling with a window; ``padding`` and ``dilation`` are 0 and 1 where an operation lacks them."""

    shorthand = "kernel"
    shape_rule = "(N, C, L…) → (N, C, L'…), L' = ⌊(L + 2·p − d·(k − 1) − 1)/s⌋ + 1 for each axis"

    #: Whether a window must fit the input even without its padding.
    fits_bare: ClassVar[bool] = False

    kernel: Sizes = attr("size of the window")
    stride: OptionalSizes = attr("step between windows; the size of the window unless given", default=None)
    ceil_mode: bool = attr("round up, for a last window that reaches past the end", default=False)

    @property
    def strides(self) -> tuple[Any, ...]:
        return tuple(k if s is None else s for k, s in zip(self.kernel, self.stride, strict=True))

    @property
    def offsets(self) -> tuple[Any, ...]:
        return (0,) * self.axes

    @property
    def dilations(self) -> tuple[Any, ...]:
        return (1,) * self.axes

    def counts(self, ctx: Context, sizes: Sequence[Dim]) -> tuple[Any, ...]:
        """The sizes of the result; RuleError where the windows do not fit."""
        for axis, kernel, offset in zip(AXES[self.axes], self.kernel, self.offsets, strict=True):
            if 2 * offset > kernel:
                raise RuleError(
                    f"{self.name}: padding must be at most half of the kernel; "
                    f"along the {axis} it is {offset}, and the kernel {kernel}"
                )
        if self.fits_bare:
            for axis, kernel, size in zip(AXES[self.axes], self.kernel, sizes, strict=True):
                if kernel > size:
                    raise RuleError(
                        f"{self.name}: the kernel must fit the input without its padding; "
                        f"along the {axis} it is {kernel}, and the input {size}"
                    )
        pads = tuple((offset, offset) for offset in self.offsets)
        return self.window_counts(ctx, sizes, self.kernel, self.strides, pads, self.dilations, ceil_mode=self.ceil_mode)

    def infer(self, ctx: Context, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        self.require_spatial(x)
        return x.with_shape(*x.shape[: -self.axes], *self.counts(ctx, self.sizes_of(x)))

    def results(self, y: TensorType) -> dict[str, Dim]:
        """The elements of the result, as factors."""
        return {"batch": self.batch_of(y), "channels": self.channels_of(y), **self.by_axis("out", self.sizes_of(y))}

    def joins(self) -> Dim:
        """The operations that join a window's taps into one number."""
        return product(self.kernel) - 1


# -- maximum ----------------------------------------------------------------------------------------


class MaxPooling(Pooling):
    """Base of maximum pooling.

    Padding never wins: it counts as −∞.  With ``ceil_mode`` a last window that starts inside the input (or in the
    padding before it) stays although it reaches past the end.  ``return_indices`` adds a second output, the position
    of each maximum in the flattened spatial axes of its channel, the first of equals.  The input may come without a
    batch axis.
    """

    outputs = ports("output", "indices?")
    cost_rule = "k… − 1 comparisons an output element"

    padding: Offsets = attr("elements added on both sides, at most half of the window", default=0)
    dilation: Sizes = attr("step between the taps of a window", default=1)
    return_indices: bool = attr("also return where each maximum was found", default=False)

    @property
    def offsets(self) -> tuple[Any, ...]:
        return self.padding

    @property
    def dilations(self) -> tuple[Any, ...]:
        return self.dilation

    def infer(self, ctx: Context, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        y = super().infer(ctx, x)
        return (y, y.with_dtype("int64")) if self.return_indices and isinstance(y, TensorType) else y

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", "maximum", **self.results(outputs[0]), taps_less_one=self.joins()),)


@operation
class MaxPool1d(MaxPooling):
    """The largest element of each window along one axis, channel by channel."""

    axes = 1
    name = "max_pool1d"
    source = "torch.nn.MaxPool1d"
    example = Example(((2, 4, 16),), {"kernel": 2})


@operation
class MaxPool2d(MaxPooling):
    """The largest element of each window over height and width, channel by channel."""

    axes = 2
    name = "max_pool2d"
    source = "torch.nn.MaxPool2d"
    example = Example(((1, 4, 16, 16),), {"kernel": 3, "stride": 2, "padding": 1})


@operation
class MaxPool3d(MaxPooling):
    """The largest element of each window over depth, height and width, channel by channel."""

    axes = 3
    name = "max_pool3d"
    source = "torch.nn.MaxPool3d"
    example = Example(((1, 4, 4, 8, 8),), {"kernel": 2})


# -- average ----------------------------------------------------------------------------------------


class AvgPooling(Pooling):
    """Base of average pooling.

    The sum of a window is divided by the number of its elements; padding is zeros, which count unless
    ``count_include_pad`` is off.  What ``ceil_mode`` lets reach past the padding never counts.  ``divisor_override``
    divides by a fixed number instead.  The input may come without a batch axis.
    """

    cost_rule = "k… − 1 adds and one division an output element"

    padding: Offsets = attr("zeros added on both sides, at most half of the window", default=0)
    count_include_pad: bool = attr("count padding in the average", default=True)
    divisor_override: int | None = attr("divide by this instead of the count", default=None)

    @field_validator("divisor_override")
    @classmethod
    def _not_zero(cls, value: Any) -> Any:
        if value == 0:
            raise ValueError("should not be zero")
        return value

    @property
    def offsets(self) -> tuple[Any, ...]:
        return self.padding

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        results = self.results(outputs[0])
        return (
            Term.of("add", "sum", **results, taps_less_one=self.joins()),
            Term.of("div", "mean", **results),
        )


@operation
class AvgPool1d(AvgPooling):
    """The mean of each window along one axis, channel by channel."""

    axes = 1
    name = "avg_pool1d"
    source = "torch.nn.AvgPool1d"
    example = Example(((2, 4, 16),), {"kernel": 2})


@operation
class AvgPool2d(AvgPooling):
    """The mean of each window over height and width, channel by channel."""

    axes = 2
    name = "avg_pool2d"
    source = "torch.nn.AvgPool2d"
    example = Example(((1, 4, 16, 16),), {"kernel": 2})


@operation
class AvgPool3d(AvgPooling):
    """The mean of each window over depth, height and width, channel by channel.

    As in PyTorch the kernel may not be larger than the input is without its padding.
    """

    axes = 3
    fits_bare = True
    name = "avg_pool3d"
    source = "torch.nn.AvgPool3d"
    example = Example(((1, 4, 4, 8, 8),), {"kernel": 2})


# -- power average ----------------------------------------------------------------------------------


class LPPooling(Pooling):
    """Base of power-average pooling.

    (Σ xᵖ)^(1/p) over each window, with p = ``norm_type``: the sum at p = 1, near the maximum for a large p.  As in
    PyTorch no absolute value is taken, so that odd powers of negative numbers can leave no real root (NaN).  A window
    that ``ceil_mode`` lets reach past the end is scaled as if it were full.  The input may come without a batch axis.
    """

    cost_rule = "one power an input element; k… − 1 adds and one root an output element, with ceil_mode one mul"

    norm_type: float = attr("the power p", gt=0, allow_inf_nan=False)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        results = self.results(outputs[0])
        terms = [
            Term.of("transcendental", "power", elements=inputs[0].elements),
            Term.of("add", "sum", **results, taps_less_one=self.joins()),
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
    source = "torch.nn.LPPool1d"
    example = Example(((2, 4, 16),), {"norm_type": 2, "kernel": 2})


@operation
class LPPool2d(LPPooling):
    """The p-norm of each window over height and width, channel by channel."""

    axes = 2
    name = "lp_pool2d"
    source = "torch.nn.LPPool2d"
    example = Example(((1, 4, 16, 16),), {"norm_type": 2, "kernel": 2})


@operation
class LPPool3d(LPPooling):
    """The p-norm of each window over depth, height and width, channel by channel.

    As in PyTorch the kernel may not be larger than the input, also with ``ceil_mode``.
    """

    axes = 3
    fits_bare = True
    name = "lp_pool3d"
    source = "torch.nn.LPPool3d"
    example = Example(((1, 4, 4, 8, 8),), {"norm_type": 2, "kernel": 2})
