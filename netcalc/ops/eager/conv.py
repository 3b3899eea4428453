"""Eager execution of :mod:`netcalc.ops.conv`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim, integer
from netcalc.ops.backward import BackwardCall
from netcalc.ops.conv import Convolution
from netcalc.ops.eager import Eager, EagerCall, Moment, Work, eager
from netcalc.tensor_type import TensorType

#: Channels of a block in oneDNN's order of memory with AVX-512, and the most that are not padded to one.
_BLOCK, _FEW = 16, 3


def _blocked(channels: Dim) -> Dim:
    size = integer(channels)
    return size if size <= _FEW else -(-size // _BLOCK) * _BLOCK


def reordered(call: EagerCall, back: BackwardCall, weight: Work, groups: int) -> tuple[Moment, ...]:
    """Return the moments of oneDNN's kernels, whose operands and gradients have an order of memory of their own.

    The kernel of the input's gradient comes first; then that of the weight's, beside the input's gradient.  Channels
    are padded to whole blocks.
    """
    result, x = call.outputs[0], call.input()
    channels = 1 if result.rank == weight.type.rank else 0
    first, second, *window = weight.type.shape
    shape = [_blocked(first), second if groups > 1 else _blocked(second), *window]

    def reordered_like(name: str, type_: TensorType) -> Work:
        sizes = list(type_.shape)
        sizes[channels] = _blocked(sizes[channels])
        return call.work(name, *sizes)

    gradient, operand = reordered_like("reordered gradient", result), reordered_like("reordered input", x)
    kernel = call.work("reordered weight", *shape)
    held: tuple[Work, ...] = ()
    moments: list[Moment] = []
    if back.wants(0):
        held = (call.like("gradient of input", x),)
        moments += (Moment((gradient, kernel, operand), outputs=False), Moment((*held, operand), outputs=False))
    if back.wants("weight"):
        moments += (Moment((*held, gradient, operand, kernel), outputs=False), Moment((kernel,)))
    return tuple(moments) or (Moment(),)


@eager("conv1d", "conv2d", "conv3d")
class ConvolutionEager(Eager):
    """A kernel that pads with zeros by itself, the same on both sides, and otherwise takes a padded copy."""

    def moments(self, op: Convolution, call: EagerCall) -> Sequence[Moment]:
        x = call.input()
        spatial = op.sizes_of(x)
        sides, zeros = op.pads(spatial), op.padding_mode == "zeros"
        if all(before == after and (zeros or before == 0) for before, after in sides):
            return (Moment(),)
        # with zeros only the surplus of one side is copied
        common = [min(integer(before), integer(after)) if zeros else 0 for before, after in sides]
        padded = [
            size + before + after - 2 * both for size, (before, after), both in zip(spatial, sides, common, strict=True)
        ]
        return (Moment((call.work("padded input", *x.shape[: x.rank - op.axes], *padded),)),)

    def backward_moments(self, op: Convolution, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        weight = next((param for param in call.params if param.name == "weight"), None)
        if weight is None or all(size == 1 for size in weight.shape[2:]):
            return (Moment(),)
        return reordered(call, back, call.work("weight", *weight.shape), op.groups)
