"""The conventions of ``torch.utils.flop_counter`` and of torchvision, which counts the same work.

The counter has formulas for matrix products, convolutions and attention, and counts no other operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netcalc.analysis.conventions.convention import (
    BackwardCount,
    BackwardRule,
    Convention,
    DifferentiatedRule,
    Rule,
    RuleCount,
    not_counted,
)
from netcalc.dims import Dim
from netcalc.ir import OpNode
from netcalc.opdef import Term


def _matmul(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    """Multiply-adds of a matrix product; none for a vector as second operand.

    torch runs such a product as ``mv`` or ``dot``, for which the counter has no formula.
    """
    second = node.input_types[1]
    assert second is not None
    return RuleCount(macs if second.rank > 1 else 0)


#: The multiply-adds of every operation count, except where torch runs an operator without a formula.
_RULES: Mapping[str, Rule] = {"bilinear": not_counted, "matmul": _matmul}


def _no_backward(node: OpNode, terms: Sequence[Term]) -> BackwardCount:
    return BackwardCount(0)


def _conv_backward(node: OpNode, terms: Sequence[Term]) -> BackwardCount:
    """Multiply-adds of both convolutions; the gradient of the weight counts as if there were no groups.

    ``conv_backward_flop`` computes them from the shapes of input and gradient, which do not show the groups.
    """
    op: Any = node.op
    macs: Dim = 0
    remark = ""
    for term in terms:
        if term.kind == "mac" and term.role == "gradient of weight" and op.groups > 1:
            macs = macs + term.count * op.groups
            remark = (
                "torch counts gradients of weights of grouped convolutions too high, by the number of groups "
                "(pytorch#183405)"
            )
        elif term.kind == "mac":
            macs = macs + term.count
    return BackwardCount(macs, remark)


def _matmul_backward(node: OpNode, terms: Sequence[Term]) -> BackwardCount:
    """Multiply-adds of the products, of an outer product where torch runs a vector as a matrix of one row.

    It does so for a vector before a batch of matrices, unless the vector has a gradient.
    """
    alone = _is_row(node) and not _has_gradient_of_vector(terms)
    macs: Dim = 0
    for term in terms:
        if term.kind == "mac" or (alone and term.role == "gradient of matrix"):
            macs = macs + term.count
    return BackwardCount(macs)


def _differentiated_matmul(node: OpNode, macs: Dim, terms: Sequence[Term]) -> RuleCount:
    """Multiply-adds of a matrix product; none for a vector with a gradient before a batch of matrices.

    torch transposes these matrices and runs the product as ``mv``, so that the vector is not copied for each of them.
    """
    return RuleCount(0) if _is_row(node) and _has_gradient_of_vector(terms) else _matmul(node, macs, True)


def _is_row(node: OpNode) -> bool:
    """Return True for the product of a vector and a batch of matrices."""
    first, second = node.input_types
    assert first is not None and second is not None
    return first.rank == 1 and second.rank > 2


def _has_gradient_of_vector(terms: Sequence[Term]) -> bool:
    return any(term.role == "gradient of vector" for term in terms)


_CONVOLUTIONS = tuple(f"conv{kind}{rank}d" for kind in ("", "_transpose") for rank in (1, 2, 3))
_BACKWARD: Mapping[str, BackwardRule] = {
    "bilinear": _no_backward,
    "matmul": _matmul_backward,
    **dict.fromkeys(_CONVOLUTIONS, _conv_backward),
}
_DIFFERENTIATED: Mapping[str, DifferentiatedRule] = {"matmul": _differentiated_matmul}

TORCH = Convention(
    name="torch",
    about="convolutions, matrix products and attention, without biases; 1 MAC = 2 FLOPs",
    source="torch.utils.flop_counter",
    per_mac=2,
    per_other=0,
    by_element=True,
    rules=_RULES,
    backward=_BACKWARD,
    differentiated=_DIFFERENTIATED,
)

TORCHVISION = Convention(
    name="torchvision",
    about="convolutions, matrix products and attention, without biases; one for each MAC",
    source="torchvision weights' _ops",
    per_mac=1,
    per_other=0,
    by_element=True,
    rules=_RULES,
)
