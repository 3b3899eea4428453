"""Specialization: a symbolic program at given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Assumption, Dim, Poly, Symbol, claimed, narrow, substitute
from netcalc.ir.program import Body, CallNode, InputSpec, Loss, OpNode, Program, Value
from netcalc.opdef import Operation


def specialize(program: Program, sizes: Mapping[str, int]) -> Program:
    """Return the program with symbolic dims replaced by numbers; dims that ``sizes`` lacks stay symbolic.

    Sizes are substituted in types, attributes, parameters and assumptions. The result has the figures of the
    spec elaborated at these sizes. The program itself is not changed.

    Raises:
        NetcalcError: E502 a name that is no symbolic dim, or a size outside its limits; E405 an
            assumption that the program relies on does not hold at these sizes.
    """
    symbols = _symbols(program)
    _check_sizes(symbols, sizes)
    try:
        assumptions = tuple(_checked_assumptions(program.assumptions, sizes))
        _refuse(symbols, sizes)  # for a divisor that the spec declares; one that was assumed is among the assumptions
        return Specializer(sizes).program(program, assumptions)
    except ZeroDivisionError:
        raise NetcalcError(Diagnostic("E405", f"a divisor is 0 at {_listed_sizes(sizes)}")) from None


def specialized_loss(loss: Loss, sizes: Mapping[str, int]) -> Loss:
    """Return the loss of a symbolic program with symbolic dims replaced by numbers.

    Raises:
        NetcalcError: E405 an assumption of the loss does not hold at these sizes.
    """
    return Specializer(sizes).loss(loss)


def _symbols(program: Program) -> dict[str, Symbol]:
    dims = [value for value in program.dims.values() if isinstance(value, Poly)]
    dims += [size for spec in program.inputs for size in spec.type.shape if isinstance(size, Poly)]
    return {symbol.name: symbol for dim in dims for symbol in dim.symbols()}


def _check_sizes(symbols: Mapping[str, Symbol], sizes: Mapping[str, int]) -> None:
    """Raise NetcalcError for names that are no symbols, and sizes outside their limits."""
    problems = [
        Diagnostic("E502", f"there is no symbolic dim {name!r}", hint=did_you_mean(name, sorted(symbols)))
        for name in sizes
        if name not in symbols
    ]
    if problems:
        raise NetcalcError(problems)
    _refuse({name: symbol._replace(multiple=1) for name, symbol in symbols.items()}, sizes)


def _refuse(symbols: Mapping[str, Symbol], sizes: Mapping[str, int]) -> None:
    refused = ((name, symbols[name].refusal(size)) for name, size in sizes.items())
    problems = [Diagnostic("E502", f"{name} {refusal}") for name, refusal in refused if refusal is not None]
    if problems:
        raise NetcalcError(problems)


def _checked_assumptions(assumptions: tuple[Assumption, ...], sizes: Mapping[str, int]) -> list[Assumption]:
    """Return the assumptions that remain open; NetcalcError if any is violated."""
    remaining: list[Assumption] = []
    violated: list[Assumption] = []
    for assumption in assumptions:
        narrowed, holds = narrow(assumption, sizes)
        if holds is None:
            remaining.append(narrowed)
        elif not holds:
            violated.append(assumption)
    if violated:
        at = _listed_sizes(sizes)
        raise NetcalcError(
            Diagnostic("E405", f"the symbolic program assumes that {claimed(assumption)}, which does not hold at {at}")
            for assumption in violated
        )
    return remaining


class Specializer:
    """Substitution in a program; each body and each value is converted once."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._bodies: dict[Body, Body] = {}
        self._values: dict[Value, Value] = {}

    def program(self, program: Program, assumptions: tuple[Assumption, ...]) -> Program:
        return replace(
            program,
            main=self._body(program.main),
            inputs=self._inputs(program.inputs),
            dims=self._substituted(program.dims),
            vars=self._substituted(program.vars),
            assumptions=assumptions,
            caches=self._substituted(program.caches),
        )

    def loss(self, loss: Loss) -> Loss:
        return replace(
            loss,
            body=self._body(loss.body),
            inputs=self._inputs(loss.inputs),
            assumptions=tuple(_checked_assumptions(loss.assumptions, self._sizes)),
        )

    def _inputs(self, inputs: tuple[InputSpec, ...]) -> tuple[InputSpec, ...]:
        return tuple(spec._replace(type=self._substituted(spec.type)) for spec in inputs)

    def _body(self, body: Body) -> Body:
        if body not in self._bodies:
            self._bodies[body] = replace(
                body,
                inputs=tuple(map(self._value, body.inputs)),
                nodes=tuple(self._operation(n) if isinstance(n, OpNode) else self._call(n) for n in body.nodes),
                outputs=tuple(map(self._value, body.outputs)),
            )
        return self._bodies[body]

    def _operation(self, node: OpNode) -> OpNode:
        return replace(
            node,
            op=self._substituted(node.op),
            inputs=tuple(map(self._value, node.inputs)),
            outputs=tuple(map(self._value, node.outputs)),
            params=self._substituted(node.params),
            holds=tuple(map(self._value, node.holds)),
            computed=None if node.computed is None else self._body(node.computed),
        )

    def _call(self, node: CallNode) -> CallNode:
        return replace(
            node,
            body=self._body(node.body),
            inputs=tuple(map(self._value, node.inputs)),
            outputs=tuple(map(self._value, node.outputs)),
            holds=tuple(map(self._value, node.holds)),
        )

    def _value(self, value: Any) -> Any:
        """Return the converted value; None stays None."""
        if value is None:
            return None
        if value not in self._values:
            self._values[value] = Value(self._substituted(value.type), value.name, value.span)
        return self._values[value]

    def _number(self, size: Poly) -> Dim:
        return substitute(size, self._sizes)

    def _substituted(self, value: Any) -> Any:
        """Return ``value`` with sizes substituted in it and in all that it contains."""
        match value:
            case Poly():
                return self._number(value)
            case Operation():
                changed = self._changed({name: getattr(value, name) for name in type(value).model_fields})
                return value.model_copy(update=changed) if changed else value
            case tuple() if hasattr(value, "_fields"):
                return type(value)(*map(self._substituted, value))
            case tuple() | list():
                return type(value)(map(self._substituted, value))
            case Mapping():
                return {key: self._substituted(item) for key, item in value.items()}
            case _ if is_dataclass(value) and not isinstance(value, type):
                changed = self._changed({field.name: getattr(value, field.name) for field in fields(value)})
                return replace(value, **changed) if changed else value
        return value

    def _changed(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        substituted = {name: self._substituted(value) for name, value in attributes.items()}
        return {name: value for name, value in substituted.items() if value != attributes[name]}


def _listed_sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes.items()) or "any size"
