"""PyTorch code of the operations of :mod:`netcalc.ops.batch_norm`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule, unsupported

helper('''
class FrozenBatchNorm(nn.Module):
    """Batch norm with fixed statistics and a fixed affine map, all of them buffers."""

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight: Tensor
        self.bias: Tensor
        self.running_mean: Tensor
        self.running_var: Tensor
        self.register_buffer("weight", torch.ones(channels))
        self.register_buffer("bias", torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight * torch.rsqrt(self.running_var + self.eps)
        shift = self.bias - self.running_mean * scale
        shape = (-1, *(1,) * (x.ndim - 2))
        return x * scale.reshape(shape) + shift.reshape(shape)
''')


@rule("batch_norm", "instance_norm")
def batch_norm(call: Call) -> Emitted | str:
    """Write ``nn.BatchNorm`` or ``nn.InstanceNorm`` of as many axes as the input has."""
    op: Any = call.op
    if call.count > 1:
        raise unsupported("takes its weight or statistics as inputs")
    if op.affine and not op.bias:
        raise unsupported("has a weight without a bias")
    axes = max(call.type().rank - 2, 1)
    is_batch = op.name == "batch_norm"
    options = call.arguments(
        eps=(op.eps, 1e-5),
        momentum=(op.momentum, 0.1),
        affine=(op.affine, is_batch),
        track_running_stats=(op.track_running_stats, is_batch),
    )
    kind = "Batch" if is_batch else "Instance"
    return call.module(f"nn.{kind}Norm{axes}d({call.start(call.type().shape[1], 'channels')}{options})")


@rule("frozen_batch_norm")
def frozen_batch_norm(call: Call) -> Emitted | str:
    """Write a helper whose statistics are buffers."""
    name = call.helper("FrozenBatchNorm")
    eps = call.arguments(eps=(call.op.eps, 1e-5))
    return call.module(f"{name}({call.start(call.type().shape[1], 'channels')}{eps})")
