"""Products whose weight or bias may be an input instead of a parameter, since another line computes it."""

import math
from collections.abc import Sequence

from netcalc.dims import Dim, product
from netcalc.opdef import Init, Param, RuleError, ports
from netcalc.tensor_type import TensorType

#: The inputs of these products.
PRODUCT_INPUTS = ports("input", "weight?", "bias?")


def weight_and_bias(shape: tuple[Dim, ...], out: Dim, *, bias: bool) -> Sequence[Param]:
    """Return a weight of a shape, and a bias of ``out`` elements if there is one, initialized as in PyTorch.

    PyTorch takes the fan-in from all axes of the weight but the first, also in transposed convolutions.
    """
    weight = Param("weight", shape, Init.of("kaiming_uniform", a=math.sqrt(5)))
    if not bias:
        return (weight,)
    return weight, Param("bias", (out,), Init.of("fan_in_uniform", fan_in=product(shape[1:])))


def check_given(
    name: str, declared: Sequence[Param], x: TensorType, weight: TensorType | None, bias: TensorType | None
) -> None:
    """Raise RuleError unless a given weight and bias have the shape of the declared parameter and the type of ``x``."""
    tensors = {"weight": weight, "bias": bias}
    for param in declared:
        tensor = tensors[param.name]
        if tensor is None:
            continue
        if tensor.dtype != x.dtype:
            message = f"{name} takes a {param.name} of {x.dtype}, as its input, and not of {tensor.dtype}"
            raise RuleError(message, code="E402")
        if tensor.shape != param.shape:
            raise RuleError(f"{name} takes a {param.name} of {TensorType(param.shape)}, and this is {tensor}")


def learned(declared: Sequence[Param], weight: TensorType | None, bias: TensorType | None) -> Sequence[Param]:
    """Return the parameters that are not given as inputs."""
    tensors = {"weight": weight, "bias": bias}
    return tuple(param for param in declared if tensors[param.name] is None)
