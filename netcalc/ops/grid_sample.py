"""Sampling of an image at computed positions."""

from collections.abc import Sequence
from typing import Literal

from netcalc.dims import Dim
from netcalc.opdef import Context, Example, Kind, Operation, RuleError, Term, attr, ports, require_float, require_rank
from netcalc.ops import operation
from netcalc.ops._windows import AXES
from netcalc.tensor_type import TensorType

#: Number of elements that the filter of a mode spans along an axis.
TAPS = {"nearest": 1, "bilinear": 2, "bicubic": 4}
#: Additions and multiplications along each axis that find the first element of the filter and its weights.
_WEIGHTS: dict[str, dict[Kind, int]] = {
    "nearest": {"add": 1},
    "bilinear": {"add": 4},
    "bicubic": {"add": 15, "mul": 12},
}
#: Work that brings a position into the image.
_PADDING: dict[str, dict[Kind, int]] = {
    "zeros": {},
    "border": {"compare": 2},
    "reflection": {"add": 4, "div": 3, "compare": 4},
}


@operation
class GridSample(Operation):
    """Samples an image (N, C, H, W) or a volume (N, C, D, H, W) at the positions of a grid, by interpolation.

    The grid (N, H', W', 2) holds x and y of each element of the result; for a volume, (N, D', H', W', 3) holds x, y and
    z.  They are relative: −1 is the first border of the axis and 1 the last.  Borders are the outer edges of the outer
    elements, or with ``align_corners`` their centers; element i of an axis of n is then at 2·i/(n − 1) − 1.

    ``bilinear`` weights 2 neighbors along each axis (trilinear for a volume), ``nearest`` takes the nearest, of two
    equally near ones the even one, and ``bicubic`` weights 4 with the cubic filter of a = −0.75.  Elements outside the
    image are zeros; with ``border`` they are the nearest element of the image, with ``reflection`` elements of its
    mirror image at the borders.

    Spatial transformers, deformable sampling and the lookup in RAFT's correlation volumes are grids that a network
    computes.
    """

    name = "grid_sample"
    channel_axis = 1
    kernel_suffices = "gathers elements at computed positions: a few NumPy calls for each neighbor"
    reference = "torch.nn.functional.grid_sample; Jaderberg et al. 2015, arXiv:1506.02025"
    inputs = ports("input", "grid")
    shorthand = "mode"
    shape_rule = "(N, C, L…), (N, L'…, axes) → (N, C, L'…)"
    cost_rule = (
        "k muls and k − 1 adds per output element for k = 2 (bilinear) or 4 (bicubic) neighbors to the power of the "
        "axes, none with nearest; and the work of positions and weights per grid point"
    )
    example = Example(((1, 2, 7, 6), (1, 4, 5, 2)))
    usage = (
        "image: [1, 3, 128, 128]",
        "grid: {shape: [1, 64, 64, 2], range: [-1, 1]}",
        "- {from: [image, grid], grid_sample: {}}",
    )

    mode: Literal["bilinear", "nearest", "bicubic"] = attr("interpolation method", default="bilinear")
    padding_mode: Literal["zeros", "border", "reflection"] = attr("values outside the image", default="zeros")
    align_corners: bool = attr("let −1 and 1 be the centers of the outer elements", default=False)

    def infer(self, ctx: Context, x: TensorType, grid: TensorType) -> TensorType:
        require_float(x, "grid_sample")
        require_rank(x, (4, 5), "grid_sample")
        axes = x.rank - 2
        if self.mode == "bicubic" and axes == 3:
            raise RuleError(f"grid_sample with mode bicubic takes an input of 4 dimensions, and this one has 5: {x}")
        if grid.dtype != x.dtype:
            raise RuleError(
                f"grid_sample takes a grid of {x.dtype}, as its input, and not of {grid.dtype}", code="E402"
            )
        if grid.rank != x.rank or grid.shape[0] != x.shape[0] or grid.shape[-1] != axes:
            names = ", ".join(f"out_{axis}" for axis in AXES[axes])
            raise RuleError(f"grid_sample of {x} takes a grid of ({x.shape[0]}, {names}, {axes}), and this is {grid}")
        return x.with_shape(*x.shape[:2], *grid.shape[1:-1])

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x, _), (y,) = inputs, outputs
        axes, points, neighbors = x.rank - 2, self.points(y), self.neighbors(x)
        terms = self.placing(y)
        if neighbors > 1:
            elements = {**points, "channels": x.shape[1]}
            terms.append(Term.of("mul", "weights", **points, neighbors=neighbors, axes_less_one=axes - 1))
            terms.append(Term.of("mul", "sum", **elements, neighbors=neighbors))
            terms.append(Term.of("add", "sum", **elements, neighbors_less_one=neighbors - 1))
        return terms

    def points(self, y: TensorType) -> dict[str, Dim]:
        """Return the number of points of the grid, as factors."""
        sizes = {f"out_{axis}": size for axis, size in zip(AXES[y.rank - 2], y.shape[2:], strict=True)}
        return {"batch": y.shape[0], **sizes}

    def neighbors(self, x: TensorType) -> int:
        """Return the number of elements that the filter spans."""
        return int(TAPS[self.mode] ** (x.rank - 2))

    def placing(self, y: TensorType) -> list[Term]:
        """Return the work that finds the neighbors of each point and their weights."""
        axes, taps = y.rank - 2, TAPS[self.mode]
        position: dict[Kind, int] = {"add": 1 if self.align_corners else 2, "mul": 1}
        tap: dict[Kind, int] = {"compare": 2, "add": 1 + (self.mode == "bicubic")}
        padded = taps if self.mode == "bicubic" else 1  # the cubic filter takes each neighbor into the image
        parts = [("position", position, 1), ("padding", _PADDING[self.padding_mode], padded)]
        parts += [("weights", _WEIGHTS[self.mode], 1), ("neighbors", tap, taps)]
        return [
            Term.of(kind, role, **self.points(y), axes=axes, each=times * count)
            for role, work, count in parts
            for kind, times in work.items()
        ]
