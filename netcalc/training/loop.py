"""Steps of training: forward, loss, backward, update."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias, Unpack

from netcalc.analysis.walk import Instance, parameters
from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.engine.gradients import seeds_of, wanted_paths
from netcalc.engine.preflight import reporting_memory
from netcalc.ir import Program, dtype_of
from netcalc.notices import notify
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tape import Tape
from netcalc.opdef import Param
from netcalc.run_options import ParameterOptions
from netcalc.training.batches import Batches
from netcalc.training.checkpoint import read_checkpoint, require_checkpoint_name, write_checkpoint
from netcalc.training.preparation import minimized, require_resources
from netcalc.training.recipe import Recipe
from netcalc.training.result import TrainingResult, TrainingStep, WatchedLayer
from netcalc.training.state import State, tables
from netcalc.training.updates import Updater, clip_coefficient, global_norm
from netcalc.training.watching import Watcher
from netcalc.weights.naming import in_reference
from netcalc.weights.tensor_files import Arrays, Tensors, open_tensors

#: Data that are drawn as the inputs of a run are: one batch for all steps.
SYNTHETIC = "synthetic"
#: ``"synthetic"``, the path of a file of arrays, or arrays by name of the input.
Data: TypeAlias = str | Path | Mapping[str, Any]
#: Called after each step with the number of steps done, the number of all, and the loss in words.
Progress: TypeAlias = Callable[[int, int, str], None]


class Trainer:
    """Training, one step at a time.

    Args:
        program: the program in training mode, with its loss among the outputs.
        state: what the steps change; a step replaces arrays and modifies none.
        batches: inputs by step.
        loss: name of the output that is minimized, or ``"sum"``.
        recipe: learning rates and clipping.
        watcher: layers whose outputs are followed.
    """

    def __init__(
        self,
        program: Program,
        state: State,
        batches: Batches,
        loss: str,
        recipe: Recipe,
        watcher: Watcher | None = None,
    ) -> None:
        self.state = state
        #: Paths of the parameters that the last step updated.
        self.trained: frozenset[str] = frozenset()
        self._program = program
        self._batches = batches
        self._loss = loss
        self._schedule = recipe.rates()
        self._clip = recipe.clip
        self._wanted = wanted_paths(program, None)[0]
        self._watcher = watcher

    @property
    def watched(self) -> tuple[WatchedLayer, ...]:
        """The layers that are followed."""
        return () if self._watcher is None else self._watcher.layers

    def step(self) -> TrainingStep:
        """Run a step, and append it to the history of the state; a loss that is not finite updates nothing.

        Raises:
            NetcalcError: E502 if the loss depends on no parameter that is trained, and errors of kernels.
        """
        state, start = self.state, perf_counter()
        number = len(state.history)
        loss, gradients, buffers = self._gradients(number)
        norm, lr = global_norm(gradients.values()), self._schedule.at(number)
        factor = 1.0 if self._clip is None else clip_coefficient(norm, self._clip)
        updated = {}
        for path, gradient in gradients.items() if math.isfinite(loss) else ():
            parameter = state.arrays[path]
            gradient = gradient.astype(parameter.dtype, copy=False)
            updated[path] = state.updater.update(path, parameter, gradient if factor == 1 else gradient * factor, lr)
        state.arrays.update(updated)
        state.arrays.update(buffers if updated else {})
        step = TrainingStep(number + 1, loss, lr, norm, perf_counter() - start)
        state.history.append(step)
        return step

    def _gradients(self, number: int) -> tuple[float, Mapping[str, Array], Mapping[str, Array]]:
        """Return the loss of a step, the gradients of parameters by path, and the buffers that the pass updated."""
        watcher = self._watcher
        forward, leave = (run_operation, None) if watcher is None else (watcher.forward, watcher.leave)
        tape = Tape(self._program, self._fetch, self._wanted.__contains__, frozenset(), self.state.rng, forward)
        results = tape.run([*self._batches.arrays(number)], leave)
        if watcher is not None:
            watcher.end_step()
        outputs = dict(zip(self._program.output_names, results, strict=True))
        value, seeds = seeds_of(self._program, outputs, self._loss)
        by_path = dict(tape.backward(seeds))
        gradients = {path: by_path[path] for path in self._wanted if path in by_path}
        if not gradients:
            raise NetcalcError(Diagnostic("E502", f"{self._loss!r} depends on no parameter that is trained"))
        self.trained = frozenset(gradients)
        return value, gradients, tape.buffers

    def _fetch(self, instance: Instance, param: Param) -> Array:
        """Return a tensor of the state in the element type in which the operation uses it."""
        dtype = dtype_of(param, instance.node, self._program.dtype)
        return self.state.arrays[instance.owners[param.name]].astype(numpy_dtype(dtype), copy=False)


def train(
    program: Program,
    recipe: Recipe,
    data: Data = SYNTHETIC,
    *,
    checkpoint_file: str | Path | None = None,
    checkpoint_every: int | None = None,
    resume: str | Path | None = None,
    stop_after: int | None = None,
    watch: Sequence[str] = (),
    progress: Progress | None = None,
    max_work: float | None = None,
    **parameters: Unpack[ParameterOptions],
) -> TrainingResult:
    """Train a network with the reference kernels, in NumPy; a step whose loss is not finite is the last.

    Args:
        program: the program in training mode, with the loss of the spec behind its layers if that is minimized.
        recipe: loss, optimizer, steps and learning rates.
        data: ``"synthetic"`` for one batch, drawn as the inputs of a run are; or samples by input, in a file or arrays.
        checkpoint_file: file that is written at the end, and after every ``checkpoint_every`` steps.
        resume: checkpoint from which training goes on.
        stop_after: most steps of this run, of which the rates are those of all ``recipe.steps``.
        watch: patterns of paths whose outputs are followed.
        progress: called after each step.
        max_work: most FLOPs and elements of results of all steps.
        parameters: as for :class:`~netcalc.numerics.parameters.Parameters`.

    Raises:
        NetcalcError: E502 for arguments that are not possible and a spec without loss, E503 for a pattern without a
            match, E601 for weights and E602 for data that do not fit, E603 for too much work or memory, E605 for files.
    """
    _require_files(checkpoint_file, checkpoint_every, resume, parameters.get("weights"))
    loss = minimized(program, recipe.loss)
    watcher = Watcher(program, watch) if watch else None
    updater = replace(recipe.updater(), tables=tables(program))
    state = None if resume is None else _resumed(resume, program, updater, recipe)
    done = 0 if state is None else len(state.history)
    required = require_resources(program, updater, recipe.steps - done, max_work)
    batches = Batches(program, _opened(data), recipe.seed)
    if state is None:
        drawn = Parameters(program, seed=recipe.seed, **parameters)
        state = State.initial(program, drawn, updater, recipe.seed)
    elif state.data not in ("", batches.digest):
        notify(f"{resume} was written by training on other data, whose samples come in another order")
    state.data = batches.digest
    trainer = Trainer(program, state, batches, loss, recipe, watcher)
    last = recipe.steps if stop_after is None else min(recipe.steps, done + stop_after)
    with reporting_memory(program, required):
        for number in range(done + 1, last + 1):
            step = trainer.step()
            ends = number == last or not math.isfinite(step.loss)
            if checkpoint_file is not None and (ends or (checkpoint_every and number % checkpoint_every == 0)):
                write_checkpoint(checkpoint_file, program.name, state)
            if progress is not None:
                progress(number - done, last - done, f"step {number:,}: loss {step.loss:.4g}")
            if ends:
                break
    name = Arrays.name if isinstance(data, Mapping) else str(data)
    return _result(program, trainer, batches, recipe, done, name)


def _resumed(resume: str | Path, program: Program, updater: Updater, recipe: Recipe) -> State:
    """Return the state of a checkpoint; NetcalcError (E502) if it has all steps of the recipe."""
    state = read_checkpoint(resume, program, updater, recipe.seed)
    done = len(state.history)
    if done >= recipe.steps:
        text = f"{resume} has {done:,} steps, and --steps {recipe.steps:,} counts them"
        raise NetcalcError(Diagnostic("E502", text, hint=f"--steps {done + recipe.steps} takes {recipe.steps:,} more"))
    return state


def _result(
    program: Program, trainer: Trainer, batches: Batches, recipe: Recipe, done: int, data: str
) -> TrainingResult:
    state = trainer.state
    buffers = {p.owner for p in parameters(program) if p.param.is_buffer}
    return TrainingResult(
        program.name,
        recipe.optimizer,
        state.updater.settings,
        recipe.seed,
        batches.samples,
        batches.batch,
        tuple(state.history),
        done,
        {path: array for path, array in state.arrays.items() if path not in buffers},
        {path: array for path, array in state.arrays.items() if path in buffers},
        in_reference(program, state.arrays),
        trainer.trained,
        data,
        trainer.watched,
    )


def _opened(data: Data) -> Tensors | None:
    """Return the arrays of a data set; None for synthetic data."""
    if isinstance(data, Mapping):
        return Arrays(data)
    return None if data == SYNTHETIC else open_tensors(data)


def _require_files(
    checkpoint: str | Path | None, every: int | None, resume: str | Path | None, weights: object
) -> None:
    """Raise NetcalcError (E502) for files that are not possible, or not possible together."""
    problem = None
    if every is not None and checkpoint is None:
        problem = "checkpoints after every so many steps need a file to write: --checkpoint FILE"
    elif every is not None and every < 1:
        problem = f"a checkpoint is written after every 1 step or more, not {every}"
    elif resume is not None and weights is not None:
        problem = "a resumed run has the weights of its checkpoint, and takes no others"
    if problem is not None:
        raise NetcalcError(Diagnostic("E502", problem))
    if checkpoint is not None:
        require_checkpoint_name(checkpoint)
