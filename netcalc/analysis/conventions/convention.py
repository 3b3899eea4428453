"""The declaration of a counting convention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from netcalc.dims import Dim
from netcalc.ir import OpNode
from netcalc.opdef import Term

__all__ = ["Convention", "Counted", "Rule", "RuleCount", "not_counted"]


class Counted(NamedTuple):
    """The work of an operation under a convention; ``incomplete`` if the convention counts none of its work."""

    macs: Dim
    flops: Dim
    incomplete: bool = False


class RuleCount(NamedTuple):
    """The result of a rule: multiply-adds, and FLOPs in addition to them."""

    macs: Dim
    others: Dim = 0


#: A tool's count of an operation, from the node, the multiply-adds that it executes, and the training mode.
Rule: TypeAlias = Callable[[OpNode, Dim, bool], RuleCount]


class Convention(NamedTuple):
    """A way of counting.

    A multiply-add is ``per_mac`` FLOPs, any other elementary operation ``per_other``.  ``rules`` replace these for
    the operations that they name.
    """

    name: str
    about: str
    source: str
    per_mac: int
    per_other: int
    rules: Mapping[str, Rule]

    def counts(self, node: OpNode, terms: Sequence[Term], training: bool) -> Counted:
        """Return the work of an operation under the convention, from the terms of its work."""
        macs: Dim = 0
        others: Dim = 0
        for term in terms:
            if term.kind == "mac":
                macs = macs + term.count
            else:
                others = others + term.count
        rule = self.rules.get(node.op.name)
        count = rule(node, macs, training) if rule else RuleCount(macs, others * self.per_other)
        flops = count.macs * self.per_mac + count.others
        return Counted(count.macs, flops, flops == 0 and (macs != 0 or others != 0))


def not_counted(node: OpNode, macs: Dim, training: bool) -> RuleCount:
    """Rule of an operation whose work a tool does not count."""
    return RuleCount(0)
