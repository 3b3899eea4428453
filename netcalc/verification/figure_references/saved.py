"""Saved tensors that PyTorch keeps although no product needs their values, by name, each with the reason.

A rule gives the names for the wanted gradients, each with the input or parameter that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from netcalc.verification.references import Attributes, Shape

#: Position of an input, or name of a parameter.
Source: TypeAlias = int | str


class Call(NamedTuple):
    """Backward pass of an operation: shapes of its inputs, None for an absent one, and the gradients wanted."""

    shapes: Sequence[Shape | None]
    outputs: Sequence[Shape]
    wanted: Collection[Source]

    def present(self, index: int) -> bool:
        """Return True if there is an input at this position."""
        return index < len(self.shapes) and self.shapes[index] is not None

    def wants(self, *sources: Source) -> bool:
        """Return True if one of these gradients is wanted."""
        return any(source in self.wanted for source in sources)


Names: TypeAlias = Mapping[str, Source | None]
Rule: TypeAlias = Callable[[Attributes, Call], Names]


class Unread(NamedTuple):
    """Tensors that are kept without being read: the reason, and a rule that gives their names.

    Each name has the input or parameter that it is; None for a tensor of its own.
    """

    reason: str
    rule: Rule


def unread(op: Attributes, call: Call) -> tuple[Names, str]:
    """Return the tensors that PyTorch keeps without need for these gradients, and the reason."""
    found = UNREAD.get(op.name)
    return ({}, "") if found is None else (found.rule(op, call), found.reason)


def _input(op: Attributes, call: Call) -> Names:
    return {"self": 0}


def _convolution(op: Attributes, call: Call) -> Names:
    """Return the operand that the gradients wanted do not depend on."""
    of_weight: Source = 1 if call.present(1) else "weight"
    names: dict[str, Source | None] = {} if call.wants(of_weight) else {"input": 0}
    standardized = getattr(op, "weight_standardization", False)
    if not call.wants(0) and not (standardized and call.wants(of_weight)):
        names["weight"] = None if standardized else of_weight
    return names


def _several_parts(op: Attributes, call: Call) -> Names:
    """Return the input, unless the result is a single element for each channel, which is a mean."""
    return {} if all(size == 1 for size in call.outputs[0][-_axes(op) :]) else {"self": 0}


def _area(op: Attributes, call: Call) -> Names:
    rank = len(call.outputs[0]) - 2
    return {"self": 0} if op.mode == "area" and any(size != 1 for size in call.outputs[0][-rank:]) else {}


def _reflected(op: Attributes, call: Call) -> Names:
    return {"self": 0} if op.mode in ("reflect", "replicate") else {}


def _classes(op: Attributes, call: Call) -> Names:
    """Return the inputs of the loss of one class for each row that the wanted gradients do not depend on."""
    names: dict[str, Source | None] = {} if call.wants(2) else {"self": 0}
    return names if call.wants(0) or not call.present(2) else {**names, "weight": 2}


def _weight_of_classes(op: Attributes, call: Call) -> Names:
    return {"weight": 2} if call.present(2) and not call.wants(0, 1) else {}


def _weight_of_elements(op: Attributes, call: Call) -> Names:
    return {"weight": 2} if call.present(2) and not call.wants(0, 1) else {}


def _slope(op: Attributes, call: Call) -> Names:
    return {"self": 0} if op.negative_slope == 1 else {}


def _limit(op: Attributes, call: Call) -> Names:
    return {"self": 0} if op.lambd < 0 else {}


def _scores(op: Attributes, call: Call) -> Names:
    return {"scores": None} if op.chunk == 1 and set(call.wanted) == {2} else {}


def _system(op: Attributes, call: Call) -> Names:
    return {"system": None} if op.chunk == 1 and set(call.wanted) <= {1, 2, 4} else {}


def _axes(op: Attributes) -> int:
    return int(op.name[-2])


_BOTH = "one kernel computes the gradients of both operands and takes both"
_SHAPE = "the kernel takes the input, and needs its shape alone"
_CHUNKS = "a chunk of one position is computed as any other"
_STEPS = "a step without one before it has no state to multiply, and a dropout of 1 leaves nothing to mask"
_POOLS = [f"{kind}_pool{axes}d" for kind in ("max", "avg", "adaptive_max") for axes in (1, 2, 3)]


#: The tensors by operation.
def _layers(op: Attributes, call: Call) -> Names:
    """Return weights and states of one step, which has none before it, and the mask of a dropout of everything."""
    shape = call.shapes[0] or ()
    steps = shape[1] if len(shape) == 3 and op.batch_first else shape[0]
    names: dict[str, Source | None] = {"hidden": None} if op.name == "gru" and steps == 1 else {}
    below, masked = call.wants(0), False
    for layer in range(op.layers):
        suffixes = [f"_l{layer}", f"_l{layer}_reverse"][: 2 if op.bidirectional else 1]
        started = below or call.wants(1, 2)
        reached = [started or any(str(source).endswith(suffix) for source in call.wanted) for suffix in suffixes]
        masked = masked or (layer > 0 and below)
        if steps == 1 and not call.wants(1):
            names |= {
                f"weight_hh{s}": f"weight_hh{s}" for s, is_needed in zip(suffixes, reached, strict=True) if is_needed
            }
        below = any(reached)
    if masked and op.training and op.dropout == 1:
        names["result1"] = None
    return names


UNREAD: Mapping[str, Unread] = {
    **{f"conv{kind}{n}d": Unread(_BOTH, _convolution) for kind in ("", "_transpose") for n in (1, 2, 3)},
    **{name: Unread(_SHAPE, _input) for name in (*_POOLS, "cummax", "cummin")},
    **{f"adaptive_avg_pool{axes}d": Unread(_SHAPE, _several_parts) for axes in (1, 2, 3)},
    "interpolate": Unread(_SHAPE, _area),
    "pad": Unread(_SHAPE, _reflected),
    "prod": Unread("a product without zeros is divided by each element", lambda op, call: {"result": None}),
    "nll_loss": Unread(_SHAPE, _classes),
    "cross_entropy": Unread("the gradient by the weights is the kernel's too", _weight_of_classes),
    "binary_cross_entropy": Unread("the kernel takes the weights for all gradients", _weight_of_elements),
    "binary_cross_entropy_with_logits": Unread("the kernel takes the weights for all gradients", _weight_of_elements),
    "hardshrink": Unread("with a negative limit the gradient is passed on", _limit),
    "leaky_relu": Unread("with the slope 1 the gradient is passed on", _slope),
    **{name: Unread(_STEPS, _layers) for name in ("rnn", "lstm", "gru")},
    "ssd_scan": Unread(_CHUNKS, _scores),
    "gated_delta_rule": Unread(_CHUNKS, _system),
}
