"""Buffers whose initial value is computed by lines of the spec."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.ir import Body, Program
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.kernels import Run


def computed_buffer(body: Body, path: str) -> Array:
    """Return the value of the buffer at ``path``, computed by the reference kernels from a body without inputs.

    Raises:
        NetcalcError: an error of a kernel that depends on values, with the path and the place in the spec.
    """

    def evaluate(instance: Instance, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
        return run_operation(instance._replace(path=path), Run(), inputs, {})

    (value,) = unroll(Program(path, body, (), ("value",)), [], evaluate)
    return value
