"""Fourier transforms."""

from collections.abc import Sequence

from netcalc.dims import ceil_log2
from netcalc.opdef import Context, Example, Operation, Term, attr, require_float
from netcalc.ops import operation
from netcalc.ops._lists import Axes
from netcalc.ops._movement import normal_axes
from netcalc.tensor_type import TensorType


@operation
class Fourier(Operation):
    """The real part of the discrete Fourier transform over one or more axes: Re Σ x·exp(−2πi·Σ j·k/n).

    The work is counted for a fast transform in radix 2: for each axis of size n every two elements have ⌈log₂ n⌉
    butterflies, each of a complex product and two complex sums.
    """

    name = "fourier"
    kernel_suffices = "a fast transform: a single NumPy call"
    reference = "Lee-Thorp et al. 2021, arXiv:2105.03824, §3.2 (FNet); torch.fft.fftn"
    shorthand = "axis"
    shape_rule = "as the input"
    cost_rule = "2·⌈log₂ n⌉ muls and 3·⌈log₂ n⌉ adds per element for each axis of size n"
    example = Example(((1, 3, 4),), {"axis": [1, 2]})
    usage = ("x: [1, 128, 256]", "- fourier: [1, 2]")

    axis: Axes = attr("axis or axes of the transform", default=(-2, -1))

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, "fourier")
        normal_axes(self.axis, x.rank, "fourier")
        return x

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        levels = sum(ceil_log2(x.shape[axis]) for axis in self.axis)
        return (
            Term.of("mul", "butterflies", products=2, elements=x.elements, levels=levels),
            Term.of("add", "butterflies", sums=3, elements=x.elements, levels=levels),
        )
