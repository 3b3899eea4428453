"""Runs of single operations of a program by their reference kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.numerics.kernels import Run, apply


def run_operation(
    instance: Instance, run: Run, inputs: Sequence[Array | None], params: Mapping[str, Array]
) -> tuple[Array, ...]:
    """Return the outputs of one operation; errors that depend on values are reported with its path."""
    try:
        return apply(instance.node.op, run, tuple(inputs), params)
    except RuleError as error:
        message = f"{instance.path}: {error.message}"
        raise NetcalcError(Diagnostic(error.code, message, instance.node.span, hint=error.hint)) from None
