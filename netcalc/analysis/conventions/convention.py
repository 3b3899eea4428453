"""A counting convention: FLOPs of each kind of work, and rules for operations that it counts otherwise.

The count of an operation is a sum of :class:`Part`, each with the name of the term that it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.conventions.scope import Forward, Place, RuleScope
from netcalc.dims import Dim
from netcalc.expressions import Expression
from netcalc.ir import OpNode
from netcalc.opdef import Declared, Kind, Term

#: Key of rules that are for all operations.
ALL = "all"
#: FLOPs of a multiply-add in declared figures.
_DECLARED_PER_MAC = 2
#: Name of the figure that activations of layers are, as fvcore and timm count them.
ACTIVATIONS = "activations"
FigureUnit: TypeAlias = Literal["parameters", "elements", "bytes"]


class Counted(NamedTuple):
    """The work of an operation under a convention; ``incomplete`` if the convention counts none of its work.

    ``remark`` names a fault of the tool, which the convention reproduces.  ``gap`` is what is not known of the work.
    """

    macs: Dim
    flops: Dim
    incomplete: bool = False
    remark: str = ""
    gap: Literal["", "MACs", "work"] = ""


class Part(NamedTuple):
    """A part of the work of an operation: the term that it comes from, or the name that a rule gives it.

    ``formula`` is the expression of the rule; None for a term of the operation itself.
    """

    name: str
    macs: Dim
    flops: Dim
    formula: Expression | None = None


class Rule(NamedTuple):
    """Count of an operation where the condition ``when`` holds.

    ``macs`` and ``others`` are expressions by name of the part: multiply-adds, and FLOPs beside them.  ``bug`` is the
    fault of the tool that the rule reproduces, with the thread that reports it.
    """

    when: Expression | None
    macs: Mapping[str, Expression]
    others: Mapping[str, Expression]
    bug: str = ""


class Pass(NamedTuple):
    """A pass as a convention counts it: FLOPs of an operation of each kind, and rules by operation."""

    kinds: Mapping[Kind, int]
    rules: Mapping[str, tuple[Rule, ...]]

    def rule(self, scope: RuleScope) -> Rule | None:
        """Return the first rule for an operation whose condition holds; None if the kinds of its work count."""
        for name in (scope.node.op.name, ALL):
            for rule in self.rules.get(name, ()):
                if rule.when is None or rule.when.evaluate(scope):
                    return rule
        return None


class CountRule(NamedTuple):
    """Count of a figure for an operation where the condition ``when`` holds; ``bug`` as of :class:`Rule`."""

    when: Expression | None
    counted: Expression
    bug: str = ""


class OwnFigure(NamedTuple):
    """A figure that a tool or paper defines itself, beside its work.

    ``unit`` is what is counted: ``parameters`` count at the first call of a layer, ``elements`` and ``bytes`` at every
    call.  The first rule for an operation whose condition holds counts; ``total`` is instead an expression over figures
    before it and the quantities of the network.  ``when`` is a condition over these quantities, without which a network
    has no such figure.  ``of_weights`` is True for bytes of parameters and buffers, which count at the first call of a
    layer too.  ``greatest`` is True for the figure of the greatest module in place of the sum over all.
    """

    name: str
    title: str
    unit: FigureUnit
    rules: Mapping[str, tuple[CountRule, ...]]
    total: Expression | None = None
    when: Expression | None = None
    bug: str = ""
    reads_place: bool = False
    of_weights: bool = False
    greatest: bool = False

    def rule(self, scope: RuleScope) -> CountRule | None:
        """Return the first rule for an operation whose condition holds; None if nothing of it counts."""
        for name in (scope.node.op.name, ALL):
            for rule in self.rules.get(name, ()):
                if rule.when is None or rule.when.evaluate(scope):
                    return rule
        return None


class Convention(NamedTuple):
    """A way of counting, as its file describes it; ``per_mac`` is the FLOPs of a multiply-add.

    ``backward`` is None for a convention that counts no backward pass.  ``by_element`` is True for a tool that ignores
    element types: an operation on complex numbers counts like one on real numbers.  ``by_place`` and ``by_network`` are
    True if rules read the place of an operation, or quantities of the network.  ``figures`` are what its tool shows
    beside work.  ``counts_as`` is the convention whose work a tool without a count of its own is given.
    """

    name: str
    about: str
    source: str
    per_mac: int
    forward: Pass
    backward: Pass | None = None
    by_element: bool = False
    by_place: bool = False
    by_network: bool = False
    version: str = ""
    figures: Mapping[str, OwnFigure] = MappingProxyType({})
    counts_as: str = ""

    @property
    def rules(self) -> Mapping[str, tuple[Rule, ...]]:
        """The rules of the forward pass by operation."""
        return self.forward.rules

    def has_rule(self, operation: str) -> bool:
        """Return True for an operation that a rule may count, which may read anything of a node."""
        rules, outputs = self.forward.rules, self._activations.rules if self._activations else {}
        return operation in rules or ALL in rules or operation in outputs or ALL in outputs

    @property
    def _activations(self) -> OwnFigure | None:
        figure = self.figures.get(ACTIVATIONS)
        return figure if figure is not None and figure.rules else None

    @property
    def counts_activations(self) -> bool:
        """True for a convention that counts activations of each operation."""
        return self._activations is not None

    def activations(self, node: OpNode, terms: Sequence[Term], training: bool, place: Place | None = None) -> Dim:
        """Return the activations of an operation, in elements, of a convention that counts them.

        Raises:
            ExpressionError: the rule cannot be evaluated.
        """
        assert self._activations is not None
        scope = RuleScope(node, terms, training, self.by_element, (), place)
        rule = self._activations.rule(scope)
        return 0 if rule is None else rule.counted.evaluate(scope)

    def counts(
        self,
        node: OpNode,
        terms: Sequence[Term],
        training: bool,
        backward: Sequence[Term] = (),
        place: Place | None = None,
    ) -> Counted:
        """Return the work of an operation under the convention.

        Args:
            node: the operation.
            terms: its work.
            training: mode of the program.
            backward: the terms of its backward pass, if gradients are computed.
            place: place of the operation, for rules that read it.
        """
        declared = node.op.declared()
        if declared is not None:
            return self.declared(declared)
        parts, rule = self._forward(node, terms, training, backward, place)
        macs, flops = _sums(parts)
        is_none = _is_none(flops)
        remark = rule.bug if rule is not None and not (is_none and rule.macs) else ""
        return Counted(macs, flops, is_none and not all(_is_none(term.count) for term in terms), remark)

    def parts(
        self,
        node: OpNode,
        terms: Sequence[Term],
        training: bool,
        backward: Sequence[Term] = (),
        place: Place | None = None,
    ) -> tuple[Part, ...]:
        """Return the work that :meth:`counts` returns the sum of, by the term that it comes from."""
        declared = node.op.declared()
        if declared is not None:
            work = self.declared(declared)
            return (Part("declared", work.macs, work.flops),)
        return tuple(self._forward(node, terms, training, backward, place)[0])

    def declared(self, work: Declared) -> Counted:
        """Return declared work under the convention; FLOPs alone count where a multiply-add is 2, as they do there."""
        if work.macs is None:
            if work.flops is None or self.per_mac != _DECLARED_PER_MAC:
                return Counted(0, 0, gap="work")
            return Counted(0, work.flops, gap="MACs")
        others = 0 if work.flops is None else work.flops - work.macs * _DECLARED_PER_MAC
        flops = work.macs * self.per_mac + (others if self.forward.kinds.get("add") else 0)
        return Counted(work.macs, flops, _is_none(flops) and not (_is_none(work.macs) and _is_none(others)))

    def counts_update(self, terms: Sequence[Term]) -> Counted:
        """Return the work of an update of parameters under the convention, from the terms of its work."""
        return Counted(*_sums(self._of_kinds(self.forward, terms)))

    def update_parts(self, terms: Sequence[Term]) -> tuple[Part, ...]:
        """Return the work that :meth:`counts_update` returns the sum of, by the term that it comes from."""
        return tuple(self._of_kinds(self.forward, terms))

    def counts_backward(
        self, node: OpNode, terms: Sequence[Term], forward: Counted | None = None, place: Place | None = None
    ) -> Counted:
        """Return the work of a backward pass under the convention.

        Args:
            node: the operation.
            terms: the work of its backward pass.
            forward: the work of its forward pass under the convention, for rules that read it.
            place: place of the operation, for rules that read it.
        """
        parts, remark = self._backward(node, terms, forward, place)
        return Counted(*_sums(parts), remark=remark)

    def backward_parts(
        self, node: OpNode, terms: Sequence[Term], forward: Counted | None = None, place: Place | None = None
    ) -> tuple[Part, ...]:
        """Return the work that :meth:`counts_backward` returns the sum of, by the term that it comes from."""
        return tuple(self._backward(node, terms, forward, place)[0])

    def _forward(
        self, node: OpNode, terms: Sequence[Term], training: bool, backward: Sequence[Term], place: Place | None
    ) -> tuple[Iterable[Part], Rule | None]:
        if self.has_rule(node.op.name):
            scope = RuleScope(node, terms, training, self.by_element, backward, place)
            rule = self.forward.rule(scope)
            if rule is not None:
                return self._of_rule(rule, scope), rule
        return self._of_kinds(self.forward, terms), None

    def _backward(
        self, node: OpNode, terms: Sequence[Term], forward: Counted | None, place: Place | None
    ) -> tuple[Iterable[Part], str]:
        backward = self.backward or Pass(self.forward.kinds, {})
        if node.op.name in backward.rules or ALL in backward.rules:
            of_forward = Forward(0, 0, 0)
            if forward is not None:
                of_forward = Forward(forward.macs, forward.flops - forward.macs * self.per_mac, forward.flops)
            scope = RuleScope(node, terms, True, self.by_element, (), place, of_forward)
            rule = backward.rule(scope)
            if rule is not None:
                return self._of_rule(rule, scope), rule.bug
        return self._of_kinds(backward, terms), ""

    def _of_rule(self, rule: Rule, scope: RuleScope) -> Iterator[Part]:
        for name, expression in rule.macs.items():
            if expression.text == "macs":  # the terms that these are the sum of
                yield from self._multiply_adds(scope.terms)
            else:
                macs = expression.evaluate(scope)
                yield Part(name, macs, macs * self.per_mac, expression)
        for name, expression in rule.others.items():
            yield Part(name, 0, expression.evaluate(scope), expression)

    def _of_kinds(self, counted: Pass, terms: Sequence[Term]) -> Iterator[Part]:
        if counted.kinds.get("mac"):
            yield from self._multiply_adds(terms)
        for term in terms:
            weight = counted.kinds.get(term.kind, 0)
            if weight and term.kind != "mac":
                yield Part(term.role, 0, self._count(term) * weight)

    def _multiply_adds(self, terms: Sequence[Term]) -> Iterator[Part]:
        for term in terms:
            if term.kind == "mac":
                macs = self._count(term)
                yield Part(term.role, macs, macs * self.per_mac)

    def _count(self, term: Term) -> Dim:
        return term.count_of_elements if self.by_element else term.count


def _is_none(count: Dim) -> bool:
    """Return True for no work; a formula is that of some work, also if it is 0 at some sizes."""
    return isinstance(count, int) and count == 0


def _sums(parts: Iterable[Part]) -> tuple[Dim, Dim]:
    macs: Dim = 0
    flops: Dim = 0
    for part in parts:
        macs = macs + part.macs
        flops = flops + part.flops
    return macs, flops
