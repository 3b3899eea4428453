"""PyTorch code of the operations of :mod:`netcalc.ops.creation`."""

from __future__ import annotations

from typing import Any

from netcalc.dims import Poly
from netcalc.formats.export.torch.expressions import literal
from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule, unsupported
from netcalc.opdef import Init

helper('''
def step_sizes(*size: int, low: float, high: float) -> Tensor:
    """Return numbers whose softplus is between two bounds, uniform in its logarithm."""
    steps = torch.empty(size).uniform_(math.log(low), math.log(high)).exp()
    return steps.expm1().log()
''')


def initial(call: Call, shape: Any, init: Init, dtype: str | None = None) -> str:
    """Return the expression of a tensor with its initial values."""
    size = call.start(tuple(shape), "size")
    inside = size[1:-1].rstrip(",") if len(shape) else "()"
    values = dict(init.args)
    kind = f", dtype=torch.{dtype}" if dtype not in (None, "float32") else ""
    match init.kind:
        case "constant":
            value = values["value"]
            if value in (0, 1):
                return f"torch.{'ones' if value else 'zeros'}({inside}{kind})"
            return f"torch.full({size}, {literal(value)}{kind})"
        case "normal":
            scale = "" if values.get("std", 1.0) == 1 else f" * {values['std']}"
            shift = "" if not values.get("mean", 0.0) else f" + {values['mean']}"
            return f"torch.randn({inside}){scale}{shift}"
        case "truncated_normal":
            return f"nn.init.trunc_normal_(torch.empty({inside}), std={values.get('std', 1.0)})"
        case "log_of_uniform":
            return f"torch.empty({inside}).uniform_({values.get('a', 1.0)}, {values.get('b', 16.0)}).log()"
        case "step_size":
            low, high = values.get("a", 0.001), values.get("b", 0.1)
            return f"{call.helper('step_sizes')}({inside}, low={low}, high={high})"
        case "log_range":
            states = f"torch.arange(1.0, {call.start(shape[-1], 'states')} + 1)"
            for size in reversed(shape[:-1]):
                states = f"{states}.expand({call.start(size, 'size')}, -1)" if len(shape) == 2 else states
            return f"torch.log({states})" if len(shape) <= 2 else f"torch.zeros({inside}{kind})"
        case "uniform" if "a" in values:
            return f"torch.empty({inside}).uniform_({values['a']}, {values['b']})"
        case "uniform":
            return f"torch.empty({inside}).uniform_(-{values['bound']}, {values['bound']})"
    if init.kind in ("kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal", "orthogonal"):
        return f"nn.init.{init.kind}_(torch.empty({inside}))"
    return f"torch.zeros({inside}{kind})"


@rule("parameter")
def parameter(call: Call) -> Emitted | str:
    """Write an ``nn.Parameter`` of the class itself."""
    (param,) = call.params
    trained = "" if param.trainable else ", requires_grad=False"
    value = initial(call, param.shape, param.init, param.dtype)
    return Emitted("self.{name}", own=[f"self.{{name}} = nn.Parameter({value}{trained})"])


@rule("linear_weight")
def linear_weight(call: Call) -> Emitted | str:
    """Write the weight of an ``nn.Linear``."""
    made = (
        f"nn.Linear({call.start(call.op.features, 'features')}, {call.start(call.op.out, 'out_features')}, bias=False)"
    )
    emitted = call.module(made)
    return Emitted(emitted.text[: emitted.text.index("(")] + ".weight", emitted.module)


@rule("buffer")
def buffer(call: Call) -> Emitted | str:
    """Write a buffer of the class itself."""
    (param,) = call.params
    persistent = "" if getattr(param, "persistent", True) else ", persistent=False"
    if param.init.kind == "computed":
        value = "{computed}"
    elif isinstance(call.op.value, (tuple, list)):
        kind = f", dtype=torch.{param.dtype}" if param.dtype else ""
        value = f"torch.tensor({literal(call.op.value)}{kind})"
    else:
        value = initial(call, param.shape, param.init, param.dtype)
    return Emitted("self.{name}", own=["self.{name}: Tensor", f'self.register_buffer("{{name}}", {value}{persistent})'])


@rule("constant")
def constant(call: Call) -> Emitted | str:
    """Write ``torch.tensor`` or ``torch.full``."""
    op: Any = call.op
    dtype = call.results[0].dtype
    kind = f", dtype=torch.{dtype}"
    if op.shape is None:
        if isinstance(op.value, Poly) or not isinstance(op.value, (tuple, list)):
            return f"torch.tensor({call.value(op.value, 'value')}{kind}{call.device})"
        return f"torch.tensor({literal(op.value)}{kind}{call.device})"
    if isinstance(op.value, (tuple, list)):
        raise unsupported("has a list of values and a shape")
    return f"torch.full({call.value(tuple(op.shape), 'size')}, {call.value(op.value, 'value')}{kind}{call.device})"


@rule("arange")
def arange(call: Call) -> Emitted | str:
    """Write ``torch.arange``."""
    op: Any = call.op
    start = isinstance(op.start, (int, float)) and op.start == 0
    step = isinstance(op.step, (int, float)) and op.step == 1
    values = [call.value(op.stop, "stop")]
    if not (start and step):
        values.insert(0, call.value(op.start, "start"))
    if not step:
        values.append(call.value(op.step, "step"))
    whole = op.dtype == "int64" and not any(isinstance(v, float) for v in (op.start, op.stop, op.step))
    kind = "" if whole else f", dtype=torch.{op.dtype}"
    return f"torch.arange({', '.join(values)}{kind}{call.device})"
