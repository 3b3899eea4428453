"""Bytes of a program's parameters by the headers of the files that hold them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from netcalc.analysis.file_weights import Difference, FileWeights, Unused
from netcalc.analysis.stored_weights import StoredWeights, role_of, sorted_by_role
from netcalc.analysis.walk import ParameterInstance, parameters
from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.dims import integer
from netcalc.dtypes import DTYPES, FLOATS, ITEMSIZE
from netcalc.ir import CheckpointLocation, Program
from netcalc.ir.storage import OWN
from netcalc.schemes.methods import method_named
from netcalc.schemes.rules import StorageRule
from netcalc.schemes.scheme import PLAIN, scheme_named
from netcalc.weights.gguf.tensors import GgufWeights
from netcalc.weights.inventory import inventory
from netcalc.weights.matching import Match
from netcalc.weights.packing.unpacked import StandingTensors
from netcalc.weights.report import grouped, pattern_of
from netcalc.weights.stored import Header
from netcalc.weights.tensor_files import Tensors

#: Mismatches that leave bytes open; tensors that no parameter is read from are counted apart.
_CONTRADICTIONS = frozenset(("missing", "shape", "dtype"))
_HINT = "`netcalc verify` compares the files with the model; --bytes-from configuration counts without them"


def header_bytes(program: Program, tensors: Tensors, matched: Match, *, configured: bool) -> FileWeights:
    """Return the bytes of a program's parameters and buffers by the headers of its files.

    A parameter that the files may lack, and the adapters of options, have the bytes of the program.

    Args:
        program: the program, whose sizes are numbers.
        tensors: the tensors that its files stand for.
        matched: the two compared.
        configured: True if a configuration gives bytes too.

    Raises:
        NetcalcError: E007 with everything by which the headers contradict the program.
    """
    places = _Places(tensors)
    counted = _Counted(places)
    for parameter in parameters(program):
        if not parameter.tied:
            counted.add(parameter, matched.locations.get(parameter.owner))
    problems = [*_contradictions(tensors, matched), *_schemes_not_shown(program, tensors, counted)]
    if problems:
        raise NetcalcError(problems)
    contents = inventory(tensors, counted.counted | places.beside.keys(), matched.ignored)
    return FileWeights(
        contents.files,
        sorted_by_role(StoredWeights(*form, *sums) for form, sums in counted.totals.items()),
        counted.configured if configured else None,
        tuple(Difference(*forms, *sums) for forms, sums in _differences(counted)) if configured else (),
        tuple(Unused(extra.prefix, extra.bytes) for extra in contents.extra),
        counted.held,
    )


class _Places:
    """Tensors as they are stored, by the tensors that they stand for.

    ``beside`` are those of a scheme that are no parameters, such as scales of caches, with a packed tensor of their
    module.
    """

    def __init__(self, tensors: Tensors) -> None:
        is_view = isinstance(tensors, (StandingTensors, GgufWeights))
        self.headers: Mapping[str, Header] = tensors.stored.headers if is_view else tensors.headers  # type: ignore[attr-defined]
        self.logical = tensors.headers
        self.in_blocks = isinstance(tensors, GgufWeights)
        self.beside: dict[str, str] = {}
        self._parts: dict[str, list[str]] = {}
        if isinstance(tensors, StandingTensors):
            self._add_parts(tensors)

    def of(self, name: str) -> list[str]:
        """Return the stored tensors behind a tensor."""
        return self._parts.get(name, [name])

    def scheme(self, name: str, expected: str) -> str:
        """Return the scheme of a tensor; of a packed one the ``expected`` scheme, which names its settings too."""
        header = self.logical[name]
        if self.in_blocks:
            kind = self.headers[name].dtype
            return kind if kind in DTYPES else kind.lower()
        return expected if self.is_packed(name) and expected not in FLOATS else header.dtype

    def is_packed(self, name: str) -> bool:
        """Return True for a tensor that several stored ones stand for."""
        return self.logical[name].unpacking is not None or name in self._parts

    def _add_parts(self, tensors: StandingTensors) -> None:
        modules: dict[str, str] = {}
        for name, role in tensors.roles.items():
            if role.logical:
                self._parts.setdefault(role.logical, []).append(name)
                path = role.logical.rpartition(".")[0]
                for module in (path, path.rpartition(".")[0]):
                    modules.setdefault(module, role.logical)
        for name, role in tensors.roles.items():
            method = None if role.logical else method_named(role.scheme)
            ends = sorted((end for end in method.others if name.endswith(end)), key=len) if method else []
            logical = next((modules[module] for end in ends if (module := name[: -len(end)]) in modules), None)
            if logical is not None:
                self.beside[name] = logical
                self._parts[logical].append(name)


@dataclass(slots=True)
class _Counted:
    """Sums of the parameters so far.

    ``totals`` are elements and bytes by role and scheme, ``held`` the stored bytes by path.  ``forms`` are the number,
    the configured and the stored bytes of parameters by pattern, scheme of the program and scheme of the files.
    ``shown`` is False for a scheme of packed tensors of which no parameter is packed.
    """

    places: _Places
    totals: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    forms: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    shown: dict[str, bool] = field(default_factory=dict)
    configured: int = 0
    counted: set[str] = field(default_factory=set)
    held: dict[str, int] = field(default_factory=dict)

    def add(self, parameter: ParameterInstance, location: CheckpointLocation | None) -> None:
        """Add a parameter; without a location it has the bytes of the program."""
        param, elements = parameter.param, integer(parameter.param.elements)
        role = role_of(param, parameter.path.rpartition(".")[0])
        expected = parameter.dtype if param.storage is None else param.storage.scheme
        size = integer(elements * ITEMSIZE[parameter.dtype] if param.storage is None else param.storage.bytes)
        self.configured += size
        if location is None:
            self._sum(role, expected, elements, size)
            self.held[parameter.path] = size
            return
        names = location.names
        by_scheme: dict[str, list[str]] = {}
        for name in names:
            if name in self.places.logical:
                by_scheme.setdefault(self.places.scheme(name, expected), []).append(name)
        held = 0
        for scheme, same in by_scheme.items():
            own = [name for name in dict.fromkeys(same) if name not in self.counted]
            self.counted.update(own)
            size_here = sum(self.places.headers[n].bytes or 0 for name in own for n in self.places.of(name))
            here = elements if len(by_scheme) == 1 else sum(self.places.logical[name].elements for name in same)
            self._sum(role, scheme, here, size_here)
            held += size_here
        self.held[parameter.path] = held
        if expected not in FLOATS and param.storage is not None and param.storage.is_own:
            packed = any(self.places.is_packed(name) for same in by_scheme.values() for name in same)
            self.shown[expected] = self.shown.get(expected, False) or packed or self.places.in_blocks
        form = self.forms.setdefault((pattern_of(parameter.path), expected, " and ".join(by_scheme)), [0, 0, 0])
        for position, amount in enumerate((1, size, held)):
            form[position] += amount

    def _sum(self, role: str, scheme: str, elements: int, size: int) -> None:
        total = self.totals.setdefault((role, scheme), [0, 0])
        total[0] += elements
        total[1] += size


def _differences(counted: _Counted) -> Iterator[tuple[tuple[str, int, str, str], tuple[int, int]]]:
    """Yield the forms of parameters whose bytes differ, those of one scheme in all as one."""
    alike: dict[str, list[int]] = {}
    for (pattern, expected, stored), (count, configured, held) in counted.forms.items():
        if expected != stored and configured != held:
            yield (pattern, count, expected, stored), (configured, held)
        elif expected == stored:
            sums = alike.setdefault(expected, [0, 0, 0])
            for position, amount in enumerate((count, configured, held)):
                sums[position] += amount
    for scheme, (count, configured, held) in alike.items():
        if configured != held:
            yield ("", count, scheme, scheme), (configured, held)


def _contradictions(tensors: Tensors, matched: Match) -> Iterator[Diagnostic]:
    """Yield what is missing in the files, or of a wrong shape or type."""
    wrong = [mismatch for mismatch in matched.report.mismatches if mismatch.kind in _CONTRADICTIONS]
    for group in grouped(wrong):
        hint = f"{group.hint}; {_HINT}" if group.hint else _HINT
        yield Diagnostic("E007", f"{tensors.name}: {group.message}", hint=hint)


def _schemes_not_shown(program: Program, tensors: Tensors, counted: _Counted) -> Iterator[Diagnostic]:
    """Yield the schemes of the configuration that no tensor is packed by, at their fields."""
    absent = [scheme for scheme, is_shown in counted.shown.items() if not is_shown]
    fields = _fields(program, absent)
    for scheme in absent:
        message = f"{tensors.name}: no tensor is packed by {scheme}, as the configuration says"
        yield Diagnostic("E007", message, fields.get(scheme), hint=_HINT)


def _fields(program: Program, schemes: Collection[str]) -> dict[str, Span | None]:
    """Return the places of the fields that schemes follow from."""
    rules = [rule for rule in program.assigned.get(OWN, ()) if isinstance(rule, StorageRule) and rule.scheme != PLAIN]
    named = {scheme_named(rule.scheme, settings=rule.settings).name: rule.place for rule in rules} if schemes else {}
    return {scheme: named.get(scheme, rules[-1].place if rules else None) for scheme in schemes}
