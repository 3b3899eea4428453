"""PyTorch code of the operations of :mod:`netcalc.ops.cache`."""

from __future__ import annotations

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule

helper('''
def key_value_cache(
    key: Tensor,
    value: Tensor,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    window: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return keys and values behind those of earlier positions, as many as new queries see."""
    new = key.shape[-2]
    if past_key is not None and past_value is not None:
        key = torch.cat((past_key, key), dim=-2)
        value = torch.cat((past_value, value), dim=-2)
    if window is not None:
        length = window - 1 + new
        key, value = key[..., -length:, :], value[..., -length:, :]
    return key, value
''')


@rule("key_value_cache")
def key_value_cache(call: Call) -> Emitted | str:
    """Write a helper."""
    inputs = [call.input(i) for i in range(4) if call.has(i)]
    window = "" if call.op.window is None else f", window={call.value(call.op.window, 'window')}"
    return f"{call.helper('key_value_cache')}({', '.join(inputs)}{window})"
