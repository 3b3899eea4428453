"""Bodies of shipped blocks at sizes that are new: computed from a sketch instead of elaborated.

A block that is elaborated again and again for other sizes is elaborated once more with symbols in their place.  The
sizes are the whole numbers from 3 among its arguments and in the shapes of its inputs; equal ones are one symbol, and
smaller ones (strides, kernels, a batch of 1) are part of the structure.  Everything that symbolic sizes leave open and
everything that was found different becomes a condition of the sketch; where one fails, or where a rule needs numbers,
the block is elaborated as ever, which reports errors too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.dims import Assumption, assumptions, differences, limited_work, symbol, value_at
from netcalc.ir import Body, CallNode, Value
from netcalc.ir.sketch import Sketch, SketchedBody
from netcalc.kept import Kept
from netcalc.spec.cursor import Cursor
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.kept_bodies import BodyKey
from netcalc.spec.library import Block
from netcalc.tensor_type import TensorType

__all__ = ["SKETCHES", "sketched_body"]

#: Least number that is a size, and the greatest for which sketches are used: limits on numbers are not near then.
_LEAST, _MOST = 3, 1 << 14
#: Times that a block is elaborated for a pattern of sizes before it is sketched.
_TRIES = 3
#: Nodes of a body that is sketched.
_MOST_NODES = 64

#: Sketches by block, structure of its arguments and types, and mode; or the number of elaborations so far.
SKETCHES: Kept[list[Any]] = Kept(300)

#: Function that elaborates the body of a block in an elaboration.
Elaborates = Callable[[Elaboration, Block, Mapping[str, Any], "list[Value | None]", BodyKey], Body]


def sketched_body(
    elaboration: Elaboration,
    block: Block,
    arguments: Mapping[str, Any],
    inputs: list[Value | None],
    key: BodyKey,
    elaborate: Elaborates,
) -> Body | None:
    """Return the body of a block from a sketch; None if it has to be elaborated."""
    if not elaboration.may_sketch or key.patches or _repeats(block.cursor):
        return None
    numbers: dict[Any, int] = {}
    pattern = _pattern(key, numbers, elaboration)
    if max(numbers, default=_MOST) >= _MOST:
        return None
    found = SKETCHES.get(pattern)
    if found is None:
        found = SKETCHES.put(pattern, [0])
    sketch, sizes = found[0], tuple(numbers)

    apart = elaboration.apart(block.home)
    given = [None if value is None else Value(value.type, value.name, value.span) for value in inputs]

    def make() -> Body:
        return elaborate(_alone(apart, key), block, arguments, given, key)

    if type(sketch) is int:
        found[0] = sketch + 1
        if sketch < _TRIES:
            return None
        found[0] = sketch = _sketched(elaboration, block, arguments, inputs, key, elaborate, numbers, make)
    if sketch is None or not sketch.holds(*sizes):
        return None
    body = SketchedBody(sketch, sizes, key.types, make)
    if "checked" not in sketch.derived:  # the first sizes that are not those of the example
        sketch.derived["checked"] = True
        if not _agree(body, body.made):
            found[0] = None
            return None
    return elaboration.take(key, body)


def _pattern(key: BodyKey, numbers: dict[Any, int], elaboration: Elaboration) -> Any:
    """Return a key with the numbers of symbols in place of sizes, which are added to ``numbers``."""
    arguments = tuple(
        [
            (name, numbers.setdefault(value[1], len(numbers)))
            if value[0] == "int" and value[1] >= _LEAST
            else (name, value)
            for name, value in key.arguments
        ]
    )
    types = tuple(
        [
            None
            if type_ is None
            else (
                type_.dtype,
                *[-1 - numbers.setdefault(n, len(numbers)) if n >= _LEAST else n for n in type_.shape],
            )
            for type_ in key.types
        ]
    )
    return key.declaration, arguments, types, key.frozen, elaboration.ctx.training, elaboration.ctx.dtype


def _repeats(block: Cursor) -> bool:
    """Return True if a block repeats lines, as often as its arguments say: a body for each number of iterations."""
    if _repeats not in block.derived:
        pending, found = [block.data], False
        while pending and not found:
            item = pending.pop()
            found = isinstance(item, dict) and "repeat" in item
            pending += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        block.derived[_repeats] = found
    return block.derived[_repeats]  # type: ignore[no-any-return]


def _sketched(
    elaboration: Elaboration,
    block: Block,
    arguments: Mapping[str, Any],
    inputs: list[Value | None],
    key: BodyKey,
    elaborate: Elaborates,
    numbers: Mapping[int, int],
    make: Callable[[], Body],
) -> Sketch | None:
    """Return a sketch of the body of a block, made from these sizes; None if there is none."""
    names = [f"size_{index}" for index in numbers.values()]
    symbols = {number: symbol(name, number, _LEAST) for number, name in zip(numbers, names, strict=True)}
    shown = {
        name: symbols[value] if type(value) is int and value in symbols else value for name, value in arguments.items()
    }
    values = [None if value is None else Value(_symbolic(value.type, symbols), value.name) for value in inputs]
    own = _alone(elaboration.apart(block.home), key)
    types = tuple(None if value is None else value.type for value in values)
    try:
        with differences() as different, assumptions() as assumed, limited_work():
            body = elaborate(own, block, shown, values, key._replace(types=types))
        sizes, twins = tuple(numbers), _differences_of_twins(body, dict(zip(names, numbers, strict=True)))
        if own.reporter.diagnostics or None in body.result_types or twins is None:
            return None
        known = set(names)
        claims = [claim for claim in (*assumed, *different, *twins) if claim.names() <= known]
        sketch = Sketch(names, body, claims, (sizes, make()))
        whole = sketch.holds(*sizes) and _agree(SketchedBody(sketch, sizes, key.types, make), sketch.example[1])
    except (NetcalcError, ValueError, TypeError, ArithmeticError):
        return None
    return sketch if whole else None


def _alone(apart: Callable[[], Elaboration], key: BodyKey) -> Elaboration:
    """Return an elaboration for a shipped block by itself."""
    own = apart()
    own.frozen = key.frozen
    return own


def _symbolic(type_: TensorType | None, symbols: Mapping[Any, Any]) -> TensorType | None:
    return None if type_ is None else type_.with_shape(*[symbols.get(size, size) for size in type_.shape])


def _agree(body: SketchedBody, made: Body) -> bool:
    """Return True if a body from a sketch is the same as the elaborated one, as far as the elaboration sees it."""
    same = body.output_types == made.output_types and body.input_types == made.input_types
    return same and body.ports == made.ports and _outline(body.sketch.body) == _outline(made)


def _outline(body: Body) -> Any:
    """Return the names, operations and calls of a body."""
    return [
        (node.name, node.times, node.start, node.shares, _outline(node.body))
        if isinstance(node, CallNode)
        else (node.name, node.op.name, [param.name for param in node.params], node.inplace, node.frozen)
        for node in body.nodes
    ]


def _differences_of_twins(body: Body, sizes: Mapping[str, int]) -> list[Assumption] | None:
    """Return claims by which no two bodies of one block inside a body are equal; None if there are none.

    Bodies that are equal are one body, which a sketch cannot decide anew for other sizes.
    """
    claims: list[Assumption] = []
    blocks: dict[str, list[Body]] = {}
    for inner in _calls(body):
        if len(inner.nodes) > _MOST_NODES or any(n.computed for n in inner.nodes if not isinstance(n, CallNode)):
            return None
        twins = blocks.setdefault(inner.block, [])
        for twin in twins:
            pairs = [
                (a, b)
                for one, other in zip(inner.input_types, twin.input_types, strict=False)
                if one is not None and other is not None
                for a, b in zip(one.shape, other.shape, strict=False)
            ]
            claim = next((Assumption(a, "!=", b) for a, b in pairs if value_at(a, sizes) != value_at(b, sizes)), None)
            if claim is not None:
                claims.append(claim)
            elif _outline(inner) == _outline(twin) and _attributes(inner) == _attributes(twin):
                return None
        twins.append(inner)
    return claims


def _calls(body: Body) -> list[Body]:
    """Return the body and the bodies that it calls, each once."""
    found: dict[Body, None] = {body: None}
    for node in body.nodes:
        if isinstance(node, CallNode):
            found |= dict.fromkeys(_calls(node.body))
    return list(found)


def _attributes(body: Body) -> list[Any]:
    """Return the attributes of the operations of a body without its sizes."""
    return [
        [value for value in vars(node.op).values() if type(value) in (bool, float, str)]
        for node in body.nodes
        if not isinstance(node, CallNode)
    ]
