"""PyTorch code of the operations of :mod:`netcalc.ops.gated_units`."""

from __future__ import annotations

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule

for _name, _function in (("reglu", "F.relu(gate)"), ("swiglu", "F.silu(gate)"), ("glu", "torch.sigmoid(gate)")):
    helper(f'''
def {_name}_first(x: Tensor, dim: int) -> Tensor:
    """Return the second half times the activated first half."""
    gate, value = x.chunk(2, dim)
    return {_function} * value
''')
    helper(f'''
def {_name}_second(x: Tensor, dim: int) -> Tensor:
    """Return the first half times the activated second half."""
    value, gate = x.chunk(2, dim)
    return {_function} * value
''')
for _order, _halves in (("first", "gate, value"), ("second", "value, gate")):
    helper(f'''
def geglu_{_order}(x: Tensor, dim: int, approximate: str) -> Tensor:
    """Return one half times the activated other half."""
    {_halves} = x.chunk(2, dim)
    return F.gelu(gate, approximate=approximate) * value
''')


@rule("glu", "reglu", "swiglu", "geglu")
def gated_unit(call: Call) -> Emitted | str:
    """Write ``F.glu``, or a helper."""
    op = call.op
    if op.name == "glu" and op.gate == "second":
        return Emitted(f"F.glu({call.x}, dim={op.axis})", layer=f"nn.GLU(dim={op.axis})")
    more = f', "{op.approximate}"' if op.name == "geglu" else ""
    return f"{call.helper(f'{op.name}_{op.gate}')}({call.x}, {op.axis}{more})"
