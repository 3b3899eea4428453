"""Resizing by interpolation."""

import operator
from collections.abc import Sequence
from math import ceil, inf
from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from netcalc.dims import Dim, ceil_div, maximum
from netcalc.opdef import Context, Example, Operation, RuleError, Term, attr, require_float, require_rank
from netcalc.ops import operation
from netcalc.ops._lists import Numbers, Sizes
from netcalc.ops._windows import AXES
from netcalc.ops.adaptive_pool import AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveAvgPooling
from netcalc.tensor_type import TensorType

#: How many spatial axes the modes take that do not take any number of them.
_AXES_OF = {"linear": 1, "bilinear": 2, "bicubic": 2, "lanczos": 2, "trilinear": 3}
_POOLINGS: dict[int, type[AdaptiveAvgPooling]] = {1: AdaptiveAvgPool1d, 2: AdaptiveAvgPool2d, 3: AdaptiveAvgPool3d}


@operation
class Interpolate(Operation):
    """Resizes the spatial axes of (N, C, L), (N, C, H, W) or (N, C, D, H, W) to a size, or by a factor.

    ``nearest`` takes the input at ⌊i·scale⌋, scale being input by output size, and ``nearest-exact`` at the nearest
    centre; they move data only.  ``linear`` (3 dimensions), ``bilinear`` (4) and ``trilinear`` (5) weigh 2 neighbours
    along each axis, ``bicubic`` (4) weighs 4 with the cubic filter of a = −0.75.  ``area`` is adaptive average pooling.

    Pixels are squares with their values at the centres; ``align_corners`` puts the values at the corners instead, and
    the first and last of input and output on each other.

    ``antialias`` widens the filter by the factor of a reduction, as Pillow does (cubic with a = −0.5; ``lanczos``, for
    4 dimensions, is there with it only).  Along each axis the filter then spans 2·⌈r·max(1, scale)⌉ + 1 places, where r
    is 1, 2 or 3 for bilinear, bicubic and lanczos.

    With ``scale_factor`` the size is rounded down, and places are found with the factor as given, unless
    ``recompute_scale_factor`` takes the ratio of the sizes.  Filters are applied axis by axis, the last one first; all
    places that a filter spans count as work, also those that fall on the border or have weight 0.
    """

    name = "interpolate"
    reference = "torch.nn.functional.interpolate, torch.nn.Upsample"
    shorthand = "scale_factor"
    shape_rule = "(N, C, L…) → (N, C, size…), or (N, C, ⌊L·scale_factor⌋…)"
    cost_rule = (
        "for each axis k muls and k − 1 adds an element of the result so far, k the places the filter spans; "
        "nearest none; area as adaptive_avg_pool"
    )
    example = Example(((1, 2, 7, 6),), {"size": [11, 9], "mode": "bilinear"})

    size: Sizes | None = attr("the size of the result, for all spatial axes or for each", default=None)
    scale_factor: Numbers | None = attr("the factor of the size, for all spatial axes or for each", default=None)
    mode: Literal["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "lanczos", "trilinear", "area"] = attr(
        "how values between the given ones are found", default="nearest"
    )
    align_corners: bool = attr("put the outermost values of input and output on each other", default=False)
    recompute_scale_factor: bool = attr("find places with the ratio of the rounded sizes", default=False)
    antialias: bool = attr("widen the filter when the result is smaller", default=False)

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
            raise ValueError("recompute_scale_factor goes with scale_factor, and not with size")
        if self.align_corners and self.mode in ("nearest", "nearest-exact", "area", "lanczos"):
            raise ValueError(f"align_corners does not go with mode {self.mode}")
        if self.antialias and self.mode not in ("bilinear", "bicubic", "lanczos"):
            raise ValueError(f"antialias goes with modes bilinear, bicubic and lanczos, and not with {self.mode}")
        if self.mode == "lanczos" and not self.antialias:
            raise ValueError("mode lanczos goes with antialias: true")
        return self

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_rank(x, (3, 4, 5), "interpolate")
        axes = x.rank - 2
        if _AXES_OF.get(self.mode, axes) != axes:
            raise RuleError(
                f"interpolate with mode {self.mode} takes an input of {_AXES_OF[self.mode] + 2} dimensions, and this "
                f"one has {x.rank}: {x}",
                hint=f"with {x.rank} dimensions there is mode {['linear', 'bilinear', 'trilinear'][axes - 1]}",
            )
        if not self.mode.startswith("nearest"):
            require_float(x, f"interpolate with mode {self.mode}")
        given = self.scale_factor if self.size is None else self.size
        if given is None or len(given) not in (1, axes):
            raise RuleError(f"interpolate has {len(given or ())} values of size or scale_factor for {axes} axes: {x}")
        targets = given * axes if len(given) == 1 else given
        if self.size is None:
            sizes = zip(AXES[axes], x.shape[2:], targets, strict=True)
            targets = tuple(_scaled(ctx, axis, size, factor) for axis, size, factor in sizes)
        if any(size < 1 for size in targets):
            raise RuleError(f"interpolate leaves nothing of {x}: its size would be {'×'.join(map(str, targets))}")
        return x.with_shape(*x.shape[:2], *targets)

    def factors(self, axes: int) -> tuple[float | None, ...]:
        """For each axis the factor by which places are found; None where it is the ratio of the sizes."""
        if self.scale_factor is None or self.recompute_scale_factor or self.align_corners:
            return (None,) * axes
        return self.scale_factor * (axes // len(self.scale_factor))

    def pooling(self, y: TensorType) -> AdaptiveAvgPooling:
        """The pooling to the size of ``y`` that mode ``area`` is."""
        return _POOLINGS[y.rank - 2](output_size=y.shape[2:])

    @property
    def radius(self) -> int:
        """How far the filter reaches to either side."""
        return {"bicubic": 2, "lanczos": 3}.get(self.mode, 1)

    def taps(self, size: Dim, out: Dim, factor: float | None) -> Dim:
        """How many places the filter spans along an axis."""
        if not self.antialias:
            return 2 * self.radius
        if factor is not None:
            reach: Dim = max(self.radius, ceil(self.radius / factor))
        elif self.align_corners:
            reach = maximum(self.radius, ceil_div(self.radius * (size - 1), out - 1)) if out > 1 else self.radius
        else:
            reach = maximum(self.radius, ceil_div(self.radius * size, out))
        return 2 * reach + 1

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
    """⌊size·factor⌋, in floating point as PyTorch finds it; symbolic sizes want a factor like 2 or 0.25."""
    up, down = factor.as_integer_ratio()
    if down == 1:
        return ctx.size(axis, "size*factor", size=size, factor=up)
    if down <= 1 << 16:  # the product is exact
        return ctx.size(axis, "size*up//down", size=size, up=up, down=down)
    return ctx.size(axis, "floor(size*factor)", size=operator.index(size), factor=factor)
