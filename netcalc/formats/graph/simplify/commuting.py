"""Linear maps between views of their batch axes: all of the views in front, or all behind, where that is shorter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.formats.graph.model import Line, Scope, Value
from netcalc.formats.graph.simplify.arrangement import VIEWS, Arrangement, Factor, arranged
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule, source_of
from netcalc.formats.graph.simplify.steps import steps_of
from netcalc.formats.graph.simplify.views import add_steps, chain_after, chain_before


def linear_between_views(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Join the views in front of a linear map with those behind it."""
    scope = _scope_of_views(work, line)
    if scope is None:
        return None
    before = chain_before(work, line.inputs[0], scope, line)
    after = chain_after(work, line.outputs[0], scope)
    if not before or not after:
        return None
    source = source_of(before[0])
    arrangement = arranged(source.type.shape, [work.operation(view) for view in before])
    if arrangement is None or not arrangement.target:
        return None
    hint = after[-1].outputs[0].hint
    features = Factor(line.outputs[0].type.shape[-1])
    read = arrangement.target[-1]
    behind = arrangement.source[-1:] == [read]  # the views move behind the map, which reads the last axis
    if behind:
        arrangement.source[-1] = (features,)
    arrangement.target[-1] = (features,)
    if not all(arrangement.apply(work.operation(view)) for view in after):
        return None
    if arrangement.target and arrangement.target[-1] == (features,):
        return _in_front(work, line, source, arrangement, read, behind, len(before) + len(after), after[-1])
    steps = steps_of(arrangement) if behind else None
    if steps is None or len(steps) >= len(before) + len(after):
        return None
    (mapped,) = work.again(line, source)
    work.build.scope, work.build.hint = scope, hint
    work.replace(after[-1].outputs[0], add_steps(work, mapped, steps))
    return [mapped]


def _in_front(
    work: Rewriter,
    line: Line,
    source: Value,
    arrangement: Arrangement,
    read: tuple[Factor, ...],
    behind: bool,
    count: int,
    last: Line,
) -> Sequence[Value] | None:
    """Put all views in front of a linear map, whose features they leave alone."""
    if behind:
        arrangement.source[-1] = read
    arrangement.target[-1] = read
    steps = steps_of(arrangement)
    if len(steps) >= count:
        return None
    work.build.scope, work.build.hint = last.scope, ""
    (mapped,) = work.again(line, add_steps(work, source, steps))
    work.replace(last.outputs[0], mapped)
    return [mapped]


def _scope_of_views(work: Rewriter, line: Line) -> Scope | None:
    """Return the module of the views around a linear map: the module of the map, or one that calls it."""
    maker = work.maker(line.inputs[0])
    if maker is None or maker.operation not in VIEWS or line.scope[: len(maker.scope)] != maker.scope:
        return None
    return maker.scope


RULES: Mapping[str, Sequence[Rule]] = {"linear": [linear_between_views]}
