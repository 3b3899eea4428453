"""Paths that two nodes or two parameters of a program share, found without unrolling its repeats.

A node has a path, and so has each parameter and buffer; a node and a parameter may share a path, and a parameter may
have the path of the one that it is tied to.  The names in a
body are compared part by part, the iterations of a repeat as a range of numbers.  A call is entered only if the path of
another node in the same body leads into it, since a body whose own paths are distinct is so at every call.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from netcalc.ir.program import Body, CallNode, Node, OpNode, join
from netcalc.ir.sketch import SketchedBody

_NUMBER = re.compile(r"(.*?)(0|[1-9][0-9]*)")


class Claim(NamedTuple):
    """A node, or one of its parameters, that has a path."""

    node: Node
    is_parameter: bool
    calls: tuple[CallNode, ...]  # around the node, from the body where the collision is found
    parts: tuple[str, ...]  # the rest of the path
    numbers: tuple[int, int] | None = None  # the last part is followed by a number from the first, below the second
    shared: Any = None  # the repeat whose iterations share weights and paths
    tie: str = ""  # the path that a parameter is tied to, after a slash if it starts at the top

    @property
    def outermost(self) -> Node:
        """The node in the body where the collision is found."""
        return self.calls[0] if self.calls else self.node


class Collision(NamedTuple):
    """A path with the two nodes or parameters that have it, in order of execution."""

    path: str
    first: Claim
    second: Claim


def path_collisions(main: Body) -> Iterator[Collision]:
    """Yield the paths that two nodes or two parameters share; each body is visited once, at its first call.

    The iterations of a repeat that share their weights share their paths too.  The operation of a repeat has the path
    of the iteration.
    """
    seen: set[Body] = set()
    pending = [("", main)]
    while pending:
        path, body = pending.pop()
        if body in seen or (body is not main and _are_distinct(body)):
            continue
        seen.add(body)
        order = {id(node): position for position, node in enumerate(body.nodes)}
        for collision in _collisions(list(_claims(body)), path):
            first, second = sorted(collision[1:], key=lambda claim: order[id(claim.outermost)])
            yield Collision(collision.path, first, second)
        pending += [(join(path, n.instance(0)), n.body) for n in reversed(body.nodes) if isinstance(n, CallNode)]


def _are_distinct(body: Body) -> bool:
    """Return True if no two paths in a body, or in one that is called below it, are equal; kept with the body."""
    if isinstance(body, SketchedBody):
        return _are_distinct(body.sketch.body)
    if path_collisions not in body.derived:
        inside = all(_are_distinct(node.body) for node in body.nodes if isinstance(node, CallNode))
        body.derived[path_collisions] = inside and next(_collisions(list(_claims(body)), ""), None) is None
    return body.derived[path_collisions]  # type: ignore[no-any-return]


def _claims(body: Body, calls: tuple[CallNode, ...] = (), shared: Any = None) -> Iterator[Claim]:
    """Yield every path in a body, relative to it."""
    nodes = _named_nodes(body)
    repeats = {n.name for n in nodes if isinstance(n, CallNode) and n.shares and n.shares.target == n.name}
    for node in nodes:
        if isinstance(node, OpNode):
            if node.name:
                yield Claim(node, False, calls, _path_parts(node.name), shared=shared)
            for param in node.params:
                path = join(node.name, param.name)
                claim = Claim(node, True, calls, _path_parts(path), shared=shared, tie=_tie(node, param.name))
                if claim.tie != path:
                    yield claim
            continue
        own = (*map(id, calls), node.name) if shared is None and node.start is None and node.name in repeats else shared
        parts, numbers = _path_parts(node.instance(0)), None
        if not parts:  # a call without a part of its own in paths
            yield from _claims(node.body, (*calls, node), own)
            continue
        if node.start is not None:
            parts = (*parts[:-1], parts[-1].removesuffix(str(node.start)))
            numbers = (node.start, node.start + node.times)
        yield Claim(node, False, calls, parts, numbers, own)


def _named_nodes(body: Body) -> Sequence[Node]:
    """Return the nodes of a body; those of a sketch have the same names, parameters and ties, and are made already."""
    return body.sketch.nodes(body.sketch.times(*body.sizes)) if isinstance(body, SketchedBody) else body.nodes


def _tie(node: OpNode, name: str) -> str:
    """Return the path that a parameter is tied to, after a slash if it starts at the top; or an empty text."""
    tie = node.ties.get(name)
    return "" if tie is None else f"/{tie.target}" if tie.absolute else tie.target


def _path_parts(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")) if path else ()


def _collisions(claims: Sequence[Claim], path: str) -> Iterator[Collision]:
    """Yield the collisions among claims on ``path`` (those without further parts) and on paths below it."""
    below = [claim for claim in claims if claim.parts]
    for is_parameter in (False, True):
        here = [
            claim
            for claim in claims
            if not claim.parts and claim.is_parameter == is_parameter and claim.tie != f"/{path}"
        ]
        colliding = next((pair for pair in combinations(here, 2) if not _is_one(pair)), None)
        if colliding is not None:
            yield Collision(path, *colliding)
            return
        if below:
            for claim in here:
                if isinstance(claim.node, CallNode):
                    below += _claims(claim.node.body, (*claim.calls, claim.node), claim.shared)
    for part, group in _groups_by_first_part(below):
        if not _is_one(group):
            yield from _collisions([_without_first_part(claim) for claim in group], join(path, part))


def _is_one(claims: Iterable[Claim]) -> bool:
    """Return True if one node, or one repeat that shares its weights, makes all the claims."""
    return len({claim.shared or (*map(id, claim.calls), id(claim.node)) for claim in claims}) <= 1


def _without_first_part(claim: Claim) -> Claim:
    rest = claim.parts[1:]
    return claim._replace(parts=rest, numbers=claim.numbers if rest else None)


def _groups_by_first_part(claims: Iterable[Claim]) -> Iterator[tuple[str, Sequence[Claim]]]:
    """Yield the claims whose paths can have the same first part, with that part."""
    named: dict[str, list[Claim]] = {}
    numbered: dict[str, list[tuple[int, int, Claim]]] = {}  # by the text before the number
    for claim in claims:
        if claim.numbers is not None and len(claim.parts) == 1:
            numbered.setdefault(claim.parts[0], []).append((*claim.numbers, claim))
        else:
            named.setdefault(claim.parts[0], []).append(claim)
    for stem, ranges in numbered.items():
        ranges.sort(key=lambda item: item[:2])
        for (_, end, former), (start, _, other) in pairwise(ranges):
            if start < end:
                yield f"{stem}{start}", (former, other)
    for part, group in named.items():
        match = _NUMBER.fullmatch(part)
        ranges = numbered.get(match[1], []) if match else []
        position = bisect_right(ranges, int(match[2]), key=lambda item: item[0]) - 1 if match else -1
        if match and position >= 0 and int(match[2]) < ranges[position][1]:
            group = [*group, ranges[position][2]]
        yield part, group
