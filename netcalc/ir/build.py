"""Building nodes: an operation applied to values, its output types and parameters inferred."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.bounded_cache import BoundedCache
from netcalc.diagnostics import RuleError, Span
from netcalc.ir.applied import Applied
from netcalc.ir.program import OpNode, Value, types_of
from netcalc.limits import MAX_RANK
from netcalc.opdef import Context, Operation, as_tuple, require_some
from netcalc.tensor_type import TensorType

#: Operations on inputs of certain types, by the identity of the operation (which the value holds), types and mode.
_APPLIED: BoundedCache[Applied] = BoundedCache(6_000)


def build_node(
    op: Operation,
    inputs: Sequence[Value | None],
    ctx: Context,
    path: str,
    *,
    frozen: bool = False,
    span: Span | None = None,
) -> OpNode:
    """Return the node that applies ``op`` to ``inputs``, with new output values and the operation's parameters.

    Args:
        op: the operation with its attributes.
        inputs: one value for each input port, None for an optional one that is not given; all have types.
        ctx: mode and default element type of the program.
        path: the node's path within its body; empty for the single operation of a repeat.
        frozen: exclude the parameters from training.
        span: the place in the spec.

    Raises:
        RuleError: the inputs do not fit the operation; the error has no place yet.
        UndecidedError: a rule needs the value of a symbolic size that has no default.
    """
    applied = _apply_rules(op, types_of(inputs), ctx)
    results = applied.results
    name = path or op.name
    names = [name] if len(results) == 1 else [f"{name}.{i}" for i in range(len(results))]
    outputs = tuple([Value(type_, n, span) for type_, n in zip(results, names, strict=True)])
    node = OpNode(path, op, tuple(inputs), outputs, applied.params, {}, frozen, span)
    node.applied = applied
    return node


def _apply_rules(op: Operation, types: tuple[TensorType | None, ...], ctx: Context) -> Applied:
    """Return what the rules of an operation give, kept for equal types unless explanations are recorded."""
    key = (id(op), types, ctx.training, ctx.dtype)
    applied = _APPLIED.get(key)
    if applied is not None and applied.op is op and ctx.working is None:
        return applied
    applied = Applied(op, infer(op, types, ctx), tuple(op.params(ctx, *types)))
    # rules on symbolic sizes leave assumptions behind each time
    if ctx.working is None and not any(type_ is not None and type_.is_symbolic for type_ in (*types, *applied.results)):
        _APPLIED.put(key, applied)
    return applied


def infer(op: Operation, types: Sequence[TensorType | None], ctx: Context) -> tuple[TensorType, ...]:
    """Return the output types of ``op`` on inputs of these types; raises as :func:`build_node` does."""
    if not op.takes_empty:
        _require_elements(op, types)
    _require_real(op, "its input", types)
    results = as_tuple(op.infer(ctx, *types))
    _require_real(op, "its result", results)
    for result in results:
        excess = result.excess
        if excess is not None:
            raise RuleError(f"the result of {op.name} would have {excess}", code=MAX_RANK.code)
    return results


def _require_real(op: Operation, what: str, types: Sequence[TensorType | None]) -> None:
    """Raise RuleError (E402) for complex numbers, unless the operation takes them."""
    dtype = next((type_.dtype for type_ in types if type_ is not None and type_.is_complex), None)
    if dtype is not None and not op.takes_complex:
        hint = "take its parts by real and imag, or by view_as_real" if what == "its input" else None
        raise RuleError(f"{op.name} is for real numbers, and {what} is {dtype}", code="E402", hint=hint)


def _require_elements(op: Operation, types: Sequence[TensorType | None]) -> None:
    """Raise RuleError if an input has an axis of size 0; a symbolic size that may be 0 is compared at its default."""
    for type_ in types:
        for size in () if type_ is None else type_.shape:
            require_some(size, f"{op.name} of {type_}")
