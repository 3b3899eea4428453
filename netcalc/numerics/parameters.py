"""Parameters of a program, from a checkpoint that is checked name by name, or from initialisers.

Tensors are fetched one at a time, when the node that uses them runs.  A network whose weights do not fit into memory
together therefore still runs if each layer fits by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from netcalc.analysis.walk import Instance, ParameterInstance, parameters
from netcalc.diagnostics import Diagnostic, NetcalcError, nearest
from netcalc.dims import integer
from netcalc.dtypes import INTEGERS
from netcalc.ir import CheckpointLocation, Program, dtype_of, join, parameter_at
from netcalc.numerics.initializers import Initializers
from netcalc.numerics.kernels import Array
from netcalc.numerics.tensor_files import Arrays, Header, Tensors, open_tensors
from netcalc.opdef import Buffer, Param

__all__ = ["Mismatch", "Parameters", "Weights", "WeightsReport", "check_weights"]

#: Type of a ``weights`` argument: a file, or arrays by name.
Weights: TypeAlias = str | Path | Mapping[str, Any]

#: Number of names that are searched for misspellings.  A file of another network may hold thousands.
_CANDIDATES = 200


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Difference between a checkpoint and the program: ``kind`` is missing, unexpected, shape, dtype or tie."""

    kind: str
    name: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class WeightsReport:
    """Result of checking a checkpoint against a program.

    ``tensors`` is the number of tensors in the file, ``parameters`` the number of parameters and buffers looked up.
    """

    spec: str
    file: str
    tensors: int
    parameters: int
    mismatches: tuple[Mismatch, ...]

    @property
    def ok(self) -> bool:
        """True if the checkpoint fits the program."""
        return not self.mismatches

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Diagnostics with code E601, one for each mismatch."""
        return tuple(Diagnostic("E601", f"{self.file}: {m.message}", hint=m.hint) for m in self.mismatches)


def check_weights(program: Program, weights: Weights) -> WeightsReport:
    """Compare the names, shapes and element types of a checkpoint with the program; only headers are read.

    A tied tensor may be stored under any of its names.  Copies under several names are compared only when they are
    loaded.  Buffers that are not persistent, and integer counters such as ``num_batches_tracked``, may be absent.

    Raises:
        NetcalcError: E605 if the file cannot be read.
    """
    return _match(program, _tensors(weights)).report


class Parameters:
    """Access to the parameters and buffers of a program, one at a time.

    Args:
        weights: a file or arrays to load; None to draw all parameters from initialisers.
        init: ``--init`` options, see :meth:`~netcalc.numerics.initializers.Initializers.of`.
        seed: seed of drawn parameters; each tensor depends only on the seed and its path.

    Raises:
        NetcalcError: E601 with every mismatch of the weights, E605 if they cannot be read, E502 for ``init``.
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
        self._locations: Mapping[str, CheckpointLocation] = {}
        self._initializers = Initializers.of(program, init)
        if weights is not None:
            self._tensors = _tensors(weights)
            match = _match(program, self._tensors, values=True)
            if not match.report.ok:
                raise NetcalcError(match.report.diagnostics)
            self._locations = match.locations
        else:
            _require_matches(program, self._initializers)

    def fetch(self, instance: Instance, param: Param) -> Array:
        """Return the tensor that an operation uses.  It may be a view of a given array and must not be modified."""
        path, owner = join(instance.path, param.name), instance.owners[param.name]
        if self._tensors is not None and not (isinstance(param, Buffer) and not param.persistent):
            location = self._locations.get(owner) or CheckpointLocation(owner)
            if location.names[0] in self._tensors.headers:
                return _load(self._tensors, location)
        op, declaration = instance.node.op, param
        if owner != path:  # the owner of a tied tensor initialises it
            owning = parameter_at(self._program.main.nodes, owner)
            if owning is None:
                raise LookupError(owner)
            op, declaration = owning[0].op, owning[1]
        dtype = dtype_of(param, instance.node, self._program.dtype)
        return self._initializers.initial(op, owner, declaration, dtype, self._seed)


# -- matching ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Match:
    """A report, and the locations of tensors that are not stored under their owner's name."""

    report: WeightsReport
    locations: Mapping[str, CheckpointLocation]


def _tensors(weights: Weights) -> Tensors:
    return Arrays(weights) if isinstance(weights, Mapping) else open_tensors(weights)


def _match(program: Program, tensors: Tensors, *, values: bool = False) -> _Match:
    headers = tensors.headers
    locations: dict[str, CheckpointLocation] = {}
    aliases: dict[str, list[CheckpointLocation]] = {}
    missing: dict[str, ParameterInstance] = {}
    used: set[str] = set()
    mismatches: list[Mismatch] = []
    count = 0
    for parameter in parameters(program):
        count += not parameter.tied
        if isinstance(parameter.param, Buffer) and not parameter.param.persistent:
            used.add(parameter.path)  # some checkpoints hold it nevertheless
            continue
        declared = [parameter.location] if parameter.location else []
        location = next((c for c in (*declared, CheckpointLocation(parameter.path)) if c.names[0] in headers), None)
        if location is None:
            if not parameter.tied:
                missing[parameter.owner] = parameter
            continue
        used.update(location.names)
        mismatches += _misfits(parameter, location, headers)
        if parameter.tied:
            aliases.setdefault(parameter.owner, []).append(location)
        elif location != CheckpointLocation(parameter.owner):
            locations[parameter.owner] = location
    for owner, others in aliases.items():
        if owner in missing:
            del missing[owner]
            locations[owner] = others.pop(0)
        if values and not mismatches:
            mismatches += _differences(tensors, owner, locations.get(owner) or CheckpointLocation(owner), others)
    required = [p for p in missing.values() if not _is_counter(p)]
    mismatches += _absent(required, [name for name in headers if name not in used])
    return _Match(WeightsReport(program.name, tensors.name, len(headers), count, tuple(mismatches)), locations)


def _is_counter(parameter: ParameterInstance) -> bool:
    """Return True for an integer counter of training steps, which may be absent and starts at zero."""
    return parameter.param.is_buffer and not parameter.param.shape and parameter.dtype in INTEGERS


def _misfits(
    parameter: ParameterInstance, location: CheckpointLocation, headers: Mapping[str, Header]
) -> Iterator[Mismatch]:
    shape = [integer(size) for size in parameter.param.shape]
    part = "" if location.name == parameter.path else f" (for {parameter.path})"
    if location.stack is not None and shape[0] != location.stack:
        message = f"{location.name!r}{part} are {location.stack} tensors, and the spec has {shape[0]}"
        yield Mismatch("shape", location.name, message)
        return
    if location.stack is not None:
        del shape[0]
    if location.transpose:
        shape[-2:] = shape[:-3:-1]
    if location.chunks > 1:
        shape[location.axis] *= location.chunks
    expected = Header(tuple(shape), parameter.dtype)
    for name in location.names:
        header = headers.get(name)
        if header is None:
            yield Mismatch("missing", name, f"the parameter {name!r}{part} is missing")
        elif header.shape != expected.shape:
            transposed = header.shape == expected.shape[::-1]
            message = f"{name!r}{part} is {header}, and the spec has {expected}"
            yield Mismatch("shape", name, message, "it is stored transposed" if transposed else None)
        elif header.dtype != expected.dtype:
            yield Mismatch("dtype", name, f"{name!r}{part} is {header.dtype}, and the spec has {expected.dtype}")


def _absent(missing: list[ParameterInstance], unexpected: list[str]) -> Iterator[Mismatch]:
    prefix = _common_prefix(missing, unexpected)
    candidates = unexpected[:_CANDIDATES]
    for number, parameter in enumerate(missing):
        name = parameter.location.names[0] if parameter.location else parameter.path
        similar = nearest(name, candidates) if number < _CANDIDATES and not prefix else None
        hint = f"the file's names begin with {prefix!r}" if prefix else similar and f"the file has {similar!r}"
        kind = "buffer" if parameter.param.is_buffer else "parameter"
        yield Mismatch("missing", name, f"the {kind} {name!r} is missing", hint)
    if not prefix:
        yield from (Mismatch("unexpected", n, f"{n!r} is no parameter of the spec") for n in unexpected)


def _common_prefix(missing: list[ParameterInstance], unexpected: list[str]) -> str | None:
    """Return the prefix of the file's names if removing it would supply every missing parameter."""
    if not missing:
        return None
    names, first = set(unexpected), missing[0].path
    prefixes = [name[: -len(first)] for name in unexpected if name.endswith("." + first)]
    return next((p for p in prefixes if all(p + parameter.path in names for parameter in missing)), None)


def _differences(
    tensors: Tensors, owner: str, location: CheckpointLocation, others: list[CheckpointLocation]
) -> Iterator[Mismatch]:
    for other in others:
        if other != location and not np.array_equal(_load(tensors, location), _load(tensors, other)):
            message = f"{location.name!r} and {other.name!r} are one tensor in the spec, and hold different numbers"
            yield Mismatch("tie", other.name, message, f"leave one of them out, or untie {owner!r}")


def _load(tensors: Tensors, location: CheckpointLocation) -> Array:
    """Return the tensor, the chunk of a larger one, or the stack of several that ``location`` names."""
    if location.stack is not None:
        return np.stack([_load(tensors, location._replace(name=name, stack=None)) for name in location.names])
    array = tensors.load(location.name)
    if location.chunks > 1:
        size = array.shape[location.axis] // location.chunks
        array = array.take(range(location.chunk * size, (location.chunk + 1) * size), axis=location.axis)
    return np.swapaxes(array, -1, -2) if location.transpose else array


def _require_matches(program: Program, initializers: Initializers) -> None:
    """Raise NetcalcError (E502) if the pattern of an option matches no parameter."""
    unmatched = [rule for rule in initializers.rules if rule.is_option and rule.pattern is not None]
    remaining = parameters(program) if unmatched else iter(())
    while unmatched and (parameter := next(remaining, None)) is not None:
        if not parameter.param.is_buffer:
            unmatched = [rule for rule in unmatched if not rule.applies(parameter.owner, parameter.param)]
    if unmatched:
        raise NetcalcError(
            Diagnostic("E502", f"{rule.text}: no parameter matches {rule.pattern!r}") for rule in unmatched
        )
