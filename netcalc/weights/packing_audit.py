"""Differences between the tensors of a quantized checkpoint and the layouts in which they should be packed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from netcalc.diagnostics import nearest
from netcalc.dtypes import FLOATS
from netcalc.expressions import Expression, ExpressionError
from netcalc.schemes.configuration import Quantization
from netcalc.schemes.methods import Layout, Method, method_named, method_names
from netcalc.weights.packing.layouts import Found, UnfitError, companions_of, logical_shape, misfit, partial_shape
from netcalc.weights.packing.unpacked import NOT_PACKED, UnpackedTensors
from netcalc.weights.report import STORED, Mismatch, pattern_of
from netcalc.weights.stored import Header, Unpacking
from netcalc.weights.tensor_files import Tensors

Shape = tuple[int, ...]

#: Tensors beside a packed one among which a misspelt name is looked for.
_BESIDE = 64


class Verdict(NamedTuple):
    """Differences of the tensors that one parameter or a part of it is packed in.

    Attributes:
        base: the beginning of their names.
        mismatches: the differences.
        claimed: the tensors that belong together, of those that the file has.
    """

    base: str
    mismatches: tuple[Mismatch, ...]
    claimed: frozenset[str] = frozenset()


def audited(verdicts: Collection[Verdict], unexpected: list[str]) -> Iterator[Mismatch]:
    """Yield the differences, what is missing with a hint at what the file has instead.

    The tensors that belong together, and those in hints, are removed from ``unexpected``.
    """
    claimed = {name for verdict in verdicts for name in verdict.claimed}
    remaining = sorted(name for name in unexpected if name not in claimed)
    for verdict in verdicts:
        start = bisect_left(remaining, verdict.base)
        rests = (name[len(verdict.base) :] for name in _beginning(remaining[start : start + _BESIDE], verdict.base))
        beside = [rest for rest in rests if rest[:1] in (".", "_")]
        for mismatch in verdict.mismatches:
            rest = nearest(mismatch.name[len(verdict.base) :], beside) if mismatch.kind == "missing" else None
            if rest is None:
                yield mismatch
                continue
            claimed.add(verdict.base + rest)
            beside.remove(rest)
            yield replace(mismatch, hint=f"the file has {pattern_of(verdict.base + rest)!r}")
    unexpected[:] = [name for name in unexpected if name not in claimed]


def _beginning(names: Iterable[str], base: str) -> Iterator[str]:
    """Yield the names that begin with a text."""
    return (name for name in names if name.startswith(base))


class _Finding(NamedTuple):
    """A difference; ``suffix`` is the ending of the tensor, None for the one that the packed ones stand for."""

    kind: str
    suffix: str | None
    predicate: str


class PackingAudit:
    """Comparison of a checkpoint with what the method of quantization in its configuration needs.

    Args:
        tensors: the tensors that the checkpoint stands for.
        quantization: the method, and the fields of the configuration.
    """

    @classmethod
    def of_tensors(cls, tensors: Tensors) -> PackingAudit | None:
        """Return the audit of a checkpoint; None without a configuration that says how it is quantized."""
        if not isinstance(tensors, UnpackedTensors) or tensors.quantization is None:
            return None
        return cls(tensors, tensors.quantization)

    def __init__(self, tensors: UnpackedTensors, quantization: Quantization) -> None:
        self._tensors = tensors
        self._stored = tensors.stored.headers
        self._quantization = quantization
        self._method = quantization.method
        self._variants: dict[str | None, list[dict[str, Any]]] = {}
        self._known: dict[object, tuple[_Finding, ...]] = {}

    def of(self, name: str, shape: Shape | None, scheme: str | None) -> Verdict | None:
        """Return the differences of the tensors that one should be packed in; None if they are none of packing.

        Args:
            name: the tensor that the packed ones stand for.
            shape: its shape, if only one fits.
            scheme: the scheme by the configuration, empty for none; None if it is not known.
        """
        header, found = self._tensors.headers.get(name), self._tensors.found.get(name)
        if found is not None and header is not None and header.unpacking is not None:
            if header.unpacking.problem == NOT_PACKED:
                said = f"is packed by {self._method.name}, and {NOT_PACKED}"
                return self._verdict(found, [_Finding("scheme", None, said)])
            if not self._findings(found, shape):
                return None
        elif scheme == "":
            return None
        cases = [] if found is None and self._stays_plain(name) else list(self._cases(name))
        judged = [(case, self._findings(case, shape)) for case in cases]
        case, findings = min(judged, key=_unlikeliness, default=(None, ()))
        if case is not None and not findings:
            return None
        other = self._other(name, shape)
        if other is not None and (case is None or _explains_more(other[1], case, findings)):
            said = f"is packed as {other[0]} does, and the configuration says {self._method.name}"
            return self._verdict(other[1], [_Finding("scheme", None, said)])
        if case is not None:
            return self._verdict(case, findings)
        if scheme and not self._method.mixed and header is not None and header.dtype in FLOATS:
            said = f"is stored plainly as {header.dtype}, and the configuration says {scheme}"
            return Verdict(name, (Mismatch("scheme", name, said, STORED),))
        return None

    def _stays_plain(self, name: str) -> bool:
        bases = {name.removesuffix(layout.gives) for layout in self._method.layouts if name.endswith(layout.gives)}
        return any(map(self._quantization.stores_plainly, bases))

    def _cases(self, name: str) -> Iterator[Found]:
        """Yield what there is of the tensors that a name may stand for, in the layouts of the method."""
        for layout in self._method.layouts:
            if not name.endswith(layout.gives):
                continue
            base = name[: len(name) - len(layout.gives)]
            packed = base + layout.suffix
            suffixes = [c.suffix for c in layout.companions if base + c.suffix in self._stored]
            case = Found(layout, base, packed, {suffix: base + suffix for suffix in suffixes})
            header = self._stored.get(packed)
            if header is None:
                needed = any(companion.required and companion.suffix in suffixes for companion in layout.companions)
            else:
                needed = bool(suffixes) or layout.suffix != layout.gives or header.dtype in layout.types
            if needed:
                yield case

    def _fields(self, base: str) -> list[dict[str, Any]]:
        """Return the fields that may apply to a module."""
        entry = self._quantization.entry_of(base)
        key = None if entry is None else entry.name
        if key not in self._variants:
            self._variants[key] = list(self._quantization.variants(base))
        return self._variants[key]

    def _findings(self, case: Found, shape: Shape | None) -> tuple[_Finding, ...]:
        """Return the differences of a packed tensor and its companions, by the fields that they fit best."""
        entry = self._quantization.entry_of(case.base)
        headers = tuple((suffix, self._stored[name][:2]) for suffix, name in case.companions.items())
        own = None if entry is None else entry.name
        key = id(case.layout), self._stored.get(case.name, _ABSENT)[:2], headers, own, shape
        if key not in self._known:
            possible = [self._judged(case, shape, fields) for fields in self._fields(case.base)]
            self._known[key] = min(possible, key=len, default=())
        return self._known[key]

    def _judged(self, case: Found, shape: Shape | None, fields: Mapping[str, Any]) -> tuple[_Finding, ...]:
        """Return the differences by fields; where the layout is of others these need not tell the sizes."""
        when, own = case.layout.when, tuple(self._differences(case, shape, fields))
        if when is None or _holds(when, self._scope(case, fields)):
            return own
        said = f"is packed as {self._method.name} does if {when.text}, which the configuration does not say"
        open_ = tuple(self._differences(case, shape, self._method.unknown))
        return _Finding("scheme", None, said), *min(own, open_, key=len)

    def _scope(self, case: Found, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the names in conditions: fields, and the types of tensors."""
        names = {case.layout.suffix: case.name, **case.companions}
        types = {suffix: self._stored[name].dtype for suffix, name in names.items() if name in self._stored}
        return {**fields, "types": types}

    def _differences(self, case: Found, shape: Shape | None, fields: Mapping[str, Any]) -> Iterator[_Finding]:
        layout, stored, scope = case.layout, self._stored, self._scope(case, fields)
        header = stored.get(case.name)
        if header is None:
            beside = ", ".join(case.companions)
            yield _Finding("missing", layout.suffix, f"is missing: {self._method.name} has it beside {beside}")
        elif header.dtype not in layout.types:
            yield self._wrong_type(layout.suffix, header, layout.types)
        lacking = 0
        for companion in layout.companions:
            name = case.companions.get(companion.suffix)
            if name is not None:
                if companion.types and stored[name].dtype not in companion.types:
                    yield self._wrong_type(companion.suffix, stored[name], companion.types)
                continue
            instead = any(suffix in case.companions for suffix in companion.unless)
            if companion.required and not instead and (companion.when is None or _holds(companion.when, scope)):
                lacking += 1
                yield _Finding("missing", companion.suffix, self._lack(layout, companion.when))
        if header is not None and header.dtype in layout.types:
            yield from self._wrong_shapes(case, shape, fields, complete=not lacking)

    def _lack(self, layout: Layout, when: Expression | None) -> str:
        beside = layout.suffix or "the tensor itself"
        condition = f" if {when.text}" if when is not None else ""
        return f"is missing: {self._method.name} has it beside {beside}{condition}"

    def _wrong_type(self, suffix: str, header: Header, types: Iterable[str]) -> _Finding:
        return _Finding("dtype", suffix, f"is {header.dtype}, and {self._method.name} has {_either(sorted(types))}")

    def _wrong_shapes(
        self, case: Found, shape: Shape | None, fields: Mapping[str, Any], *, complete: bool
    ) -> Iterator[_Finding]:
        """Yield the tensor whose shape does not fit the others and the fields, the packed one if no other is."""
        try:
            logical_shape(case, self._stored, fields)
        except ExpressionError as why:
            if complete:
                yield _Finding("shape", case.layout.suffix, f"does not unpack: {why}")
        except UnfitError as why:
            for suffix, name in case.companions.items():
                rest = case._replace(companions={key: each for key, each in case.companions.items() if each != name})
                sizes = self._sizes_of(rest, shape, fields)
                if sizes is not None:
                    reason = misfit(case, suffix, self._stored, sizes) or f"does not fit: {why.reason}"
                    yield _Finding("shape", suffix, reason)
                    return
            yield _Finding("shape", case.layout.suffix, f"does not unpack: {why}")

    def _sizes_of(self, case: Found, shape: Shape | None, fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the sizes by tensors that fit each other and the fields, and a shape; None if they do not."""
        try:
            known, sizes = partial_shape(case, self._stored, fields)
        except (UnfitError, ExpressionError):
            return None
        if shape is None:
            return sizes
        if None not in known:
            return sizes if _fits(known, shape, case.layout) else None
        same = len(known) == len(shape) and all(a in (None, b) for a, b in zip(known, shape, strict=True))
        return sizes if case.layout.flat or same else None

    def _stands_for(self, case: Found, shape: Shape | None, fields: Mapping[str, Any]) -> bool:
        """Return True if tensors fit each other and the fields, and stand for one of the shape, if there is one."""
        try:
            found, _ = logical_shape(case, self._stored, fields)
        except (UnfitError, ExpressionError):
            return False
        return shape is None or _fits(found, shape, case.layout)

    def _other(self, name: str, shape: Shape | None) -> tuple[str, Found] | None:
        """Return another method by which a tensor is packed completely, and its tensors; None if there is none."""
        for method in _others(self._method):
            fields = method.unknown
            for layout in method.layouts:
                packed = name[: len(name) - len(layout.gives)] + layout.suffix
                if not name.endswith(layout.gives) or packed not in self._stored:
                    continue
                case = companions_of(layout, packed, self._stored)
                if case is None or not case.companions or not self._stands_for(case, shape, fields):
                    continue
                if all(not c.types or self._type(case, c.suffix) in {*c.types, None} for c in layout.companions):
                    return method.name, case
        return None

    def _type(self, case: Found, suffix: str) -> str | None:
        name = case.companions.get(suffix)
        return None if name is None else self._stored[name].dtype

    def _verdict(self, case: Found, findings: Iterable[_Finding]) -> Verdict:
        logical = case.logical
        mismatches = tuple(
            Mismatch(kind, logical if suffix is None else case.base + suffix, predicate, STORED)
            for kind, suffix, predicate in findings
        )
        names = {case.name, *case.companions.values()}
        return Verdict(case.base, mismatches, frozenset(name for name in names if name in self._stored))


_ABSENT = Header((), "")


def _others(method: Method) -> Iterator[Method]:
    """Yield all methods but one."""
    for name in method_names():
        other = method_named(name)
        if other is not None and name != method.name:
            yield other


def _holds(condition: Expression, scope: Mapping[str, Any]) -> bool:
    """Return True if a condition of fields holds; one that cannot be evaluated does not."""
    try:
        return bool(condition.evaluate(dict.fromkeys(condition.names()) | dict(scope)))
    except ExpressionError:
        return False


def _unlikeliness(judged: tuple[Found, Sequence[_Finding]]) -> tuple[int, bool, int]:
    case, findings = judged
    return len(findings), _is_unfit(case, findings), -_claims(case)


def _claims(case: Found) -> int:
    return len(case.companions)


def _explains_more(other: Found, case: Found, findings: Sequence[_Finding]) -> bool:
    """Return True if another method explains tensors better than the method of the configuration with differences."""
    return len(findings) > 1 or _is_unfit(case, findings) or _claims(other) > _claims(case)


def _is_unfit(case: Found, findings: Iterable[_Finding]) -> bool:
    """Return True if the shape of the packed tensor itself is a finding."""
    return any(finding.kind == "shape" and finding.suffix == case.layout.suffix for finding in findings)


def _fits(found: Any, shape: Shape, layout: Layout) -> bool:
    return Header(found, "", unpacking=Unpacking("", flat=layout.flat)).fits(shape)


def _either(names: Sequence[str]) -> str:
    """Return a list of which one counts."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
