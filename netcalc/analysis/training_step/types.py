"""Operations in other element types than those that the program gives them, as autocast runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netcalc.analysis.precisions import Precision
from netcalc.dtypes import DType
from netcalc.ir import OpNode, Program, Value
from netcalc.ir.build import build_node
from netcalc.opdef import Context
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
    values = [None if type_ is None else Value(type_, "") for type_ in types]
    built = build_node(node.op, values, _context(program), node.name, frozen=node.frozen, span=node.span)
    outputs = built.outputs
    if node.op.name in _PROMOTED and node.params:
        outputs = tuple(Value(replace(v.known_type, dtype="float32"), v.name, v.span) for v in outputs)
    return replace(node, inputs=tuple(values), outputs=outputs)


def _context(program: Program) -> Context:
    return Context(training=program.training, dtype=program.dtype)
