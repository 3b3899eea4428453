"""Specialization: a symbolic program at given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Assumption, Dim, Poly, Symbol, claimed, narrow, substitute
from netcalc.ir.program import Body, CallNode, InputSpec, Loss, OpNode, Program, Value
from netcalc.opdef import Operation
from netcalc.tensor_type import TensorType


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


class _Symbolic(NamedTuple):
    """The parts of a node in which a symbolic size occurs; the others stay as they are."""

    attributes: tuple[str, ...]
    """Names of attributes of the operation."""
    params: bool


def _symbolic_parts(body: Body) -> tuple[_Symbolic | None, ...]:
    """Return the parts with symbolic sizes by node, None for a call; they are looked for once for each body."""
    if _Symbolic not in body.derived:
        body.derived[_Symbolic] = tuple(
            _Symbolic(
                tuple(name for name in type(node.op).model_fields if _is_symbolic(getattr(node.op, name))),
                _is_symbolic(node.params),
            )
            if isinstance(node, OpNode)
            else None
            for node in body.nodes
        )
    parts: tuple[_Symbolic | None, ...] = body.derived[_Symbolic]
    return parts


def _is_symbolic(value: Any) -> bool:
    """Return True if a symbolic size occurs in a value, at the places that :class:`Specializer` substitutes in."""
    if type(value) in _PLAIN:
        return False
    match value:
        case Poly():
            return True
        case Operation():
            return any(_is_symbolic(getattr(value, name)) for name in type(value).model_fields)
        case tuple() | list():
            return any(map(_is_symbolic, value))
        case Mapping():
            return any(map(_is_symbolic, value.values()))
        case _ if is_dataclass(value):
            return any(_is_symbolic(getattr(value, field.name)) for field in fields(value))
    return False


#: Types of values in which nothing is substituted, for speed.
_PLAIN = frozenset((int, float, bool, str, type(None)))


class Specializer:
    """Substitution in a program; each body and each value is converted once."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._numbers: dict[Poly, Dim] = {}
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
                nodes=tuple(
                    self._operation(node, symbolic) if isinstance(node, OpNode) else self._call(node)
                    for node, symbolic in zip(body.nodes, _symbolic_parts(body), strict=True)
                ),
                outputs=tuple(map(self._value, body.outputs)),
            )
        return self._bodies[body]

    def _operation(self, node: OpNode, symbolic: _Symbolic | None) -> OpNode:
        assert symbolic is not None
        changed = self._changed({name: getattr(node.op, name) for name in symbolic.attributes})
        return replace(
            node,
            op=node.op.model_copy(update=changed) if changed else node.op,
            inputs=tuple(map(self._value, node.inputs)),
            outputs=tuple(map(self._value, node.outputs)),
            params=self._substituted(node.params) if symbolic.params else node.params,
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
            self._values[value] = Value(self._type(value.type), value.name, value.span)
        return self._values[value]

    def _type(self, type_: TensorType | None) -> TensorType | None:
        if type_ is None or not type_.is_symbolic:
            return type_
        shape = tuple([size if isinstance(size, int) else self._number(size) for size in type_.shape])
        return TensorType(shape, type_.dtype)

    def _number(self, size: Poly) -> Dim:
        if size not in self._numbers:
            self._numbers[size] = substitute(size, self._sizes)
        return self._numbers[size]

    def _substituted(self, value: Any) -> Any:
        """Return ``value`` with sizes substituted in it and in all that it contains."""
        if type(value) in _PLAIN:
            return value
        match value:
            case TensorType():
                return self._type(value)
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
