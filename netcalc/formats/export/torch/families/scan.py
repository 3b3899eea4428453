"""PyTorch code of the operations of :mod:`netcalc.ops.scan`."""

from __future__ import annotations

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule

helper('''
def selective_scan(
    u: Tensor,
    delta: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Tensor | None = None,
    z: Tensor | None = None,
    delta_bias: Tensor | None = None,
    initial_state: Tensor | None = None,
    delta_softplus: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the outputs of a selective state space model and its last state (Mamba).

    Args:
        u: inputs (batch, channels, length).
        delta: step sizes (batch, channels, length).
        a: decay rates (channels, state).
        b: input projection (batch, length, [groups,] state), or (channels, state).
        c: output projection of the same shape.
        d: weight of the input in the output (channels).
        z: gate (batch, channels, length).
        delta_bias: bias of the step sizes (channels).
        initial_state: first state (batch, channels, state).
        delta_softplus: apply softplus to the step sizes.
    """
    batch, channels, length = u.shape
    if delta_bias is not None:
        delta = delta + delta_bias[:, None]
    if delta_softplus:
        delta = F.softplus(delta)

    def of_channels(x: Tensor) -> Tensor:
        if x.ndim == 2:
            return x[None, None].expand(batch, length, -1, -1)
        x = x[:, :, None] if x.ndim == 3 else x
        return x.repeat_interleave(channels // x.shape[2], dim=2)

    b, c = of_channels(b), of_channels(c)
    state = u.new_zeros(batch, channels, a.shape[1])
    if initial_state is not None:
        state = initial_state
    outputs = []
    for t in range(length):
        decay = torch.exp(delta[:, :, t, None] * a)
        state = decay * state + (delta * u)[:, :, t, None] * b[:, t]
        outputs.append((state * c[:, t]).sum(-1))
    y = torch.stack(outputs, dim=-1)
    if d is not None:
        y = y + u * d[:, None]
    return (y if z is None else y * F.silu(z)), state
''')
helper('''
def wkv(
    key: Tensor,
    value: Tensor,
    decay: Tensor,
    bonus: Tensor,
    numerator: Tensor | None = None,
    denominator: Tensor | None = None,
    exponent: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the weighted means of values of RWKV-4 (batch, length, channels) and sums."""
    above = torch.zeros_like(value[:, 0]) if numerator is None else numerator
    below = torch.zeros_like(value[:, 0]) if denominator is None else denominator
    top = torch.full_like(value[:, 0], -1e38) if exponent is None else exponent
    outputs = []
    for k, v in zip(key.unbind(1), value.unbind(1), strict=True):
        largest = torch.maximum(top, k + bonus)
        old, new = torch.exp(top - largest), torch.exp(k + bonus - largest)
        outputs.append((old * above + new * v) / (old * below + new))
        largest = torch.maximum(top + decay, k)
        old, new = torch.exp(top + decay - largest), torch.exp(k - largest)
        above, below, top = old * above + new * v, old * below + new, largest
    return torch.stack(outputs, dim=1), above, below, top
''')


@rule("selective_scan")
def selective_scan(call: Call) -> Emitted | str:
    """Write a helper."""
    names = ("d", "z", "delta_bias", "initial_state")
    inputs = [call.input(i) for i in range(5)]
    inputs += [f"{name}={call.input(5 + i)}" for i, name in enumerate(names) if call.has(5 + i)]
    if call.op.delta_softplus:
        inputs.append("delta_softplus=True")
    return f"{call.helper('selective_scan')}({', '.join(inputs)})"


@rule("wkv")
def wkv(call: Call) -> Emitted | str:
    """Write a helper."""
    inputs = [call.input(i) for i in range(7) if call.has(i)]
    text = f"{call.helper('wkv')}({', '.join(inputs)})"
    return text if call.op.return_state else f"{text}[0]"
