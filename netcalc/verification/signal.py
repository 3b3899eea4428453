"""Measurement of signals and gradients at initialization, over seeds, beside their prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from netcalc.analysis.signal.channels import default_axis
from netcalc.analysis.signal.diagnosis import diagnose
from netcalc.analysis.signal.propagate import PredictedOperation, drawn_signal, propagate
from netcalc.analysis.signal.remedies import RECURRENT
from netcalc.analysis.signal.report import InputScale, MeasuredFigures, SignalReport, SignalRow, predicted_row
from netcalc.analysis.signal.stages import runs
from netcalc.analysis.signal.state import Signal
from netcalc.analysis.signal.trunk import Graph, graph_of
from netcalc.analysis.walk import Instance, instances
from netcalc.arrays import Array
from netcalc.engine.feasibility import require_work
from netcalc.engine.gradients import program_type, seeds_of, summed_outputs, wanted_paths
from netcalc.engine.preflight import gradient_memory, reference_memory, reporting_memory, require_runnable
from netcalc.inits import InitRules, fans
from netcalc.ir import Program
from netcalc.limits import MAX_TRAIN_WORK
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.kernels import Run
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tape import Key, Record, Tape, Variable
from netcalc.numerics.vjps import Back, Gradients, apply_vjp
from netcalc.ops.backward import BACKWARD
from netcalc.ops.backward.no_gradient import NO_GRADIENT
from netcalc.run_options import WeightsOptions
from netcalc.verification.through_time import through_time

#: Activation functions with limits, by the share of their greatest slope at an element of the output.
_SLOPES: dict[str, Callable[[Any, Array], Array]] = {
    "tanh": lambda op, y: 1 - y * y,
    "sigmoid": lambda op, y: 4 * y * (1 - y),
    "softsign": lambda op, y: (1 - np.abs(y)) ** 2,
    "hardtanh": lambda op, y: ((y > op.min) & (y < op.max)).astype(np.float64),
    "hardsigmoid": lambda op, y: ((y > 0) & (y < 1)).astype(np.float64),
    "relu6": lambda op, y: ((y > 0) & (y < 6)).astype(np.float64),
}
_RECTIFIERS = {"relu", "relu6", "squared_relu"}
_SATURATED = 0.1
_CONVOLUTIONS = {"conv1d", "conv2d", "conv3d"}
#: Difference of rows of gradients that is rounding, relative to the largest element.
_EQUAL = 1e-4
#: Work of a seed in units of a forward pass: a backward pass takes about two.
_PASSES = 3


@dataclass(slots=True)
class _Sample:
    """Figures of one operation for one seed; squares of norms and of root mean squares."""

    mean: float
    square: float
    channel_square: float
    channel_variance: float
    variance: float
    before: float | None
    saturated: float | None
    dead: float | None
    spread: float | None = None
    symmetric: bool = False
    gradient: float | None = None
    back: float | None = None
    parameters: dict[str, float] = field(default_factory=dict)


def measure(
    program: Program,
    inputs: Mapping[str, Any] | None = None,
    *,
    init: str | Iterable[str] = "default",
    seed: int = 0,
    seeds: int = 1,
    loss: str | None = None,
    max_work: float | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    **weights: Unpack[WeightsOptions],
) -> SignalReport:
    """Run forward and backward for each seed, and return what was measured beside what is predicted.

    Args:
        inputs: arrays by name; the others are drawn.
        init: initializers, as for :func:`~netcalc.engine.run.forward`.
        seed, seeds: the first seed and the number of seeds; each draws weights, inputs and the loss anew.
        loss: ``"random"`` or None for the sum of all outputs with independent normal weights, in which the gradient of
            all outputs together has an expected norm of 1; ``"sum"``, or the name of an output, for sums of
            elements; the loss of a spec is the output ``"loss"`` of its program with the loss.
        weights: a checkpoint; predictions are those of the initializers all the same.
        progress: called with the number of operations done, their total, and a path.

    Raises:
        NetcalcError: as :func:`~netcalc.engine.gradients.gradients` does.
    """
    require_runnable(program)
    options = (init,) if isinstance(init, str) else tuple(init)
    require_work(program, max_work, MAX_TRAIN_WORK, passes=_PASSES * seeds)
    missing = _without_product(program)
    memory = reference_memory(program) if missing else gradient_memory(program)
    summed = None if loss in (None, "random") else summed_outputs(program, loss)
    predicted = propagate(program, InitRules.of(program, options), _moments_of_inputs(program, inputs), summed)
    chosen = range(seed, seed + seeds)
    samples = []
    drawn = []
    for number, each in enumerate(chosen):
        parameters = Parameters(program, init=options, seed=each, **weights)
        pass_ = _Pass(program, parameters, predicted, each, not missing, loss or "random")
        pass_.progress = (
            None if progress is None else _offset(progress, number * len(predicted), seeds * len(predicted))
        )
        with reporting_memory(program, memory):
            arrays = run_inputs(program, inputs, each)
            drawn.append(_scales(program, arrays))
            samples.append(pass_.run(arrays))
    gap = f"there are no gradients: {missing} has no vector-Jacobian product" if missing else ""
    report = SignalReport(
        *(program.name, options, tuple(chosen), program.training, loss or "random", _least_data(predicted)),
        rows=(),
        gradients=gap,
        inputs=tuple(map(_mean_scale, zip(*drawn, strict=True))),
    )
    graph = graph_of(program)
    if not missing:
        drawing = Parameters(program, init=options, seed=seed, **weights)
        reaches = through_time(program, graph, drawing, run_inputs(program, inputs, seed), seed)
        report = replace(report, through_time=reaches)
    return _judged(report, graph, predicted, samples)


def _judged(
    report: SignalReport,
    graph: Graph,
    predicted: Sequence[PredictedOperation],
    samples: Sequence[Sequence[_Sample]],
) -> SignalReport:
    """Return a report with the rows of the samples of all seeds, their stages, and findings on them."""
    numbered = [
        _measured_row(row, [sample[number] for sample in samples], instance)
        if instance.node.output_types[0].is_float
        else None
        for number, (row, instance) in enumerate(zip(predicted, graph.instances, strict=True))
    ]
    found = runs(graph, numbered)
    rows = tuple(row for row in numbered if row is not None)
    report = replace(report, rows=rows, stages=tuple(run.stage for run in found))
    return replace(report, findings=diagnose(report, graph, found, numbered))


def _scales(program: Program, arrays: Sequence[Array | None]) -> list[InputScale]:
    """Return the scales of the floating-point inputs."""
    return [
        InputScale(spec.name, number, math.sqrt(_square(array) / array.size), float(np.mean(array, dtype=np.float64)))
        for number, (spec, array) in enumerate(zip(program.inputs, arrays, strict=True))
        if array is not None and spec.type.is_float and array.size
    ]


def _mean_scale(scales: Sequence[InputScale]) -> InputScale:
    """Return the scale of one input over the seeds."""
    square = _mean([scale.rms**2 for scale in scales]) or 0.0
    return replace(scales[0], rms=math.sqrt(square), mean=_mean([scale.mean for scale in scales]) or 0.0)


def _offset(progress: Callable[[int, int, str], None], start: int, total: int) -> Callable[[int, str], None]:
    return lambda done, path: progress(start + done, total, path)


def _least_data(predicted: Sequence[PredictedOperation]) -> int:
    """Return the least number of data of a channel: 1 if the squares of channel means say nothing."""
    return min((row.data for row in predicted if row.signal.exchangeable or row.data > 1), default=1)


def _without_product(program: Program) -> str:
    """Return an operation that should have a product and has none, or an empty text."""
    names = {instance.node.op.name for instance in instances(program)} - set(NO_GRADIENT)
    return next((name for name in sorted(names) if BACKWARD.get(name) is None), "")


def _moments_of_inputs(program: Program, inputs: Mapping[str, Any] | None) -> dict[str, Signal]:
    """Return the moments of inputs that are given."""
    signals = {}
    for spec in program.inputs:
        if spec.name in (inputs or {}) and spec.type.is_float:
            array = np.asarray((inputs or {})[spec.name], np.float64)
            if array.size:
                mean, square, channel_square, _, _ = _moments(array, default_axis(array.ndim))
                signals[spec.name] = Signal(mean, square, channel_square, roots=drawn_signal(spec).roots)
    return signals


# -- one seed ---------------------------------------------------------------------------------------


class _Pass:
    """A forward and a backward pass."""

    def __init__(
        self,
        program: Program,
        parameters: Parameters,
        predicted: Sequence[PredictedOperation],
        seed: int,
        backward: bool,
        loss: str,
    ) -> None:
        self._program = program
        self._parameters = parameters
        self._axes = [row.axis for row in predicted]
        self._seed = seed
        self._backward = backward
        self._loss = loss
        self._samples: list[_Sample] = []
        self._alike: set[str] = set()  # owners of weights whose rows are equal
        self._numbers: dict[int, int] = {}
        self._instances: list[Instance] = []  # kept alive, since they are known by their identity
        self.progress: Callable[[int, str], None] | None = None

    def run(self, arrays: Sequence[Array]) -> list[_Sample]:
        """Return the figures of every operation, in order of execution."""
        program = self._program
        names = wanted_paths(program, None)[0] if self._backward else {}
        wanted = (
            frozenset(spec.name for spec in program.inputs if spec.type.is_float) if self._backward else frozenset()
        )
        rng = generator(self._seed, "/run")
        tape = Tape(program, self._parameters.fetch, names.__contains__, wanted, rng, self._forward)
        outputs = dict(zip(program.output_names, tape.run([*arrays]), strict=True))
        if self._backward:
            loss = self._cotangents(outputs) if self._loss == "random" else self._loss
            _, seeds = seeds_of(program, outputs, loss)
            gradients: dict[Key, float] = {}
            equal: set[Key] = set()
            for key, array in tape.backward(seeds, self._product):
                gradients[key] = _square(array)
                if key in self._alike and _equal_rows(array, _EQUAL):
                    equal.add(key)
            for number, instance in enumerate(self._instances):
                self._samples[number].symmetric = any(owner in equal for owner in instance.owners.values())
                for param in instance.node.params:
                    owner = instance.owners[param.name]
                    if owner in gradients and param.trainable:
                        self._samples[number].parameters[param.name] = gradients[owner]
        return self._samples

    def _cotangents(self, outputs: Mapping[str, Variable]) -> dict[str, Array]:
        floats = [name for name in outputs if program_type(self._program, name).is_float]
        elements = sum(outputs[name].array.size for name in floats)
        rng = generator(self._seed, "/loss")
        return {name: rng.standard_normal(outputs[name].array.shape) / math.sqrt(elements or 1) for name in floats}

    def _forward(
        self, instance: Instance, run: Run, inputs: Sequence[Array | None], params: Mapping[str, Array]
    ) -> tuple[Array, ...]:
        outputs = run_operation(instance, run, inputs, params)
        number = len(self._samples)
        self._numbers[id(instance)] = number
        self._instances.append(instance)
        self._samples.append(_sample(instance, inputs[0] if inputs else None, outputs[0], self._axes[number]))
        if "weight" in params and instance.node.op.gemm:
            self._samples[number].spread = _spread(instance, params["weight"])
            if _equal_rows(params["weight"]):
                self._alike.add(instance.owners["weight"])
        if self.progress is not None:
            self.progress(number + 1, instance.path)
        return outputs

    def _product(self, record: Record, back: Back, arrived: tuple[Array | None, ...]) -> Gradients:
        gradients = apply_vjp(record.instance.node.op, back, arrived)
        sample = self._samples[self._numbers[id(record.instance)]]
        sample.gradient = sum(_square(gradient) for gradient in arrived if gradient is not None)
        if 0 in gradients and sample.gradient:
            sample.back = _square(gradients[0]) / sample.gradient
        return gradients


def _square(array: Array) -> float:
    flat = np.asarray(array, np.float64).reshape(-1)
    return float(flat @ flat)


def _sample(instance: Instance, before: Array | None, output: Array, axis: int) -> _Sample:
    y = np.asarray(output, np.float64)
    op = instance.node.op
    with np.errstate(all="ignore"):  # infinities and NaNs are ordinary values
        mean, square, channel_square, channel_variance, variance = _moments(y, axis)
        entered = None
        if before is not None and before.size and instance.node.input_types[0] is not None and before.dtype.kind == "f":
            entered = _square(before) / before.size
        slope = _SLOPES.get(op.name)
        saturated = None if slope is None or not y.size else float(np.mean(slope(op, y) < _SATURATED))
    dead = None
    if op.name in _RECTIFIERS and y.size:
        dead = float(np.mean(np.all(_by_channel(y, axis) == 0, axis=1)))
    return _Sample(mean, square, channel_square, channel_variance, variance, entered, saturated, dead)


def _spread(instance: Instance, weight: Array) -> float | None:
    """Return fan in times the mean square of weights; None for others than linear layers and convolutions."""
    name = instance.node.op.name
    if not weight.size or weight.ndim < 2 or not (name == "linear" or name in _CONVOLUTIONS):
        return None
    return fans(weight.shape)[0] * _square(weight) / weight.size


def _equal_rows(weight: Array, tolerance: float = 0.0) -> bool:
    """Return True if all of several rows are equal, up to a difference relative to the largest element."""
    if weight.ndim < 2 or len(weight) < 2 or not weight.size:
        return False
    first, scale = weight[:1], float(np.max(np.abs(weight[0]), initial=0))
    with np.errstate(invalid="ignore"):
        return all(
            float(np.max(np.abs(rows - first), initial=0)) <= tolerance * scale for rows in (weight[1:2], weight)
        )


def _by_channel(y: Array, axis: int) -> Array:
    """Return the elements as a matrix of a row for each channel."""
    return np.moveaxis(y, axis, 0).reshape(y.shape[axis], -1) if y.ndim else y.reshape(1, 1)


def _moments(y: Array, axis: int) -> tuple[float, float, float, float, float]:
    """Return mean, mean square, mean squared channel mean, mean channel variance, and variance."""
    if not y.size:
        return (float("nan"),) * 5
    rows = _by_channel(y, axis)
    means = rows.mean(axis=1)
    return (
        float(y.mean()),
        _square(y) / y.size,
        float(np.mean(means**2)),
        float(rows.var(axis=1).mean()),
        float(y.var()),
    )


# -- all seeds --------------------------------------------------------------------------------------


def _measured_row(row: PredictedOperation, samples: Sequence[_Sample], instance: Instance) -> SignalRow:
    shape = tuple(int(size) for size in instance.node.output_types[0].shape)
    op = instance.node.op
    return SignalRow(
        row.path,
        row.op,
        shape,
        _figures(samples),
        predicted_row(row),
        op.gemm or op.name in RECURRENT,
        row.signal.gap,
        row.gradient_gap,
        row.note,
    )


def _figures(samples: Sequence[_Sample]) -> MeasuredFigures:
    """Return the means over seeds; norms and gains are root mean squares."""
    gradients = [math.sqrt(s.gradient) for s in samples if s.gradient is not None]
    variances = [s.variance for s in samples]
    square, before = _mean([s.square for s in samples]), _mean([s.before for s in samples])
    names = dict.fromkeys(name for sample in samples for name in sample.parameters)
    return MeasuredFigures(
        mean=_mean([s.mean for s in samples]),
        variance=_mean(variances),
        channel_square=_mean([s.channel_square for s in samples]),
        channel_variance=_mean([s.channel_variance for s in samples]),
        saturated=_mean([s.saturated for s in samples]),
        dead=_mean([s.dead for s in samples]),
        gradient=_root(_mean([s.gradient for s in samples])),
        gain=_root(square / before) if before and square is not None else None,
        back=_root(_mean([s.back for s in samples])),
        parameters={name: math.sqrt(_mean([s.parameters.get(name) for s in samples]) or 0.0) for name in names},
        variance_deviation=_deviation(variances),
        gradient_deviation=_deviation(gradients) if gradients else None,
        spread=_mean([s.spread for s in samples]),
        symmetric=all(s.symmetric for s in samples),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


def _deviation(values: Sequence[float]) -> float:
    with np.errstate(all="ignore"):  # infinities are values
        return float(np.std(values))
