"""The base of pooling with a sliding window."""

from collections.abc import Sequence
from typing import Any, ClassVar

from netcalc.dims import Dim, product
from netcalc.opdef import Context, RuleError, attr
from netcalc.ops._windows import AXES, OptionalSizes, Sizes, SpatialOperation
from netcalc.tensor_type import TensorType


class Pooling(SpatialOperation):
    """Base of pooling with a sliding window; without attributes of that name, padding is 0 and dilation 1."""

    windowed = True
    shorthand = "kernel"
    shape_rule = "(N, C, L…) → (N, C, L'…), L' = ⌊(L + 2·p − d·(k − 1) − 1)/s⌋ + 1 for each axis"

    #: True if a window must fit the unpadded input.
    fits_bare: ClassVar[bool] = False

    kernel: Sizes = attr("size of the window")
    stride: OptionalSizes = attr("distance between windows; by default the size of the window", default=None)
    ceil_mode: bool = attr("round the number of windows up, so that the last one may reach past the end", default=False)

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
        """Return the spatial sizes of the result; RuleError if a window does not fit."""
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
        """Return the number of elements of the result, as factors."""
        return {"batch": self.batch_of(y), "channels": self.channels_of(y), **self.by_axis("out", self.sizes_of(y))}

    def reductions(self) -> Dim:
        """Return the number of binary operations that reduce one window."""
        return product(self.kernel) - 1
