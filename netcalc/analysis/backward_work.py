"""Work of the backward pass and of the update of the parameters, in terms, operation by operation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netcalc.analysis.gradient_flow import GradientFlow, gradient_flow
from netcalc.analysis.gradient_passes import backward_call
from netcalc.analysis.optimizers import Optimizer, Part, is_table, optimizer_named
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, UndecidedError, assumptions
from netcalc.ir import OpNode, Program
from netcalc.ir.loss import LOSS, no_loss
from netcalc.opdef import Term
from netcalc.ops.backward import BackwardCall, Saved, Source, declaration

#: Loss that is the sum of all floating-point outputs.
SUM = "sum"


class BackwardWork:
    """Work of a backward pass, and of an update if there is an optimizer, by the operations of ``program``.

    Args:
        flow: the gradients of each operation, in a program that has one flow for each.
        optimizer: the optimizer whose update is counted, if any.
        start: what the backward pass starts from, and the inputs whose gradients it computes, in words.
        fused: True for attention whose backward pass is that of FlashAttention-2, where it has a kernel.
    """

    def __init__(self, flow: GradientFlow, optimizer: Optimizer | None, start: str, *, fused: bool = False) -> None:
        self.flow = flow
        self.fused = fused
        self.start = start
        self.optimizer = optimizer
        self.program = flow.program
        with assumptions() as assumed:
            self._terms = {key: tuple(self._backward(node)) for key, node in _operations(flow.program).items()}
        further = tuple(assumption for assumption in assumed if assumption not in flow.program.assumptions)
        self.program = replace(flow.program, assumptions=flow.program.assumptions + further)

    def call(self, node: OpNode) -> BackwardCall:
        """Return the description of the backward pass of an operation."""
        flow = self.flow.of(node)
        return backward_call(node, flow.wanted, flow.given, self.program.training)

    def terms(self, node: OpNode) -> tuple[Term, ...]:
        """Return the work of the backward pass of an operation, with the additions of gradients that belong to it."""
        return self._terms[id(node)]

    def saved(self, node: OpNode) -> tuple[Saved, ...]:
        """Return the tensors that the forward pass of an operation keeps."""
        declared = declaration(node.op)
        if declared is None or not self.flow.of(node).wanted:
            return ()
        saves = declared.saves if self.implementation(node) is None else declared.fused_saves
        return tuple(saves(node.op, self.call(node)))

    def implementation(self, node: OpNode) -> str | None:
        """Return the implementation whose backward pass is counted, if the work of implementations differs."""
        declared = declaration(node.op)
        if declared is None or not self.fused or not self.flow.of(node).wanted:
            return None
        return declared.fused_kernel if declared.is_fused(node.op, self.call(node)) else None

    def derivatives(self, node: OpNode) -> tuple[str, ...]:
        """Return the formulas of the derivatives of an operation; none if it has no gradient."""
        declared = declaration(node.op)
        if declared is None:
            return ()
        return (*declared.derivatives(node.op), *(declared.fused_rule if self.implementation(node) else ()))

    def update(self, node: OpNode) -> tuple[Term, ...]:
        """Return the work of the update of the parameters that an operation owns and has gradients of."""
        return () if self.optimizer is None else self.optimizer.terms(self._updated(node), is_table(node))

    def formulas(self, node: OpNode) -> tuple[Part, ...]:
        """Return the parts of the update of the parameters that an operation owns and has gradients of."""
        return () if self.optimizer is None else self.optimizer.parts(self._updated(node), is_table(node))

    def _updated(self, node: OpNode) -> list[tuple[Dim, ...]]:
        flow = self.flow.of(node)
        return [p.shape for p in node.params if p.name in flow.wanted and p.name not in flow.added]

    def _backward(self, node: OpNode) -> Iterable[Term]:
        flow, declared = self.flow.of(node), declaration(node.op)
        if declared is None or not flow.wanted:
            return
        call = self.call(node)
        fused = self.fused and declared.is_fused(node.op, call)
        try:
            yield from declared.fused_cost(node.op, call) if fused else declared.cost(node.op, call)
        except UndecidedError as error:
            hint = "leave out --symbolic for the sizes of the operation"
            raise NetcalcError(Diagnostic("E404", f"{node.op.name}: {error.message}", node.span, hint=hint)) from None
        for source in sorted(flow.added, key=str):
            yield _addition(node, source)


def _addition(node: OpNode, source: Source) -> Term:
    """Return the work of adding a gradient to the gradient of another use of the same tensor."""
    if isinstance(source, str):
        return Term.of(
            "add",
            f"sum with other uses of {source}",
            elements=next(p for p in node.params if p.name == source).elements,
        )
    type_ = node.input_types[source]
    assert type_ is not None
    ports = node.op.inputs
    port = ports[min(source, len(ports) - 1)]
    name = f"{port.name} {source}" if port.variadic else port.name
    return Term.of("add", f"sum with other uses of {name}", elements=type_.elements)


def _operations(program: Program) -> dict[int, OpNode]:
    """Return the operations of all bodies of a program by the id of the node."""
    operations: dict[int, OpNode] = {}
    pending, visited = [program.main], {program.main}
    while pending:
        for node in pending.pop().nodes:
            if isinstance(node, OpNode):
                operations[id(node)] = node
            elif node.body not in visited:
                visited.add(node.body)
                pending.append(node.body)
    return operations


def backward_work(
    program: Program,
    inputs: Iterable[str] = (),
    optimizer: str | None = None,
    loss: str | None = None,
    with_loss: Program | None = None,
    *,
    fused: bool = False,
) -> BackwardWork:
    """Return the work of a backward pass, and of an update.

    Args:
        program: the program.
        inputs: names of inputs whose gradients are computed too.
        optimizer: name of the optimizer.
        loss: ``"loss"`` for the loss of the spec, whose layers belong to the program then, ``"sum"`` for the sum of all
            floating-point outputs, or the name of one.  None for the sum, or with an optimizer for the loss of the
            spec if it has one.
        with_loss: the program with the loss of the spec behind its layers; None for a spec without loss.
        fused: True for the backward pass of FlashAttention-2.

    Raises:
        NetcalcError: E502 for a name of an input, output or optimizer that does not exist; E404 if the work depends on
            sizes that are not known.
    """
    inputs = tuple(inputs)
    also = f", with the gradient of {', '.join(inputs)}" if inputs else ""
    chosen = None if optimizer is None else optimizer_named(optimizer)
    if loss is None:
        loss = LOSS if chosen is not None and with_loss is not None else SUM
    if loss == LOSS and with_loss is not None:
        return BackwardWork(gradient_flow(with_loss, inputs, LOSS), chosen, f"the loss of the spec{also}", fused=fused)
    if loss == LOSS and LOSS not in program.output_names:
        raise NetcalcError(no_loss(program.name))
    start, output = ("all outputs", ()) if loss == SUM else (loss, (loss,))
    return BackwardWork(gradient_flow(program, inputs, *output), chosen, f"the sum of {start}{also}", fused=fused)
