"""Linear maps on the last axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from netcalc.dims import product
from netcalc.ir import TensorType
from netcalc.opdef import (
    Context,
    Example,
    Init,
    Operation,
    Param,
    RuleError,
    Size,
    Term,
    attr,
    operation,
    require_float,
)


@operation
class Linear(Operation):
    """y = x·Wᵀ + b on the last axis; all axes before it are batch."""

    name: ClassVar[str] = "linear"
    source: ClassVar[str] = "torch.nn.Linear"
    shorthand: ClassVar[str | None] = "out"
    shape_rule: ClassVar[str] = "(…, in) → (…, out)"
    param_rule: ClassVar[str] = "weight out·in, bias out"
    cost_rule: ClassVar[str] = "…·out·in MACs, …·out adds for the bias"
    example: ClassVar[Example] = Example(((2, 8),), {"out": 4})

    out: Size = attr("output features")
    bias: bool = attr("add a learned bias", default=True)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, "linear")
        if x.rank < 1:
            raise RuleError("linear takes an input of at least 1 dimension, and this one is a scalar")
        return x.with_shape(*x.shape[:-1], self.out)

    def params(self, ctx: Context, x: TensorType) -> Sequence[Param]:
        features = x.shape[-1]
        weight = Param("weight", (self.out, features), Init.of("kaiming_uniform", a=math.sqrt(5)))
        return (
            (weight, Param("bias", (self.out,), Init.of("fan_in_uniform", fan_in=features))) if self.bias else (weight,)
        )

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        rows = product(x.shape[:-1])
        work = Term.of("mac", "product", rows=rows, out_features=self.out, in_features=x.shape[-1])
        return (work, Term.of("add", "bias", rows=rows, out_features=self.out)) if self.bias else (work,)
