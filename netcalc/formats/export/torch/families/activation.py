"""PyTorch code of the operations of :mod:`netcalc.ops.activation`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


def _register(name: str, function: str, layer: str) -> None:
    @rule(name)
    def activation(call: Call) -> Emitted | str:
        return Emitted(f"{function}({call.x})", layer=f"{layer}()")


for _name, _function, _layer in (
    ("selu", "F.selu", "nn.SELU"),
    ("silu", "F.silu", "nn.SiLU"),
    ("mish", "F.mish", "nn.Mish"),
    ("hardswish", "F.hardswish", "nn.Hardswish"),
    ("hardsigmoid", "F.hardsigmoid", "nn.Hardsigmoid"),
    ("sigmoid", "torch.sigmoid", "nn.Sigmoid"),
    ("logsigmoid", "F.logsigmoid", "nn.LogSigmoid"),
    ("tanh", "torch.tanh", "nn.Tanh"),
    ("tanhshrink", "F.tanhshrink", "nn.Tanhshrink"),
    ("softsign", "F.softsign", "nn.Softsign"),
):
    _register(_name, _function, _layer)


def _register_with(name: str, function: str, layer: str, *attributes: str) -> None:
    @rule(name)
    def activation(call: Call) -> Emitted | str:
        values = ", ".join(repr(getattr(call.op, attribute)) for attribute in attributes)
        return Emitted(f"{function}({call.x}, {values})", layer=f"{layer}({values})")


for _name, _function, _layer, *_attributes in (
    ("elu", "F.elu", "nn.ELU", "alpha"),
    ("celu", "F.celu", "nn.CELU", "alpha"),
    ("hardtanh", "F.hardtanh", "nn.Hardtanh", "min", "max"),
    ("hardshrink", "F.hardshrink", "nn.Hardshrink", "lambd"),
    ("softshrink", "F.softshrink", "nn.Softshrink", "lambd"),
    ("threshold", "F.threshold", "nn.Threshold", "threshold", "value"),
):
    _register_with(_name, _function, _layer, *_attributes)


@rule("gelu")
def gelu(call: Call) -> Emitted | str:
    """Write ``F.gelu``."""
    kind = call.op.approximate
    if kind == "none":
        return Emitted(f"F.gelu({call.x})", layer="nn.GELU()")
    return Emitted(f'F.gelu({call.x}, approximate="{kind}")', layer=f'nn.GELU(approximate="{kind}")')


@rule("quick_gelu")
def quick_gelu(call: Call) -> Emitted | str:
    """Write the product with a sigmoid."""
    return f"{call.x} * torch.sigmoid(1.702 * {call.x})"


@rule("softplus")
def softplus(call: Call) -> Emitted | str:
    """Write ``F.softplus``."""
    op = call.op
    options = "" if (op.beta, op.threshold) == (1.0, 20.0) else f", {op.beta}, {op.threshold}"
    return Emitted(f"F.softplus({call.x}{options})", layer=f"nn.Softplus({options[2:]})")


@rule("detach")
def detach(call: Call) -> Emitted | str:
    """Write ``Tensor.detach``."""
    return f"{call.x}.detach()"
