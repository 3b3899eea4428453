"""The base of pooling with a sliding window."""

from collections.abc import Sequence
from typing import Any, ClassVar

from netcalc.dims import Dim, product
from netcalc.opdef import Context, Reach, RuleError, attr
from netcalc.ops._windows import AXES, OptionalSizes, Pads, PoolPadding, Sizes, SpatialOperation, resolve_padding
from netcalc.tensor_type import TensorType


class Pooling(SpatialOperation):
    """Base of pooling with a sliding window.

    Padding is one number, one for each axis, or [before, after] for each axis; both sides together are at most the
    kernel.  ``same_upper`` and ``same_lower`` give ⌈size / stride⌉ windows, with an odd element of padding after or
    before: ``same_upper`` is TensorFlow's SAME, and both are values of ONNX's ``auto_pad``.
    """

    windowed = True
    shorthand: ClassVar[str | None] = "kernel"
    shape_rule = "(N, C, L…) → (N, C, L'…), L' = ⌊(L + 2·p − d·(k − 1) − 1)/s⌋ + 1 for each axis"

    #: True if a window must fit the unpadded input.
    fits_bare: ClassVar[bool] = False

    kernel: Sizes = attr("size of the window")
    stride: OptionalSizes = attr("distance between windows; by default the size of the window", default=None)
    padding: PoolPadding = attr("elements added on both sides, or the name of a rule", default=0)
    ceil_mode: bool = attr("round the number of windows up, so that the last one may reach past the end", default=False)

    @property
    def strides(self) -> tuple[Any, ...]:
        return tuple(k if s is None else s for k, s in zip(self.kernel, self.stride, strict=True))

    @property
    def dilations(self) -> tuple[Any, ...]:
        return (1,) * self.axes

    def pads(self, sizes: Sequence[Dim]) -> Pads:
        """Return the padding before and after each axis, for an input of these sizes."""
        return resolve_padding(self.padding, sizes, self.kernel, self.strides, self.dilations)

    def counts(self, ctx: Context, sizes: Sequence[Dim]) -> tuple[Any, ...]:
        """Return the spatial sizes of the result; RuleError if a window does not fit."""
        if not isinstance(self.padding, str):
            self._check_padding(self.padding)
        if self.fits_bare:
            for axis, kernel, size in zip(AXES[self.axes], self.kernel, sizes, strict=True):
                if kernel > size:
                    raise RuleError(
                        f"{self.name}: the kernel must fit the input without its padding; "
                        f"along the {axis} it is {kernel}, and the input {size}"
                    )
        if self.padding in ("same_upper", "same_lower"):
            return self.counts_by_rule(ctx, self.padding, sizes, self.strides)
        pads = self.pads(sizes)
        return self.window_counts(ctx, sizes, self.kernel, self.strides, pads, self.dilations, ceil_mode=self.ceil_mode)

    def _check_padding(self, pads: Pads) -> None:
        """Raise RuleError if a window might hold padding alone."""
        for axis, kernel, (before, after) in zip(AXES[self.axes], self.kernel, pads, strict=True):
            if before == after and 2 * before > kernel:
                raise RuleError(
                    f"{self.name}: padding must be at most half of the kernel; "
                    f"along the {axis} it is {before}, and the kernel {kernel}"
                )
            if before + after > kernel or before >= kernel or after >= kernel:
                raise RuleError(
                    f"{self.name}: padding must be less than the kernel on each side, and at most the kernel on both; "
                    f"along the {axis} it is {before} before and {after} after, and the kernel {kernel}"
                )

    def infer(self, ctx: Context, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        self.require_spatial(x)
        return x.with_shape(*x.shape[: -self.axes], *self.counts(ctx, self.sizes_of(x)))

    def results(self, y: TensorType) -> dict[str, Dim]:
        """Return the number of elements of the result, as factors."""
        return {"batch": self.batch_of(y), "channels": self.channels_of(y), **self.by_axis("out", self.sizes_of(y))}

    def reductions(self) -> Dim:
        """Return the number of binary operations that reduce one window."""
        return product(self.kernel) - 1

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [self.windows(x, self.kernel, self.strides, self.pads(self.sizes_of(x)), self.dilations)]
