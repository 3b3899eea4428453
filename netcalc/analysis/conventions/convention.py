"""The declaration of a counting convention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from netcalc.dims import Dim
from netcalc.ir import OpNode
from netcalc.opdef import Declared, Term


class Counted(NamedTuple):
    """The work of an operation under a convention; ``incomplete`` if the convention counts none of its work.

    ``remark`` names a fault of the tool, which the convention reproduces.  ``gap`` is what is not known of the work.
    """

    macs: Dim
    flops: Dim
    incomplete: bool = False
    remark: str = ""
    gap: Literal["", "MACs", "work"] = ""


class RuleCount(NamedTuple):
    """The result of a rule: multiply-adds, and FLOPs in addition to them."""

    macs: Dim
    others: Dim = 0


class BackwardCount(NamedTuple):
    """The result of a rule of backward passes: multiply-adds, and a remark on a fault of the tool."""

    macs: Dim
    remark: str = ""


#: FLOPs of a multiply-add in declared figures.
_DECLARED_PER_MAC = 2

#: A tool's count of the backward pass of an operation, from the node and the terms of the work.
BackwardRule: TypeAlias = Callable[[OpNode, Sequence[Term]], BackwardCount]
#: A tool's count of an operation, from the node, the multiply-adds that it executes, and the training mode.
Rule: TypeAlias = Callable[[OpNode, Dim, bool], RuleCount]
#: A tool's count of a forward pass of an operation that is differentiated, from the node, the multiply-adds that it
#: executes, and the terms of the backward pass.
DifferentiatedRule: TypeAlias = Callable[[OpNode, Dim, Sequence[Term]], RuleCount]


class Convention(NamedTuple):
    """A way of counting.

    A multiply-add is ``per_mac`` FLOPs, any other elementary operation ``per_other``.  ``rules`` replace these for
    the operations that they name, and ``backward`` the backward formulas; it is None for a tool that counts none.
    ``differentiated`` replace ``rules`` where gradients are computed.
    """

    name: str
    about: str
    source: str
    per_mac: int
    per_other: int
    rules: Mapping[str, Rule]
    backward: Mapping[str, BackwardRule] | None = None
    differentiated: Mapping[str, DifferentiatedRule] = {}
    #: True for a tool that ignores element types: an operation on complex numbers counts like one on real numbers.
    by_element: bool = False

    def counts(self, node: OpNode, terms: Sequence[Term], training: bool, backward: Sequence[Term] = ()) -> Counted:
        """Return the work of an operation under the convention, from the terms of its work and of its backward pass."""
        declared = node.op.declared()
        if declared is not None:
            return self.declared(declared)
        macs, others = self._by_kind(terms)
        rule, differentiated = self.rules.get(node.op.name), self.differentiated.get(node.op.name)
        if differentiated and backward:
            count = differentiated(node, macs, backward)
        else:
            count = rule(node, macs, training) if rule else RuleCount(macs, others * self.per_other)
        flops = count.macs * self.per_mac + count.others
        return Counted(count.macs, flops, flops == 0 and (macs != 0 or others != 0))

    def declared(self, work: Declared) -> Counted:
        """Return declared work under the convention; FLOPs alone count where a multiply-add is 2, as they do there."""
        if work.macs is None:
            if work.flops is None or self.per_mac != _DECLARED_PER_MAC:
                return Counted(0, 0, gap="work")
            return Counted(0, work.flops, gap="MACs")
        others = 0 if work.flops is None else work.flops - work.macs * _DECLARED_PER_MAC
        flops = work.macs * self.per_mac + others * self.per_other
        return Counted(work.macs, flops, flops == 0 and (work.macs != 0 or others != 0))

    def counts_update(self, terms: Sequence[Term]) -> Counted:
        """Return the work of an update of parameters under the convention, from the terms of its work."""
        macs, others = self._by_kind(terms)
        return Counted(macs, macs * self.per_mac + others * self.per_other)

    def counts_backward(self, node: OpNode, terms: Sequence[Term]) -> Counted:
        """Return the work of a backward pass under the convention, from the terms of its work."""
        macs, others = self._by_kind(terms)
        rule = (self.backward or {}).get(node.op.name)
        count = rule(node, terms) if rule else BackwardCount(macs)
        flops = count.macs * self.per_mac + others * self.per_other
        return Counted(count.macs, flops, remark=count.remark)

    def _by_kind(self, terms: Sequence[Term]) -> tuple[Dim, Dim]:
        """Return the multiply-adds of terms, and all other operations."""
        macs: Dim = 0
        others: Dim = 0
        for term in terms:
            count = term.count_of_elements if self.by_element else term.count
            if term.kind == "mac":
                macs = macs + count
            else:
                others = others + count
        return macs, others


def not_counted(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    """Rule of an operation whose work a tool does not count."""
    return RuleCount(0)
