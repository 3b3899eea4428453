"""PyTorch code of the operations of :mod:`netcalc.ops.norm`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule, unsupported

helper('''
class OffsetRMSNorm(nn.Module):
    """RMS norm whose weight is added to an offset."""

    def __init__(self, features: int, eps: float | None, offset: float) -> None:
        super().__init__()
        self.eps = eps
        self.offset = offset
        self.weight = nn.Parameter(torch.full((features,), 1.0 - offset))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight + self.offset, self.eps)
''')


def _shape(call: Call) -> tuple[Any, ...]:
    """Return the sizes that are normalized together."""
    op: Any = call.op
    count = len(op.normalized_shape or ()) or op.axes or 1
    return tuple(call.type().shape[-count:])


def _written(call: Call, shape: tuple[Any, ...], *, at_start: bool) -> str:
    if len(shape) == 1 and at_start:
        return call.start(shape[0], "features")
    return call.value(shape, "features", at_start=at_start)


@rule("layer_norm")
def layer_norm(call: Call) -> Emitted | str:
    """Write ``nn.LayerNorm``, or ``F.layer_norm`` for a weight that is an input."""
    op: Any = call.op
    shape = _shape(call)
    if call.count > 1:
        if call.params:
            raise unsupported("has a bias of its own beside a weight that is an input")
        weight, bias = (call.input(i) if call.has(i) else "None" for i in (1, 2))
        return f"F.layer_norm({call.x}, {_written(call, shape, at_start=False)}, {weight}, {bias}, {op.eps})"
    options = call.arguments(
        eps=(op.eps, 1e-5), elementwise_affine=(op.affine, True), bias=(op.bias or not op.affine, True)
    )
    return call.module(f"nn.LayerNorm({_written(call, shape, at_start=True)}{options})")


@rule("rms_norm")
def rms_norm(call: Call) -> Emitted | str:
    """Write ``nn.RMSNorm``, or a helper for a weight with an offset."""
    op: Any = call.op
    shape = _shape(call)
    if call.count > 1:
        weight = f"{call.input(1)} + {op.offset}" if op.offset else call.input(1)
        return f"F.rms_norm({call.x}, {_written(call, shape, at_start=False)}, {weight}, {op.eps})"
    if op.offset and op.affine:
        name = call.helper("OffsetRMSNorm")
        if len(shape) > 1:
            raise unsupported("has an offset and normalizes several axes")
        return call.module(f"{name}({call.start(shape[0], 'features')}, {op.eps}, {op.offset})")
    options = call.arguments(eps=(op.eps, None), elementwise_affine=(op.affine, True))
    return call.module(f"nn.RMSNorm({_written(call, shape, at_start=True)}{options})")


@rule("group_norm")
def group_norm(call: Call) -> Emitted | str:
    """Write ``nn.GroupNorm``."""
    op: Any = call.op
    if call.count > 1 or (op.affine and not op.bias):
        raise unsupported("has a weight without a bias, or takes it as an input")
    options = call.arguments(eps=(op.eps, 1e-5), affine=(op.affine, True))
    groups = call.start(op.groups, "groups")
    return call.module(f"nn.GroupNorm({groups}, {call.start(call.type().shape[1], 'channels')}{options})")


@rule("local_response_norm")
def local_response_norm(call: Call) -> Emitted | str:
    """Write ``F.local_response_norm``."""
    op: Any = call.op
    values = f"alpha={op.alpha}, beta={op.beta}, k={op.k}"
    layer = f"nn.LocalResponseNorm({op.size}, {values})"
    return Emitted(f"F.local_response_norm({call.x}, {op.size}, {values})", layer=layer)


@rule("normalize")
def normalize(call: Call) -> Emitted | str:
    """Write ``F.normalize``, or a division for several axes."""
    op: Any = call.op
    if len(op.axis) == 1:
        p = "" if op.p == 2 else f", p={op.p}"
        eps = "" if op.eps == 1e-12 else f", eps={op.eps}"
        return f"F.normalize({call.x}{p}, dim={op.axis[0]}{eps})"
    norm = f"torch.linalg.vector_norm({call.x}, {op.p}, {tuple(op.axis)}, keepdim=True)"
    return f"{call.x} / {norm}.clamp_min({op.eps})"
