"""Padding and cropping."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from netcalc.dims import Dim, maximum, minimum
from netcalc.models import BeforeValidator, WithJsonSchema
from netcalc.opdef import AxisReach, Context, Example, Reach, RuleError, Window, attr, axes_of, whole_number
from netcalc.ops import operation
from netcalc.ops._lists import Axes
from netcalc.ops._movement import Movement, normal_axes, resized
from netcalc.tensor_type import TensorType


def _read_pairs(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise ValueError("should be a list with an entry for each axis: a number, or [before, after]")
    return tuple(_read_pair(entry) for entry in value)


def _read_pair(entry: Any) -> tuple[Any, Any]:
    sides = entry if isinstance(entry, (list, tuple)) else (entry, entry)
    if len(sides) != 2:
        raise ValueError("should be a number or [before, after] for each axis")
    before, after = (whole_number(side, least=None) for side in sides)
    return before, after


_WHOLE = {"type": "integer"}
_PAIR = {"anyOf": [_WHOLE, {"type": "array", "items": _WHOLE, "minItems": 2, "maxItems": 2}]}
_Padding = Annotated[
    tuple[tuple[Any, Any], ...], BeforeValidator(_read_pairs), WithJsonSchema({"type": "array", "items": _PAIR})
]


@operation
class Pad(Movement):
    """Adds elements before and after along axes; negative numbers remove elements.

    ``padding`` has an entry for each padded axis, in order: a number for both sides, or [before, after].  By default
    the last axes are padded, so that ``pad: [[3, 0], [1, 2]]`` adds 3 rows above an image, 1 column to its left and 2
    to its right (torch.nn.functional.pad lists the last axis first: 1, 2, 3, 0).

    ``constant`` fills with ``value``; ``reflect`` mirrors at the edge element without repeating it; ``replicate``
    repeats the edge element; ``circular`` continues with the elements of the other end, after cropping.  Unlike in
    torch every mode works on all axes.
    """

    name = "pad"
    takes_empty = True
    reference = "torch.nn.functional.pad"
    shorthand = "padding"
    shape_rule = "(…, d) → (…, d + before + after)"
    example = Example(((1, 2, 4, 4),), {"padding": [[3, 0], [1, 2]], "mode": "reflect"})
    usage = (
        "image: [1, 3, 128, 128]",
        "- pad: {padding: [[3, 3], [3, 3]], mode: reflect}",
        "- conv2d: {out: 64, kernel: 7}",
    )

    padding: _Padding = attr("a number or [before, after] for each padded axis")
    axis: Axes | None = attr("padded axes; by default the last ones", default=None)
    mode: Literal["constant", "reflect", "replicate", "circular"] = attr(
        "values of the added elements", default="constant"
    )
    value: float = attr("value of the added elements in mode constant", default=0.0)

    def pads(self, rank: int) -> dict[int, tuple[Any, Any]]:
        """Return (before, after) by axis."""
        count = len(self.padding)
        if self.axis is None:
            if count > rank:
                raise RuleError(f"pad: {count} entries of padding for a tensor of {rank} dimensions")
            return dict(zip(range(rank - count, rank), self.padding, strict=True))
        axes = normal_axes(self.axis, rank, "pad")
        if count != len(axes):
            raise RuleError(f"pad: {count} entries of padding for {len(axes)} axes")
        return dict(zip(axes, self.padding, strict=True))

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        sizes: dict[int, Dim] = {}
        for axis, (before, after) in self.pads(x.rank).items():
            size = x.shape[axis]
            sizes[axis] = ctx.size(f"axis {axis}", "size + before + after", size=size, before=before, after=after)
            if sizes[axis] < 1:
                raise RuleError(f"pad by {before} and {after} removes all of axis {axis} of {x}")
            self._check_reach(axis, size, before, after)
        return resized(x, sizes)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        pads = self.pads(x.rank)
        is_affine = self.mode == "constant" and all(isinstance(before, int) for before, _ in pads.values())
        moved: dict[int, AxisReach] = {
            axis: Window(axis, 1, -before, -before) if is_affine else "unknown" for axis, (before, _) in pads.items()
        }
        return [axes_of(x, moved)]

    def _check_reach(self, axis: int, size: Dim, before: Dim, after: Dim) -> None:
        """Raise RuleError if more elements are removed, mirrored or wrapped than the axis has."""
        left = size + minimum(before, 0) + minimum(after, 0)
        if self.mode == "constant" and left < 0:
            raise RuleError(f"pad by {before} and {after} removes more than the {size} elements of axis {axis}")
        most = left if self.mode == "circular" else size - 1
        if self.mode in ("reflect", "circular") and maximum(before, after) > most:
            raise RuleError(
                f"pad: {self.mode} can add at most {most} along axis {axis} of {size}, and is to add "
                f"{maximum(before, after)}"
            )
