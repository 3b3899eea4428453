"""PyTorch code of the operations of :mod:`netcalc.ops.rectifier`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("relu")
def relu(call: Call) -> Emitted | str:
    """Write ``F.relu``."""
    return Emitted(f"F.relu({call.x})", layer="nn.ReLU()")


@rule("relu6")
def relu6(call: Call) -> Emitted | str:
    """Write ``F.relu6``."""
    return Emitted(f"F.relu6({call.x})", layer="nn.ReLU6()")


@rule("leaky_relu")
def leaky_relu(call: Call) -> Emitted | str:
    """Write ``F.leaky_relu``."""
    slope = call.op.negative_slope
    return Emitted(f"F.leaky_relu({call.x}, {slope})", layer=f"nn.LeakyReLU({slope})")


@rule("prelu")
def prelu(call: Call) -> Emitted | str:
    """Write ``nn.PReLU``."""
    init = call.arguments(init=(call.op.init, 0.25))
    return call.module(f"nn.PReLU({call.start(call.op.num_parameters, 'num_parameters')}{init})")


@rule("squared_relu")
def squared_relu(call: Call) -> Emitted | str:
    """Write the square of ``F.relu``."""
    return f"F.relu({call.x}).square()"
