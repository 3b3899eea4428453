"""PyTorch code of the operations of :mod:`netcalc.ops.linear`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule, unsupported


@rule("linear")
def linear(call: Call) -> Emitted | str:
    """Write ``nn.Linear``, or ``F.linear`` for a weight that is an input."""
    if call.has(1):
        if call.params:
            raise unsupported("has a bias of its own beside a weight that is an input")
        bias = f", {call.input(2)}" if call.has(2) else ""
        return f"F.linear({call.x}, {call.input(1)}{bias})"
    features = call.start(call.type().shape[-1], "in_features")
    bias = call.arguments(bias=(call.op.bias, True))
    return call.module(f"nn.Linear({features}, {call.start(call.op.out, 'out_features')}{bias})")


@rule("bilinear")
def bilinear(call: Call) -> Emitted:
    """Write ``nn.Bilinear``."""
    first, second = (call.start(call.type(i).shape[-1], f"in{i + 1}_features") for i in range(2))
    bias = call.arguments(bias=(call.op.bias, True))
    made = f"nn.Bilinear({first}, {second}, {call.start(call.op.out, 'out_features')}{bias})"
    return call.module(made, call.x, call.input(1))
