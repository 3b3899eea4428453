"""Units of one block that differ in optional lines or layers, as calls of one class with arguments for these.

The longest unit is compared with each other one: steps that both have are aligned, and every other step has to pass on
one of its inputs where it is left out, as the projection of a shortcut does, or to have a result that only such
steps use. Members of sequences are aligned alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from netcalc.formats.export.torch.expressions import ANY, identifier
from netcalc.formats.export.torch.rules import HOLES, Hole
from netcalc.formats.export.torch.unit_code import StepCode, UnitCode
from netcalc.formats.export.torch.units import CallStep, LoopStep, OpStep
from netcalc.ir import Value

#: Most steps that may be left out, and alternatives that are tried for what they pass on.
_MOST, _ATTEMPTS = 8, 2000
_SEQUENCE = "nn.Sequential("


@dataclass
class _Alignment:
    """Places of the steps of a unit among those of the longest one, and the inputs that left-out ones pass on."""

    places: dict[int, int] = field(default_factory=dict)
    passes: dict[int, int | None] = field(default_factory=dict)


@dataclass
class _Merged:
    """Units that are one class: the first has all lines; ``holes`` are the places of their values in its marks."""

    codes: list[UnitCode]
    alignments: list[_Alignment]
    holes: list[dict[int, int]]
    members: dict[str, list[tuple[str, list[bool]]]]


def merged(groups: Sequence[list[UnitCode]]) -> list[list[UnitCode]]:
    """Return groups of units with the same code, of which those are joined that differ in optional lines only."""
    left = sorted(groups, key=lambda group: -_length(group[0]))
    results: list[list[UnitCode]] = []
    while left:
        first, *left = left
        whole = _whole(first)
        rest: list[list[UnitCode]] = []
        for group in left:
            if not _added(whole, group):
                rest.append(group)
        left = rest
        results.append(_written(whole) if len(whole.codes) > len(first) else first)
    return results


def _length(code: UnitCode) -> int:
    return len(code.steps) * 1000 + sum(len(_members(text) or ()) for text in code.entries.values())


def _whole(group: list[UnitCode]) -> _Merged:
    code = group[0]
    alignment = _Alignment({place: place for place in range(len(code.steps))})
    holes = {place: place for place in range(len(code.holes))}
    members = {}
    for name, text in code.entries.items():
        parts = _members(text)
        if parts is not None:
            members[name] = [(part, [True] * len(group)) for part in parts]
    return _Merged([*group], [alignment] * len(group), [holes] * len(group), members)


def _added(whole: _Merged, group: list[UnitCode]) -> bool:
    """Add units to those of a class, and return True, if they are its calls without some of its lines."""
    first, code = whole.codes[0], group[0]
    if first.is_dict or code.is_dict or first.unit.is_function != code.unit.is_function or first.unit.is_function:
        return False
    alignment = _aligned(first, code)
    if alignment is None or not _consistent(whole, alignment):
        return False
    holes: dict[int, int] = {}
    for place, other in alignment.places.items():
        mine, theirs = first.steps[place], code.steps[other]
        _pair(holes, mine.text, theirs.text)
        _pair(holes, mine.loop, theirs.loop)
    if [name for name, _ in first.own] != [name for name, _ in code.own]:
        return False
    for (_, text), (_, other_text) in zip(first.own, code.own, strict=True):
        if not _pair(holes, text, other_text):
            return False
    present: dict[str, list[bool]] = {}
    optional = {first.steps[place].path for place in range(len(first.steps)) if place not in alignment.places}
    for name, text in first.entries.items():
        if name not in code.entries:
            if name not in optional or "." in name:
                return False
        elif not _pair(holes, text, code.entries[name]):
            found = _subsequence(whole.members.get(name), _members(code.entries[name]), holes)
            if found is None:
                return False
            present[name] = found
    if {*code.entries} - {*first.entries} or not _same_holes(first, code, holes):
        return False
    whole.codes += group
    whole.alignments += [alignment] * len(group)
    whole.holes += [holes] * len(group)
    for name, parts in whole.members.items():
        for place, (_, presence) in enumerate(parts):
            presence += [name not in present or present[name][place]] * len(group)
    return True


def _consistent(whole: _Merged, alignment: _Alignment) -> bool:
    for place, source in alignment.passes.items():
        if any(other.passes.get(place, source) != source for other in whole.alignments):
            return False
    return True


def _same_holes(first: UnitCode, code: UnitCode, holes: dict[int, int]) -> bool:
    for mine, theirs in holes.items():
        ours, other = first.holes[mine], code.holes[theirs]
        if (ours.at_start, ours.default) != (other.at_start, other.default):
            return False
    return True


def _pair(holes: dict[int, int], text: str, other: str) -> bool:
    """Note which marks of two texts correspond, and return True if the texts are the same but for their marks."""
    if HOLES.sub("", text) != HOLES.sub("", other):
        return False
    ours, theirs = ([int(match[1]) for match in HOLES.finditer(its)] for its in (text, other))
    holes.update(zip(ours, theirs, strict=True))
    return True


# -- steps


def _aligned(first: UnitCode, code: UnitCode) -> _Alignment | None:
    """Return where the steps of a unit are among those of a longer one; None if it is another one."""
    extra = len(first.steps) - len(code.steps)
    given = [(a is None, b is None) for a, b in zip(first.unit.inputs, code.unit.inputs, strict=False)]
    if not 0 <= extra <= _MOST or len(first.unit.inputs) != len(code.unit.inputs) or any(a != b for a, b in given):
        return None
    same = {a: b for a, b in zip(first.unit.inputs, code.unit.inputs, strict=True) if a is not None}
    return _Aligner(first, code).found(0, 0, same)


class _Aligner:
    """Search for the alignment of two units."""

    def __init__(self, first: UnitCode, code: UnitCode) -> None:
        self._first = first
        self._code = code
        self._attempts = 0

    def found(self, place: int, other: int, same: dict[Value, Any]) -> _Alignment | None:
        """Return the alignment of the steps from two places on; ``same`` has the value of the unit for each one."""
        self._attempts += 1
        steps, others = self._first.steps, self._code.steps
        if self._attempts > _ATTEMPTS or len(steps) - place < len(others) - other:
            return None
        if place == len(steps):
            outputs = [same.get(value) for value in self._first.unit.outputs]
            return _Alignment() if outputs == [*self._code.unit.outputs] else None
        step = steps[place]
        if other < len(others) and self._alike(step, others[other], same):
            pairs = zip(step.step.outputs, others[other].step.outputs, strict=True)
            result = self.found(place + 1, other + 1, same | dict(pairs))
            if result is not None:
                result.places[place] = other
                return result
        return self._left_out(place, other, same)

    def _left_out(self, place: int, other: int, same: dict[Value, Any]) -> _Alignment | None:
        step = self._first.steps[place]
        if (
            step.loop
            or isinstance(step.step, LoopStep)
            or len(step.step.outputs) != 1
            or step.path in _owned(self._first)
        ):
            return None
        sources = [number for number, value in enumerate(step.step.inputs) if value is not None and value in same]
        for source in [*reversed(sources), None]:
            value = None if source is None else same[step.step.inputs[source]]  # type: ignore[index]
            known = same if value is None else same | {step.step.outputs[0]: value}
            result = self.found(place + 1, other, known)
            if result is not None:
                result.passes[place] = source
                return result
        return None

    @staticmethod
    def _alike(step: StepCode, other: StepCode, same: dict[Value, Any]) -> bool:
        if type(step.step) is not type(other.step) or (step.path, step.pattern) != (other.path, other.pattern):
            return False
        if not (_pair({}, step.text, other.text) and _pair({}, step.loop, other.loop)):
            return False
        if len(step.step.outputs) != len(other.step.outputs) or len(step.step.inputs) != len(other.step.inputs):
            return False
        return all(
            b is None if a is None else same.get(a) is b and b is not None
            for a, b in zip(step.step.inputs, other.step.inputs, strict=True)
        )


def _owned(code: UnitCode) -> set[str]:
    return {name for name, _ in code.own}


# -- members of sequences


def _members(text: str) -> list[str] | None:
    """Return the members of a sequence; None for another module."""
    if not text.startswith(_SEQUENCE) or "*(" in text:
        return None
    parts: list[str] = []
    depth = start = 0
    inside = text[len(_SEQUENCE) : -1]
    for place, character in enumerate(inside):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return None
        if character == "," and depth == 0 and "\ue005" not in inside[start:place].rpartition("\ue006")[2]:
            parts.append(inside[start:place].strip())
            start = place + 1
    return [*parts, inside[start:].strip()]


def _subsequence(
    parts: list[tuple[str, list[bool]]] | None, others: list[str] | None, holes: dict[int, int]
) -> list[bool] | None:
    """Return which members of a sequence another one has; None if it has others or another order."""
    if parts is None or others is None:
        return None
    present = []
    place = 0
    for number, (text, _) in enumerate(parts):
        rest = len(parts) - number - 1
        its = place < len(others) and HOLES.sub("", text) == HOLES.sub("", others[place])
        # the last members of both, such as a projection, belong together rather than the first ones
        if its and len(others) - place - 1 <= rest:
            _pair(holes, text, others[place])
            place += 1
            present.append(True)
        else:
            present.append(False)
    return present if place == len(others) else None


# -- the class


def _written(whole: _Merged) -> list[UnitCode]:
    """Return the units with the code of the first, in which optional lines have their arguments."""
    first = whole.codes[0]
    codes = [_projected(whole, number) for number in range(len(whole.codes))]
    for name, parts in whole.members.items():
        if all(all(presence) for _, presence in parts):
            continue
        texts = []
        for number, (text, presence) in enumerate(parts):
            hint = _called(text) or f"{name}_{number}"
            mark = "" if all(presence) else _mark(codes, f"with_{hint}", presence, at_start=True)
            texts.append(f"*([{text}] if {mark} else [])" if mark else text)
        for code in codes:
            code.entries[name] = f"{_SEQUENCE}{', '.join(texts)})"
    for place, step in enumerate(first.steps):
        presence = [place in alignment.places for alignment in whole.alignments]
        if all(presence):
            continue
        source = next(its.passes[place] for its in whole.alignments if place in its.passes)
        if step.path in first.entries and not getattr(step.step, "reused", False):
            mark = _mark(codes, step.path, presence, at_start=True)
            condition = f"self.{step.path} is not None"
            for code in codes:
                code.entries[step.path] = f"{first.entries[step.path]} if {mark} else None"
        else:
            mark = condition = _mark(codes, _flag(whole, place), presence, at_start=False)
        for code in codes:
            code.steps[place] = replace(code.steps[place], condition=condition, passes=source)
    return codes


def _flag(whole: _Merged, place: int) -> str:
    """Return a name for the presence of a step: the steps that are left out together have one."""
    step = whole.codes[0].steps[place].step
    if isinstance(step, OpStep):
        return {"add": "residual", "roll": "shifted", "stochastic_depth": "with_depth"}.get(
            step.op.name, f"with_{step.op.name}"
        )
    return f"with_{identifier(step.name.rpartition('.')[2])}"


def _called(text: str) -> str:
    """Return the name of a member of a sequence: its class in lower case; empty for a sequence."""
    name = text.partition("(")[0].rpartition(".")[2]
    if not name.isidentifier() or name == "Sequential":
        return ""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).strip("_")


def _mark(codes: list[UnitCode], hint: str, values: Sequence[bool], *, at_start: bool) -> str:
    for code, value in zip(codes, values, strict=True):
        code.holes.append(Hole(value, hint, at_start, "False"))
    return f"\ue000{len(codes[0].holes) - 1}\ue002"


def _projected(whole: _Merged, number: int) -> UnitCode:
    """Return a unit with the lines of the first one, and its own values behind their marks."""
    first, code = whole.codes[0], whole.codes[number]
    places, holes = whole.alignments[number].places, whole.holes[number]
    steps = [
        replace(step, step=code.steps[places[place]].step) if place in places else replace(step)
        for place, step in enumerate(first.steps)
    ]
    values = [
        code.holes[holes[place]] if place in holes else hole._replace(value=ANY)
        for place, hole in enumerate(first.holes)
    ]
    both = [*first.helpers, *code.helpers]
    return UnitCode(code.unit, dict(first.entries), [*first.own], steps, values, both, [*first.classes], first.is_dict)


def optional_runs(steps: Sequence[StepCode]) -> Iterator[list[StepCode]]:
    """Yield steps that are written one by one, and those in a row that are left out together."""
    run: list[StepCode] = []
    for step in steps:
        if run and (step.condition != run[0].condition or not step.condition):
            yield run
            run = []
        run.append(step)
        if not step.condition:
            yield run
            run = []
    if run:
        yield run


__all__ = ["CallStep", "merged", "optional_runs"]
