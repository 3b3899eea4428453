"""Operators of other libraries that netcalc has no rule for."""

from collections.abc import Sequence
from typing import Annotated, Any

from netcalc.dtypes import DType
from netcalc.models import BeforeValidator, WithJsonSchema
from netcalc.opdef import Context, Example, Operation, RuleError, Size, Term, attr, ports
from netcalc.ops import operation
from netcalc.ops._lists import listed, per_axis
from netcalc.tensor_type import TensorType

_Shape = Annotated[tuple[Size, ...], BeforeValidator(per_axis)]
#: A shape for each output.
_Shapes = Annotated[
    tuple[_Shape, ...],
    BeforeValidator(listed),
    WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 1}}}),
]
_Types = Annotated[
    tuple[DType, ...], BeforeValidator(listed), WithJsonSchema({"type": "array", "items": {"type": "string"}})
]


@operation
class Unknown(Operation):
    """An operator of another library that netcalc has no rule for, with the types of its outputs.

    ``netcalc import --allow-unknown`` writes such lines.  The work of the operator is not known: reports name it as
    not counted, and all totals are at least what they show.  A network with such a line cannot be run.
    """

    name = "unknown"
    inputs = ports("inputs*")
    outputs = ports("outputs*")
    reference = "the library of the operator"
    shape_rule = "any → shapes"
    cost_rule = "not known"
    takes_empty = True
    kernel_suffices = "it cannot be run"
    example = Example(((2, 3),), {"operator": "aten.linalg_qr.default", "shapes": [[2, 2], [2, 3]]})
    usage = ("x: [8, 8]", "- unknown: {operator: aten.linalg_qr.default, shapes: [[8, 8], [8, 8]]}")

    operator: str = attr("name of the operator")
    shapes: _Shapes = attr("shape of each output")
    dtypes: _Types | None = attr("element type of each output; by default the program's", default=None)

    def infer(self, ctx: Context, *inputs: Any) -> tuple[TensorType, ...]:
        types = self.dtypes or (ctx.dtype,) * len(self.shapes)
        if len(types) != len(self.shapes) or not self.shapes:
            raise RuleError(f"unknown: {len(self.shapes)} shapes and {len(types)} types of outputs")
        return tuple(TensorType(shape, dtype) for shape, dtype in zip(self.shapes, types, strict=True))

    def unknown_work(self) -> str | None:
        return self.operator

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()  # reports name the operator as one whose work is not known
