"""Transposed convolutions over one, two or three axes."""

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim
from netcalc.opdef import AxisReach, Context, Example, Param, Reach, RuleError, Size, Term, Window, attr, axes_of, every
from netcalc.ops import operation
from netcalc.ops._weights import PRODUCT_INPUTS, check_given, learned, weight_and_bias
from netcalc.ops._windows import AXES, Offsets, Padding, Sizes, SpatialOperation, per_group
from netcalc.tensor_type import TensorType


class TransposedConvolution(SpatialOperation):
    """Transposed convolution of any rank.

    Each input element adds a multiple of the learned kernel to a window of the output.  This is the gradient of a
    convolution with respect to its input, also called fractionally strided convolution or deconvolution.  ``padding``
    is removed from the borders of the result, and may be [before, after] for each axis.  ``output_padding`` extends
    the end, since a strided convolution maps several sizes to one.  The batch axis is optional.

    All products count, including those that ``padding`` removes.  The sums of overlapping windows are the additions of
    the MACs, and are not counted again.

    A weight or a bias that other lines compute is an input, and no parameter then.
    """

    inputs = PRODUCT_INPUTS

    windowed = True
    shape_rule = "(N, in, L…) → (N, out, L'…), L' = (L − 1)·s − 2·p + d·(k − 1) + 1 + output_padding for each axis"
    param_rule = "weight in·(out/groups)·k…, bias out"
    cost_rule = "N·L…·in·(out/groups)·k… MACs, N·L'…·out adds for the bias"

    out: Size = attr("output channels")
    kernel: Sizes = attr("size of the kernel")
    stride: Sizes = attr("distance between the windows of neighboring input elements", default=1)
    padding: Padding = attr("elements removed from both sides of the result", default=0)
    output_padding: Offsets = attr("elements added at the end of the result", default=0)
    dilation: Sizes = attr("distance between the elements of a window", default=1)
    groups: Size = attr("number of groups of channels that are convolved separately", default=1)
    bias: bool = attr("add a learned bias", default=True)

    def infer(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> TensorType:
        self.require_spatial(x)
        per_group(self.name, "input", self.channels_of(x), self.groups)
        per_group(self.name, "output", self.out, self.groups)
        check_given(self.name, self._declared(x, bias), x, weight, bias)
        results = [self._result(ctx, axis, size) for axis, size in enumerate(self.sizes_of(x))]
        return x.with_shape(*x.shape[: -self.axes - 1], self.out, *results)

    def _result(self, ctx: Context, axis: int, size: Dim) -> Dim:
        name, letter = AXES[self.axes][axis], AXES[self.axes][axis][0].upper()
        stride, dilation, extra = self.stride[axis], self.dilation[axis], self.output_padding[axis]
        before, after = self.padding[axis]
        if extra >= stride and extra >= dilation:
            raise RuleError(
                f"{self.name}: output_padding must be smaller than the stride or the dilation; "
                f"along the {name} it is {extra}, the stride {stride} and the dilation {dilation}"
            )
        formula = f"({letter} - 1)*s" + (" - 2*p" if before == after else " - p0 - p1")
        formula += (" + k" if dilation == 1 else " + d*(k - 1) + 1") + (" + o" if extra != 0 else "")
        sizes = {"p": before, "p0": before, "p1": after, "k": self.kernel[axis], "s": stride, "d": dilation, "o": extra}
        result: Dim = ctx.size(name, formula, **{letter: size}, **sizes)
        if result < 1:
            raise RuleError(f"{self.name}: padding {before} and {after} leaves nothing of the {name}: {result}")
        return result

    def _share(self) -> Dim:
        return per_group(self.name, "output", self.out, self.groups)

    def _declared(self, x: TensorType, bias: TensorType | None) -> Sequence[Param]:
        shape = (self.channels_of(x), self._share(), *self.kernel)
        return weight_and_bias(shape, self.out, bias=self.bias or bias is not None)

    def params(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> Sequence[Param]:
        return learned(self._declared(x, bias), weight, bias)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        x, *others = inputs
        by_axis: dict[int, AxisReach] = {-self.axes - 1: "all"}
        each = zip(self.kernel, self.stride, self.padding, self.dilation, strict=True)
        for axis, (size, step, (before, _), spacing) in enumerate(each, start=x.rank - self.axes):
            covers = size >= step and (spacing == 1 or step == 1)  # otherwise a position may read nothing
            first = before - spacing * (size - 1)
            by_axis[axis] = Window(axis, 1, first, before, step, spacing) if covers else "unknown"
        return [axes_of(x, by_axis), *(every(other, "all") for other in others)]

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        x, y = inputs[0], outputs[0]
        batch = {"batch": self.batch_of(x)}
        positions = {**self.by_axis("in", self.sizes_of(x)), "in_channels": self.channels_of(x)}
        window = {"out_channels_per_group": self._share(), **self.by_axis("kernel", self.kernel)}
        work = Term.of("mac", "product", **batch, **positions, **window)
        if not self.bias and "bias" not in self.named(inputs):
            return (work,)
        return work, Term.of("add", "bias", **batch, **self.by_axis("out", self.sizes_of(y)), out_channels=self.out)


@operation
class ConvTranspose1d(TransposedConvolution):
    """Transposed convolution along one axis, of a sequence of channels (N, C, L)."""

    axes = 1
    name = "conv_transpose1d"
    reference = "torch.nn.ConvTranspose1d; Dumoulin and Visin 2016, arXiv:1603.07285"
    example = Example(((2, 4, 8),), {"out": 3, "kernel": 4, "stride": 2, "padding": 1})
    usage = ("x: [1, 256, 100]", "- conv_transpose1d: {out: 128, kernel: 16, stride: 8, padding: 4}")


@operation
class ConvTranspose2d(TransposedConvolution):
    """Transposed convolution over height and width, of an image (N, C, H, W)."""

    axes = 2
    name = "conv_transpose2d"
    reference = "torch.nn.ConvTranspose2d; Dumoulin and Visin 2016, arXiv:1603.07285"
    example = Example(((1, 8, 7, 7),), {"out": 4, "kernel": 4, "stride": 2, "padding": 1})
    usage = ("x: [1, 256, 28, 28]", "- conv_transpose2d: {out: 128, kernel: 2, stride: 2}")


@operation
class ConvTranspose3d(TransposedConvolution):
    """Transposed convolution over depth, height and width, of a volume or a video (N, C, D, H, W)."""

    axes = 3
    name = "conv_transpose3d"
    reference = "torch.nn.ConvTranspose3d; Dumoulin and Visin 2016, arXiv:1603.07285"
    example = Example(((1, 4, 3, 4, 4),), {"out": 2, "kernel": 2, "stride": 2})
    usage = ("x: [1, 64, 8, 16, 16]", "- conv_transpose3d: {out: 32, kernel: 2, stride: 2}")
