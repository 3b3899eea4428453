"""Operators of other libraries that netcalc has no rule for."""

from collections.abc import Sequence
from typing import Annotated, Any

from netcalc.dims import required
from netcalc.dtypes import DType
from netcalc.models import BeforeValidator, WithJsonSchema
from netcalc.opdef import (
    ZEROS,
    Context,
    Declared,
    Example,
    Operation,
    Param,
    RuleError,
    Size,
    SizeOrZero,
    Term,
    attr,
    ports,
)
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

    Its work is what the line declares: reports name the operator with the ``source`` of the figures, as they compute
    nothing of it.  ``macs`` are multiply-adds, and ``flops`` all floating-point operations, 2 for each multiply-add.
    Conventions count ``macs``, and what ``flops`` have beside them, as for other operations; ``macs`` alone have
    nothing beside them.  ``flops`` alone do not tell the multiply-adds: conventions with 2 FLOPs for each count the
    ``flops`` as they are, and for the others the work is not known.  ``parameters`` are numbers that the operator holds
    itself; tensors that it takes as inputs count where they come from.

    Work that is not declared is not known: reports name it, and totals are at least what they show.  The backward pass
    is never known, and gradients end at the line.  A network with such a line cannot be run.
    ``netcalc import --allow-unknown`` writes lines without figures, and ``netcalc.register_torch`` gives them figures.
    """

    name = "unknown"
    inputs = ports("inputs*")
    outputs = ports("outputs*")
    reference = "the library of the operator"
    shape_rule = "any → shapes"
    param_rule = "as declared"
    cost_rule = "as declared; what is not declared is not known"
    takes_empty = True
    takes_complex = True
    kernel_suffices = "it cannot be run"
    example = Example(((2, 3),), {"operator": "aten.linalg_qr.default", "shapes": [[2, 2], [2, 3]], "macs": 16})
    usage = (
        "x: [8, 16, 64]",
        "- unknown:",
        "    operator: mylib.mix",
        "    shapes: [[8, 16, 64]]",
        "    macs: ${8 * 16 * 64 ** 2}",
        "    source: its authors",
    )

    operator: str = attr("name of the operator")
    shapes: _Shapes = attr("shape of each output")
    dtypes: _Types | None = attr("element type of each output; by default the program's", default=None)
    macs: SizeOrZero | None = attr("multiply-adds of a call", default=None)
    flops: SizeOrZero | None = attr("floating-point operations of a call, 2 for each multiply-add", default=None)
    parameters: SizeOrZero | None = attr("elements of parameters that it holds itself", default=None)
    source: str = attr("origin of the figures", default="")

    def infer(self, ctx: Context, *inputs: Any) -> tuple[TensorType, ...]:
        types = self.dtypes or (ctx.dtype,) * len(self.shapes)
        if len(types) != len(self.shapes) or not self.shapes:
            raise RuleError(f"unknown: {len(self.shapes)} shapes and {len(types)} types of outputs")
        if self.macs is not None and self.flops is not None and not required(self.flops, ">=", 2 * self.macs):
            raise RuleError(
                f"unknown: {self.flops} flops are fewer than those of {self.macs} macs, which are 2 for each",
                hint="flops are all floating-point operations, those of the macs among them",
            )
        return tuple(TensorType(shape, dtype) for shape, dtype in zip(self.shapes, types, strict=True))

    def declared(self) -> Declared:
        given = any(figure is not None for figure in (self.macs, self.flops, self.parameters))
        return Declared(self.operator, self.macs, self.flops, self.source if given else None)

    def params(self, ctx: Context, *inputs: Any) -> Sequence[Param]:
        return (Param("declared", (self.parameters,), ZEROS),) if self.parameters else ()

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return () if self.macs is None else (Term.of("mac", "declared", macs=self.macs),)
