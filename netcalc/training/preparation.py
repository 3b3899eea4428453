"""Checks before training: the loss, sizes and element types, work and memory."""

from __future__ import annotations

import math
from dataclasses import replace

from netcalc.analysis.memory import Memory
from netcalc.analysis.walk import parameters
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.engine.feasibility import require_work
from netcalc.engine.gradients import wanted_paths
from netcalc.engine.preflight import gradient_memory, require_memory, require_runnable
from netcalc.ir import Program, dtype_of
from netcalc.ir.loss import LOSS, no_loss
from netcalc.limits import MAX_TRAIN_WORK
from netcalc.training.state import tensors
from netcalc.training.updates import Updater

#: Work of a step in units of a forward pass: a backward pass takes about two.
_PASSES = 3
#: Element types in which updates are computed; half precision would need a copy of the parameters in float32.
_TYPES = ("float32", "float64")


def minimized(program: Program, loss: str | None) -> str:
    """Return the name of the output that is minimized.

    Args:
        program: the program in training mode, with the loss of the spec behind its layers if that is minimized.
        loss: ``"sum"`` for the sum of all floating-point outputs, or the name of an output, whose elements are summed;
            None if the spec has no loss.

    Raises:
        NetcalcError: E404 for symbolic sizes, E502 for a spec without loss and an output that does not exist, E603 for
            arrays that are too large, E604 for an operation without kernel.
    """
    names = program.output_names
    if loss is None or (loss == LOSS and LOSS not in names):
        hint = f"add a section `loss` to the spec; or --loss {names[0]} minimizes the sum of an output"
        raise NetcalcError(no_loss(program.name, hint))
    if loss != "sum" and loss not in names:
        hint = did_you_mean(loss, names) or f"the outputs are {', '.join(names)}"
        raise NetcalcError(Diagnostic("E502", f"the network has no output {loss!r} to minimize", hint=hint))
    require_runnable(program)
    trained = wanted_paths(program, None)[0]
    other = next((p for p in parameters(program) if p.owner in trained and p.dtype not in _TYPES), None)
    if other is not None:
        text = f"netcalc trains in {' and '.join(_TYPES)}, and {other.owner} is {other.dtype}"
        raise NetcalcError(Diagnostic("E502", text, hint="--dtype float32, and inputs of that type"))
    if not trained:
        raise NetcalcError(Diagnostic("E502", f"the network {program.name!r} has no parameters to train"))
    return loss


def require_resources(program: Program, updater: Updater, steps: int, max_work: float | None) -> Memory:
    """Return the memory of a step, after checking that there is enough, and that the work is within its limit.

    Raises:
        NetcalcError: E603 too much work, or not enough memory; E502 a ``max_work`` below 1.
    """
    require_work(program, max_work, MAX_TRAIN_WORK, passes=_PASSES * steps)
    required = gradient_memory(program)
    required = replace(required, peak=required.peak + _bytes_of_states(program, updater))
    require_memory(program, required)
    return required


def _bytes_of_states(program: Program, updater: Updater) -> int:
    """Return the bytes of the tensors that the optimizer keeps for the parameters that are trained."""
    trained, total = wanted_paths(program, None)[0], 0
    for owner, instance, param in tensors(program):
        shape = tuple(integer(size) for size in param.shape)
        for state in updater.kept(owner, shape) if owner in trained else ():
            dtype = state.dtype or dtype_of(param, instance.node, program.dtype)
            total += ITEMSIZE[dtype] * math.prod(map(integer, state.shape(shape)))
    return total
