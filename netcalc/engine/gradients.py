"""Gradients of a loss with respect to parameters and inputs, by the reference kernels and their products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Unpack

import numpy as np

from netcalc.analysis.gradient_flow import NO_START
from netcalc.analysis.walk import parameters as all_parameters
from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.engine.feasibility import require_work
from netcalc.engine.gradient_steps import InputSteps, input_steps
from netcalc.engine.layer_gradients import LayerGradient, layer_gradients, norm_of
from netcalc.engine.preflight import gradient_memory, reporting_memory, require_runnable
from netcalc.engine.run import small_inputs
from netcalc.ir import Program
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.origin import Origin
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tape import Tape, Variable
from netcalc.numerics.trace import MAX_VALUES, TensorRow, tensor_rows
from netcalc.results import Entry, Real, recorded
from netcalc.run_options import ParameterOptions
from netcalc.weights.saved import TensorResult


@recorded(
    *("spec", "seed", "loss", "summed", "weighted", "norm", "layers", "unreached", "saved_bytes", "steps"),
    *(Entry("inputs", "input_rows"), Entry("outputs", "output_rows"), Entry("gradients", "gradient_rows")),
    name="gradients",
)
@dataclass(frozen=True, slots=True)
class GradientResult(TensorResult):
    """Loss and gradients of one forward and backward pass."""

    spec: str
    """Name of the spec."""
    seed: int
    """Seed of everything drawn."""
    loss: Real
    """The sum of the outputs, or of their products with gradients that were passed."""
    summed: tuple[str, ...]
    """The outputs whose sum the loss is; loss for the loss of the spec."""
    parameters: Mapping[str, Array]
    """Gradients by path of the parameter that owns the tensor."""
    named: Mapping[str, Array]
    """Gradients of the parameters under the names of the checkpoint that was loaded, or else of the reference."""
    inputs: Mapping[str, Array]
    """Gradients by name of the input."""
    unreached: tuple[str, ...]
    """Parameters that the loss does not depend on."""
    outputs: Mapping[str, Array]
    """Outputs of the forward pass."""
    buffers: Mapping[str, Array]
    """Buffers that training updated, by path."""
    saved_bytes: int
    """Bytes of the tensors that the forward pass saved."""
    layers: tuple[LayerGradient, ...]
    """The gradients by layer."""
    steps: tuple[InputSteps, ...]
    """Norms by step of the gradients of inputs, in networks with recurrent layers or causal attention."""
    origin: Origin
    """Origin of inputs and weights."""
    given: Mapping[str, Array] = field(default_factory=dict)
    """Inputs of at most 64 elements by name, given and drawn."""
    weighted: bool = False
    """True if the outputs are summed with weights: the gradients of the loss of one's own."""

    @property
    def norm(self) -> Real:
        """Norm of the gradients of all parameters."""
        return norm_of(*self.parameters.values())

    @property
    def input_rows(self) -> Mapping[str, TensorRow]:
        """The inputs of at most 64 elements, with their values."""
        return tensor_rows(self.given, MAX_VALUES)

    @property
    def output_rows(self) -> Mapping[str, TensorRow]:
        """The outputs of at most 64 elements, with their values."""
        return tensor_rows(self.outputs, MAX_VALUES)

    @property
    def gradient_rows(self) -> Mapping[str, TensorRow]:
        """The gradients of at most 64 elements, with their values: of parameters by path, of inputs by name."""
        inputs = {f"inputs.{n}" if n in self.parameters else n: a for n, a in self.inputs.items()}
        return tensor_rows({**inputs, **self.parameters}, MAX_VALUES)

    @property
    def tensors(self) -> Mapping[str, Array]:
        """Gradients ``named``, and of inputs by name, or as ``inputs.NAME`` where a parameter has that name."""
        tensors = dict(self.named)
        for name, gradient in self.inputs.items():
            tensors[f"inputs.{name}" if name in tensors else name] = gradient
        return tensors


def gradients(
    program: Program,
    inputs: Mapping[str, Any] | None = None,
    *,
    loss: str | Mapping[str, Any] | None = None,
    wrt: Sequence[str] | None = None,
    inputs_wanted: Sequence[str] = (),
    unroll: bool = False,
    seed: int = 0,
    max_work: float | None = None,
    **parameters: Unpack[ParameterOptions],
) -> GradientResult:
    """Run the program forward and backward.

    Args:
        inputs: arrays by name; the others are drawn.
        loss: name of an output, whose elements are summed, ``"sum"`` or None for the sum of all floating-point
            outputs, or gradients of the loss by output.  The loss of a spec is the output ``"loss"`` of its
            program with the loss (:func:`netcalc.ir.loss.with_loss`).
        wrt: patterns of paths of parameters and names of inputs; all parameters that are trained when None.
        inputs_wanted: names of inputs whose gradients are wanted too when ``wrt`` is None.
        unroll: True for a row of each instance of a repeated block.
        seed, max_work, parameters: as for :func:`~netcalc.engine.run.forward`.

    Raises:
        NetcalcError: as ``forward`` does; E502 for a ``loss`` or ``wrt`` that names nothing.
    """
    require_runnable(program)
    require_work(program, max_work)
    required = gradient_memory(program)
    names, wanted_inputs = wanted_paths(program, wrt, inputs_wanted)
    source = Parameters(program, seed=seed, **parameters)
    arrays, rng = run_inputs(program, inputs, seed), generator(seed, "/run")
    tape = Tape(program, source.fetch, names.__contains__, wanted_inputs, rng, run_operation)
    with reporting_memory(program, required):
        outputs = dict(zip(program.output_names, tape.run([*arrays]), strict=True))
        value, seeds = seeds_of(program, outputs, loss)
        saved = tape.saved_bytes
        by_key = dict(tape.backward(seeds))
    by_input = {name: by_key[key] for name, key in tape.input_keys.items() if key in by_key}
    by_path = {path: by_key[path] for path in names if path in by_key}
    return GradientResult(
        spec=program.name,
        seed=seed,
        loss=value,
        summed=summed_outputs(program, loss),
        parameters=by_path,
        named=source.named_as_stored(by_path),
        inputs=by_input,
        unreached=tuple(path for path in names if path not in by_key),
        outputs={name: variable.array for name, variable in outputs.items()},
        buffers=tape.buffers,
        saved_bytes=saved,
        layers=layer_gradients(program, by_path, by_input, unroll=unroll),
        steps=input_steps(program, by_input),
        origin=Origin.of(program, inputs or (), parameters.get("weights")),
        given=small_inputs(program, arrays),
        weighted=isinstance(loss, Mapping),
    )


def wanted_paths(
    program: Program, wrt: Sequence[str] | None, inputs: Sequence[str] = ()
) -> tuple[dict[str, None], frozenset[str]]:
    """Return the owners of the parameters, in order, and the inputs whose gradients are wanted.

    Without ``wrt`` these are all parameters that are trained, and the floating-point ones of ``inputs``.

    Raises:
        NetcalcError: E502 for a pattern that names no trained parameter and no floating-point input.
    """
    trained = dict.fromkeys(
        p.owner for p in all_parameters(program) if p.param.trainable and not p.frozen and not p.param.is_buffer
    )
    floats = [spec.name for spec in program.inputs if spec.type.is_float]
    if wrt is None:
        return trained, frozenset(floats).intersection(inputs)
    for pattern in wrt:
        if not any(fnmatchcase(name, pattern) for name in (*trained, *floats)):
            hint = did_you_mean(pattern, [*floats, *trained])
            raise NetcalcError(
                Diagnostic("E502", f"no trained parameter and no floating-point input is called {pattern!r}", hint=hint)
            )
    chosen = [path for path in trained if any(fnmatchcase(path, pattern) for pattern in wrt)]
    return dict.fromkeys(chosen), frozenset(n for n in floats if any(fnmatchcase(n, pattern) for pattern in wrt))


def seeds_of(
    program: Program, outputs: Mapping[str, Variable], loss: str | Mapping[str, Any] | None
) -> tuple[float, dict[int, Array]]:
    """Return the value of the loss, and the gradients of the outputs that it starts from.

    Raises:
        NetcalcError: E502 for an output that does not exist or has no gradient; E602 for a gradient of another shape.
    """
    floats = {name: variable for name, variable in outputs.items() if program_type(program, name).is_float}
    value, seeds = 0.0, dict[int, Array]()
    for name in summed_outputs(program, loss):
        weight = loss[name] if isinstance(loss, Mapping) else None
        if name not in floats:
            message = f"there is no floating-point output {name!r} to start a backward pass from"
            raise NetcalcError(Diagnostic("E502", message, hint=did_you_mean(name, floats)))
        variable = floats[name]
        gradient = np.ones_like(variable.array) if weight is None else np.asarray(weight, variable.array.dtype)
        if gradient.shape != variable.array.shape:
            message = f"the gradient of {name} has shape {gradient.shape}, and {name} has {variable.array.shape}"
            raise NetcalcError(Diagnostic("E602", message))
        value += float(np.add.reduce(variable.array.astype(np.float64) * gradient, axis=None))
        if variable.wanted:
            number = variable.number
            seeds[number] = seeds[number] + gradient if number in seeds else gradient
    return value, seeds


def summed_outputs(program: Program, loss: str | Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names of the outputs whose sum the loss is: one, those with a gradient, or all that can have one.

    Raises:
        NetcalcError: E502 if no output can have one.
    """
    if isinstance(loss, Mapping):
        return tuple(loss)
    if loss not in (None, "sum"):
        return (loss or "",)
    floats = tuple(name for name in program.output_names if program_type(program, name).is_float)
    if not floats:
        raise NetcalcError(Diagnostic("E502", NO_START))
    return floats


def program_type(program: Program, output: str) -> Any:
    """Return the type of an output by its name."""
    return program.main.outputs[program.output_names.index(output)].known_type
