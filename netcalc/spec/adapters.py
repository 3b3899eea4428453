"""Low-rank adapters of linear lines: the modifier ``lora``."""

from __future__ import annotations

import sys
from typing import Any

from netcalc import ops
from netcalc.diagnostics import did_you_mean, written
from netcalc.ir import InitRule, OpNode, Value, join
from netcalc.limits import MAX_SIZE_BITS
from netcalc.spec.cursor import Cursor
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate
from netcalc.spec.line_syntax import Line
from netcalc.spec.nodes import add_operation
from netcalc.spec.scope import Scope

#: Operations that take an adapter: linear layers, and their weights.
ADAPTED = ("linear", "linear_weight")

#: Settings of an adapter, with their defaults; the scale is alpha / rank, or alpha / √rank if it is rank-stabilized.
_SETTINGS: dict[str, Any] = {"rank": None, "alpha": None, "rank_stabilized": False, "dropout": 0.0}

#: Initializers by pattern, as in PEFT: A starts like the weight of a linear operation, B as 0.
_INITIALIZERS = (InitRule("*lora_A.weight", "default"), InitRule("*lora_B.weight", "zeros"))


def adapted(elaboration: Elaboration, node: OpNode, modifier: Cursor, scope: Scope) -> Value:
    """Return the output of a linear operation with a low-rank adapter beside it: W·x + scale·B·A·dropout(x).

    A and B are the linear operations ``lora_A`` and ``lora_B`` below the path of the operation, without a bias.  They
    are trained also where the operation is frozen.  B starts from 0, so that the network starts as it was.  The weight
    of a linear operation becomes W + scale·B·A, with A and B as weights.

    Source: Hu et al. 2021, arXiv:2106.09685; rank stabilization: Kalajdzievski 2023, arXiv:2312.03732.

    Raises:
        NetcalcError: E103 or E104 if a setting is unknown or invalid, and E104 for dropout of a weight in training.
    """
    rank, scale, dropout = adapter_settings(evaluate(modifier, scope), modifier)
    span = modifier.span
    outer, elaboration.frozen = elaboration.frozen, False
    elaboration.initializers |= dict.fromkeys(_INITIALIZERS)
    elaboration.bind_to_spec()  # a body that is kept adds no initializers

    def applied(name: str, operation: str, attributes: dict[str, Any], *inputs: Value | None) -> Value:
        declared = ops.find(operation)
        assert declared is not None
        op = declared.model_validate(attributes)
        absent = (None,) * (len(op.inputs) - len(inputs))
        return add_operation(elaboration, op, (*inputs, *absent), join(node.name, name), scope, span).outputs[0]

    try:
        sizes = node.outputs[0].known_type.shape
        if node.op.name == "linear_weight":
            if dropout and elaboration.ctx.training:
                raise modifier.error("E104", "lora: the adapter of a weight has no input that dropout applies to")
            down = applied("lora_A", "linear_weight", {"out": rank, "features": sizes[1]})
            up = applied("lora_B", "linear_weight", {"out": sizes[0], "features": rank})
            value = applied("lora_product", "matmul", {}, up, down)
        else:
            x = applied("lora_dropout", "dropout", {"p": dropout}, node.inputs[0]) if dropout else node.inputs[0]
            value = applied("lora_A", "linear", {"out": rank, "bias": False}, x)
            value = applied("lora_B", "linear", {"out": sizes[-1], "bias": False}, value)
        if scale != 1:
            value = applied("lora_scale", "mul", {"value": scale}, value)
        return applied("lora", "add", {}, node.outputs[0], value)
    finally:
        elaboration.frozen = outer


def require_linear(line: Line) -> None:
    """Raise NetcalcError (E104) for an adapter of a line that is not one linear operation."""
    modifier = line.modifier("lora")
    if modifier is None or (line.target in ADAPTED and "repeat" not in line.modifiers):
        return
    if "repeat" in line.modifiers:
        message, hint = ("lora: a line repeated by itself takes no adapter", "repeat a sequence that has the line")
    else:
        message, hint = f"lora: linear lines take an adapter, and this is {line.target}", None
    raise modifier.key_error("E104", message, hint)


def adapter_settings(declared: Any, modifier: Cursor) -> tuple[int, float, float]:
    """Return rank, scale and dropout of an adapter.

    Raises:
        NetcalcError: E103 or E104 if a setting is unknown or invalid.
    """
    values = {**_SETTINGS, **(declared if isinstance(declared, dict) else {"rank": declared})}
    for key in values:
        if key not in _SETTINGS:
            hint = did_you_mean(key, _SETTINGS)
            raise modifier[key].key_error("E103", f"lora has no setting {key!r}", hint)
    rank, dropout = values["rank"], values["dropout"]
    alpha = rank if values["alpha"] is None else values["alpha"]
    valid = {
        "rank": (f"a whole number of at least 1, of at most {MAX_SIZE_BITS} bits", _is_size(rank)),
        "alpha": ("a number that a float holds, of at least 0", _is_number(alpha)),
        "dropout": ("a number of at least 0 and below 1", _is_number(dropout) and dropout < 1),
    }
    for key, (wanted, holds) in valid.items():
        if not holds:
            raise modifier.error("E104", f"lora: {key} should be {wanted}, not {written(values[key], quoted=True)}")
    if not isinstance(values["rank_stabilized"], bool):
        raise modifier.error("E104", "lora: rank_stabilized should be true or false")
    return rank, alpha / (rank**0.5 if values["rank_stabilized"] else rank), float(dropout)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0 and value.bit_length() <= MAX_SIZE_BITS


def _is_number(value: Any) -> bool:
    """Return True for a number of at least 0 that a float holds, and no infinity or NaN."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max
