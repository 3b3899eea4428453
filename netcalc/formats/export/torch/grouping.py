"""Steps with a common first part of their paths as units of their own, and calls of a list as loops."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.formats.export.torch.units import BorrowStep, CallStep, LoopStep, OpStep, Step, Unit
from netcalc.ir import Value


def grouped(unit: Unit) -> None:
    """Put steps whose paths begin alike in units of their own, where nothing else is computed between them."""
    _members_of_lists(unit)
    firsts = dict.fromkeys(_first(step.name) for step in unit.steps if "." in step.name)
    for first in firsts:
        _group(unit, first)
    unit.steps = _joined_loops(unit)


def _members_of_lists(unit: Unit) -> None:
    """Make calls of single members of lists loops of one member, or loops of mixed lists calls of members."""
    for name in dict.fromkeys(step.name for step in unit.steps if isinstance(step, LoopStep) and not step.stem):
        inner = [step for step in unit.steps if step.name.startswith(f"{name}.") and _is_placed(step)]
        members = [step for step in inner if step.name.count(".") == name.count(".") + 1 and _numbered(step.name)]
        calls = [step for step in members if isinstance(step, CallStep) and not step.reused]
        if members and len(calls) == len(inner):
            for step in calls:
                index = int(step.name.rpartition(".")[2])
                loop = LoopStep(name, [(step.unit, 1)], step.inputs, step.outputs, index)
                unit.steps[unit.steps.index(step)] = loop
        elif members:
            unit.steps = [made for step in unit.steps for made in _unrolled(step, name)]


def _unrolled(step: Step, name: str) -> list[Step]:
    """Return the calls of the members of a list in place of its loop; any other step as it is."""
    if not isinstance(step, LoopStep) or step.name != name:
        return [step]
    calls: list[Step] = []
    inputs = step.inputs
    ((unit, times),) = step.units
    for index in range(times):
        last = index == times - 1
        outputs = step.outputs if last else tuple(Value(value.type, value.name) for value in step.outputs)
        calls.append(CallStep(f"{name}.{step.start + index}", unit, inputs, outputs))
        inputs = (*outputs, *inputs[len(outputs) :])
    return calls


def _first(name: str) -> str:
    return name.partition(".")[0]


def _group(unit: Unit, first: str) -> None:
    members = [step for step in unit.steps if step.name.startswith(f"{first}.") and _is_placed(step)]
    if not members or any(step.name == first and step.owns for step in unit.steps):
        return
    chosen = _closure(unit.steps, set(members), unit)
    chosen |= _borrowed(unit.steps, chosen, first)
    if chosen is None or any(step.owns and not step.name.startswith(f"{first}.") for step in chosen):
        return
    inner = [step for step in unit.steps if step in chosen]
    after = _descendants(unit.steps, chosen)
    last = max(place for place, step in enumerate(unit.steps) if step in chosen)
    before = [s for place, s in enumerate(unit.steps) if s not in chosen and s not in after and place < last]
    rest = [s for place, s in enumerate(unit.steps) if s not in chosen and (s in after or place > last)]
    inside = {value for step in inner for value in step.outputs}
    needed = dict.fromkeys(v for step in inner for v in step.inputs if v is not None and v not in inside)
    used = {v for step in (*before, *rest) for v in step.inputs} | set(unit.outputs)
    results = tuple(value for step in inner for value in step.outputs if value in used)
    if not results:
        return
    for step in inner:
        step.name = step.name[len(first) + 1 :] if step.name.startswith(f"{first}.") else step.name
    group = Unit(_base(unit, first, inner), tuple(needed), inner, results, around=unit.base)
    if all(isinstance(step, LoopStep) and step.stem and step.name == inner[0].name for step in inner):
        for step in inner:
            step.name = first  # block1.block1-0 is the entry block1-0 of a ModuleDict block1
        unit.steps = [*before, *inner, *rest]
        return
    grouped(group)
    unit.steps = [*before, CallStep(first, group, tuple(needed), results), *rest]


def _base(unit: Unit, first: str, inner: Sequence[Step]) -> str:
    """Return the name of a group: for a number, the name of the unit around it and of its last module."""
    if not first.isdigit():
        return first
    names = [step.name for step in inner if step.owns and step.name.isidentifier()]
    return f"{unit.base}_{names[-1] if names else first}"


def _is_placed(step: Step) -> bool:
    """Return True for a step that must be at its path: with parameters, or counted in a sequence."""
    return not isinstance(step, BorrowStep) and (step.owns or getattr(step, "reused", False) or _numbered(step.name))


def _numbered(name: str) -> bool:
    return name.rpartition(".")[2].isdigit()


def _closure(steps: Sequence[Step], members: set[Step], unit: Unit) -> set[Step]:
    """Return the members and every step on a way from one member to another."""
    behind = _descendants(steps, members)
    makers = {value: step for step in steps for value in step.outputs}
    needed: set[Step] = set()
    stack: list[Step] = list(members)
    while stack:
        for value in stack.pop().inputs:
            maker = makers.get(value) if value is not None else None
            if maker is not None and maker not in needed:
                needed.add(maker)
                stack.append(maker)
    return members | (behind & needed)


def _descendants(steps: Sequence[Step], chosen: set[Step]) -> set[Step]:
    """Return the steps that depend on chosen ones."""
    made: set[Value] = {value for step in chosen for value in step.outputs}
    behind: set[Step] = set()
    for step in steps:
        if any(value in made for value in step.inputs):
            if step not in chosen:
                behind.add(step)
            made.update(step.outputs)
    return behind


def _borrowed(steps: Sequence[Step], chosen: set[Step], first: str) -> set[Step]:
    """Return the borrowed parameters of the group that only steps of the group use."""
    used_outside = {value for step in steps if step not in chosen for value in step.inputs}
    return {
        step
        for step in steps
        if isinstance(step, BorrowStep) and step.name.startswith(f"{first}.") and step.outputs[0] not in used_outside
    }


def _joined_loops(unit: Unit) -> list[Step]:
    """Join calls of one list where each takes the results of the one before it, and nothing else uses these."""
    steps: list[Step] = []
    for step in unit.steps:
        last = steps[-1] if steps else None
        if isinstance(step, LoopStep) and isinstance(last, LoopStep) and _follows(unit, last, step):
            last.units += step.units
            last.outputs = step.outputs
        else:
            steps.append(step)
    return steps


def _follows(unit: Unit, last: LoopStep, step: LoopStep) -> bool:
    count = len(last.outputs)
    length = last_index(last)
    if last.name != step.name or step.start != length or len(step.outputs) != count:
        return False
    if step.inputs[:count] != last.outputs or step.inputs[count:] != last.inputs[count:]:
        return False
    if None in last.inputs[:count]:  # the first member has no value for an input that later ones have
        return False
    others = {v for other in unit.steps if other is not step for v in other.inputs} | set(unit.outputs)
    return not any(value in others for value in last.outputs) and not any(
        v in last.outputs for v in step.inputs[count:]
    )


def last_index(loop: LoopStep) -> object:
    """Return the index behind the last member of a loop."""
    total = loop.start
    for _, times in loop.units:
        total = total + times
    return total


__all__ = ["OpStep", "grouped", "last_index"]
