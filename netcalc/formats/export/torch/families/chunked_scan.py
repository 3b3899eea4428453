"""PyTorch code of the operations of :mod:`netcalc.ops.chunked_scan`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule

helper('''
def every_head(x: Tensor, heads: int) -> Tensor:
    """Return (batch, length, groups, features) with the group of each head."""
    return x.repeat_interleave(heads // x.shape[2], dim=2)
''')
helper('''
def ssd_scan(
    u: Tensor,
    delta: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Tensor | None = None,
    delta_bias: Tensor | None = None,
    initial_state: Tensor | None = None,
    delta_softplus: bool = False,
    delta_min: float = 0.0,
    delta_max: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the outputs of a state space model of heads and its last state (Mamba-2).

    Args:
        u: inputs (batch, length, heads, features).
        delta: step sizes (batch, length, heads).
        a: decay rates (heads).
        b: input projection (batch, length, groups, state).
        c: output projection of the same shape.
        d: weight of the input in the output (heads).
        delta_bias: bias of the step sizes (heads).
        initial_state: first state (batch, heads, features, state).
        delta_softplus: apply softplus to the step sizes.
        delta_min: least step size.
        delta_max: greatest step size.
    """
    batch, length, heads, features = u.shape
    if delta_bias is not None:
        delta = delta + delta_bias
    if delta_softplus:
        delta = F.softplus(delta)
    delta = delta.clamp(min=delta_min, max=delta_max)
    b, c = every_head(b, heads), every_head(c, heads)
    state = u.new_zeros(batch, heads, features, b.shape[-1])
    if initial_state is not None:
        state = initial_state
    outputs = []
    for t in range(length):
        decay = torch.exp(delta[:, t] * a)[..., None, None]
        written = (delta[:, t, :, None] * u[:, t])[..., None] * b[:, t, :, None, :]
        state = decay * state + written
        outputs.append((state @ c[:, t, :, :, None])[..., 0])
    y = torch.stack(outputs, dim=1)
    return (y if d is None else y + u * d[:, None]), state
''')
helper('''
def gated_delta_rule(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    decay: Tensor,
    beta: Tensor,
    initial_state: Tensor | None = None,
    normalize: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the outputs of the gated delta rule and its last state (arXiv:2412.06464).

    Args:
        query: queries (batch, length, groups, features).
        key: keys of the same shape.
        value: values (batch, length, heads, size).
        decay: logarithms of the decay of the state (batch, length, heads).
        beta: strengths of writing (batch, length, heads).
        initial_state: first state (batch, heads, features, size).
        normalize: scale queries and keys to length 1.
    """
    batch, length, heads, size = value.shape
    query, key = every_head(query, heads), every_head(key, heads)
    if normalize:
        query = query * torch.rsqrt(query.square().sum(-1, keepdim=True) + 1e-6)
        key = key * torch.rsqrt(key.square().sum(-1, keepdim=True) + 1e-6)
    query = query * query.shape[-1] ** -0.5
    state = value.new_zeros(batch, heads, key.shape[-1], size)
    if initial_state is not None:
        state = initial_state
    outputs = []
    for t in range(length):
        state = state * torch.exp(decay[:, t])[..., None, None]
        known = (key[:, t, :, None, :] @ state)[..., 0, :]
        added = (value[:, t] - known) * beta[:, t, :, None]
        state = state + key[:, t, :, :, None] * added[..., None, :]
        outputs.append((query[:, t, :, None, :] @ state)[..., 0, :])
    return torch.stack(outputs, dim=1), state
''')


@rule("ssd_scan")
def ssd_scan(call: Call) -> Emitted | str:
    """Write a helper."""
    op: Any = call.op
    names = ("d", "delta_bias", "initial_state")
    inputs = [call.input(i) for i in range(5)]
    inputs += [f"{name}={call.input(5 + i)}" for i, name in enumerate(names) if call.has(5 + i)]
    if op.delta_softplus:
        inputs.append("delta_softplus=True")
    for name, value, default in (("delta_min", op.delta_min, 0.0), ("delta_max", op.delta_max, None)):
        if value != default:
            inputs.append(f"{name}={call.value(value, name)}")
    call.helper("every_head")
    return f"{call.helper('ssd_scan')}({', '.join(inputs)})"


@rule("gated_delta_rule")
def gated_delta_rule(call: Call) -> Emitted | str:
    """Write a helper."""
    inputs = [call.input(i) for i in range(6) if call.has(i)]
    if call.op.normalize:
        inputs.append("normalize=True")
    call.helper("every_head")
    return f"{call.helper('gated_delta_rule')}({', '.join(inputs)})"
