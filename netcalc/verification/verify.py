"""Verification of every prediction about a program by executing it.

Each operation runs on arrays that count the work done on them.  The shapes and element types of its outputs and
parameters, and the work by kind, must equal the results of its shape, parameter and cost rules.  A planned run must
give the same outputs, but for rounding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.counting import operation_count
from netcalc.analysis.numbered import fold_numbered
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array, numpy_dtype
from netcalc.dims import integer
from netcalc.engine.feasibility import require_work
from netcalc.engine.plan import Plan
from netcalc.engine.preflight import reference_memory, reporting_memory
from netcalc.engine.run import Progress
from netcalc.ir import OpNode, Program, dtype_of
from netcalc.limits import MAX_VERIFY_WORK
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import apply_at
from netcalc.numerics.kernels import Run
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tally import note, tallied, tallying
from netcalc.opdef import KINDS
from netcalc.run_options import ParameterOptions
from netcalc.verification.backward import backward_checks
from netcalc.verification.comparisons import Comparisons
from netcalc.verification.decoding import AtStep, decoding_checks
from netcalc.verification.gradient_values import network_check
from netcalc.verification.memory import memory_checks
from netcalc.verification.planned import KeptParameters, Samples, planned_checks, planned_or_gap
from netcalc.verification.receptive_field import field_checks
from netcalc.verification.report import Check, Gap, InstanceCheck, ValueCount, VerifyReport, described
from netcalc.verification.values import Difference

__all__ = ["Check", "Gap", "ValueCount", "VerifyReport", "verify"]


def verify(
    program: Program,
    inputs: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    receptive_field: bool = False,
    values: bool = False,
    backward: bool = False,
    max_work: float | None = None,
    at_step: AtStep | None = None,
    **parameters: Unpack[ParameterOptions],
) -> VerifyReport:
    """Run the program and check each operation by itself; arguments as for :func:`~netcalc.engine.run.forward`.

    If an output is not as predicted, zeros of the predicted type are passed on in its place, so that each difference
    is reported only where it arises.  With ``receptive_field``, further passes check the receptive fields.  With
    ``values``, each distinct operation is compared with an independent reference (:mod:`~netcalc.verification.values`).
    With ``backward``, a backward pass is checked too (:mod:`~netcalc.verification.backward`), and with both its
    gradients (:mod:`~netcalc.verification.gradient_values`).  ``at_step`` makes the program of a step of decoding, for
    the comparison of single steps with a full pass.

    Raises:
        NetcalcError: as ``forward`` does, except for errors raised by kernels, which are reported as checks.
    """
    required = reference_memory(program)
    require_work(program, max_work, MAX_VERIFY_WORK)
    unread = [
        Gap(f"input {names.name}", "no line reads it") for names, _ in fold_numbered((n, None) for n in program.unread)
    ]
    plan = planned_or_gap(program)
    kind = KeptParameters if isinstance(plan, Plan) else Parameters
    source = kind(program, seed=seed, **parameters)
    arrays = run_inputs(program, inputs, seed)
    comparisons = Comparisons.of(program, seed, parameters, values=values, backward=backward)
    verifier = _Verifier(program, source, seed, progress, comparisons)
    with reporting_memory(program, required):
        outputs = unroll(program, arrays, verifier.evaluate)
        verifier.totals()
        verifier.plan(plan, arrays, outputs)
        if at_step is not None:
            verifier.decoding(decoding_checks(program, at_step, arrays, outputs, source))
        if receptive_field:
            for check in field_checks(program, run_inputs(program, inputs, seed), source, generator(seed, "/run")):
                verifier.record(check)
        if backward:
            again = run_inputs(program, inputs, seed)
            for found in backward_checks(program, again, source, generator(seed, "/run"), comparisons.conventions):
                verifier.record(found)
        for result in memory_checks(program) if values else ():
            verifier.take(result)
        if comparisons.gradients is not None:
            verifier.gradients(network_check(program, run_inputs(program, inputs, seed), source, seed))
    report = VerifyReport(program.name, tuple(verifier.checks()), verifier.done, (*unread, *verifier.gaps))
    return comparisons.completed(report)


class _Verifier:
    """Evaluation of operations on tallied arrays, with the checks made so far."""

    def __init__(
        self,
        program: Program,
        parameters: Parameters,
        seed: int,
        progress: Progress | None,
        comparisons: Comparisons,
    ) -> None:
        self.done = 0
        self._definitions = comparisons.definitions
        self._comparisons = comparisons.each
        self._conventions = comparisons.conventions
        self._program = program
        self._parameters = parameters
        self._analysis = Analysis(program, CONVENTIONS["netcalc"])
        self._rng = generator(seed, "/run")
        self._progress = progress
        self._total = operation_count(program)
        self._work: dict[OpNode, dict[str, int]] = {}
        # equal checks of a node's instances share one entry, so that memory does not grow with the depth
        self._paths: dict[tuple[OpNode | None, str, str, str | int, str | int], str] = {}
        self._times: Counter[tuple[OpNode | None, str, str, str | int, str | int]] = Counter()
        self._buffers: dict[str, Array] = {}
        self._sizes: Counter[str] = Counter()
        self._owners: set[str] = set()
        self._samples = Samples()
        self._substituted = False
        self.gaps: list[Gap] = []

    def checks(self) -> Iterable[Check]:
        for key, times in self._times.items():
            _, op, what, predicted, executed = key
            yield Check(self._paths[key], op, what, predicted, executed, times)

    def evaluate(self, instance: Instance, inputs: Sequence[Array | None]) -> list[Array]:
        node = instance.node
        params = self._fetch(instance)
        run = Run(training=self._program.training, rng=self._rng, count=note)
        tallied_inputs = tuple(None if x is None else tallied(x) for x in inputs)
        tallied_params = {name: tallied(array) for name, array in params.items()}
        outputs: tuple[Array, ...] = ()
        with tallying() as work:
            try:
                outputs = apply_at(instance, run, tallied_inputs, tallied_params)
            except MemoryError:
                raise
            except Exception as error:  # any other failure of a kernel is a result to report
                self._check(instance, "run", "outputs", f"{type(error).__name__}: {error}")
        for kind in KINDS if outputs else ():
            predicted, executed = self._predicted_work(node).get(kind, 0), work[kind]
            if predicted or executed:
                self._check(instance, kind, predicted, executed)
        if self._definitions is not None and outputs:
            self._values(instance, self._definitions.differences(instance, inputs, params, outputs, run.updates))
        if self._conventions is not None and outputs:
            for check in self._conventions.checks(instance, inputs, params, outputs, work):
                self.record(check)
        for comparison in self._comparisons:
            for check in comparison.checks(instance, inputs, params):
                self.record(check)
        for name, array in run.updates.items():
            self._buffers[instance.owners[name]] = np.asarray(array)
        self.done += 1
        if self._progress is not None:
            self._progress(self.done, self._total, instance.path)
        return self._checked(instance, outputs)

    def totals(self) -> None:
        """Check the total sizes of all distinct tensors that were fetched."""
        total = self._analysis.total
        for what, predicted in {"parameters": total.params, "buffers": total.buffers}.items():
            self._record((None, "", f"total {what}", integer(predicted), self._sizes[what]), "")
        conventions = None if self._substituted else self._conventions  # what did not run is not counted
        for check in conventions.totals() if conventions is not None else ():
            self.record(check)

    def plan(self, plan: Plan | Gap | Check, arrays: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Check the outputs of a planned run against the outputs of the reference path."""
        if isinstance(plan, Plan) and self._substituted:
            plan = Gap("planned run", "the kernels did not give the predicted outputs")
        results: Iterable[Check | Gap] = [] if isinstance(plan, Plan) else [plan]
        if isinstance(plan, Plan) and isinstance(self._parameters, KeptParameters):
            results = planned_checks(plan, arrays, outputs, self._parameters, self._samples)
        self._network(results)

    def decoding(self, results: Iterable[Check | Gap]) -> None:
        """Record the comparison of decoding step by step with the full pass."""
        self._network(results if not self._substituted else ())

    def gradients(self, result: InstanceCheck | Gap) -> None:
        """Record the comparison of the gradients of the whole network."""
        if self._substituted:
            result = Gap("gradient values of the network", "the kernels did not give the predicted outputs")
        self.take(result)

    def take(self, result: InstanceCheck | Gap) -> None:
        """Record a check, or what could not be checked."""
        if isinstance(result, Gap):
            self.gaps.append(result)
        else:
            self.record(result)

    def record(self, check: InstanceCheck) -> None:
        """Record a check of a receptive field or of the backward pass."""
        if check.instance is None:
            self._record((None, "", check.what, check.predicted, check.executed), "")
        else:
            self._check(check.instance, check.what, check.predicted, check.executed)

    # -- internals ----------------------------------------------------------------------------------

    def _network(self, results: Iterable[Check | Gap]) -> None:
        """Record checks of the whole network, and what could not be checked."""
        for result in results:
            if isinstance(result, Gap):
                self.gaps.append(result)
            else:
                self._record((None, result.op, result.what, result.predicted, result.executed), result.path)

    def _fetch(self, instance: Instance) -> dict[str, Array]:
        params: dict[str, Array] = {}
        for param in instance.node.params:
            owner = instance.owners[param.name]
            array = self._buffers[owner] if owner in self._buffers else self._parameters.fetch(instance, param)
            dtype = dtype_of(param, instance.node, self._program.dtype)
            executed = described(array.shape, array.dtype.name)
            self._check(instance, param.name, described(param.shape, dtype), executed)
            if owner not in self._owners:
                self._owners.add(owner)
                self._sizes["buffers" if param.is_buffer else "parameters"] += array.size
            params[param.name] = array
        return params

    def _values(self, instance: Instance, differences: Sequence[Difference] | None) -> None:
        """Record the comparison of an operation with its definition."""
        if differences is None:
            return
        for difference in differences:
            place = "" if difference.position is None else f" at [{', '.join(map(str, difference.position))}]"
            self._check(instance, f"values: {difference.what}{place}", difference.expected, difference.executed)
        if not differences:
            self._check(instance, "values", "as defined", "as defined")

    def _checked(self, instance: Instance, outputs: Sequence[Array]) -> list[Array]:
        """Check the outputs; return them as plain arrays, with zeros in place of those that are not as predicted."""
        types = instance.node.output_types
        if outputs and len(outputs) != len(types):
            self._check(instance, "output", f"{len(types)} outputs", f"{len(outputs)} outputs")
        checked: list[Array] = []
        for number, type_ in enumerate(types):
            shape = tuple(integer(size) for size in type_.shape)
            array = np.asarray(outputs[number]) if number < len(outputs) else None
            if array is not None:
                what = "output" if len(types) == 1 else f"output {number}"
                predicted, executed = described(type_.shape, type_.dtype), described(array.shape, array.dtype.name)
                self._check(instance, what, predicted, executed)
            fits = array is not None and array.shape == shape and array.dtype == numpy_dtype(type_.dtype)
            self._substituted |= not fits
            checked.append(array if array is not None and fits else np.zeros(shape, numpy_dtype(type_.dtype)))
        if isinstance(self._parameters, KeptParameters):
            self._samples.keep(instance.path, checked[0])
        return checked

    def _predicted_work(self, node: OpNode) -> dict[str, int]:
        if node not in self._work:
            work: Counter[str] = Counter()
            for term in self._analysis.terms(node):
                work[term.kind] += integer(term.count)
            self._work[node] = dict(work)
        return self._work[node]

    def _check(self, instance: Instance, what: str, predicted: str | int, executed: str | int) -> None:
        self._record((instance.node, instance.node.op.name, what, predicted, executed), instance.path)

    def _record(self, key: tuple[OpNode | None, str, str, str | int, str | int], path: str) -> None:
        self._paths.setdefault(key, path)
        self._times[key] += 1
