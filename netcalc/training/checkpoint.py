"""Checkpoints of training in safetensors: parameters, buffers, states of the optimizer, generator and past steps.

Parameters and buffers have their paths as names, states of the optimizer ``optimizer/STATE/PATH``.  The metadata name
the spec, the optimizer, the seed and a digest of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.ir import Program, dtype_of
from netcalc.training.result import TrainingStep
from netcalc.training.state import State, generator_words, restored_generator, tensors
from netcalc.training.updates import Updater
from netcalc.weights.stored import clipped
from netcalc.weights.tensor_files import TensorFile, open_tensors
from netcalc.weights.writing import write_tensors

#: Version of the layout, in the metadata.
_FORMAT = "netcalc.training"
_VERSION = "1"
_STATES, _GENERATOR, _HISTORY = "optimizer/", "training/generator", "training/steps"
#: Figures of a step that are kept; its number is its place.
_FIGURES = ("loss", "lr", "gradient_norm", "seconds")
#: Mismatches that are reported one by one.
_MOST = 10


def require_checkpoint_name(path: str | Path) -> None:
    """Raise NetcalcError (E502) unless a path names a file of safetensors in a folder that exists."""
    if Path(path).suffix.lower() != ".safetensors":
        hint = "safetensors holds them safely, and every type"
        raise NetcalcError(Diagnostic("E502", f"{path}: checkpoints are .safetensors files", hint=hint))
    if not Path(path).absolute().parent.is_dir():
        raise NetcalcError(Diagnostic("E502", f"{path}: there is no folder {str(Path(path).parent)!r}"))


def write_checkpoint(path: str | Path, spec: str, state: State) -> None:
    """Write a checkpoint; a file that exists is replaced as a whole, or unchanged on an error.

    Raises:
        NetcalcError: E605 if the file cannot be written.
    """
    content = dict(state.arrays)
    for owner, states in state.updater.states.items():
        content.update((f"{_STATES}{name}/{owner}", array) for name, array in states.items())
    content[_GENERATOR] = generator_words(state.rng)
    steps = [[getattr(step, name) for name in _FIGURES] for step in state.history]
    content[_HISTORY] = np.array(steps, np.float64).reshape(-1, len(_FIGURES))
    metadata = {_FORMAT: _VERSION, "spec": spec, "optimizer": state.updater.name, "seed": str(state.seed)}
    metadata["data"] = state.data
    write_tensors(path, content, metadata)


def read_checkpoint(path: str | Path, program: Program, updater: Updater, seed: int) -> State:
    """Return the state of training in a checkpoint.

    Raises:
        NetcalcError: E605 for a file that cannot be read or is no checkpoint of training; E601 for tensors that are not
            tensors of the program and the optimizer; E502 for another optimizer or seed than the checkpoint's.
    """
    require_checkpoint_name(path)
    file = open_tensors(path)
    metadata = file.metadata()
    if metadata.get(_FORMAT) != _VERSION or not {_GENERATOR, _HISTORY} <= file.headers.keys():
        hint = "--weights begins to train with the parameters of any checkpoint"
        raise NetcalcError(Diagnostic("E605", f"{path} is no checkpoint of `netcalc train`", hint=hint))
    for what, used in (("optimizer", updater.name), ("seed", str(seed))):
        if metadata.get(what) != used:
            option = "--training" if what == "optimizer" else "--seed"
            text = f"{path} was written with the {what} {clipped(metadata.get(what, ''))}, and this is {used}"
            raise NetcalcError(Diagnostic("E502", text, hint=f"{option} {metadata.get(what, '')[:40]}"))
    expected = {
        owner: (tuple(integer(size) for size in param.shape), dtype_of(param, instance.node, program.dtype))
        for owner, instance, param in tensors(program)
    }
    states = _states(file, expected, updater)
    _require_same(file, expected)
    arrays = {owner: file.load(owner) for owner in expected}
    restored = replace(updater, states=states)
    history = [TrainingStep(number, *map(float, row)) for number, row in enumerate(_history(file), 1)]
    return State(arrays, restored, seed, _generator(file), history, metadata.get("data", ""))


def _states(
    file: TensorFile, expected: Mapping[str, tuple[tuple[int, ...], str]], updater: Updater
) -> dict[str, dict[str, Array]]:
    """Return the states of the optimizer by path and name.

    Raises:
        NetcalcError: E601 for states that do not belong to the optimizer and the parameters.
    """
    by_owner: dict[str, dict[str, Array]] = {}
    for name in file.headers:
        if not name.startswith(_STATES):
            continue
        kind, _, owner = name.removeprefix(_STATES).partition("/")
        parameter = expected.get(owner)
        kinds = {} if parameter is None else {state.name: state for state in updater.kept(owner, parameter[0])}
        if parameter is None or kind not in kinds:
            raise _misfit(file, name, "belongs to no parameter and state of this training")
        shape = tuple(map(integer, kinds[kind].shape(parameter[0])))
        _require_tensor(file, name, shape, kinds[kind].dtype or parameter[1])
        by_owner.setdefault(owner, {})[kind] = file.load(name)
    for owner, states in by_owner.items():
        for kind in {state.name for state in updater.kept(owner, expected[owner][0])} - states.keys():
            raise _misfit(file, f"{_STATES}{kind}/{owner}", "is missing")
    return by_owner


def _require_same(file: TensorFile, expected: Mapping[str, tuple[tuple[int, ...], str]]) -> None:
    """Raise NetcalcError (E601) unless a file has exactly the parameters and buffers expected."""
    others = {name for name in file.headers if not name.startswith((_STATES, "training/"))}
    problems = [Diagnostic("E601", f"{file.name}: {name} is missing") for name in expected if name not in others]
    problems += [
        Diagnostic("E601", f"{file.name}: {clipped(name)} is no parameter of the network")
        for name in others
        if name not in expected
    ]
    if problems:
        raise NetcalcError(problems[:_MOST])
    for name, (shape, dtype) in expected.items():
        _require_tensor(file, name, shape, dtype)


def _require_tensor(file: TensorFile, name: str, shape: tuple[int, ...], dtype: str) -> None:
    header = file.headers[name]
    if tuple(header.shape) != shape or file.dtype(name) != numpy_dtype(dtype):
        text = "×".join(map(str, header.shape)) or "one number"
        wanted = "×".join(map(str, shape)) or "one number"
        raise _misfit(file, name, f"is {text} {header.dtype[:20]}, and this training has {wanted} {dtype}")


def _history(file: TensorFile) -> Array:
    shape = file.headers[_HISTORY].shape
    _require_tensor(file, _HISTORY, (shape[0] if shape else 0, len(_FIGURES)), "float64")
    return file.load(_HISTORY)


def _generator(file: TensorFile) -> np.random.Generator:
    _require_tensor(file, _GENERATOR, (6,), "uint64")
    try:
        return restored_generator(file.load(_GENERATOR))
    except ValueError:
        raise _misfit(file, _GENERATOR, "is no state of a generator") from None


def _misfit(file: TensorFile, name: str, text: str) -> NetcalcError:
    hint = "a resumed run needs the spec, settings and element type of the run that wrote the checkpoint"
    return NetcalcError(Diagnostic("E601", f"{file.name}: {clipped(name)} {text}", hint=hint))
