"""Comparison of a checkpoint's names, shapes and element types with the parameters of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fnmatch import translate
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from netcalc.analysis.precision.places import Kinds
from netcalc.analysis.walk import ParameterInstance, instances, parameters
from netcalc.arrays import numpy_dtype
from netcalc.diagnostics import Diagnostic, NetcalcError, nearest
from netcalc.dims import integer
from netcalc.dtypes import DTYPES, FLOATS, INTEGERS
from netcalc.ir import CheckpointEntry, CheckpointLocation, PatternWork, Program, join, size_of
from netcalc.ir.storage import OWN
from netcalc.limits import MAX_LOOKUPS
from netcalc.opdef import Buffer, Param
from netcalc.weights.assembly import assembled_shape, expected_shape, read
from netcalc.weights.packing.unpacked import StandingTensors
from netcalc.weights.packing_audit import PackingAudit, Verdict, audited
from netcalc.weights.pieces import pieces
from netcalc.weights.report import Mismatch, WeightsReport, pattern_of, quoted
from netcalc.weights.tensor_files import Header, Tensors

#: True if the parameter at a path is random before training.
IsDrawn: TypeAlias = Callable[[str, Param], bool]

#: Names of missing tensors, and of unexpected ones, that are compared for misspellings.
_CANDIDATES = 100


def _same(name: str) -> str:
    return name


class Match(NamedTuple):
    """A report, the locations of the tensors by their owners' paths, and the number of the program's parameters.

    ``used`` are the names of tensors that were looked up, and ``ignored`` those declared to be of no use.
    """

    report: WeightsReport
    locations: Mapping[str, CheckpointLocation]
    params: int
    used: Set[str]
    ignored: Set[str]


def match(program: Program, tensors: Tensors, is_drawn: IsDrawn, *, values: bool = False, cast: bool = False) -> Match:
    """Compare a checkpoint with a program.

    A parameter whose place in the checkpoint is optional may be absent if ``is_drawn`` does not say that it is random.
    With ``values`` tensors that are stored several times are compared too.  With ``cast`` any floating-point type
    fits another.
    """
    audit = PackingAudit.of_tensors(tensors)
    matching = _matched(program, tensors.headers, is_drawn, cast, audit)
    mismatches = [*matching.mismatches]
    missing, locations = matching.missing, matching.locations
    for owner, others in matching.aliases.items():
        if owner in missing:
            del missing[owner]
            locations[owner] = others.pop(0)
        if values and not mismatches and owner in locations:
            mismatches += _differences(tensors, owner, locations[owner], others)
    required = [p for p in missing.values() if not matching.may_be_absent(p)]
    required, absent = [p for p in required if not matching.is_audited(p)], required
    unused = [name for name in tensors.headers if name not in matching.used]
    unexpected = list(matching.without_ignored(unused))
    if unexpected and program.first_step is not None:
        named = _matched(program.first_step, tensors.headers, is_drawn, cast).used
        unexpected = [name for name in unexpected if name not in named]
    expected = list(unexpected)
    mismatches += audited(matching.verdicts.values(), unexpected)
    matching.used.update(set(expected).difference(unexpected))
    mismatches += _absent(required, unexpected)
    stored = tensors.stored if isinstance(tensors, StandingTensors) else tensors
    report = WeightsReport(
        program.name,
        tensors.name,
        len(stored.headers),
        matching.count,
        tuple(mismatches),
        len(missing) - len(absent),
        len(unused) - len(expected),
    )
    return Match(report, locations, matching.params, matching.used, {*unused}.difference(expected))


def _matched(
    program: Program, headers: Mapping[str, Header], is_drawn: IsDrawn, cast: bool, audit: PackingAudit | None = None
) -> _Matching:
    matching = _Matching(program, headers, is_drawn, cast, audit)
    for parameter in parameters(program):
        matching.add(parameter)
    return matching


@dataclass(slots=True)
class _Matching:
    """Locations found so far.

    ``aliases`` are further places of an owner: of parameters tied to it, and alternatives that are present too.
    ``verdicts`` are those of the audit of packed tensors, by the names of what these stand for.  ``routers`` are
    parameters that the reference has in linear layers in some versions, which quantize them, and in others not.
    """

    program: Program
    headers: Mapping[str, Header]
    is_drawn: IsDrawn
    cast: bool
    audit: PackingAudit | None = None
    count: int = 0
    params: int = 0
    locations: dict[str, CheckpointLocation] = field(default_factory=dict)
    aliases: dict[str, list[CheckpointLocation]] = field(default_factory=dict)
    missing: dict[str, ParameterInstance] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    mismatches: list[Mismatch] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    lookups: int = 0
    work: PatternWork = field(default_factory=PatternWork)
    rename: Callable[[str], str] = field(init=False)
    headless: bool = field(init=False)
    stored_types: set[str] = field(init=False)
    routers: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        prefix = self.program.checkpoint_prefix and self.program.checkpoint_prefix + "."
        stored = bool(prefix) and any(name.startswith(prefix) for name in self.headers)
        in_spec = bool(prefix) and any(n.startswith(prefix) for p in parameters(self.program) for n in _names(p))
        self.stored_types = {header.dtype for header in self.headers.values()} & FLOATS
        #: True if the spec is the model under the prefix, and the checkpoint holds a larger one.
        self.headless = stored and not in_spec
        self.rename = self._renaming(prefix, stored)
        if self.audit is not None:
            self.routers = _routers(self.program)

    def _renaming(self, prefix: str, stored: bool) -> Callable[[str], str]:
        def added(name: str) -> str:
            return name if name in self.headers or prefix + name not in self.headers else prefix + name

        if self.headless:
            return added
        if prefix and not stored:
            return lambda name: name.removeprefix(prefix)
        return _same

    def add(self, parameter: ParameterInstance) -> None:
        """Look a parameter up, and compare what is found."""
        self.count += not parameter.tied
        if not parameter.tied and not parameter.param.is_buffer:
            self.params += prod(integer(size) for size in parameter.param.shape)
        if isinstance(parameter.param, Buffer) and not parameter.param.persistent:
            self.used.add(self.rename(parameter.path))  # some checkpoints hold it nevertheless
            return
        locations = self._present_places(parameter)
        if not locations:
            if not parameter.tied:
                self.missing[parameter.owner] = parameter
            return
        for location in locations:
            names = location.names
            self.used.update(names)
            if self._audited(parameter, location):
                names = tuple(name for name in names if name not in self.verdicts)
            self.mismatches += _misfits(parameter, location, names, self.headers)
            self.mismatches += self._wrong_types(parameter, names)
        if not parameter.tied:
            self.locations[parameter.owner] = locations.pop(0)
        if locations:
            self.aliases.setdefault(parameter.owner, []).extend(locations)

    def _present_places(self, parameter: ParameterInstance) -> list[CheckpointLocation]:
        """Return the first place that is present, then other alternatives of its entry that are.

        A place is preferred if all its tensors are present, else if one is, so that the others are reported.
        """
        for _, checkpoint in parameter.checkpoints:
            self.work.add(parameter.path, checkpoint.size)
        entries = parameter.entries
        self.lookups += 1 + sum(location.name_count for entry in entries for location in entry.alternatives)
        if self.lookups > MAX_LOOKUPS:
            message = f"{self.program.name} has parameters under more than {MAX_LOOKUPS:,} names, too many to look up"
            raise NetcalcError(Diagnostic(MAX_LOOKUPS.code, message))
        renamed = self._places(parameter, entries)
        for quantifier in (all, any):
            for group in renamed:
                present = [c for c in group if quantifier(name in self.headers for name in c.names)]
                if present:
                    return self._readings(parameter, present) if quantifier is all else present[:1]
        return []

    def _readings(self, parameter: ParameterInstance, present: list[CheckpointLocation]) -> list[CheckpointLocation]:
        """Return places without repetition: of several readings of the same tensors the first whose shape fits."""
        if len(present) == 1:
            return present
        readings: dict[tuple[str, ...], list[CheckpointLocation]] = {}
        for location in dict.fromkeys(present):
            readings.setdefault(location.names, []).append(location)
        return [
            next((c for c in ways if not [*_misfits(parameter, c, c.names, self.headers)]), ways[0])
            if len(ways) > 1
            else ways[0]
            for ways in readings.values()
        ]

    def _places(
        self, parameter: ParameterInstance, entries: Sequence[CheckpointEntry]
    ) -> Sequence[Sequence[CheckpointLocation]]:
        """Return the places of each entry of a parameter, under the names in the file."""
        groups = [*(entry.alternatives for entry in entries), (CheckpointLocation.of(parameter.path),)]
        if self.rename is _same:
            return groups
        return [[location.renamed(self.rename) for location in group] for group in groups]

    def is_audited(self, parameter: ParameterInstance) -> bool:
        """Return True if a parameter that is missing is one of packed tensors, and the audit names what is wrong."""
        for location in (location for group in self._places(parameter, parameter.entries) for location in group):
            if self._audited(parameter, location):
                rest = (name for name in location.names if name not in self.verdicts)
                self.mismatches += (Mismatch("missing", name, "is missing", "the parameter ") for name in rest)
                return True
        return False

    def _audited(self, parameter: ParameterInstance, location: CheckpointLocation) -> bool:
        """Audit the packed tensors of a parameter at a location, and return True if some are not as they should be."""
        if self.audit is None:
            return False
        shape = expected_shape(location, tuple(integer(size) for size in parameter.param.shape))
        scheme = None if parameter.path in self.routers else _packing(self.program, parameter)
        verdicts = ((name, self.audit.of(name, shape, scheme)) for name in location.names)
        wrong = {name: verdict for name, verdict in verdicts if verdict is not None}
        self.verdicts |= wrong
        self.used.update(*(verdict.claimed for verdict in wrong.values()))
        return bool(wrong)

    def _wrong_types(self, parameter: ParameterInstance, names: Sequence[str]) -> Iterator[Mismatch]:
        """Yield the tensors of a parameter that have another element type."""
        for name in names:
            header = self.headers.get(name)
            if header is None or header.dtype == parameter.dtype:
                continue
            hint = None
            if (header.dtype in FLOATS or header.unpacking is not None) and parameter.dtype in FLOATS:
                published = header.dtype == self.program.checkpoint_dtype
                if self.cast or header.any_float or (published and parameter.dtype in ("float32", "float64")):
                    continue
                hint = "add --cast" + (f", or --dtype {header.dtype}" if len(self.stored_types) == 1 else "")
            path = None if name == parameter.path else parameter.path
            reason = f"is {header.dtype}, and the spec has {parameter.dtype}"
            yield Mismatch("dtype", name, reason, path=path, hint=hint)

    def may_be_absent(self, parameter: ParameterInstance) -> bool:
        """Return True for a computed buffer, a counter, an added parameter, and an optional one that is not drawn."""
        if parameter.param.init.kind == "computed" or parameter.owner in self.program.added:
            return True
        if parameter.param.is_buffer and not parameter.param.shape and parameter.dtype in INTEGERS:
            return True
        optional = any(entry.optional for entry in parameter.entries)
        return optional and not self.is_drawn(parameter.owner, parameter.param)

    def without_ignored(self, names: Iterable[str]) -> Iterator[str]:
        """Yield those names that the spec does not ignore."""
        import re

        prefix = self.program.checkpoint_prefix + "."
        patterns = [re.compile(translate(pattern)) for pattern in self.program.checkpoint_ignore]
        size = size_of(self.program.checkpoint_ignore)
        for name in names:
            self.work.add(name, size)
            outside = self.headless and not name.startswith(prefix)
            if not outside and not any(pattern.match(name) for pattern in patterns):
                yield name


def _routers(program: Program) -> frozenset[str]:
    """Return the paths of the parameters of routers."""
    routers = Kinds.of(program).routers
    chosen = (instance for instance in instances(program) if instance.node in routers) if routers else ()
    return frozenset(join(instance.path, param.name) for instance in chosen for param in instance.node.params)


def _packing(program: Program, parameter: ParameterInstance) -> str | None:
    """Return the scheme that a parameter is packed in by the configuration; empty for none, None if it is not known."""
    if not program.assigned.get(OWN) or program.assigned.get("--quantize"):
        return None
    storage = parameter.param.storage
    packed = storage is not None and storage.is_own and storage.tensors[0].dtype != parameter.dtype
    return storage.scheme if storage is not None and packed else ""


def _names(parameter: ParameterInstance) -> Iterator[str]:
    """Yield the names that a parameter may have in a checkpoint."""
    yield parameter.path
    for entry in parameter.entries:
        for location in entry.alternatives:
            yield from location.names


def _misfits(
    parameter: ParameterInstance, location: CheckpointLocation, names: Sequence[str], headers: Mapping[str, Header]
) -> Iterator[Mismatch]:
    """Yield what is wrong with the tensors of a parameter, whose names the location has."""
    shape = tuple(integer(size) for size in parameter.param.shape)
    paths = {name: None if name == parameter.path else parameter.path for name in names}
    missing = [name for name in names if name not in headers]
    for name in missing:
        yield Mismatch("missing", name, "is missing", "the parameter ", paths[name])
    expected = expected_shape(location, shape)
    if expected is not None:
        for name in names:
            header = headers.get(name)
            if header is not None and header.unpacking is not None and header.unpacking.problem:
                yield Mismatch("shape", name, f"does not unpack: {header.unpacking.problem}", path=paths[name])
            elif header is not None and not header.fits(expected):
                origin = f" (unpacked from {header.unpacking.text})" if header.unpacking else ""
                reason = f"is {header}{origin}, and the spec has {Header(expected, parameter.dtype)}"
                transposed = len(expected) > 1 and header.shape == expected[::-1]
                hint = "it is stored transposed" if transposed else None
                yield Mismatch("shape", name, reason, path=paths[name], hint=hint)
    elif names == location.names and not missing:
        problem = _problem(location, names, headers, shape)
        if problem is not None:
            others = f"and {len(names) - 1} more " if len(names) > 1 else ""
            yield Mismatch("shape", names[0], others + problem, path=paths[names[0]])


def _problem(
    location: CheckpointLocation, names: Sequence[str], headers: Mapping[str, Header], shape: tuple[int, ...]
) -> str | None:
    """Return why tensors do not give a parameter of this shape, or None if they do."""
    parts = [headers[name] for name in names]
    if wrong := next((header.unpacking.problem for header in parts if header.unpacking), ""):
        return f"do not unpack: {wrong}"
    if any(header.unpacking and header.unpacking.flat for header in parts) and not location.slice:
        elements = sum(header.elements for header in parts)
        return None if 0 <= elements - prod(shape) <= len(parts) else f"have {elements:,} elements"
    try:
        assembled = assembled_shape(location, headers)
    except ValueError as error:
        return str(error)
    if assembled == shape:
        return None
    return f"give {Header(assembled, '')}, and the spec has {Header(shape, '')}".replace(" ,", ",").rstrip()


def _absent(missing: Sequence[ParameterInstance], unexpected: list[str]) -> Iterator[Mismatch]:
    """Yield the parameters that are missing and the tensors that are unexpected, with hints at what may be meant."""
    prefix = _common_prefix(missing, unexpected)
    candidates = list(dict.fromkeys(map(pattern_of, unexpected)))[:_CANDIDATES]
    hints: dict[str, str | None] = {}
    for parameter in missing:
        entries = parameter.entries
        name = entries[0].alternatives[0].names[0] if entries else parameter.path
        pattern = pattern_of(name)
        if pattern not in hints:
            similar = nearest(pattern, candidates) if len(hints) < _CANDIDATES and not prefix else None
            hints[pattern] = f"the file has {similar!r}" if similar else None
        hint = f"the file's names begin with {quoted(prefix)}" if prefix else hints[pattern]
        subject = "the buffer " if parameter.param.is_buffer else "the parameter "
        yield Mismatch("missing", name, "is missing", subject, hint=hint)
    if not prefix:
        yield from (Mismatch("unexpected", name, "is no parameter of the spec") for name in unexpected)


def _common_prefix(missing: Sequence[ParameterInstance], unexpected: list[str]) -> str | None:
    """Return the prefix of the file's names if removing it would supply every missing parameter."""
    if not missing:
        return None
    names, first = set(unexpected), missing[0].path
    prefixes = [name[: -len(first)] for name in unexpected if name.endswith("." + first)]
    return next((p for p in prefixes if all(p + parameter.path in names for parameter in missing)), None)


def _differences(
    tensors: Tensors, owner: str, location: CheckpointLocation, others: list[CheckpointLocation]
) -> Iterator[Mismatch]:
    """Yield the copies of a tensor that hold other numbers."""
    for other in others:
        if other != location and not _equal(tensors, location, other):
            reason = "are one tensor in the spec, and hold different numbers"
            hint = f"leave one of them out, or untie {owner!r}"
            yield Mismatch("tie", other.names[0], reason, f"{quoted(location.names[0])} and ", hint=hint)


def _equal(tensors: Tensors, left: CheckpointLocation, right: CheckpointLocation) -> bool:
    """Return True if two parameters of a checkpoint hold the same numbers; they are compared piece by piece."""
    shape = assembled_shape(left, tensors.headers)
    if shape != assembled_shape(right, tensors.headers):
        return False
    dtypes = [_numbers(tensors.headers[location.names[0]].dtype) for location in (left, right)]
    itemsize = max(dtype.itemsize for dtype in dtypes)
    for index in pieces(shape, itemsize, [(0, size) for size in shape]):
        first, second = (
            read(tensors, location, index, shape, dtype) for location, dtype in zip((left, right), dtypes, strict=True)
        )
        if not np.array_equal(first, second):
            return False
    return True


def _numbers(dtype: str) -> np.dtype[Any]:
    """Return the type in which elements of a file are compared."""
    return numpy_dtype(dtype if dtype in DTYPES else "float64")
