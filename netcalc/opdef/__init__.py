"""The declaration of an operation: one class with attributes, shape rule, parameter rule and cost rule.

::

    @operation
    class Linear(Operation):
        \"\"\"y = x·Wᵀ + b on the last axis.\"\"\"

        name = "linear"
        reference = "torch.nn.Linear"
        inputs = ports("input")

        out: Size = attr("output features")
        bias: bool = attr("add a learned bias", default=True)

        def infer(self, ctx, x): ...          # returns the output types; raises RuleError
        def params(self, ctx, x): ...         # returns the parameters and buffers
        def cost(self, ctx, inputs, outputs): # returns the terms of the work

The decorator is :func:`netcalc.ops.operation`.  Rules use the same code for integer and for symbolic sizes, and they
raise errors without a place in the file, which the elaborator adds.
"""

from netcalc.diagnostics import Fix, RuleError
from netcalc.opdef.attributes import Position, Size, SizeOrZero, Spatial, attr, position, whole_number
from netcalc.opdef.checks import as_tuple, normal_axis, require_float, require_rank, require_some, same_shape
from netcalc.opdef.context import Context, WorkingLine
from netcalc.opdef.domain import Domain
from netcalc.opdef.operation import Declared, Example, Operation, Port, attribute_text, ports
from netcalc.opdef.params import ONES, ZEROS, Buffer, Init, Param
from netcalc.opdef.reach import AxisReach, Merged, Reach, Window, aligned, axes_of, every, merged_axes
from netcalc.opdef.storage import Sparsity, Storage, StoredTensor
from netcalc.opdef.terms import COMPLEX_WORK, KINDS, Kind, Term, on_complex

__all__ = [
    "COMPLEX_WORK",
    "KINDS",
    "ONES",
    "ZEROS",
    "AxisReach",
    "Buffer",
    "Context",
    "Declared",
    "Domain",
    "Example",
    "Fix",
    "Init",
    "Kind",
    "Merged",
    "Operation",
    "Param",
    "Port",
    "Position",
    "Reach",
    "RuleError",
    "Size",
    "SizeOrZero",
    "Sparsity",
    "Spatial",
    "Storage",
    "StoredTensor",
    "Term",
    "Window",
    "WorkingLine",
    "aligned",
    "as_tuple",
    "attr",
    "attribute_text",
    "axes_of",
    "every",
    "merged_axes",
    "normal_axis",
    "on_complex",
    "ports",
    "position",
    "require_float",
    "require_rank",
    "require_some",
    "same_shape",
    "whole_number",
]
