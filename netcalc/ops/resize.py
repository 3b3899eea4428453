"""Resizing by interpolation."""

import operator
from collections.abc import Sequence
from math import ceil, inf
from typing import Any, Literal, Self

from netcalc.dims import Dim, ceil_div, exact_div, maximum
from netcalc.models import field_validator, model_validator
from netcalc.opdef import (
    AxisReach,
    Context,
    Example,
    Operation,
    Reach,
    RuleError,
    Term,
    Window,
    attr,
    axes_of,
    require_float,
    require_rank,
)
from netcalc.ops import operation
from netcalc.ops._lists import Numbers, Sizes
from netcalc.ops._windows import AXES
from netcalc.ops.adaptive_pool import AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveAvgPooling
from netcalc.tensor_type import TensorType

#: Number of spatial axes of the modes that require a certain number.
_AXES_OF = {"linear": 1, "bilinear": 2, "bicubic": 2, "lanczos": 2, "trilinear": 3}
#: Factors for which positions in single precision are exact.
_EXACT = (1, 2, 4, 8, 16, 32)
_POOLINGS: dict[int, type[AdaptiveAvgPooling]] = {1: AdaptiveAvgPool1d, 2: AdaptiveAvgPool2d, 3: AdaptiveAvgPool3d}


@operation
class Interpolate(Operation):
    """Resizes the spatial axes of (N, C, L), (N, C, H, W) or (N, C, D, H, W) to a size, or by a factor.

    ``nearest`` selects the input element ⌊i·scale⌋, where scale is input size/output size, and ``nearest-exact`` the
    one with the nearest center; both only move data.  ``linear`` (3 dimensions), ``bilinear`` (4) and ``trilinear``
    (5) weight 2 neighbors along each axis; ``bicubic`` (4) weights 4 with the cubic filter of a = −0.75.  ``area`` is
    adaptive average pooling.

    Values are at the centers of pixels.  With ``align_corners`` they are at the corners, so that the first and the
    last values of input and output coincide.

    ``antialias`` widens the filter by the factor of a reduction, as in Pillow (cubic with a = −0.5).  ``lanczos``
    (4 dimensions) requires it.  Along each axis the filter then spans 2·⌈r·max(1, scale)⌉ + 1 elements, where r is 1,
    2 or 3 for bilinear, bicubic and lanczos.

    With ``scale_factor`` the size is rounded down, and source positions are computed with that factor, or with the
    ratio of the sizes if ``recompute_scale_factor`` is set.  Filters are applied axis by axis, the last one first.
    All elements that a filter spans count as work, including elements outside the border and elements of weight 0.
    """

    name = "interpolate"
    channel_axis = 1
    reference = "torch.nn.functional.interpolate, torch.nn.Upsample"
    shorthand = "scale_factor"
    shape_rule = "(N, C, L…) → (N, C, size…), or (N, C, ⌊L·scale_factor⌋…)"
    cost_rule = (
        "for each axis k muls and k − 1 adds per element of the intermediate result, for a filter of k elements; "
        "none with nearest; area as adaptive_avg_pool"
    )
    example = Example(((1, 2, 7, 6),), {"size": [11, 9], "mode": "bilinear"})
    usage = ("x: [1, 256, 28, 28]", "- interpolate: {scale_factor: 2, mode: bilinear}")

    size: Sizes | None = attr("size of the result, for all spatial axes or for each", default=None)
    scale_factor: Numbers | None = attr("factor of the size, for all spatial axes or for each", default=None)
    mode: Literal["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "lanczos", "trilinear", "area"] = attr(
        "interpolation method", default="nearest"
    )
    align_corners: bool = attr("let the outermost values of input and output coincide", default=False)
    recompute_scale_factor: bool = attr("compute positions with the ratio of the rounded sizes", default=False)
    antialias: bool = attr("widen the filter if the result is smaller", default=False)

    @field_validator("scale_factor")
    @classmethod
    def _positive(cls, value: Any) -> Any:
        if value is not None and not all(0 < factor < inf for factor in value):
            raise ValueError("should be greater than 0")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.size is None) == (self.scale_factor is None):
            raise ValueError("takes either size or scale_factor")
        if self.recompute_scale_factor and self.size is not None:
            raise ValueError("recompute_scale_factor requires scale_factor instead of size")
        if self.align_corners and self.mode in ("nearest", "nearest-exact", "area", "lanczos"):
            raise ValueError(f"align_corners is not supported with mode {self.mode}")
        if self.antialias and self.mode not in ("bilinear", "bicubic", "lanczos"):
            raise ValueError(f"antialias requires mode bilinear, bicubic or lanczos, and the mode is {self.mode}")
        if self.mode == "lanczos" and not self.antialias:
            raise ValueError("mode lanczos requires antialias: true")
        return self

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_rank(x, (3, 4, 5), "interpolate")
        axes = x.rank - 2
        if _AXES_OF.get(self.mode, axes) != axes:
            raise RuleError(
                f"interpolate with mode {self.mode} takes an input of {_AXES_OF[self.mode] + 2} dimensions, and this "
                f"one has {x.rank}: {x}",
                hint=f"an input of {x.rank} dimensions takes mode {['linear', 'bilinear', 'trilinear'][axes - 1]}",
            )
        if not self.mode.startswith("nearest"):
            require_float(x, f"interpolate with mode {self.mode}")
        values = self.scale_factor if self.size is None else self.size
        if values is None or len(values) not in (1, axes):
            raise RuleError(f"interpolate has {len(values or ())} values of size or scale_factor for {axes} axes: {x}")
        targets = values * axes if len(values) == 1 else values
        if self.size is None:
            sizes = zip(AXES[axes], x.shape[2:], targets, strict=True)
            targets = tuple(_scaled(ctx, axis, size, factor) for axis, size, factor in sizes)
        if any(size < 1 for size in targets):
            raise RuleError(f"interpolate of {x} would be empty, with size {'×'.join(map(str, targets))}")
        return x.with_shape(*x.shape[:2], *targets)

    def factors(self, axes: int) -> tuple[float | None, ...]:
        """Return the factor for the positions along each axis; None stands for the ratio of the sizes."""
        if self.scale_factor is None or self.recompute_scale_factor or self.align_corners:
            return (None,) * axes
        return self.scale_factor * (axes // len(self.scale_factor))

    def pooling(self, y: TensorType) -> AdaptiveAvgPooling:
        """Return the adaptive pooling to the size of ``y``, which mode ``area`` is."""
        return _POOLINGS[y.rank - 2](output_size=y.shape[2:])

    @property
    def radius(self) -> int:
        """Number of elements to each side of the position that the filter spans."""
        return {"bicubic": 2, "lanczos": 3}.get(self.mode, 1)

    def taps(self, size: Dim, out: Dim, factor: float | None) -> Dim:
        """Return the number of elements that the filter spans along an axis."""
        if not self.antialias:
            return 2 * self.radius
        if factor is not None:
            reach: Dim = max(self.radius, ceil(self.radius / factor))
        elif self.align_corners:
            reach = maximum(self.radius, ceil_div(self.radius * (size - 1), out - 1)) if out > 1 else self.radius
        else:
            reach = maximum(self.radius, ceil_div(self.radius * size, out))
        return 2 * reach + 1

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        factors = [exact_div(out, size) for out, size in zip(output.shape[2:], x.shape[2:], strict=True)]
        windows: dict[int, AxisReach] = {}
        for axis, (factor, declared) in enumerate(zip(factors, self.factors(len(factors)), strict=True), start=2):
            windows[axis] = "unknown"
            if self.mode == "nearest" and isinstance(factor, int) and factor in _EXACT and declared in (None, factor):
                windows[axis] = Window(axis, 1, 1 - factor, 0, factor)
        return [axes_of(x, windows)]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,), (y,) = inputs, outputs
        if self.mode.startswith("nearest"):
            return ()
        if self.mode == "area":
            return self.pooling(y).cost(ctx, inputs, outputs)
        names = ("batch", "channels", *AXES[x.rank - 2])
        shape, terms = list(x.shape), []
        for axis in reversed(range(2, x.rank)):
            taps = self.taps(x.shape[axis], y.shape[axis], self.factors(x.rank - 2)[axis - 2])
            shape[axis] = y.shape[axis]
            elements = dict(zip(names, shape, strict=True))
            terms.append(Term.of("mul", "weights", **elements, taps=taps))
            terms.append(Term.of("add", "sum", **elements, taps_less_one=taps - 1))
        return terms


def _scaled(ctx: Context, axis: str, size: Dim, factor: float) -> Any:
    """Return ⌊size·factor⌋, in floating point as in PyTorch; symbolic sizes need a factor like 2 or 0.25."""
    up, down = factor.as_integer_ratio()
    if down == 1:
        return ctx.size(axis, "size*factor", size=size, factor=up)
    if down <= 1 << 16:  # the product is exact
        return ctx.size(axis, "size*up//down", size=size, up=up, down=down)
    return ctx.size(axis, "floor(size*factor)", size=operator.index(size), factor=factor)
