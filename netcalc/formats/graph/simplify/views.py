"""Shorter chains of views, and views in front of selections that all go the same way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from netcalc.formats.graph.model import Line, Scope, Value
from netcalc.formats.graph.simplify.arrangement import VIEWS, Arrangement, Step, arranged
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule, source_of
from netcalc.formats.graph.simplify.steps import regrouped, steps_of

#: Selections from one tensor that are looked at together; more of them are the steps of a recurrence.
_MOST_SELECTIONS = 16


def chain_before(work: Rewriter, value: Value | None, scope: Scope, user: Line | None = None) -> list[Line]:
    """Return the views of one module that make a value, in order, each of which serves only the next one.

    With ``user`` the last of them serves only this line.
    """
    chain: list[Line] = []
    while (maker := work.maker(value)) is not None and maker.operation in VIEWS and maker.scope == scope:
        following = chain[0] if chain else user
        if following is not None and work.only_user(maker.outputs[0]) is not following:
            break
        chain.insert(0, maker)
        value = maker.inputs[0]
    return chain


def chain_after(work: Rewriter, value: Value, scope: Scope) -> list[Line]:
    """Return the views of one module that a value goes through and nothing else does, in order."""
    chain: list[Line] = []
    while (user := work.only_user(value)) is not None and user.operation in VIEWS and user.scope == scope:
        chain.append(user)
        value = user.outputs[0]
    return chain


def add_steps(work: Rewriter, value: Value, steps: Iterable[Step]) -> Value:
    """Add views of a value and return the last one."""
    for operation, attributes in steps:
        value = work.build.line(operation, [value], attributes)
    return value


def compose(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Replace a chain of views by a shorter one, and a reshape by a view that says which axes it concerns."""
    chain = chain_before(work, line.outputs[0], line.scope)
    for start in range(len(chain)):
        source = source_of(chain[start])
        arrangement = arranged(source.type.shape, [work.operation(view) for view in chain[start:]])
        if arrangement is not None:
            steps = steps_of(arrangement)
        elif not any(view.operation in ("permute", "transpose") for view in chain[start:]):
            steps = regrouped(source.type.shape, line.outputs[0].type.shape)
        else:
            continue
        plainer = line.operation == "reshape" and start == len(chain) - 1 and [name for name, _ in steps] != ["reshape"]
        if len(steps) < len(chain) - start or (plainer and len(steps) == 1):
            return [add_steps(work, source, steps)]
    return _cancelled(work, line)


def _cancelled(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Return the source of a chain of views that changes nothing, though others use values in it too."""
    chain: list[Line] = []
    maker: Line | None = line
    while maker is not None and maker.operation in VIEWS and maker.scope == line.scope:
        chain.insert(0, maker)
        source = source_of(maker)
        arrangement = arranged(source.type.shape, [work.operation(view) for view in chain])
        if arrangement is not None and not steps_of(arrangement):
            return [source]
        maker = work.maker(source)
    return None


def views_before_selections(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Put equal chains of views of all selections from a tensor in front of the selections."""
    tensor, axis = source_of(line), _axis(work, line)
    selections = work.users(tensor)
    if not chain_after(work, line.outputs[0], line.scope) or not 2 <= len(selections) <= _MOST_SELECTIONS:
        return None
    if work.is_result(tensor) or any(other.operation != "select" for other in selections):
        return None
    if any(other.scope != line.scope or _axis(work, other) != axis for other in selections):
        return None
    chains = [chain_after(work, other.outputs[0], line.scope) for other in selections]
    if not all(chains):
        return None
    before = chain_before(work, tensor, line.scope)
    source = source_of(before[0]) if before else tensor
    orders = [_selected_first(work, source, before, axis, chain) for chain in chains]
    if orders[0] is None or any(order is None or order.key() != orders[0].key() for order in orders):
        return None
    steps = steps_of(orders[0])
    if len(steps) >= len(before) + sum(map(len, chains)):
        return None
    moved = add_steps(work, source, steps)
    results: dict[Line, Value] = {}
    for other, chain in zip(selections, chains, strict=True):
        work.build.hint = chain[-1].outputs[0].hint
        results[other] = work.build.line("select", [moved], {"axis": 0, "index": other.attributes["index"]})
    for other, chain in zip(selections, chains, strict=True):
        work.replace(chain[-1].outputs[0], results[other])
    return [results[line]]


def _selected_first(
    work: Rewriter, source: Value, before: Sequence[Line], axis: int, chain: Sequence[Line]
) -> Arrangement | None:
    """Return views of a tensor, then the selected axis moved to the front, and views of the other axes behind it."""
    arrangement = arranged(source.type.shape, [work.operation(view) for view in before])
    if arrangement is None:
        return None
    selected = arrangement.target.pop(axis)
    if not all(arrangement.apply(work.operation(view)) for view in chain):
        return None
    arrangement.target.insert(0, selected)
    return arrangement


def _axis(work: Rewriter, line: Line) -> int:
    attributes: Any = work.operation(line)
    return int(attributes.axis) % source_of(line).type.rank


RULES: Mapping[str, Sequence[Rule]] = {
    **{operation: [compose] for operation in VIEWS},
    "select": [views_before_selections],
}
