"""Bodies of shipped blocks at new sizes, computed from a sketch instead of elaborated.

A block that is elaborated repeatedly for different sizes is elaborated once more with symbols in place of the sizes.
The sizes are the whole numbers from 3 among its arguments and in the shapes of its inputs.  Smaller ones (strides,
kernels, a batch of 1) are part of the structure, and so are numbers of iterations.  Sizes that are found equal when a
sketch is made have to be equal wherever it is used.  Every comparison that symbolic sizes leave open, or whose sides
have different forms, becomes a condition of the sketch too.  Where a condition fails, or where a rule needs numbers,
the block is elaborated as usual, which also reports errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from netcalc.bounded_cache import BoundedCache
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Assumption, assumptions, differences, followed, limited_work, symbol, value_at
from netcalc.ir import Body, CallNode, Node, Value
from netcalc.ir.sketch import Sketch, SketchedBody
from netcalc.spec.body_cache import BodyKey
from netcalc.spec.cursor import Cursor, kept
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import words_in
from netcalc.spec.library import Block
from netcalc.spec.same_body import are_sketches_apart
from netcalc.tensor_type import TensorType

#: Least number that is a size, and the greatest for which sketches are used: limits on numbers are not near then.
LEAST, MOST = 3, 1 << 14
#: Times that a block is elaborated for a pattern of sizes before it is sketched.
_TRIES = 3
#: Nodes of a body that is sketched.
_MOST_NODES = 64
#: Sketches of one structure, and elaborations without one after an attempt that failed.
_MOST_FORMS, _PAUSE = 24, 1 << 60

#: Sketches by block, structure of its arguments and types, and mode.
SKETCHES: BoundedCache[Sketches] = BoundedCache(1_500)

#: Operations that drop elements by chance: their shapes and figures are the same for every chance.
_DROPS = ("dropout", "stochastic_depth")
_NAME = re.compile(r"\$\{\s*(\w+)\s*\}")

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
    if not elaboration.may_sketch or key.patches:
        return None
    sizes: list[int] = []
    counts = _counts(block.cursor)
    chances = _chances(block.cursor) if are_sketches_apart() else frozenset[str]()
    pattern = _pattern(key, sizes, elaboration, counts, chances)
    if max(sizes, default=MOST) >= MOST:
        return None
    apart = elaboration.apart(block.home)
    anonymous = [None if value is None else Value(value.type, value.name, value.span) for value in inputs]

    def make() -> Body:
        return elaborate(_elaboration_alone(apart, key), block, arguments, anonymous, key)

    def sketched() -> Sketch | None:
        return _sketched(elaboration, block, arguments, inputs, key, elaborate, tuple(sizes), counts, make)

    def body_of(sketch: Sketch) -> SketchedBody:
        return SketchedBody(sketch, tuple(sizes), key.types, make)

    sketches = SKETCHES.get(pattern) or SKETCHES.put(pattern, Sketches())
    sketch = sketches.fitting(tuple(sizes), sketched, body_of)
    return None if sketch is None else elaboration.take(key, body_of(sketch))


class Sketches:
    """The sketches of a body for one structure, each for some sizes, and the number of misses since the last one."""

    __slots__ = ("found", "tries")

    def __init__(self) -> None:
        self.found: list[Sketch] = []
        self.tries = 0

    def fitting(
        self, sizes: tuple[int, ...], make: Callable[[], Sketch | None], body_of: Callable[[Sketch], SketchedBody]
    ) -> Sketch | None:
        """Return a sketch that fits sizes, made after a few misses if no earlier one fits; None if there is none."""
        sketch = next((candidate for candidate in self.found if candidate.holds(*sizes)), None)
        if sketch is None:
            self.tries += 1
            if self.tries <= _TRIES or len(self.found) >= _MOST_FORMS:
                return None
            try:
                sketch = make()
            except NetcalcError:  # of the example, which is reported when it is elaborated
                return None
            self.tries = 0 if sketch else -_PAUSE
            if sketch is None:
                return None
            self.found = [*self.found, sketch]
            return sketch
        if "checked" not in sketch.derived:  # the first sizes that differ from the example's
            sketch.derived["checked"] = True
            body = body_of(sketch)
            if not alike(body, body.made):
                self.found = [candidate for candidate in self.found if candidate is not sketch]
                return None
        return sketch


def _pattern(
    key: BodyKey, sizes: list[int], elaboration: Elaboration, counts: frozenset[str], chances: frozenset[str]
) -> Any:
    """Return a key without the sizes, which are added to ``sizes``, and without the values of chances."""
    arguments = []
    for name, value in key.arguments:
        if value[0] == "int" and value[1] >= LEAST and name not in counts:
            sizes.append(value[1])
            arguments.append(name)
        elif name in chances and value[0] == "float" and 0 <= float(value[1]) <= 1:
            arguments.append((name, "chance"))
        else:
            arguments.append((name, value))
    types: list[Any] = []
    for type_ in key.types:
        if type_ is None:
            types.append(None)
            continue
        shape = type_.shape
        sizes += [n for n in shape if n >= LEAST]  # type: ignore[misc]
        types.append((type_.dtype, *[n if n < LEAST else -1 for n in shape]))
    mode = key.frozen, elaboration.ctx.training, elaboration.ctx.dtype
    return key.declaration, tuple(arguments), tuple(types), key.defaults, mode


def _counts(block: Cursor) -> frozenset[str]:
    """Return the words in the numbers of iterations of a block, which give a body for each number."""
    return kept(block.derived, _counts, lambda: counts_in(block.data))


def _chances(block: Cursor) -> frozenset[str]:
    """Return the arguments of a block whose only uses are as the chance of operations that drop elements."""
    return kept(block.derived, _chances, lambda: _chances_in(block.data))


def _chances_in(data: Any) -> frozenset[str]:
    found: set[str] = set()

    def rest(item: Any, *, is_line: bool) -> Any:
        if isinstance(item, list):
            return [rest(part, is_line=True) for part in item]
        if not isinstance(item, dict):
            return item
        others = {}
        for key, value in item.items():
            name = _NAME.fullmatch(value) if is_line and key in _DROPS and isinstance(value, str) else None
            if name is None:
                others[key] = rest(value, is_line=False)
            else:
                found.add(name[1])
        return others

    words = words_in(rest({key: item for key, item in data.items() if key != "example"}, is_line=False))
    return frozenset(found) - words


def counts_in(data: Any) -> frozenset[str]:
    """Return the words in the numbers of iterations of all repeats in a part of a spec."""
    pending, words = [data], frozenset[str]()
    while pending:
        item = pending.pop()
        if isinstance(item, dict) and "repeat" in item:
            words |= words_in(item["repeat"])
        pending += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return words


def _sketched(
    elaboration: Elaboration,
    block: Block,
    arguments: Mapping[str, Any],
    inputs: list[Value | None],
    key: BodyKey,
    elaborate: Elaborates,
    sizes: tuple[int, ...],
    counts: frozenset[str],
    make: Callable[[], Body],
) -> Sketch | None:
    """Return a sketch of the body of a block, made from these sizes; None if there is none."""
    names = [f"size_{index}" for index in range(len(sizes))]
    symbols = iter([symbol(name, size, LEAST) for name, size in zip(names, sizes, strict=True)])
    shown = {
        name: next(symbols) if type(value) is int and value >= LEAST and name not in counts else value
        for name, value in arguments.items()
    }
    values = [None if value is None else Value(_symbolic_type(value.type, symbols), value.name) for value in inputs]
    own = _elaboration_alone(elaboration.apart(block.home), key)
    types = tuple(None if value is None else value.type for value in values)
    try:
        with differences() as different, followed(), assumptions() as assumed, limited_work():
            body = elaborate(own, block, shown, values, key._replace(types=types))
        twins = distinct_claims(body, dict(zip(names, sizes, strict=True)))
        if own.reporter.diagnostics or None in body.result_types or twins is None:
            return None
        size_names = set(names)
        claims = [claim for claim in (*assumed, *different, *twins) if claim.names() <= size_names]
        sketch = Sketch(names, body, claims, (sizes, make()))
        agrees = sketch.holds(*sizes) and alike(SketchedBody(sketch, sizes, key.types, make), sketch.example[1])
    except (NetcalcError, ValueError, TypeError, ArithmeticError):
        return None
    return sketch if agrees else None


def _elaboration_alone(apart: Callable[[], Elaboration], key: BodyKey) -> Elaboration:
    """Return an elaboration for a shipped block by itself."""
    own = apart()
    own.frozen = key.frozen
    return own


def _symbolic_type(type_: TensorType | None, symbols: Iterator[Any]) -> TensorType | None:
    if type_ is None:
        return None
    return type_.with_shape(*[next(symbols) if size >= LEAST else size for size in type_.shape])


def alike(body: SketchedBody, made: Body) -> bool:
    """Return True if a body from a sketch is the same as the elaborated one, as far as the elaboration sees it."""
    same = body.output_types == made.output_types and body.input_types == made.input_types
    nodes = body.sketch.nodes(body.sketch.times(*body.sizes))
    return same and body.ports == made.ports and _outline(nodes) == _outline(made.nodes)


def _outline(nodes: Sequence[Node]) -> Any:
    """Return the names, operations and calls of a body."""
    return [
        (node.name, node.times, node.start, node.shares, node.module, _outline(node.body.nodes))
        if isinstance(node, CallNode)
        else (node.name, node.op.name, [param.name for param in node.params], node.inplace, node.frozen, node.module)
        for node in nodes
    ]


def distinct_claims(body: Body, sizes: Mapping[str, int], most: int = _MOST_NODES) -> list[Assumption] | None:
    """Return claims by which no two bodies of one block inside a body are equal; None if there are none.

    Bodies that are equal are one body, which a sketch cannot decide anew for other sizes.
    """
    claims: list[Assumption] = []
    blocks: dict[str, list[Body]] = {}
    bodies = _calls(body)
    if len(bodies) > 2 * _MOST_NODES:
        return None
    for inner in bodies:
        if len(inner.nodes) > (_MOST_NODES if inner is not body else most) or any(
            n.computed for n in inner.nodes if not isinstance(n, CallNode)
        ):
            return None
        twins = blocks.setdefault(inner.block, [])
        for twin in twins:
            pairs = [
                (a, b)
                for type_, other in zip(inner.input_types, twin.input_types, strict=False)
                if type_ is not None and other is not None
                for a, b in zip(type_.shape, other.shape, strict=False)
            ]
            claim = next((Assumption(a, "!=", b) for a, b in pairs if value_at(a, sizes) != value_at(b, sizes)), None)
            if claim is not None:
                claims.append(claim)
            elif len(inner.input_types) != len(twin.input_types):
                continue
            elif _outline(inner.nodes) == _outline(twin.nodes) and _attributes(inner) == _attributes(twin):
                return None
        twins.append(inner)
    return claims


def _calls(body: Body) -> list[Body]:
    """Return the body and the bodies that it calls, each once."""
    bodies: dict[Body, None] = {body: None}
    for node in body.nodes:
        if isinstance(node, CallNode):
            bodies |= dict.fromkeys(_calls(node.body))
    return list(bodies)


def _attributes(body: Body) -> list[Any]:
    """Return the attributes of the operations of a body without its sizes."""
    return [
        [value for value in vars(node.op).values() if type(value) in (bool, float, str)]
        for node in body.nodes
        if not isinstance(node, CallNode)
    ]
