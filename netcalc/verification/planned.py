"""Comparison of a planned run with the reference path, output by output."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from netcalc.analysis.counting import operation_count
from netcalc.analysis.memory import memory
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from netcalc.engine.graph import GraphNode
from netcalc.engine.plan import Plan
from netcalc.engine.preflight import build_plan
from netcalc.engine.runtime.session import Session
from netcalc.engine.step import Step
from netcalc.ir import Program, dtype_of
from netcalc.numerics.initializers import generator
from netcalc.numerics.interpret import apply_at
from netcalc.numerics.kernels import Run, wide
from netcalc.numerics.parameters import Parameters
from netcalc.opdef import Param
from netcalc.process_memory import format_bytes, free_bytes
from netcalc.verification.report import Check, Gap
from netcalc.verification.values import finfo

#: Rounding of one operation, relative to the largest element; the rounding of n operations adds up to √n times as much.
_ROUNDING = {
    **dict.fromkeys(("float64", "complex128"), 1e-14),
    **dict.fromkeys(("float32", "complex64"), 3e-6),
    "float16": 1e-3,
    "bfloat16": 1e-2,
}
#: Workers of the plan, so that the cuts between them are checked too.  The caller runs their parts one after the other.
_WORKERS = 2
#: Elements of each intermediate tensor that are kept to locate a difference.
_SAMPLED = 256


class KeptParameters(Parameters):
    """Parameters that are kept once they are fetched, since a plan reads them after the reference path."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._kept: dict[tuple[str, str], Array] = {}

    def fetch(self, instance: Instance, param: Param) -> Array:
        """Return the tensor that an operation uses."""
        if instance.node.computed is not None:  # what is computed from positions differs between steps of decoding
            return super().fetch(instance, param)
        key = instance.owners[param.name], dtype_of(param, instance.node, self._program.dtype)
        if key not in self._kept:
            self._kept[key] = super().fetch(instance, param)
        return self._kept[key]

    def write(self, instance: Instance, param: Param, out: Array) -> None:
        """Write the tensor to ``out``."""
        out[...] = self.fetch(instance, param)


class Samples:
    """Elements of the intermediate tensors of a run, by path."""

    def __init__(self) -> None:
        self._kept: dict[str, Array] = {}

    def keep(self, path: str, array: Array) -> None:
        """Keep some elements of the first output of an operation."""
        self._kept[path] = _sample_of(array)

    def differs(self, path: str, array: Array, operations: int) -> bool:
        """Return True if a tensor is not as kept, but for rounding; False if it cannot be compared."""
        sample = self._kept.get(path)
        return (
            sample is not None and sample.dtype == array.dtype and difference(sample, _sample_of(array), operations) > 1
        )


def planned_or_gap(program: Program) -> Plan | Gap | Check:
    """Return the plan of a program, the reason why it cannot run beside the reference path, or a failure to plan."""
    try:
        plan = build_plan(program, threads=_WORKERS, processes=True)
    except NetcalcError as error:
        return _gap("; ".join(diagnostic.message for diagnostic in error.diagnostics))
    except Exception as error:  # any failure of a lowering is a result to report
        return _failed_check(error)
    free = free_bytes()
    # the weights are kept in the form of the reference path until the plan has read them
    needed = max(memory(program).peak, plan.memory.peak) + plan.memory.weights
    if needed > free:
        return _gap(f"it needs {format_bytes(needed)} of memory, and {format_bytes(free)} is free")
    return plan


def planned_checks(
    plan: Plan, arrays: Sequence[Array], expected: Sequence[Array], parameters: KeptParameters, samples: Samples
) -> Iterable[Check | Gap]:
    """Yield a check that each output of the plan is as ``expected``, by the reference path.

    A difference is located at the first layer whose ``samples`` the plan does not give.
    """
    program = plan.program
    try:
        session = Session(plan, parameters, alone=True)
        outputs = session(arrays)
    except MemoryError:
        yield _gap("there was not enough memory")
        return
    except Exception as error:  # any failure of a plan is a result to report
        yield _failed_check(error)
        return
    operations = operation_count(program)
    wrong: list[tuple[str, Array, Array]] = []
    for name, reference, planned in zip(program.output_names, expected, outputs, strict=True):
        if _same_type(reference, planned) and difference(reference, planned, operations) <= 1:
            yield Check("", "", f"planned output {name}", *(f"{_described_array(reference)} as by the kernels",) * 2)
        else:
            wrong.append((name, reference, planned))
    if not wrong:
        return
    sensitive = _outputs_by_rounding(program, arrays, parameters)
    at = _first_difference(session, arrays, samples, operations)
    path, op = ("", "") if at is None else (at.instance.path, at.op.name)
    for name, reference, planned in wrong:
        changed = sensitive[program.output_names.index(name)]
        same_type = _same_type(reference, planned)
        if same_type and difference(reference, planned, 1) <= 4 * difference(reference, changed, 1):
            yield Gap(f"output {name} of the planned run", "other rounding changes it as much")
        else:
            predicted = f"{_described_array(reference)} as by the kernels"
            executed = largest_difference(reference, planned) if same_type else _described_array(planned)
            yield Check(path, op, f"planned output {name}", predicted, executed)


def _failed_check(error: Exception) -> Check:
    return Check("", "", "planned run", "outputs", f"{type(error).__name__}: {error}")


def _gap(reason: str) -> Gap:
    return Gap("planned run", reason)


def difference(expected: Array, planned: Array, operations: int) -> float:
    """Return the largest difference of two arrays, relative to rounding in a chain of this many operations.

    It is infinite if integers differ, or infinities and NaN are not in the same places.
    """
    if np.array_equal(expected, planned):
        return 0.0
    if expected.dtype.kind in "iub":
        return math.inf
    rounding = _ROUNDING[expected.dtype.name] * math.sqrt(max(operations, 1))
    reference, actual = (_double(array) for array in (expected, planned))
    finite = np.isfinite(reference)
    if not np.array_equal(reference[~finite], actual[~finite], equal_nan=True):
        return math.inf
    reference, actual = reference[finite], actual[finite]
    largest = float(np.abs(reference).max(initial=0))
    off = float(np.abs(reference - actual).max(initial=0))
    return 0.0 if not off else off / (rounding * largest) if largest else math.inf


def _double(array: Array) -> Array:
    """Return an array in double precision."""
    plain = wide(np.asarray(array))
    return plain.astype(np.complex128 if plain.dtype.kind == "c" else np.float64)


def largest_difference(expected: Array, planned: Array) -> str:
    """Return the place and the values of the largest difference."""
    reference, actual = (_double(array) for array in (expected, planned))
    with np.errstate(invalid="ignore"):
        off = np.where((reference == actual) | (np.isnan(reference) & np.isnan(actual)), 0, np.abs(reference - actual))
    index = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
    place = f"at [{', '.join(map(str, index))}] " if index else ""
    return f"{place}{planned[index]:.6g} instead of {expected[index]:.6g}"


def _outputs_by_rounding(program: Program, arrays: Sequence[Array], parameters: Parameters) -> list[Array]:
    """Return the outputs of the reference path, with all inputs, weights and results changed by a rounding each."""
    rng = generator(0, "/verify")

    def rounded(array: Array) -> Array:
        if array.dtype.kind in "iub":
            return array
        # of different sizes: the changes of two factors of a product would often cancel out
        drawn = _ROUNDING[array.dtype.name] / 8 * rng.uniform(0.5, 1, array.shape)
        eps = np.maximum(drawn, float(finfo(array.dtype).eps))
        changed = wide(array) * (1 + eps * rng.choice((-1, 1), array.shape))
        return np.asarray(changed).astype(array.dtype)  # an array even if it is a scalar

    def evaluate(instance: Instance, inputs: Sequence[Array | None]) -> Sequence[Array]:
        params = {param.name: rounded(parameters.fetch(instance, param)) for param in instance.node.params}
        run = Run(rng=generator(parameters.seed, "/run"))
        return [rounded(output) for output in apply_at(instance, run, inputs, params)]

    return unroll(program, [rounded(array) for array in arrays], evaluate)


def _first_difference(session: Session, arrays: Sequence[Array], samples: Samples, operations: int) -> GraphNode | None:
    """Return the first node whose planned result is not as in ``samples``, or None.

    A step may write its result in another shape; a difference is then found at a later node.
    """
    differing: list[GraphNode] = []

    def watch(number: int, step: Step, seconds: float) -> None:
        node = step.node.after[-1] if step.node.after else step.node
        result = node.outputs[0]
        written = [slot for slot in step.writes if (slot.shape, slot.dtype) == (result.shape, result.dtype)]
        if not differing and any(samples.differs(node.instance.path, slot.array(), operations) for slot in written):
            differing.append(node)

    session(arrays, watch)
    return differing[0] if differing else None


def _sample_of(array: Array) -> Array:
    places = np.linspace(0, array.size - 1, min(array.size, _SAMPLED)).astype(np.int64)
    sample: Array = np.asarray(array).flat[places]
    return sample


def _same_type(array: Array, other: Array) -> bool:
    return (array.shape, array.dtype) == (other.shape, other.dtype)


def _described_array(array: Array) -> str:
    return f"{'×'.join(map(str, array.shape)) or 'scalar'} {array.dtype.name}"
