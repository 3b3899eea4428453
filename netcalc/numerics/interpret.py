"""Runs of single operations of a program by their reference kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.numerics.generators import draws_at, run_seed
from netcalc.numerics.kernels import Run, apply


def run_operation(
    instance: Instance, run: Run, inputs: Sequence[Array | None], params: Mapping[str, Array]
) -> tuple[Array, ...]:
    """Return the outputs of one operation; errors that depend on values are reported with its path."""
    try:
        return apply_at(instance, run, inputs, params)
    except RuleError as error:
        message = f"{instance.path}: {error.message}"
        raise NetcalcError(Diagnostic(error.code, message, instance.node.span, hint=error.hint)) from None


def apply_at(
    instance: Instance, run: Run, inputs: Sequence[Array | None], params: Mapping[str, Array]
) -> tuple[Array, ...]:
    """Return the outputs of one operation, which draws by the seed of the run and its path in inference.

    Its random numbers are therefore the same in every execution with this seed.  In training mode it takes the next
    numbers of the generator, as dropout does.
    """
    if instance.node.op.draws and not run.training:
        run.rng = draws_at(run_seed(run.rng), instance.path)
    return apply(instance.node.op, run, tuple(inputs), params)
