"""Batches for training: samples along the first axis of arrays, shuffled by seed, or drawn inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import integer
from netcalc.ir import InputSpec, Program
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import accepted, run_inputs
from netcalc.weights.stored import clipped
from netcalc.weights.tensor_files import Tensors


class Batches:
    """Inputs of a program for each step of training.

    An array of samples has the shape of its input but for the first axis, which has all samples; all such arrays have
    the same number.  Each epoch takes the samples in an order of its own, which depends on the seed and the number of
    the epoch only, and leaves out the samples that fill no batch.  An array with exactly the shape of its input is the
    same in every step, so that data of one batch are taken in their own order.

    Args:
        program: the program; its sizes must be numbers.
        data: arrays by name of the input; None for one batch, drawn as the inputs of a run are.
        seed: seed of the order of the samples, and of drawn inputs.

    Raises:
        NetcalcError: E602 with every array that does not fit, and every input without one; E605 for data that cannot
            be read.
    """

    def __init__(self, program: Program, data: Tensors | None, seed: int = 0) -> None:
        self._seed = seed
        self._samples: dict[int, Array] = {}
        self._order = -1, np.arange(0)  # number of an epoch, and its order
        #: Number of samples of the data, and of a batch; both are 1 where every step has the same inputs.
        self.samples = self.batch = 1
        if data is None:
            self._arrays: list[Array] = run_inputs(program, None, seed)
            return
        _require_names(program, data)
        shapes = {name: tuple(header.shape) for name, header in data.headers.items()}
        sampled = {
            place: spec
            for place, spec in enumerate(program.inputs)
            if spec.name in shapes and shapes[spec.name] != _sizes(spec)
        }
        _require_samples(data.name, sampled.values(), shapes)
        self._arrays = [_whole_array(spec, data) for spec in program.inputs]
        self._samples = {place: self._arrays[place] for place in sampled}
        for place, spec in sampled.items():
            self.samples, self.batch = len(self._arrays[place]), _sizes(spec)[0]

    @property
    def digest(self) -> str:
        """A digest of all samples, by which other data are recognized."""
        digest = sha256()
        for array in self._arrays:
            digest.update(f"{array.dtype.name}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    @property
    def in_epoch(self) -> int:
        """Number of batches of an epoch."""
        return self.samples // self.batch

    def arrays(self, step: int) -> list[Array]:
        """Return the inputs of a step, in order; steps count from 0."""
        if not self._samples:
            return self._arrays
        epoch, number = divmod(step, self.in_epoch)
        if epoch != self._order[0]:
            self._order = epoch, generator(self._seed, f"/epoch/{epoch}").permutation(self.samples)
        chosen = self._order[1][number * self.batch : (number + 1) * self.batch]
        return [
            self._samples[place][chosen] if place in self._samples else array
            for place, array in enumerate(self._arrays)
        ]


def _require_names(program: Program, data: Tensors) -> None:
    """Raise NetcalcError (E602) for arrays that are no input, and for inputs that have neither array nor default."""
    names = [spec.name for spec in program.inputs]
    problems = [
        Diagnostic("E602", f"{data.name}: the network has no input {clipped(name)}", hint=did_you_mean(name, names))
        for name in data.headers
        if name not in names
    ]
    problems += [
        Diagnostic("E602", f"{data.name} has no array for the input {spec.name!r}, which takes {spec.type}")
        for spec in program.inputs
        if spec.name not in data.headers and spec.default is None
    ]
    if problems:
        raise NetcalcError(problems)


def _require_samples(file: str, inputs: Iterable[InputSpec], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise NetcalcError (E602) if arrays have not the shape of samples, or not the same number, or too few."""
    inputs = list(inputs)
    problems = []
    for spec in inputs:
        shape, sizes = shapes[spec.name], _sizes(spec)
        if not sizes or shape[1:] != sizes[1:] or len(shape) != len(sizes):
            samples = f"samples of {_text(sizes[1:])} along the first axis" if sizes else "one number"
            text = f"{file}: {spec.name!r} is {_text(shape)}, and the input takes {samples}"
            problems.append(Diagnostic("E602", text, hint="--set changes the sizes of the spec"))
    if problems:
        raise NetcalcError(problems)
    counts = {spec.name: shapes[spec.name][0] for spec in inputs}
    batches = {spec.name: _sizes(spec)[0] for spec in inputs}
    for what, numbers in (("samples", counts), ("samples in a batch", batches)):
        if len(set(numbers.values())) > 1:
            listed = ", ".join(f"{name!r} has {count:,}" for name, count in numbers.items())
            raise NetcalcError(Diagnostic("E602", f"{file}: inputs have different numbers of {what}: {listed}"))
    count, batch = next(iter(counts.values()), 1), next(iter(batches.values()), 1)
    if count < batch or not batch:
        hint = f"--batch {count}" if count else None
        text = f"{file} has {count:,} samples, and a batch of the spec has {batch:,}"
        raise NetcalcError(Diagnostic("E602", text, hint=hint))


def _whole_array(spec: InputSpec, data: Tensors) -> Array:
    """Return the array of an input in its declared type, with all samples, or its default."""
    if spec.name not in data.headers:
        return np.full(_sizes(spec), spec.default, numpy_dtype(spec.type.dtype))
    array = data.load(spec.name)
    return accepted(spec._replace(type=spec.type.with_shape(*array.shape)), array)


def _sizes(spec: InputSpec) -> tuple[int, ...]:
    return tuple(integer(size) for size in spec.type.shape)


def _text(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "one number"
