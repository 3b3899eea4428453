"""Convolutions over one, two or three axes."""

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim, product
from netcalc.opdef import Context, Example, Param, Reach, RuleError, Size, Term, attr, every
from netcalc.ops import operation
from netcalc.ops._weights import PRODUCT_INPUTS, check_given, learned, weight_and_bias
from netcalc.ops._windows import (
    AutoPadding,
    PadMode,
    Pads,
    Sizes,
    SpatialOperation,
    check_pad_mode,
    per_group,
    resolve_padding,
)
from netcalc.tensor_type import TensorType


class Convolution(SpatialOperation):
    """Convolution of any rank.

    Each output element is the product of a window of the input with a learned kernel, summed over the input channels
    of its group (cross-correlation: the kernel is not flipped).  The batch axis is optional.

    Padding is one number, one for each axis, or [before, after] for each axis.  ``same`` keeps the size and, as in
    PyTorch, requires stride 1.  ``same_upper`` and ``same_lower`` give ⌈size / stride⌉ for any stride, with an odd
    element of padding after or before: ``same_upper`` is TensorFlow's SAME, and both are values of ONNX's
    ``auto_pad``.  Products with padding count as work.

    With ``weight_standardization`` every forward pass shifts and scales each filter to mean 0 and (biased) variance 1;
    ``standardization_eps`` is added to the variance.

    A weight or a bias that other lines compute is an input, and no parameter then: weight normalization, filters that
    depend on the data.  Planned runs take the kernel for a computed weight.
    """

    inputs = PRODUCT_INPUTS

    windowed = True
    gemm = True
    shape_rule = "(N, in, L…) → (N, out, L'…), L' = ⌊(L + 2·p − d·(k − 1) − 1)/s⌋ + 1 for each axis"
    param_rule = "weight out·(in/groups)·k…, bias out"
    cost_rule = "N·L'…·out·(in/groups)·k… MACs, N·L'…·out adds for the bias"

    out: Size = attr("output channels")
    kernel: Sizes = attr("size of the kernel")
    stride: Sizes = attr("distance between windows", default=1)
    padding: AutoPadding = attr("elements added on both sides, or the name of a rule", default=0)
    dilation: Sizes = attr("distance between the elements of a window", default=1)
    groups: Size = attr("number of groups of channels that are convolved separately", default=1)
    bias: bool = attr("add a learned bias", default=True)
    padding_mode: PadMode = attr("values of the padding", default="zeros")
    weight_standardization: bool = attr("standardize each filter before use", default=False)
    standardization_eps: float = attr("added to a filter's variance", default=1e-6, ge=0)

    def pads(self, sizes: Sequence[Dim]) -> Pads:
        """Return the padding before and after each axis, for an input of these sizes."""
        return resolve_padding(self.padding, sizes, self.kernel, self.stride, self.dilation)

    def infer(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> TensorType:
        self.require_spatial(x)
        per_group(self.name, "input", self.channels_of(x), self.groups)
        per_group(self.name, "output", self.out, self.groups)
        if self.weight_standardization and self._taps(x) == 1:
            raise RuleError(f"{self.name}: a filter of a single weight has no variance to standardize")
        check_given(self.name, self._declared(x, bias), x, weight, bias)
        sizes = self.sizes_of(x)
        check_pad_mode(self.name, self.padding_mode, sizes, self.pads(sizes))
        return x.with_shape(*x.shape[: -self.axes - 1], self.out, *self._result(ctx, sizes))

    def _result(self, ctx: Context, sizes: Sequence[Dim]) -> tuple[Dim, ...]:
        if self.padding == "same" and self.stride != (1,) * self.axes:
            raise RuleError(
                f"{self.name}: padding 'same' requires stride 1, and the stride is {', '.join(map(str, self.stride))}",
                hint="'same_upper' pads as TensorFlow does, to a size of ⌈size / stride⌉",
            )
        if not isinstance(self.padding, str) or self.padding == "valid":
            return self.window_counts(ctx, sizes, self.kernel, self.stride, self.pads(sizes), self.dilation)
        return self.counts_by_rule(ctx, self.padding, sizes, self.stride)

    def _filters(self, x: TensorType) -> tuple[Dim, ...]:
        return (self.out, per_group(self.name, "input", self.channels_of(x), self.groups), *self.kernel)

    def _taps(self, x: TensorType) -> Dim:
        return product(self._filters(x)[1:])

    def _declared(self, x: TensorType, bias: TensorType | None) -> Sequence[Param]:
        return weight_and_bias(self._filters(x), self.out, bias=self.bias or bias is not None)

    def params(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> Sequence[Param]:
        return learned(self._declared(x, bias), weight, bias)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        x, *others = inputs
        pads = self.pads(self.sizes_of(x))
        if self.padding_mode != "zeros" and any(side != 0 for pad in pads for side in pad):
            return None
        window = self.windows(x, self.kernel, self.stride, pads, self.dilation, mixes_channels=True)
        return [window, *(every(other, "all") for other in others)]

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        x, y = inputs[0], outputs[0]
        positions = {"batch": self.batch_of(x), **self.by_axis("out", self.sizes_of(y)), "out_channels": self.out}
        _, channels, *kernel = self._filters(x)
        window = {"in_channels_per_group": channels, **self.by_axis("kernel", kernel)}
        terms = [Term.of("mac", "product", **positions, **window)]
        if self.bias or "bias" in self.named(inputs):
            terms.append(Term.of("add", "bias", **positions))
        if self.weight_standardization:
            terms += self._standardization(self._taps(x))
        return terms

    def _standardization(self, taps: Dim) -> Sequence[Term]:
        filters, others = {"filters": self.out}, {"filters": self.out, "weights_less_one": taps - 1}
        weights = {"filters": self.out, "weights": taps}
        return (
            Term.of("add", "weight mean", **others),
            Term.of("div", "weight mean", **filters),
            Term.of("add", "weight centering", **weights),
            Term.of("mul", "weight variance", **weights),
            Term.of("add", "weight variance", **others),
            Term.of("div", "weight variance", **filters),
            Term.of("add", "weight eps", **filters),
            Term.of("transcendental", "weight deviation", **filters),
            Term.of("div", "weight scaling", **weights),
        )


_STANDARDIZED = "weight standardization: Qiao et al. 2019, arXiv:1903.10520 (as timm's StdConv2d)"


@operation
class Conv1d(Convolution):
    """Convolution along one axis, of a sequence of channels (N, C, L)."""

    axes = 1
    name = "conv1d"
    reference = f"torch.nn.Conv1d; {_STANDARDIZED}"
    example = Example(((2, 4, 16),), {"out": 8, "kernel": 3, "padding": 1})
    usage = ("audio: [1, 1, 16000]", "- conv1d: {out: 64, kernel: 80, stride: 4}", "- relu")


@operation
class Conv2d(Convolution):
    """Convolution over height and width, of an image (N, C, H, W)."""

    axes = 2
    name = "conv2d"
    reference = f"torch.nn.Conv2d; {_STANDARDIZED}"
    example = Example(((1, 3, 16, 16),), {"out": 8, "kernel": 7, "stride": 2, "padding": 3})
    usage = ("image: [1, 3, 224, 224]", "- conv2d: {out: 64, kernel: 7, stride: 2, padding: 3}", "- relu")


@operation
class Conv3d(Convolution):
    """Convolution over depth, height and width, of a volume or a video (N, C, D, H, W)."""

    axes = 3
    name = "conv3d"
    reference = f"torch.nn.Conv3d; {_STANDARDIZED}"
    example = Example(((1, 3, 4, 8, 8),), {"out": 4, "kernel": 3, "padding": 1})
    usage = ("clip: [1, 3, 16, 56, 56]", "- conv3d: {out: 64, kernel: 3, padding: 1}", "- relu")
