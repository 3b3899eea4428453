"""Bodies of shipped blocks at new sizes, computed from a sketch instead of elaborated.

A block that is elaborated repeatedly for different sizes is elaborated once more with symbols in place of the sizes.
The sizes are the whole numbers from 3 among its arguments, in lists of them, and in the shapes of its inputs.  Smaller
ones (strides, kernels, a batch of 1) are part of the structure, and so are numbers of iterations, and lists if no
sketch can be made otherwise.  Sizes that are found equal when a sketch is made have to be equal wherever it is used.
Every comparison that symbolic sizes leave open, or whose sides have different forms, becomes a condition of the sketch
too.  Where a condition fails, or where a rule needs numbers, the block is elaborated as usual, which also reports
errors.
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
#: How much longer one inside another block waits, where only figures are read.
_PATIENCE = 8
#: Nodes of a body that is sketched.
_MOST_NODES = 64
#: Sketches of one structure, and elaborations without one after an attempt that failed.
_MOST_FORMS, _PAUSE = 24, 1 << 60

#: Sketches by block, structure of its arguments and types, and mode.
SKETCHES: BoundedCache[Sketches] = BoundedCache(1_500)

#: Operations that drop elements by chance: their shapes and figures are the same for every chance.
DROPS = ("dropout", "stochastic_depth")
#: The chance that stands for all of them where only figures are read.
CHANCE = 0.5
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
    fixed = counts_of(block.cursor)
    sketches = _sketches_of(key, sizes, elaboration, fixed)
    if sketches.has_failed:
        sizes.clear()
        fixed |= {name for name, value in arguments.items() if isinstance(value, (list, tuple))}
        sketches = _sketches_of(key, sizes, elaboration, fixed)
    if max(sizes, default=MOST) >= MOST:
        return None
    apart = elaboration.apart(block.home)
    anonymous = [None if value is None else Value(value.type, value.name, value.span) for value in inputs]

    def make() -> Body:
        return elaborate(_elaboration_alone(apart, key), block, arguments, anonymous, key)

    def sketched() -> Sketch | None:
        return _sketched(elaboration, block, arguments, inputs, key, elaborate, tuple(sizes), fixed, make)

    def body_of(sketch: Sketch) -> SketchedBody:
        return SketchedBody(sketch, tuple(sizes), key.types, make)

    inner = are_sketches_apart() and elaboration.is_in_block  # a sketch of the outer body saves more
    sketch = sketches.fitting(tuple(sizes), sketched, body_of, _PATIENCE if inner else 1)
    return None if sketch is None else elaboration.take(key, body_of(sketch))


class Sketches:
    """The sketches of a body for one structure, each for some sizes, and the number of misses since the last one."""

    __slots__ = ("found", "tries")

    def __init__(self) -> None:
        self.found: list[Sketch] = []
        self.tries = 0

    @property
    def has_failed(self) -> bool:
        """True if no sketch can be made for the structure."""
        return self.tries < 0 and not self.found

    def fitting(
        self,
        sizes: tuple[int, ...],
        make: Callable[[], Sketch | None],
        body_of: Callable[[Sketch], SketchedBody],
        patience: int = 1,
    ) -> Sketch | None:
        """Return a sketch that fits sizes, made after a few misses if no earlier one fits; None if there is none.

        ``patience`` is by how much longer it waits with that.
        """
        sketch = next((candidate for candidate in self.found if candidate.holds(*sizes)), None)
        if sketch is None:
            self.tries += 1
            if self.tries <= patience * _TRIES or len(self.found) >= _MOST_FORMS:
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


def _sketches_of(key: BodyKey, sizes: list[int], elaboration: Elaboration, fixed: frozenset[str]) -> Sketches:
    """Return the sketches for a key without its sizes, which are added to ``sizes``.

    Numbers in arguments that are ``fixed`` are no sizes.
    """
    arguments = [(name, value if name in fixed else _structure(value, sizes)) for name, value in key.arguments]
    types: list[Any] = []
    for type_ in key.types:
        if type_ is None:
            types.append(None)
            continue
        shape = type_.shape
        sizes += [n for n in shape if n >= LEAST]  # type: ignore[misc]
        types.append((type_.dtype, *[n if n < LEAST else -1 for n in shape]))
    mode = key.frozen, elaboration.ctx.training, elaboration.ctx.dtype
    pattern = key.declaration, tuple(arguments), tuple(types), key.defaults, mode
    return SKETCHES.get(pattern) or SKETCHES.put(pattern, Sketches())


def _structure(value: Any, sizes: list[int]) -> Any:
    """Return a hashable value without the sizes in it and in lists, which are added to ``sizes``."""
    if type(value) is tuple and len(value) == 2 and value[0] == "int" and type(value[1]) is int:
        if value[1] < LEAST:
            return value
        sizes.append(value[1])
        return "size"
    is_list = type(value) is tuple and value and all(type(item) is tuple and item[:1] == ("int",) for item in value)
    return tuple([_structure(item, sizes) for item in value]) if is_list else value


def _with_symbols(value: Any, symbols: Iterator[Any]) -> Any:
    """Return a value of an argument with symbols in place of its sizes."""
    if type(value) is int:
        return next(symbols) if value >= LEAST else value
    if type(value) in (list, tuple) and value and all(type(item) is int for item in value):
        return type(value)([_with_symbols(item, symbols) for item in value])
    return value


def counts_of(block: Cursor) -> frozenset[str]:
    """Return the words in the numbers of iterations of a block, which give a body for each number."""
    return kept(block.derived, counts_of, lambda: counts_in(block.data))


def with_equal_chances(block: Block, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a block with one value for all chances inside :func:`sketches_apart`."""
    chances = chances_of(block.cursor) if are_sketches_apart() else ()
    changed = {name: CHANCE for name in chances if type(arguments[name]) is float and 0 <= arguments[name] <= 1}
    return arguments | changed if changed else arguments


def chances_of(block: Cursor) -> frozenset[str]:
    """Return the arguments of a block whose only uses are as the chance of operations that drop elements."""
    return kept(block.derived, chances_of, lambda: _chances_in(block.data))


def _chances_in(data: Any) -> frozenset[str]:
    found: set[str] = set()

    def rest(item: Any, *, is_line: bool) -> Any:
        if isinstance(item, list):
            return [rest(part, is_line=True) for part in item]
        if not isinstance(item, dict):
            return item
        others = {}
        for key, value in item.items():
            name = _NAME.fullmatch(value) if is_line and key in DROPS and isinstance(value, str) else None
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
    fixed: frozenset[str],
    make: Callable[[], Body],
) -> Sketch | None:
    """Return a sketch of the body of a block, made from these sizes; None if there is none."""
    names = [f"size_{index}" for index in range(len(sizes))]
    symbols = iter([symbol(name, size, LEAST) for name, size in zip(names, sizes, strict=True)])
    shown = {name: value if name in fixed else _with_symbols(value, symbols) for name, value in arguments.items()}
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
