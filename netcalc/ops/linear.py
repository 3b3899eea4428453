"""Linear maps on the last axis."""

from collections.abc import Sequence
from typing import Any

from netcalc.dims import product
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
    ports,
    require_float,
    same_shape,
)
from netcalc.ops import operation
from netcalc.ops._weights import PRODUCT_INPUTS, check_given, learned, weight_and_bias
from netcalc.tensor_type import TensorType


@operation
class Linear(Operation):
    """y = x·Wᵀ + b along the last axis; all axes before it are batch axes.

    A weight or a bias that other lines compute is an input, and no parameter then.
    """

    name = "linear"
    channel_axis = -1
    takes_empty = True
    takes_complex = True
    gemm = True
    reference = "torch.nn.Linear"
    inputs = PRODUCT_INPUTS
    shorthand = "out"
    shape_rule = "(…, in) → (…, out)"
    param_rule = "weight out·in, bias out"
    cost_rule = "…·out·in MACs, …·out adds for the bias"
    example = Example(((2, 8),), {"out": 4})
    usage = ("x: [32, 784]", "- linear: 256", "- relu", "- linear: 10")

    out: Size = attr("output features")
    bias: bool = attr("add a learned bias", default=True)

    def infer(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> TensorType:
        require_float(x, "linear")
        if x.rank < 1:
            raise RuleError("linear takes an input of at least 1 dimension, and this one is a scalar")
        check_given("linear", self._declared(x, bias), x, weight, bias)
        return x.with_shape(*x.shape[:-1], self.out)

    def _declared(self, x: TensorType, bias: TensorType | None) -> Sequence[Param]:
        return weight_and_bias((self.out, x.shape[-1]), self.out, bias=self.bias or bias is not None)

    def params(
        self, ctx: Context, x: TensorType, weight: TensorType | None = None, bias: TensorType | None = None
    ) -> Sequence[Param]:
        return learned(self._declared(x, bias), weight, bias)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        x, *others = inputs
        return [axes_of(x, {-1: "all"}), *(every(other, "all") for other in others)]

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        x = inputs[0]
        rows = product(x.shape[:-1])
        work = Term.of("mac", "product", rows=rows, out_features=self.out, in_features=x.shape[-1])
        if not self.bias and "bias" not in self.named(inputs):
            return (work,)
        return work, Term.of("add", "bias", rows=rows, out_features=self.out)


@operation
class Bilinear(Operation):
    """y = x₁·A·x₂ + b with a matrix A for each output feature; the axes before the last are equal batch axes."""

    name = "bilinear"
    kernel_suffices = "a product of two computed tensors: a few calls of BLAS"
    reference = "torch.nn.Bilinear"
    inputs = ports("input1", "input2")
    shorthand = "out"
    shape_rule = "(…, in1), (…, in2) → (…, out)"
    param_rule = "weight out·in1·in2, bias out"
    cost_rule = "…·out·in2·in1 MACs for x₁·A, …·out·in2 MACs for ·x₂, …·out adds for the bias"
    example = Example(((3, 5), (3, 6)), {"out": 4})
    usage = ("text: [32, 300]", "image: [32, 512]", "- {from: [text, image], bilinear: 64}")

    out: Size = attr("output features")
    bias: bool = attr("add a learned bias", default=True)

    def infer(self, ctx: Context, x1: TensorType, x2: TensorType) -> TensorType:
        require_float(x1, "bilinear")
        if x1.dtype != x2.dtype:
            raise RuleError(f"bilinear takes two inputs of one type, not {x1.dtype} and {x2.dtype}", code="E402")
        if not x1.rank or not x2.rank or not same_shape(x1.shape[:-1], x2.shape[:-1]):
            raise RuleError(f"bilinear takes inputs that differ only in their last axis, not {x1} and {x2}")
        return x1.with_shape(*x1.shape[:-1], self.out)

    def params(self, ctx: Context, x1: TensorType, x2: TensorType) -> Sequence[Param]:
        init = Init.of("fan_in_uniform", fan_in=x1.shape[-1])
        weight = Param("weight", (self.out, x1.shape[-1], x2.shape[-1]), init)
        return (weight, Param("bias", (self.out,), init)) if self.bias else (weight,)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        x1, x2 = inputs
        pairs = {"rows": product(x1.shape[:-1]), "out_features": self.out, "in2_features": x2.shape[-1]}
        first = Term.of("mac", "product", **pairs, in1_features=x1.shape[-1])
        work = (first, Term.of("mac", "second product", **pairs))
        return (*work, Term.of("add", "bias", rows=pairs["rows"], out_features=self.out)) if self.bias else work
