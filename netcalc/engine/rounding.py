"""Errors of a run whose parameters are rounded or pruned, output by output and layer by layer.

Two passes run in lockstep by the reference kernels: each operation runs on the values of the full run, and on the
values of the run with stored parameters.  Until the first parameter that differs there is a single run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, Unpack

from netcalc.analysis.counting import operation_count
from netcalc.analysis.memory import Memory
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance, instances
from netcalc.arrays import Array
from netcalc.codecs import codec_named
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.engine.feasibility import require_work
from netcalc.engine.layer_errors import (
    KeptParameters,
    LayerError,
    OperationError,
    StoredParameter,
    kept_parameters,
    layer_errors,
)
from netcalc.engine.preflight import reference_memory, reporting_memory, require_memory, require_runnable, why_unplanned
from netcalc.engine.run import forward
from netcalc.ir import Program, dtype_of, join
from netcalc.ir.storage import with_storage
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.kernels import Run
from netcalc.numerics.origin import Origin
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.rounding import is_rounded, rounded, rounding_bytes
from netcalc.numerics.rounding.deviation import Deviation
from netcalc.opdef import Param, Storage
from netcalc.options import PlanName
from netcalc.results import Entry, recorded
from netcalc.run_options import ParameterOptions, PlanOptions
from netcalc.weights.saved import TensorResult

_Pair: TypeAlias = tuple[Array, Array]
Progress: TypeAlias = Callable[[int, int, str], None]


@recorded(
    *(Entry("error", "deviation.relative"), Entry("max_error", "deviation.greatest")),
    *(Entry("decibels", "deviation.decibels"), Entry("cosine", "deviation.cosine"), "shape", "dtype"),
)
class OutputError(NamedTuple):
    """An output of the network; numbers that are not finite are text."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    deviation: Deviation


@recorded(
    *("spec", "seed", "assigned", "plan", Entry("outputs", "errors", by="name"), "layers", "kept", "memory"),
    name="rounding",
)
@dataclass(frozen=True, slots=True)
class RoundingResult(TensorResult):
    """Errors of a run with stored parameters against the run in full precision."""

    program: Program
    seed: int
    """Seed of everything drawn."""
    assigned: tuple[str, ...]
    """The assignments of schemes and sparsity."""
    outputs: Mapping[str, Array]
    """Outputs of the run with stored parameters, by name."""
    errors: tuple[OutputError, ...]
    """Deviations of the outputs."""
    operations: tuple[OperationError, ...]
    """Operations in order of execution."""
    plan: PlanName
    """Way in which the outputs were computed: fast or reference."""
    memory: Memory
    """The predicted memory of both runs in lockstep, in bytes."""
    origin: Origin
    """Origin of inputs and weights."""
    depth: int | None = None
    """Depth of the rows of a page."""
    unroll: bool = False
    """True for a row for each instance on a page."""

    @property
    def spec(self) -> str:
        """Name of the spec."""
        return self.program.name

    @property
    def tensors(self) -> Mapping[str, Array]:
        """The outputs."""
        return self.outputs

    @property
    def kept(self) -> tuple[KeptParameters, ...]:
        """The parameters that are stored otherwise than assigned, most of them in full precision, by reason."""
        return kept_parameters(self.operations)

    def layers(self, *, depth: int | None = None, unroll: bool = False) -> tuple[LayerError, ...]:
        """Return a row for each layer with parameters, or for all that is below each path of ``depth`` parts.

        The output of several operations is the output of the last of them.  With ``unroll`` every instance has a row.
        """
        return layer_errors(self.program, self.operations, depth=depth, unroll=unroll)


def rounding_errors(
    program: Program,
    inputs: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    max_work: float | None = None,
    progress: Progress | None = None,
    plan: PlanName = "fast",
    threads: int | None = None,
    processes: bool = False,
    **parameters: Unpack[ParameterOptions],
) -> RoundingResult:
    """Run a network with its parameters in full and as they are stored, and compare outputs and layers.

    Args:
        program: the network, with forms of its parameters, see :func:`netcalc.analysis.precision.stored`.
        plan: ``"fast"`` computes the outputs of both runs by plans, ``"reference"`` in lockstep as those of layers.
        inputs, seed, max_work, progress, threads, processes, parameters: as for :func:`netcalc.engine.run.forward`.

    Raises:
        NetcalcError: as :func:`~netcalc.engine.run.forward`; E502 if nothing is rounded, for a scheme that netcalc does
            not round to, and in training mode.
    """
    _require_rounding(program)
    require_runnable(program)
    require_work(program, max_work, passes=2)
    required = _memory(program)
    arrays = run_inputs(program, inputs, seed)
    lockstep = _Lockstep(program, Parameters(program, seed=seed, **parameters), seed, progress)
    with reporting_memory(program, required):
        pairs = unroll(program, [(array, array) for array in arrays], lockstep.evaluate)
    names = program.output_names
    both = [dict(zip(names, side, strict=True)) for side in zip(*pairs, strict=True)]
    done: PlanName = "reference"
    if plan != "reference" and why_unplanned(program) is None:
        given = {spec.name: array for spec, array in zip(program.inputs, arrays, strict=True)}
        planned: PlanOptions = {"plan": plan, "threads": threads, "processes": processes}
        full = with_storage(program, lambda site: None, by_iteration=False)
        both = [
            {**forward(each, given, seed=seed, max_work=max_work, **planned, **parameters).outputs}
            for each in (full, program)
        ]
        done = "fast"
    true, other = both
    errors = tuple(
        OutputError(name, true[name].shape, true[name].dtype.name, Deviation.of(true[name], other[name]))
        for name in names
    )
    operations, origin = tuple(lockstep.operations), Origin.of(program, inputs or (), parameters.get("weights"))
    return RoundingResult(program, seed, _assignments(program), other, errors, operations, done, required, origin)


def _assignments(program: Program) -> tuple[str, ...]:
    options = ("--quantize", "--prune")
    return tuple(f"{option} {text}" for option in options for text in program.assigned.get(option, ()))


def _require_rounding(program: Program) -> None:
    """Raise NetcalcError (E502) unless some parameter is rounded, by schemes that netcalc rounds to."""
    if program.training:
        hint = "leave out --mode train"
        raise NetcalcError(Diagnostic("E502", "rounded parameters are compared in inference", hint=hint))
    schemes: dict[str, None] = {}
    for instance in instances(program):
        for param in instance.node.params:
            if (storage := _storage(program, instance, param)) is not None:
                schemes[storage.scheme] = None
    if not schemes:
        hint = "--quantize int8 or --prune 0.5, for example; `netcalc params` gives the reasons"
        raise NetcalcError(Diagnostic("E502", "no parameter is rounded or pruned", hint=hint))
    for scheme in schemes:
        codec_named(scheme)


def _storage(program: Program, instance: Instance, param: Param) -> Storage | None:
    """Return the form of a parameter that changes its numbers, or None."""
    dtype = dtype_of(param, instance.node, program.dtype)
    return param.storage if is_rounded(param.storage, dtype) else None


def _memory(program: Program) -> Memory:
    """Return the memory of two runs in lockstep: twice a run's, and the temporaries of the largest rounding.

    Raises:
        NetcalcError: E404, E603 or E604, as :func:`~netcalc.engine.preflight.reference_memory`.
    """
    single = reference_memory(program)
    most = max(
        rounding_bytes(storage)
        for instance in instances(program)
        for param in instance.node.params
        if (storage := _storage(program, instance, param)) is not None
    )
    required = replace(single, activations=2 * single.activations, peak=2 * single.peak + most)
    require_memory(program, required)
    return required


class _Lockstep:
    """Evaluation of each operation on both values, and what it measured."""

    def __init__(self, program: Program, parameters: Parameters, seed: int, progress: Progress | None) -> None:
        self._program = program
        self._parameters = parameters
        self._seed = seed
        self._progress = progress
        self._total = operation_count(program)
        self._done = 0
        self.operations: list[OperationError] = []

    def evaluate(self, instance: Instance, inputs: Sequence[_Pair | None]) -> tuple[_Pair, ...]:
        """Return the outputs of an operation for both, and record their deviation."""
        node = instance.node
        full: dict[str, Array] = {}
        other: dict[str, Array] = {}
        measured = []
        for param in node.params:
            full[param.name], other[param.name] = self._both_values(instance, param)
            if not param.is_buffer:
                measured.append(self._measured_parameter(instance, param, full[param.name], other[param.name]))
        same = all(a is b for a, b in filter(None, inputs)) and all(full[name] is other[name] for name in full)
        first = self._run(instance, [None if pair is None else pair[0] for pair in inputs], full)
        second = first if same else self._run(instance, [None if p is None else p[1] for p in inputs], other)
        pairs = tuple(zip(first, second, strict=True))
        deviation = Deviation.together(Deviation.of(*pair) for pair in pairs)
        self.operations.append(OperationError(instance.path, node.op.name, tuple(measured), deviation))
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total, instance.path)
        return pairs

    def _run(
        self, instance: Instance, inputs: Sequence[Array | None], params: Mapping[str, Array]
    ) -> tuple[Array, ...]:
        run = Run(training=False, rng=generator(self._seed, join("/run", instance.path)))
        return run_operation(instance, run, inputs, params)

    def _both_values(self, instance: Instance, param: Param) -> _Pair:
        array = self._parameters.fetch(instance, replace(param, storage=None))
        storage = _storage(self._program, instance, param)
        return (array, array) if storage is None else (array, rounded(array, storage))

    def _measured_parameter(self, instance: Instance, param: Param, full: Array, other: Array) -> StoredParameter:
        storage, dtype = param.storage, dtype_of(param, instance.node, self._program.dtype)
        elements = integer(param.elements)
        path, deviation = join(instance.path, param.name), Deviation.of(full, other)
        if storage is None:
            return StoredParameter(path, dtype, False, elements, elements * ITEMSIZE[dtype], "", deviation)
        scheme = storage.scheme if storage.sparsity is None else f"{storage.scheme} {storage.sparsity}"
        changed = is_rounded(storage, dtype)
        return StoredParameter(path, scheme, changed, elements, integer(storage.bytes), storage.kept, deviation)
