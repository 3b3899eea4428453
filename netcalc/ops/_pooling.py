"""What pooling with a sliding window shares, whatever becomes of the elements in it."""

from collections.abc import Sequence
from typing import Any, ClassVar

from netcalc.dims import Dim, product
from netcalc.opdef import Context, RuleError, attr
from netcalc.ops._windows import AXES, OptionalSizes, Sizes, SpatialOperation
from netcalc.tensor_type import TensorType


class Pooling(SpatialOperation):
    """Base of pooling with a window; ``padding`` and ``dilation`` are 0 and 1 where an operation lacks them."""

    windowed = True
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
