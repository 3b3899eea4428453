"""Normalization with statistics of each sample; :mod:`netcalc.ops.batch_norm` has running statistics."""

import math
from collections.abc import Sequence
from typing import Any, Self

from netcalc.dims import Dim, divided, product
from netcalc.models import model_validator
from netcalc.opdef import (
    Context,
    Example,
    Init,
    Operation,
    Param,
    Reach,
    RuleError,
    Size,
    Term,
    attr,
    axes_of,
    every,
    normal_axis,
    require_float,
    same_shape,
)
from netcalc.ops import operation
from netcalc.ops._lists import Axes, Sizes
from netcalc.ops._statistics import (
    NORM_INPUTS,
    affine_terms,
    check_given,
    has_affine,
    learned_affine,
    moments,
    reciprocal_root,
)
from netcalc.tensor_type import TensorType


class _Trailing(Operation):
    """Base of normalization over the trailing axes, separately for each position before them."""

    channel_axis = -1
    takes_empty = True
    axes: int | None = attr("number of trailing axes; 1 unless normalized_shape is set", default=None, ge=1)
    normalized_shape: Sizes | None = attr("required sizes of the trailing axes", default=None)
    affine: bool = attr("learn a weight for each normalized position (torch: elementwise_affine)", default=True)

    @model_validator(mode="after")
    def _said_once(self) -> Self:
        if self.axes is not None and self.normalized_shape is not None:
            raise ValueError("takes axes or normalized_shape, not both")
        if self.normalized_shape == ():
            raise ValueError("normalized_shape should name at least one size")
        return self

    @property
    def count(self) -> int:
        """Number of trailing axes that are normalized together."""
        return len(self.normalized_shape) if self.normalized_shape else self.axes or 1

    def split(self, x: TensorType) -> tuple[Dim, tuple[Dim, ...]]:
        """Return the number of rows, and the shape over which each is normalized."""
        return product(x.shape[: -self.count]), x.shape[-self.count :]

    def infer(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> TensorType:
        require_float(x, self.name)
        _, trailing = self.split(x)
        if self.normalized_shape is None:
            if x.rank < self.count:
                raise RuleError(f"{self.name} over {self.count} axes takes an input of that many, and this is {x}")
        elif not same_shape(trailing, self.normalized_shape):
            expected = TensorType(self.normalized_shape)
            raise RuleError(f"{self.name} over {expected} takes an input that ends in {expected}, and this is {x}")
        check_given(self.name, self.split(x)[1], x, weight=weight, bias=bias)
        return x

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        x, *others = inputs
        return [axes_of(x, dict.fromkeys(range(-self.count, 0), "all")), *(every(other, "all") for other in others)]


@operation
class LayerNorm(_Trailing):
    """(x − mean)/√(variance + eps) · weight + bias over the trailing axes, separately for each position.

    The variance is the biased one.  ``axes`` is the number of trailing axes that are normalized together;
    ``normalized_shape`` gives their sizes instead, and the input must have them.  A weight or a bias that other lines
    compute is an input, and no parameter then.
    """

    name = "layer_norm"
    inputs = NORM_INPUTS
    reference = "torch.nn.LayerNorm; Ba et al. 2016, arXiv:1607.06450"
    shape_rule = "unchanged"
    param_rule = "weight and bias of the normalized shape"
    cost_rule = "per element: 2 for mean and centering, 2 for the variance, 1 to normalize, 2 for weight and bias"
    example = Example(((2, 5, 12),))
    usage = ("x: [1, 197, 768]", "- layer_norm", "- linear: 3072")

    eps: float = attr("added to the variance", default=1e-5, ge=0)
    bias: bool = attr("learn a bias too, if affine", default=True)

    def params(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> Sequence[Param]:
        return learned_affine(self, self.split(x)[1], weight, bias)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        rows, shape = self.split(inputs[0])
        features = product(shape)
        return (
            *moments(features, rows=rows),
            *reciprocal_root(rows=rows),
            Term.of("mul", "normalize", rows=rows, features=features),
            *affine_terms(*has_affine(self, inputs), rows=rows, features=features),
        )


@operation
class RMSNorm(_Trailing):
    """x/√(mean(x²) + eps) · weight over the trailing axes, separately for each position.

    ``eps: null`` is the machine epsilon of the computation.  With an ``offset`` the scale is offset + weight: Gemma has
    offset 1 and stored weights that start at zero.  A weight that other lines compute is an input, and no parameter
    then.
    """

    name = "rms_norm"
    inputs = NORM_INPUTS[:2]
    reference = "torch.nn.RMSNorm; Zhang & Sennrich 2019, arXiv:1910.07467"
    shape_rule = "unchanged"
    param_rule = "weight of the normalized shape"
    cost_rule = "per element: 2 for the mean square, 1 to normalize, 1 for the weight; 3 per row for the root"
    example = Example(((2, 5, 12),), {"eps": 1e-6})
    usage = ("x: [1, 512, 2048]", "- rms_norm: {eps: 1.0e-6}")

    eps: float | None = attr("added to the mean square; null: machine epsilon", default=None, ge=0)
    offset: float = attr("added to the weight", default=0.0)

    def params(self, ctx: Context, x: TensorType, weight: TensorType | None = None) -> Sequence[Param]:
        start = Init.of("constant", value=1.0 - self.offset)
        return (Param("weight", self.split(x)[1], start),) if self.affine and weight is None else ()

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        rows, shape = self.split(inputs[0])
        features = product(shape)
        weighted = self.affine or "weight" in self.named(inputs)
        offset = (Term.of("add", "offset", features=features),) if weighted and self.offset else ()
        return (
            Term.of("mul", "square", rows=rows, features=features),
            Term.of("add", "mean square", rows=rows, sums=features - 1),
            Term.of("div", "mean square", rows=rows),
            *reciprocal_root(rows=rows),
            Term.of("mul", "normalize", rows=rows, features=features),
            *offset,
            *affine_terms(weighted, False, rows=rows, features=features),
        )


@operation
class GroupNorm(Operation):
    """(x − mean)/√(variance + eps) · weight + bias over groups of channels, separately for each sample.

    The channels are axis 1, and ``groups`` must divide their number.  One group normalizes a whole sample.  A weight
    or a bias that other lines compute is an input, and no parameter then.
    """

    name = "group_norm"
    channel_axis = 1
    inputs = NORM_INPUTS
    reference = "torch.nn.GroupNorm; Wu & He 2018, arXiv:1803.08494"
    shorthand = "groups"
    shape_rule = "(N, C, …) unchanged"
    param_rule = "weight C, bias C"
    cost_rule = "per element: 2 for mean and centering, 2 for the variance, 1 to normalize, 2 for weight and bias"
    example = Example(((2, 6, 4, 4),), {"groups": 3})
    usage = ("x: [1, 320, 32, 32]", "- group_norm: 32", "- silu")

    groups: Size = attr("number of groups of channels (torch: num_groups)")
    eps: float = attr("added to the variance", default=1e-5, ge=0)
    affine: bool = attr("learn a weight for each channel", default=True)
    bias: bool = attr("learn a bias too, if affine", default=True)

    def infer(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> TensorType:
        require_float(x, "group_norm")
        if x.rank < 2:
            raise RuleError(f"group_norm takes an input of at least 2 dimensions, and this one has {x.rank}: {x}")
        if divided(x.shape[1], self.groups) is None:
            raise RuleError(f"group_norm: {x.shape[1]} channels do not divide into {self.groups} groups")
        if product(x.shape) // self.groups < 2:
            raise RuleError("group_norm has a single value to normalize", hint="use fewer groups")
        check_given("group_norm", x.shape[1:2], x, weight=weight, bias=bias)
        return x

    def params(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> Sequence[Param]:
        return learned_affine(self, x.shape[1:2], weight, bias)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        x, *others = inputs
        return [axes_of(x, dict.fromkeys(range(1, x.rank), "all")), *(every(other, "all") for other in others)]

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, channels, *rest = inputs[0].shape
        elements = {"batch": batch, "channels": channels, "positions": product(rest)}
        return (
            *moments(channels // self.groups * product(rest), batch=batch, groups=self.groups),
            *reciprocal_root(batch=batch, groups=self.groups),
            Term.of("mul", "normalize", **elements),
            *affine_terms(*has_affine(self, inputs), **elements),
        )


@operation
class LocalResponseNorm(Operation):
    """x/(k + alpha·mean(x² over ``size`` neighboring channels))^beta.

    The channels are axis 1, padded with zeros, which count in the mean and as work.  The window spans size//2 channels
    before and (size − 1)//2 channels after.
    """

    name = "local_response_norm"
    channel_axis = 1
    kernel_suffices = "sums of squares over windows of channels: rare in the shipped specs"
    reference = "torch.nn.LocalResponseNorm; Krizhevsky et al. 2012, section 3.3"
    shorthand = "size"
    shape_rule = "(N, C, …) unchanged"
    cost_rule = "per element: 1 mul to square, size − 1 adds, 1 mul, 1 add, 1 power, 1 div"
    example = Example(((1, 6, 4, 4),), {"size": 5})
    usage = ("x: [1, 96, 27, 27]", "- local_response_norm: 5")

    size: int = attr("channels in the window", ge=1)
    alpha: float = attr("weight of the mean square", default=1e-4)
    beta: float = attr("exponent", default=0.75)
    k: float = attr("added to the mean square", default=1.0)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, "local_response_norm")
        if x.rank < 3:
            raise RuleError(
                f"local_response_norm takes an input of at least 3 dimensions, and this one has {x.rank}: {x}"
            )
        return x

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [axes_of(x, {1: "all"})]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, channels, *rest = inputs[0].shape
        elements = {"batch": batch, "channels": channels, "positions": product(rest)}
        return (
            Term.of("mul", "square", **elements),
            Term.of("add", "window", **elements, sums=self.size - 1),
            Term.of("mul", "alpha", **elements),
            Term.of("add", "k", **elements),
            Term.of("transcendental", "power", **elements),
            Term.of("div", "normalize", **elements),
        )


@operation
class Normalize(Operation):
    """x/max(‖x‖ₚ, eps), with the norm along ``axis``.

    ``p`` is any number: .inf is the largest magnitude, -.inf the smallest, 0 the number of nonzero elements.
    """

    name = "normalize"
    kernel_suffices = "a norm and a division: a few NumPy calls"
    reference = "torch.nn.functional.normalize"
    shape_rule = "unchanged"
    cost_rule = "1 div per element, and the work of the p-norm (p = 2: 1 mul and 1 add per element, 1 root per vector)"
    example = Example(((2, 8),))
    usage = ("features: [32, 512]", "- normalize")

    p: float = attr("order of the norm", default=2.0)
    axis: Axes = attr("axis or axes of the norm", default=(1,))
    eps: float = attr("smallest divisor", default=1e-12, ge=0)

    def along(self, rank: int) -> tuple[int, ...]:
        """Return the axes counted from the front; an empty list means all."""
        axes = tuple(normal_axis(axis, rank, "normalize") for axis in self.axis)
        if len(set(axes)) < len(axes):
            raise RuleError(f"normalize lists an axis twice: {list(self.axis)}")
        return axes or tuple(range(rank))

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, "normalize")
        self.along(x.rank)
        return x

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [axes_of(x, dict.fromkeys(self.along(x.rank), "all"))]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        along = self.along(x.rank)
        vectors = product(size for axis, size in enumerate(x.shape) if axis not in along)
        length = product(x.shape[axis] for axis in along)
        return (
            *p_norm_terms(self.p, vectors, length),
            Term.of("compare", "epsilon", vectors=vectors),
            Term.of("div", "normalize", vectors=vectors, length=length),
        )


def p_norm_terms(p: float, vectors: Dim, length: Dim) -> tuple[Term, ...]:
    """Return the work of (Σ|x|^p)^(1/p) of vectors; special values of p need no powers."""
    every = {"vectors": vectors, "length": length}
    square = Term.of("mul", "square", **every)
    magnitude = Term.of("compare", "magnitude", **every)
    power = Term.of("transcendental", "power", **every)
    total = Term.of("add", "norm", vectors=vectors, sums=length - 1)
    root = Term.of("transcendental", "root", vectors=vectors)
    if p == 2:
        return square, total, root
    if math.isinf(p):
        return magnitude, Term.of("compare", "norm", vectors=vectors, comparisons=length - 1)
    return (magnitude, total) if p in (0, 1) else (magnitude, power, total, root)
