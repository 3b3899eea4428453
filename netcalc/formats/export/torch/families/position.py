"""PyTorch code of the operations of :mod:`netcalc.ops.position`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import MODULE, Call, Emitted, rule

helper('''
def sinusoids(
    length: int, features: int, base: float, interleaved: bool, shift: int
) -> Tensor:
    """Return the table of sines and cosines (length, features)."""
    half = features / 2 if interleaved else features // 2
    exponents = torch.arange(features - features // 2, dtype=torch.float64)
    exponents = exponents / max(half - shift, 0.5)
    angles = torch.arange(length, dtype=torch.float64)[:, None] / base**exponents
    table = torch.zeros(length, features, dtype=torch.float64)
    if interleaved:
        table[:, 0::2] = angles.sin()
        table[:, 1::2] = angles[:, : features // 2].cos()
    else:
        middle = features // 2
        table[:, :middle] = angles[:, :middle].sin()
        table[:, middle : 2 * middle] = angles[:, :middle].cos()
    return table.float()
''')
helper('''
class SinusoidalPositions(nn.Module):
    """Fixed table of sines and cosines: the buffer ``pe``, or an untrained ``weight``."""

    def __init__(
        self,
        length: int,
        features: int,
        base: float = 10000.0,
        interleaved: bool = True,
        shift: int = 0,
        persistent: bool = True,
        as_parameter: bool = False,
    ) -> None:
        super().__init__()
        self.name = "weight" if as_parameter else "pe"
        table = sinusoids(length, features, base, interleaved, shift)
        if as_parameter:
            self.register_parameter("weight", nn.Parameter(table, requires_grad=False))
        else:
            self.register_buffer("pe", table, persistent=persistent)

    def forward(self, length: int, offset: int = 0) -> Tensor:
        table = getattr(self, self.name)
        assert isinstance(table, Tensor)
        return table[offset : offset + length]
''')


def _added(call: Call, rows: str, module: str) -> Emitted:
    return Emitted(f"{call.x} + {rows}" if call.op.add else rows, module)


@rule("learned_positions")
def learned_positions(call: Call) -> Emitted | str:
    """Write an ``nn.Embedding`` of positions."""
    op: Any = call.op
    module = f"nn.Embedding({call.start(op.max_length, 'max_length')}, {call.start(call.type().shape[-1], 'features')})"
    length = f"{call.x}.shape[{call.type().rank - 2}]"
    if isinstance(op.offset, int) and op.offset == 0:
        places = f"torch.arange({length}, device={call.x}.device)"
    else:
        offset = call.value(op.offset, "offset")
        places = f"torch.arange({offset}, {offset} + {length}, device={call.x}.device)"
    return _added(call, f"{MODULE}({places})", module)


@rule("sinusoidal_positions")
def sinusoidal_positions(call: Call) -> Emitted | str:
    """Write a helper with a fixed table."""
    op: Any = call.op
    name = call.helper("SinusoidalPositions")
    call.helper("sinusoids")
    length = f"{call.x}.shape[{call.type().rank - 2}]"
    if not (isinstance(op.offset, int) and op.offset == 0):
        length += f", {call.value(op.offset, 'offset')}"
    rows = f"{MODULE}({length})"
    if not call.params:
        return _added(call, rows, "")
    (param,) = call.params
    options = call.arguments(
        base=(op.base, 10000.0),
        interleaved=(op.layout == "interleaved", True),
        shift=(op.downscale_freq_shift, 0),
        persistent=(op.persistent, True),
        as_parameter=(op.as_parameter, False),
    )
    made = f"{name}({call.start(param.shape[0], 'max_length')}, {call.start(param.shape[1], 'features')}{options})"
    return _added(call, rows, made)
