"""Where parameters come from: a checkpoint held against the program name by name, or initialisers.

Tensors are fetched one at a time, when the node that uses them runs, so that a network whose weights do not fit
into memory together still runs if each of its layers does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from netcalc.analysis.walk import Instance, ParameterInstance, parameters
from netcalc.diagnostics import Diagnostic, NetcalcError, nearest
from netcalc.dims import value_at
from netcalc.dtypes import INTEGERS
from netcalc.ir import CheckpointSource, Program, dtype_of, join, parameter_at
from netcalc.numerics.initializers import Initializers
from netcalc.numerics.kernels import Array
from netcalc.numerics.tensor_files import Arrays, Header, Tensors, open_tensors
from netcalc.opdef import Buffer, Param

__all__ = ["Mismatch", "Parameters", "Weights", "WeightsReport", "check_weights"]

#: What ``weights`` may be: a file, or arrays by name.
Weights: TypeAlias = str | Path | Mapping[str, Any]

#: Misspelt names are looked for among so many, not to spend minutes on a file that belongs to another network.
_HINTED = 200


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One way in which a checkpoint does not fit: ``kind`` is missing, unexpected, shape, dtype or tie."""

    kind: str
    name: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class WeightsReport:
    """How a checkpoint fits a program: tensors in the file, parameters and buffers looked up, and what is wrong."""

    file: str
    tensors: int
    parameters: int
    mismatches: tuple[Mismatch, ...]

    @property
    def ok(self) -> bool:
        """Whether the checkpoint fits."""
        return not self.mismatches

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """One for each mismatch."""
        return tuple(Diagnostic("E601", f"{self.file}: {m.message}", hint=m.hint) for m in self.mismatches)


def check_weights(program: Program, weights: Weights) -> WeightsReport:
    """Holds the names, shapes and element types of a checkpoint against the program; reads headers only.

    A tied tensor may stand under any of its names; whether it holds the same numbers under several is seen only when
    it is loaded.  Buffers that are not persistent, and whole-number counters such as ``num_batches_tracked``, may be
    absent.

    Raises:
        NetcalcError: E605 where the file cannot be read.
    """
    return _match(program, _tensors(weights)).report


class Parameters:
    """The parameters and buffers of a program, one at a time.

    Args:
        weights: a file or arrays to take them from; None to draw all from initialisers.
        init: ``--init`` options, see :meth:`~netcalc.numerics.initializers.Initializers.of`.
        seed: of what is drawn; each tensor depends on this and its path alone.

    Raises:
        NetcalcError: E601 with every mismatch of the weights, E605 where they cannot be read, E502 for ``init``.
    """

    def __init__(
        self,
        program: Program,
        weights: Weights | None = None,
        *,
        init: str | Iterable[str] = "default",
        seed: int = 0,
    ) -> None:
        self._program = program
        self._seed = seed
        self._tensors: Tensors | None = None
        self._places: Mapping[str, CheckpointSource] = {}
        self._initializers = Initializers.of(program, init)
        if weights is not None:
            self._tensors = _tensors(weights)
            match = _match(program, self._tensors, values=True)
            if not match.report.ok:
                raise NetcalcError(match.report.diagnostics)
            self._places = match.places
        else:
            _require_matches(program, self._initializers)

    def fetch(self, instance: Instance, param: Param) -> Array:
        """The tensor that one operation uses; a fresh array or a view of the given one, not to be written to."""
        path, owner = join(instance.path, param.name), instance.owners[param.name]
        if self._tensors is not None and not (isinstance(param, Buffer) and not param.persistent):
            source = self._places.get(owner) or CheckpointSource(owner)
            if source.names[0] in self._tensors.headers:
                return _take(self._tensors, source)
        op, own = instance.node.op, param
        if owner != path:  # a tied tensor starts as its owner says
            found = parameter_at(self._program.main.nodes, owner)
            if found is None:
                raise LookupError(owner)
            op, own = found[0].op, found[1]
        dtype = dtype_of(param, instance.node, self._program.dtype)
        return self._initializers.initial(op, owner, own, dtype, self._seed)


# -- matching ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Match:
    """A report, and where tensors stand that do not stand under their owner's name."""

    report: WeightsReport
    places: Mapping[str, CheckpointSource]


def _tensors(weights: Weights) -> Tensors:
    return Arrays(weights) if isinstance(weights, Mapping) else open_tensors(weights)


def _match(program: Program, tensors: Tensors, *, values: bool = False) -> _Match:
    headers = tensors.headers
    places: dict[str, CheckpointSource] = {}
    aliases: dict[str, list[CheckpointSource]] = {}
    missing: dict[str, ParameterInstance] = {}
    used: set[str] = set()
    wrong: list[Mismatch] = []
    count = 0
    for parameter in parameters(program):
        count += not parameter.tied
        if isinstance(parameter.param, Buffer) and not parameter.param.persistent:
            used.add(parameter.path)  # some checkpoints hold it all the same
            continue
        names = [parameter.source] if parameter.source else []
        found = next((s for s in (*names, CheckpointSource(parameter.path)) if s.names[0] in headers), None)
        if found is None:
            if not parameter.tied:
                missing[parameter.owner] = parameter
            continue
        used.update(found.names)
        wrong += _misfits(parameter, found, headers)
        if parameter.tied:
            aliases.setdefault(parameter.owner, []).append(found)
        elif found != CheckpointSource(parameter.owner):
            places[parameter.owner] = found
    for owner, others in aliases.items():
        if owner in missing:
            del missing[owner]
            places[owner] = others.pop(0)
        if values and not wrong:
            wrong += _differences(tensors, owner, places.get(owner) or CheckpointSource(owner), others)
    needed = [p for p in missing.values() if not _counter(p)]
    wrong += _absent(needed, [name for name in headers if name not in used])
    return _Match(WeightsReport(tensors.name, len(headers), count, tuple(wrong)), places)


def _counter(parameter: ParameterInstance) -> bool:
    """Whether it only counts steps, and so may start afresh."""
    return parameter.param.is_buffer and not parameter.param.shape and parameter.dtype in INTEGERS


def _misfits(
    parameter: ParameterInstance, source: CheckpointSource, headers: Mapping[str, Header]
) -> Iterator[Mismatch]:
    shape = [value_at(size, {}) for size in parameter.param.shape]
    part = "" if source.name == parameter.path else f" (for {parameter.path})"
    if source.stack is not None and shape[0] != source.stack:
        message = f"{source.name!r}{part} are {source.stack} tensors, and the spec has {shape[0]}"
        yield Mismatch("shape", source.name, message)
        return
    if source.stack is not None:
        del shape[0]
    if source.transpose:
        shape[-2:] = shape[:-3:-1]
    if source.chunks > 1:
        shape[source.axis] *= source.chunks
    wanted = Header(tuple(shape), parameter.dtype)
    for name in source.names:
        header = headers.get(name)
        if header is None:
            yield Mismatch("missing", name, f"the parameter {name!r}{part} is missing")
        elif header.shape != wanted.shape:
            turned = header.shape == wanted.shape[::-1]
            message = f"{name!r}{part} is {header}, and the spec has {wanted}"
            yield Mismatch("shape", name, message, "it is stored transposed" if turned else None)
        elif header.dtype != wanted.dtype:
            yield Mismatch("dtype", name, f"{name!r}{part} is {header.dtype}, and the spec has {wanted.dtype}")


def _absent(missing: list[ParameterInstance], unexpected: list[str]) -> Iterator[Mismatch]:
    prefix = _common_prefix(missing, unexpected)
    hinted = unexpected[:_HINTED]
    for number, parameter in enumerate(missing):
        name = parameter.source.names[0] if parameter.source else parameter.path
        near = nearest(name, hinted) if number < _HINTED and not prefix else None
        hint = f"the file's names begin with {prefix!r}" if prefix else near and f"the file has {near!r}"
        kind = "buffer" if parameter.param.is_buffer else "parameter"
        yield Mismatch("missing", name, f"the {kind} {name!r} is missing", hint)
    if not prefix:
        yield from (Mismatch("unexpected", n, f"{n!r} is no parameter of the spec") for n in unexpected)


def _common_prefix(missing: list[ParameterInstance], unexpected: list[str]) -> str | None:
    """What stands before every name in the file, where that is all that is wrong."""
    if not missing:
        return None
    names, first = set(unexpected), missing[0].path
    before = [name[: -len(first)] for name in unexpected if name.endswith("." + first)]
    return next((p for p in before if all(p + parameter.path in names for parameter in missing)), None)


def _differences(
    tensors: Tensors, owner: str, source: CheckpointSource, others: list[CheckpointSource]
) -> Iterator[Mismatch]:
    for other in others:
        if other != source and not np.array_equal(_take(tensors, source), _take(tensors, other)):
            message = f"{source.name!r} and {other.name!r} are one tensor in the spec, and hold different numbers"
            yield Mismatch("tie", other.name, message, f"leave one of them out, or untie {owner!r}")


def _take(tensors: Tensors, source: CheckpointSource) -> Array:
    """The tensor, the part of a larger one, or the stack of several, that ``source`` names."""
    if source.stack is not None:
        return np.stack([_take(tensors, source._replace(name=name, stack=None)) for name in source.names])
    array = tensors.load(source.name)
    if source.chunks > 1:
        size = array.shape[source.axis] // source.chunks
        array = array.take(range(source.chunk * size, (source.chunk + 1) * size), axis=source.axis)
    return np.swapaxes(array, -1, -2) if source.transpose else array


def _require_matches(program: Program, initializers: Initializers) -> None:
    """NetcalcError (E502) where the pattern of an option matches no parameter."""
    idle = [rule for rule in initializers.rules if rule.is_option and rule.pattern is not None]
    walk = parameters(program) if idle else iter(())
    while idle and (parameter := next(walk, None)) is not None:
        if not parameter.param.is_buffer:
            idle = [rule for rule in idle if not rule.applies(parameter.owner, parameter.param)]
    if idle:
        raise NetcalcError(Diagnostic("E502", f"{rule.text}: no parameter matches {rule.pattern!r}") for rule in idle)
