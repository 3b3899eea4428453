"""Buffers whose initial value is computed by lines of the spec."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.ir import Body, Program
from netcalc.numerics.kernels import Run, apply


def computed_buffer(body: Body, path: str) -> Array:
    """Return the value of the buffer at ``path``, computed by the reference kernels from a body without inputs.

    Raises:
        NetcalcError: an error of a kernel that depends on values, with the path and the place in the spec.
    """

    def evaluate(instance: Instance, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
        try:
            return apply(instance.node.op, Run(), tuple(inputs), {})
        except RuleError as error:
            message = f"{path}: {error.message}"
            raise NetcalcError(Diagnostic(error.code, message, instance.node.span, hint=error.hint)) from None

    (value,) = unroll(Program(path, body, (), ("value",)), [], evaluate)
    return value
