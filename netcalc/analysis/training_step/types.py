"""Operations in other element types than those that the program gives them, as autocast runs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from netcalc.analysis.precisions import Precision
from netcalc.dtypes import DType, promote
from netcalc.ir import OpNode, Program, Value
from netcalc.ir.build import build_node
from netcalc.opdef import Context, RuleError
from netcalc.ops.elementwise import Cast
from netcalc.tensor_type import TensorType

#: Operations that multiply by a float32 weight what they have computed, as they are written in the reference.
_PROMOTED = frozenset({"rms_norm"})


def cast_node(type_: TensorType, dtype: DType, program: Program) -> OpNode:
    """Return the operation that casts a tensor to an element type."""
    return build_node(Cast(dtype=dtype), [Value(type_, "")], _context(program), "cast")


def in_types(node: OpNode, types: Sequence[TensorType | None], program: Program, precision: Precision) -> OpNode:
    """Return an operation on inputs of other element types; itself if they are the same.

    Raises:
        RuleError: if the operation does not take them.
    """
    if tuple(types) == tuple(node.input_types):
        return node
    values = _values(types)
    try:
        built = _built(node, values, program)
    except RuleError:  # an operation that takes inputs of one type
        built = _built(node, _values(_promoted(types)), program)
    outputs = built.outputs
    if node.op.name in _PROMOTED and node.params:
        outputs = tuple(Value(replace(v.known_type, dtype="float32"), v.name, v.span) for v in outputs)
    return replace(node, inputs=tuple(values), outputs=outputs)


def _built(node: OpNode, values: list[Value | None], program: Program) -> OpNode:
    return build_node(node.op, values, _context(program), node.name, frozen=node.frozen, span=node.span)


def _values(types: Iterable[TensorType | None]) -> list[Value | None]:
    return [None if type_ is None else Value(type_, "") for type_ in types]


def _promoted(types: Sequence[TensorType | None]) -> list[TensorType | None]:
    """Return types of which floating-point ones are the widest of them, as ``torch.cat`` has its inputs."""
    floating = [type_.dtype for type_ in types if type_ is not None and type_.is_float]
    widest = promote(*floating)
    return [replace(type_, dtype=widest) if type_ is not None and type_.is_float else type_ for type_ in types]


def _context(program: Program) -> Context:
    return Context(training=program.training, dtype=program.dtype)
