"""Pooling to a given size."""

from collections.abc import Sequence
from math import gcd
from typing import Any

from netcalc.dims import Dim, Poly, UndecidedError, ceil_div, divided, exact_div, product
from netcalc.limits import MAX_WINDOWS
from netcalc.opdef import AxisReach, Context, Example, Reach, Term, Window, attr, axes_of, ports
from netcalc.ops import operation
from netcalc.ops._windows import OptionalSizes, SpatialOperation
from netcalc.tensor_type import TensorType


class AdaptivePooling(SpatialOperation):
    """Base of pooling to a given size.

    Output element i pools the input elements from ⌊i·L/out⌋ up to, but not including, ⌈(i + 1)·L/out⌉.  The windows
    cover the axis, differ in size by at most one, and overlap where out does not divide L.  The batch axis is
    optional.
    """

    shorthand = "output_size"
    shape_rule = "(N, C, L…) → (N, C, output_size…)"

    output_size: OptionalSizes = attr("size of the result; null keeps the size of the input")

    def targets(self, sizes: Sequence[Dim]) -> tuple[Any, ...]:
        """Return the spatial sizes of the result."""
        return tuple(n if out is None else out for n, out in zip(sizes, self.output_size, strict=True))

    def infer(self, ctx: Context, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        self.require_spatial(x)
        return x.with_shape(*x.shape[: -self.axes], *self.targets(self.sizes_of(x)))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        windows: dict[int, AxisReach] = {}
        for axis in range(x.rank - self.axes, x.rank):
            size, out = x.shape[axis], output.shape[axis]
            each = exact_div(size, out) if out != 1 else None
            windows[axis] = "all" if out == 1 else "unknown"
            if isinstance(each, int):
                windows[axis] = Window(axis, each, 0, each - 1)
        return [axes_of(x, windows)]

    def reductions(self, x: TensorType, y: TensorType) -> dict[str, Dim]:
        """Return the number of binary operations that reduce the windows, as factors."""
        return {
            "batch": self.batch_of(x),
            "channels": self.channels_of(x),
            "window_elements_less_one_each": self.covered(x, y) - product(self.sizes_of(y)),
        }

    def covered(self, x: TensorType, y: TensorType) -> Dim:
        """Return the number of elements in all windows of a channel; overlapping elements count twice."""
        return product(_elements_in_windows(n, out) for n, out in zip(self.sizes_of(x), self.sizes_of(y), strict=True))


def _elements_in_windows(size: Dim, out: Dim) -> Dim:
    """Return the number of elements in all windows along one axis; overlapping elements count twice."""
    divides = divided if isinstance(out, Poly) else exact_div
    if divides(size, out) is not None:
        return size
    if divides(out, size) is not None:
        return out
    if isinstance(size, int) and isinstance(out, int):
        return size + out - gcd(size, out)  # all boundaries but those at whole elements, i·L/out, split an element
    if isinstance(out, Poly) or out > MAX_WINDOWS:
        raise UndecidedError(f"the overlap of the windows from {size} to {out} elements is undecided")
    # the same for a symbolic L: gcd(L, out) is the sum of φ(d) over the divisors d of out that divide L
    divisors = [d for d in range(1, out + 1) if out % d == 0]
    return size + sum(_totient(d) * (ceil_div(size, d) - size // d) for d in divisors)


def _totient(n: int) -> int:
    """Return the number of integers from 1 to n without a common divisor with n."""
    return sum(gcd(i, n) == 1 for i in range(1, n + 1))


# -- average ----------------------------------------------------------------------------------------


class AdaptiveAvgPooling(AdaptivePooling):
    """Base of averages to a given size."""

    cost_rule = "k − 1 adds and 1 div per output element, k being the size of its window"

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,), (y,) = inputs, outputs
        return (Term.of("add", "sum", **self.reductions(x, y)), Term.of("div", "mean", elements=y.elements))


@operation
class AdaptiveAvgPool1d(AdaptiveAvgPooling):
    """The mean of each of output_size windows along one axis."""

    axes = 1
    name = "adaptive_avg_pool1d"
    reference = "torch.nn.AdaptiveAvgPool1d"
    example = Example(((2, 4, 10),), {"output_size": 4})
    usage = ("x: [1, 64, 1000]", "- $op: 10")


@operation
class AdaptiveAvgPool2d(AdaptiveAvgPooling):
    """The mean of each of output_size windows over height and width."""

    axes = 2
    name = "adaptive_avg_pool2d"
    reference = "torch.nn.AdaptiveAvgPool2d"
    example = Example(((1, 4, 10, 13),), {"output_size": [3, 5]})
    usage = ("x: [1, 256, 13, 13]", "- $op: 6", "- flatten")


@operation
class AdaptiveAvgPool3d(AdaptiveAvgPooling):
    """The mean of each of output_size windows over depth, height and width."""

    axes = 3
    name = "adaptive_avg_pool3d"
    reference = "torch.nn.AdaptiveAvgPool3d"
    example = Example(((1, 4, 4, 7, 7),), {"output_size": [None, 1, 1]})
    usage = ("x: [1, 64, 8, 14, 14]", "- $op: [null, 7, 7]")


# -- maximum ----------------------------------------------------------------------------------------


class AdaptiveMaxPooling(AdaptivePooling):
    """Base of maxima to a given size.

    ``return_indices`` adds a second output: the index of each maximum in the flattened spatial axes of its channel.  Of
    equal elements the first is taken.
    """

    outputs = ports("output", "indices?")
    cost_rule = "k − 1 comparisons per output element, k being the size of its window"

    return_indices: bool = attr("also return the index of each maximum", default=False)

    def infer(self, ctx: Context, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        y = super().infer(ctx, x)
        return (y, y.with_dtype("int64")) if self.return_indices and isinstance(y, TensorType) else y

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", "maximum", **self.reductions(inputs[0], outputs[0])),)


@operation
class AdaptiveMaxPool1d(AdaptiveMaxPooling):
    """The largest element of each of output_size windows along one axis."""

    axes = 1
    name = "adaptive_max_pool1d"
    reference = "torch.nn.AdaptiveMaxPool1d"
    example = Example(((2, 4, 10),), {"output_size": 4})
    usage = ("x: [1, 64, 1000]", "- $op: 10")


@operation
class AdaptiveMaxPool2d(AdaptiveMaxPooling):
    """The largest element of each of output_size windows over height and width."""

    axes = 2
    name = "adaptive_max_pool2d"
    reference = "torch.nn.AdaptiveMaxPool2d"
    example = Example(((1, 4, 10, 13),), {"output_size": [3, 5]})
    usage = ("x: [1, 256, 13, 13]", "- $op: 6", "- flatten")


@operation
class AdaptiveMaxPool3d(AdaptiveMaxPooling):
    """The largest element of each of output_size windows over depth, height and width."""

    axes = 3
    name = "adaptive_max_pool3d"
    reference = "torch.nn.AdaptiveMaxPool3d"
    example = Example(((1, 4, 4, 7, 7),), {"output_size": [None, 1, 1]})
    usage = ("x: [1, 64, 8, 14, 14]", "- $op: [null, 7, 7]")
