"""Fourier transforms.

Their work is that of fast transforms in radix 2 (Cooley & Tukey 1965): of every two complex numbers along an axis of
size n there are ⌈log₂ n⌉ butterflies, each of a complex product and two complex sums.  These are 5·n·⌈log₂ n⌉ FLOPs, by
which FFTW's benchmark rates transforms (fftw.org/speed/method.html), and half of it for real numbers.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from netcalc.dims import Dim, ceil_log2, product
from netcalc.dtypes import complex_of, real_of
from netcalc.opdef import (
    Context,
    Example,
    Operation,
    Reach,
    RuleError,
    Term,
    attr,
    axes_of,
    require_float,
    require_some,
)
from netcalc.ops import operation
from netcalc.ops._lists import Axes, Extents
from netcalc.ops._movement import normal_axes, resized
from netcalc.tensor_type import TensorType


class Transform(Operation):
    """Base of transforms over axes, which are first cropped or padded with zeros to the sizes ``n``."""

    takes_complex = True
    counts_parts = True
    kernel_suffices = "a fast transform: a single NumPy call"
    shorthand = "axis"
    usage: ClassVar[tuple[str, ...]] = ("x: [1, 64, 32, 32]", "- $op: [-2, -1]")
    example = Example(((2, 3, 4),), {"axis": [1, 2], "norm": "ortho"})
    #: True for transforms of numbers of which the result, or the input, is one half: x[n − k] is the conjugate of x[k].
    halves: ClassVar[bool] = False
    gives_real: ClassVar[bool] = False
    #: True for transforms with exp(+2πi·j·k/n), which divide by n by default.
    inverse: ClassVar[bool] = False
    #: True for a transform that negates imaginary parts too.
    conjugates: ClassVar[bool] = False

    axis: Axes = attr("axis or axes of the transform", default=(-1,))
    n: Extents | None = attr("size of the transform for each axis; -1, and by default all, as the input", default=None)
    norm: Literal["backward", "forward", "ortho"] = attr(
        "the transform that divides by the sizes: the inverse one, this one, or both by the root", default="backward"
    )

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, self.name)
        if x.dtype in ("float16", "bfloat16") or (x.is_complex and self.halves and not self.gives_real):
            kind = "of float32 or float64" if self.halves and not self.gives_real else "with parts of 4 or 8 bytes"
            raise RuleError(f"{self.name} takes numbers {kind}, and these are {x.dtype}", code="E402")
        shape = list(self.sized(x))
        if self.halves and not self.gives_real:
            shape[self.axis[-1]] = half(shape[self.axis[-1]])
        dtype = real_of(x.dtype) if self.gives_real else complex_of(x.dtype)
        return TensorType(tuple(shape), dtype)

    def sized(self, x: TensorType) -> tuple[Dim, ...]:
        """Return the shape of the real numbers, or of all complex ones; RuleError for axes or sizes that do not fit."""
        axes = normal_axes(self.axis, x.rank, self.name)
        if not axes:
            raise RuleError(f"{self.name} takes at least one axis")
        sizes = {axis: x.shape[axis] for axis in axes}
        if self.gives_real:
            sizes[axes[-1]] = 2 * (x.shape[axes[-1]] - 1)
        if self.n is not None and len(self.n) != len(axes):
            raise RuleError(
                f"{self.name} takes a size for each axis: there are {len(axes)} axes and {len(self.n)} sizes"
            )
        for axis, size in zip(axes, self.n or (), strict=False):
            sizes[axis] = sizes[axis] if size == -1 else size
        for axis, size in sizes.items():
            require_some(size, f"{self.name} along axis {axis}")
        return resized(x, sizes).shape

    def scales(self) -> bool:
        """Return True if the transform divides by the sizes, or by their root."""
        return self.norm != ("forward" if self.inverse else "backward")

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [axes_of(x, dict.fromkeys(self.axis, "all"))]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,), (y,) = inputs, outputs
        shape = list(self.sized(x))
        *others, last = (axis % x.rank for axis in self.axis)
        terms: list[Term] = []
        if self.halves:
            lines = product(size for axis, size in enumerate(shape) if axis != last)
            levels = ceil_log2(shape[last])
            terms += butterflies("real numbers", {"lines": lines, "pairs": (shape[last] + 1) // 2, "levels": levels})
            shape[last] = half(shape[last])
        else:
            others.append(last)
        if others:
            levels = sum(ceil_log2(shape[axis]) for axis in others)
            terms += butterflies("butterflies", {"elements": product(shape), "levels": levels})
        if self.conjugates:
            terms.append(Term.of("add", "conjugates", elements=product(shape)))
        if self.scales():
            terms.append(Term.of("mul", "norm", elements=y.elements, parts=2 if y.is_complex else 1))
        return terms


def half(size: Dim) -> Dim:
    """Return the number of frequencies of real numbers, those of which the others are conjugates."""
    return size // 2 + 1


def butterflies(role: str, factors: dict[str, Dim]) -> tuple[Term, Term]:
    """Return the work of transforms of complex numbers."""
    return Term.of("mul", role, products=2, **factors), Term.of("add", role, sums=3, **factors)


_COMPLEX_RULE = (
    "for each axis of size n 2·⌈log₂ n⌉ muls and 3·⌈log₂ n⌉ adds per element; "
    "where it is scaled 2 muls per output element"
)
_REAL_RULE = (
    "for each axis of size n 2·⌈log₂ n⌉ muls and 3·⌈log₂ n⌉ adds per frequency, "
    "for the last one per pair of real numbers; "
)


@operation
class Fft(Transform):
    """The discrete Fourier transform over one or more axes: Σ x·exp(−2πi·Σ j·k/n).

    Real numbers are transformed as complex ones; ``rfft`` computes only the half of the result that determines it.
    """

    name = "fft"
    reference = "torch.fft.fft, torch.fft.fftn"
    shape_rule = "as the input, with sizes n"
    cost_rule = _COMPLEX_RULE


@operation
class Ifft(Transform):
    """The inverse discrete Fourier transform over one or more axes: 1/n·Σ x·exp(2πi·Σ j·k/n)."""

    name = "ifft"
    reference = "torch.fft.ifft, torch.fft.ifftn"
    shape_rule = "as the input, with sizes n"
    cost_rule = _COMPLEX_RULE
    inverse = True


@operation
class Rfft(Transform):
    """The discrete Fourier transform of real numbers: the n//2 + 1 frequencies of the last axis that determine it."""

    name = "rfft"
    reference = "torch.fft.rfft, torch.fft.rfftn"
    shape_rule = "as the input, with sizes n, and n//2 + 1 for the last axis"
    cost_rule = _REAL_RULE + "where it is scaled 2 muls per output element"
    halves = True


@operation
class Irfft(Transform):
    """The inverse of ``rfft``: real numbers of the n//2 + 1 frequencies that determine them.

    Without ``n`` the last axis is even: of m frequencies there are 2·(m − 1) numbers.
    """

    name = "irfft"
    reference = "torch.fft.irfft, torch.fft.irfftn"
    shape_rule = "as the input, with sizes n, and 2·(m − 1) for the last axis of size m"
    cost_rule = _REAL_RULE + "where it is scaled 1 mul per output element"
    example = Example((TensorType((2, 3, 4), "complex64"),), {"axis": [1, 2], "norm": "ortho"})
    usage = ("z: {shape: [1, 64, 32, 17], dtype: complex64}", "- $op: [-2, -1]")
    halves = True
    gives_real = True
    inverse = True


@operation
class Hfft(Transform):
    """The discrete Fourier transform of numbers of which one half is given, since the result is real.

    It is ``irfft`` of the conjugates, without the division.
    """

    name = "hfft"
    reference = "torch.fft.hfft, torch.fft.hfftn"
    shape_rule = "as the input, with sizes n, and 2·(m − 1) for the last axis of size m"
    cost_rule = _REAL_RULE + "1 add per input element; where it is scaled 1 mul per output element"
    example = Example((TensorType((2, 3, 4), "complex64"),), {"axis": [1, 2], "norm": "ortho"})
    usage = ("z: {shape: [1, 64, 32, 17], dtype: complex64}", "- $op: [-2, -1]")
    halves = True
    gives_real = True
    conjugates = True


@operation
class Ihfft(Transform):
    """The inverse of ``hfft``: the conjugates of ``rfft``, divided by the sizes."""

    name = "ihfft"
    reference = "torch.fft.ihfft, torch.fft.ihfftn"
    shape_rule = "as the input, with sizes n, and n//2 + 1 for the last axis"
    cost_rule = _REAL_RULE + "1 add per output element; where it is scaled 2 muls per output element"
    halves = True
    inverse = True
    conjugates = True


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
