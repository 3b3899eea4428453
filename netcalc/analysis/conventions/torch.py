"""The conventions of ``torch.utils.flop_counter`` and of torchvision, which counts the same work.

The counter has formulas for matrix products, convolutions and attention, and counts no other operator.
"""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.analysis.conventions.convention import Convention, Rule, RuleCount, not_counted
from netcalc.dims import Dim
from netcalc.ir import OpNode

__all__ = ["TORCH", "TORCHVISION"]


def _matmul(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    """Multiply-adds of a matrix product; none for a vector as second operand.

    torch runs such a product as ``mv`` or ``dot``, for which the counter has no formula.
    """
    second = node.input_types[1]
    assert second is not None
    return RuleCount(macs if second.rank > 1 else 0)


#: The multiply-adds of every operation count, except where torch runs an operator without a formula.
_RULES: Mapping[str, Rule] = {"bilinear": not_counted, "matmul": _matmul}

TORCH = Convention(
    name="torch",
    about="convolutions, matrix products and attention, without biases; 1 MAC = 2 FLOPs",
    source="torch.utils.flop_counter",
    per_mac=2,
    per_other=0,
    rules=_RULES,
)

TORCHVISION = Convention(
    name="torchvision",
    about="convolutions, matrix products and attention, without biases; one for each MAC",
    source="torchvision weights' _ops",
    per_mac=1,
    per_other=0,
    rules=_RULES,
)
