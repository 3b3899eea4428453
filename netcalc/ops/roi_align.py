"""Pooling of regions of an image."""

from collections.abc import Sequence
from typing import Annotated, Any

from netcalc.dims import Dim, equal, product
from netcalc.models import BeforeValidator, WithJsonSchema
from netcalc.opdef import (
    Context,
    Example,
    Kind,
    Operation,
    RuleError,
    Spatial,
    Term,
    attr,
    ports,
    require_float,
    require_rank,
    require_some,
    whole_number,
)
from netcalc.ops import operation
from netcalc.tensor_type import TensorType

#: Work along an axis for each sample: its position, its two neighbors, and their weights.
_PLACING: dict[str, dict[Kind, int]] = {
    "position": {"mul": 1, "add": 1},
    "inside": {"compare": 4},
    "neighbors": {"add": 2, "compare": 1},
    "weights": {"add": 2},
}


def _samples(value: Any) -> Any:
    number = whole_number(value, least=None)
    if isinstance(number, int) and number < 1:
        raise ValueError(
            f"should be at least 1: with {number} there are as many samples as a bin has elements, so that the work "
            "would depend on the boxes"
        )
    return whole_number(number)


@operation
class RoIAlign(Operation):
    """Means of bilinear samples in the bins of boxes: each region of an image (N, C, H, W) at a fixed size.

    A box holds x1, y1, x2 and y2; ``spatial_scale`` takes them to elements of the image.  It is divided into
    ``output_size`` bins, and a bin is the mean of ``sampling_ratio`` × ``sampling_ratio`` samples at equal distances.
    Boxes (N, L, 4) are L for each image, in the order of the images.  Boxes (K, 5) hold the number of their image
    before the coordinates.

    With ``aligned`` the centers of elements are at half coordinates, as in Detectron2.  Without it they are at whole
    ones, and a box is at least one element high and wide.  Samples up to one element outside the image take the
    nearest elements; those further outside are zeros.

    The number of samples is fixed, as the work depends on it.  torchvision's default, −1, takes ⌈height of the
    box/output_size⌉ samples along an axis, which only the boxes tell.  Boxes have no gradient, as in torchvision.
    """

    name = "roi_align"
    channel_axis = 1
    takes_empty = True
    kernel_suffices = "gathers elements at computed positions: a few NumPy calls for the samples of many rows"
    reference = "torchvision.ops.roi_align; He et al. 2017, arXiv:1703.06870, section 3"
    inputs = ports("input", "boxes")
    shorthand = None
    shape_rule = "(N, C, H, W), boxes (K, 5) or (N, L, 4) → (K or N·L, C, output_size)"
    cost_rule = (
        "4·s² muls, 4·s² − 1 adds and 1 div per output element, where s is sampling_ratio; and the work of positions "
        "and weights per sample"
    )
    example = Example(((2, 3, 7, 6), (2, 2, 4)), {"output_size": [2, 3], "sampling_ratio": 2, "spatial_scale": 2.0})
    usage = (
        "features: [1, 256, 50, 68]",
        "boxes: {shape: [1, 100, 4], range: [0, 800]}",
        "- from: [features, boxes]",
        "  roi_align: {output_size: 7, spatial_scale: 0.0625, sampling_ratio: 2}",
    )

    output_size: Spatial(2) = attr("bins along height and width")  # type: ignore[valid-type]
    sampling_ratio: Annotated[Any, BeforeValidator(_samples), WithJsonSchema({"type": "integer", "minimum": 1})] = attr(
        "samples along each axis of a bin"
    )
    spatial_scale: float = attr("elements of the image for a unit of the boxes", default=1.0, gt=0, allow_inf_nan=False)
    aligned: bool = attr("move boxes by half an element, and take small ones as they are", default=False)

    def infer(self, ctx: Context, x: TensorType, boxes: TensorType) -> TensorType:
        require_float(x, "roi_align")
        require_rank(x, 4, "roi_align")
        for size in x.shape[2:]:
            require_some(size, "an axis of the image of roi_align")
        if boxes.dtype != x.dtype:
            raise RuleError(f"roi_align takes boxes of {x.dtype}, as its input, and not of {boxes.dtype}", code="E402")
        of_one = boxes.rank == 2 and equal(boxes.shape[1], 5)
        of_each = boxes.rank == 3 and equal(boxes.shape[2], 4) and equal(boxes.shape[0], x.shape[0])
        if not (of_one or of_each):
            raise RuleError(
                f"roi_align of {x} takes boxes of ({x.shape[0]}, number, 4), or of (number, 5) with the number of "
                f"their image before the coordinates, and these are {boxes}"
            )
        return x.with_shape(product(boxes.shape[:-1]), x.shape[1], *self.output_size)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        samples, channels = self.samples(outputs[0]), outputs[0].shape[1]
        bins = {"boxes": outputs[0].shape[0], "channels": channels, **self._bins()}
        return [
            *self.placing(outputs[0]),
            Term.of("mul", "weights", **samples, neighbors=4),
            Term.of("mul", "sum", **samples, channels=channels, neighbors=4),
            Term.of("add", "sum", **bins, sums=4 * self.sampling_ratio**2 - 1),
            Term.of("div", "mean", **bins),
        ]

    def samples(self, y: TensorType) -> dict[str, Dim]:
        """Return the number of samples of all boxes, as factors."""
        return {"boxes": y.shape[0], **self._bins(), "samples": self.sampling_ratio**2}

    def _bins(self) -> dict[str, Dim]:
        return dict(zip(("out_height", "out_width"), self.output_size, strict=True))

    def placing(self, y: TensorType) -> list[Term]:
        """Return the work that finds the neighbors of each sample and their weights, axis by axis."""
        boxes = y.shape[0]
        each: list[tuple[Kind, str, int]] = [("mul", "scale", 2), ("add", "extent", 1), ("div", "distance", 1)]
        each.append(("add", "half an element", 2) if self.aligned else ("compare", "smallest extent", 1))
        terms = [Term.of(kind, role, boxes=boxes, axes=2, each=times) for kind, role, times in each]
        along = sum(self.output_size[1:], self.output_size[0])
        for role, work in _PLACING.items():
            for kind, times in work.items():
                terms.append(Term.of(kind, role, boxes=boxes, bins=along, samples=self.sampling_ratio, each=times))
        return terms
