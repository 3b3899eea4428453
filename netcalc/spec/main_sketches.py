"""Main bodies of specs at new settings, computed from a sketch instead of elaborated.

A spec that is elaborated repeatedly with different settings is elaborated once more with symbols for the whole numbers
in them: from 3, or from 1 where they are numbers of iterations (see :mod:`netcalc.spec.sketches`).  The settings
themselves are evaluated and checked as usual.  Where a condition of the sketch fails, or where a line needs a number,
the lines are elaborated as usual too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from netcalc.bounded_cache import BoundedCache
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Poly, assumptions, differences, limited_work, symbol
from netcalc.ir import Body, CallNode, InitRule, InputSpec, Value
from netcalc.ir.caches import Caches
from netcalc.ir.paths import path_collisions
from netcalc.ir.sketch import Sketch, SketchedBody
from netcalc.opdef import Context
from netcalc.spec.cursor import kept
from netcalc.spec.elaboration import Elaborate, Elaboration
from netcalc.spec.library import Loaded
from netcalc.spec.same_body import are_sketches_apart
from netcalc.spec.settings import Settings
from netcalc.spec.sketches import LEAST, MOST, Sketches, alike, counts_in, distinct_claims

#: Structures of the settings of a spec whose sketches are kept beside it.
_MOST_STRUCTURES = 30
#: Structures without a sketch, after which no more are tried if none had one.
_MOST_FAILURES = 4
#: Nodes of a main body that is sketched.
_MOST_NODES = 512


class _Kept:
    """Sketches of the main body of a spec by structure, and the structures without one before one had any."""

    __slots__ = ("failed", "sketches")

    def __init__(self) -> None:
        self.sketches: BoundedCache[Sketches] = BoundedCache(_MOST_STRUCTURES)
        self.failed = 0


class Main(NamedTuple):
    """The main body of a program, with its inputs, outputs and other results of its elaboration."""

    body: Body
    inputs: tuple[InputSpec, ...]
    outputs: Mapping[str, Value]
    initializers: tuple[InitRule, ...]  # those of adapters
    caches: Caches
    called: frozenset[tuple[str, str]]  # names and files of the blocks that are called
    untaken: tuple[str, ...] = ()  # inputs that no operation or block takes, and that are no outputs


#: Function that elaborates the main body; NetcalcError with every error.
Makes = Callable[[Elaboration], Main]


def sketched_main(
    loaded: Loaded, settings: Settings, ctx: Context, elaborate_lines: Elaborate, elaborate: Makes
) -> Main | None:
    """Return the main body of a spec from a sketch; None if it has to be elaborated."""
    sizes: list[int] = []
    pattern = _pattern(loaded, settings, sizes)
    if pattern is None or not sizes or max(sizes) >= MOST:
        return None
    store: _Kept = kept(loaded.derived, sketched_main, _Kept)
    key = pattern, ctx.training, ctx.dtype, are_sketches_apart()
    family = store.sketches.get(key) or store.sketches.put(key, Sketches())

    def made() -> Main:
        with assumptions(), limited_work():
            return elaborate(Elaboration(loaded, settings, ctx, elaborate_lines))

    def sketched() -> Sketch | None:
        if store.failed >= _MOST_FAILURES:
            return None
        example = made()
        for merged in (False, True):  # equal sizes as one symbol if they have to be equal
            sketch = _sketched(loaded, settings, ctx, elaborate_lines, elaborate, tuple(sizes), example, merged=merged)
            if sketch is not None:
                store.failed = -1 << 60
                return sketch
        store.failed += 1
        return None

    def body_of(sketch: Sketch) -> SketchedBody:
        types = sketch.derived[_Facts].input_types(*sizes)
        return SketchedBody(sketch, tuple(sizes), types, lambda: made().body)

    sketch = family.fitting(tuple(sizes), sketched, body_of)
    if sketch is None or not _has_distinct_paths(sketch, sketch.times(*sizes)):
        return None
    return _main(sketch, body_of(sketch))


class _Facts(NamedTuple):
    """Inputs and outputs of a main body, beside its sketch."""

    main: Main  # at symbolic sizes
    inputs: Callable[..., tuple[InputSpec, ...]]
    input_types: Callable[..., Any]


def _main(sketch: Sketch, body: SketchedBody) -> Main:
    facts: _Facts = sketch.derived[_Facts]
    main, inputs, _ = facts
    outputs = {
        name: Value(type_, value.name, value.span)
        for (name, value), type_ in zip(main.outputs.items(), body.output_types, strict=True)
    }
    return main._replace(body=body, inputs=inputs(*body.sizes), outputs=outputs)


def _pattern(loaded: Loaded, settings: Settings, sizes: list[int]) -> Any:
    """Return the structure of the settings without the sizes, which are added to ``sizes``; None if there is none."""
    fixed, counts = _names(loaded)
    parts = []
    for name in settings:
        if name not in fixed or settings.is_overridden(name):
            part = _structure(settings[name], sizes, 1 if name in counts else LEAST)
            if part is None:
                return None
            parts.append((name, part))
    return tuple(parts)


def _structure(value: Any, sizes: list[int], least: int) -> Any:
    """Return the structure of a value; None if sketches have no such values."""
    kind = type(value)
    if kind is int:
        if value >= least:
            sizes.append(value)
            return "size"
        return kind, value
    if kind is list or kind is tuple:
        parts = [_structure(item, sizes, least) for item in value]
        return None if None in parts else (kind, *parts)
    if isinstance(value, str):
        return str, str(value)
    return (kind, repr(value)) if kind in (float, bool, type(None)) else None


def _names(loaded: Loaded) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of a spec with fixed defaults, and the names that numbers of iterations depend on."""
    data = loaded.cursor.data
    defaults = (item for kind in ("dims", "vars") for item in (data.get(kind) or {}).items())
    fixed = (name for name, default in defaults if _is_fixed(default))
    return kept(loaded.derived, _names, lambda: (frozenset(fixed), counts_in(data)))


def _is_fixed(data: Any) -> bool:
    """Return True if a default has no expressions."""
    default = data.get("default", data) if isinstance(data, dict) else data
    return "$" not in str(default)


def _with_symbols(value: Any, symbols: Callable[[], Any], least: int) -> Any:
    """Return a value with the next symbols in place of its sizes."""
    if type(value) is int and value >= least:
        return symbols()
    if type(value) in (list, tuple):
        return type(value)([_with_symbols(item, symbols, least) for item in value])
    return value


def _symbolic_settings(
    loaded: Loaded, settings: Settings, sizes: tuple[int, ...], *, merged: bool
) -> tuple[Settings, list[str], list[str]]:
    """Return the settings with symbols, the names of the symbols, and if ``merged`` the equations between them."""
    fixed, counts = _names(loaded)
    names: list[str] = []
    equal: list[str] = []
    first: dict[int, Poly] = {}
    own = Settings(loaded, settings._overrides, frozenset())
    own.warnings = list(settings.warnings)
    for name in settings:
        least = 1 if name in counts else LEAST

        def following(least: int = least) -> Poly:
            size = sizes[len(names)]
            names.append(f"size_{len(names)}")
            if merged and least == LEAST and size in first:
                equal.append(f"{names[-1]} == {first[size]}")
                return first[size]
            size_symbol = symbol(names[-1], size, least)
            if least == LEAST:
                first[size] = size_symbol
            return size_symbol

        free = name not in fixed or settings.is_overridden(name)
        own._values[name] = _with_symbols(settings[name], following, least) if free else settings[name]
    return own, names, equal


def _sketched(
    loaded: Loaded,
    settings: Settings,
    ctx: Context,
    elaborate_lines: Elaborate,
    elaborate: Makes,
    sizes: tuple[int, ...],
    example: Main,
    *,
    merged: bool,
) -> Sketch | None:
    """Return a sketch of the main body, made from these settings; None if there is none."""
    own, names, equal = _symbolic_settings(loaded, settings, sizes, merged=merged)
    elaboration = Elaboration(loaded, own, ctx, elaborate_lines)
    elaboration.for_sketch()
    if elaboration.patches:
        return None
    try:
        with differences() as different, assumptions() as assumed, limited_work():
            main = elaborate(elaboration)
        twins = distinct_claims(main.body, dict(zip(names, sizes, strict=True)), most=_MOST_NODES)
        if twins is None or own.warnings != settings.warnings or _counts_inside(main.body):
            return None
        claims = [*assumed, *different, *twins]
        if any(not claim.names() <= set(names) for claim in claims):
            return None
        sketch = Sketch(names, main.body, claims, (sizes, example.body), equal)
        if not sketch.holds(*sizes):
            return None
        sketch.derived[_Facts] = _Facts(
            main._replace(
                body=example.body, outputs={n: Value(v.type, v.name, v.span) for n, v in main.outputs.items()}
            ),
            sketch.function(main.inputs),
            sketch.function(main.body.input_types),
        )
        body = SketchedBody(sketch, sizes, example.body.input_types, lambda: example.body)
        same = alike(body, example.body) and _agree(_main(sketch, body), example)
    except (NetcalcError, ValueError, TypeError, ArithmeticError):
        return None
    return sketch if same else None


def _agree(main: Main, example: Main) -> bool:
    """Return True if a main body from a sketch has the same inputs and outputs as the elaborated one."""
    return (
        (main.inputs, main.initializers, main.caches, main.called, main.untaken)
        == (example.inputs, example.initializers, example.caches, example.called, example.untaken)
        and list(main.outputs) == list(example.outputs)
        and [(v.type, v.name, v.span) for v in main.outputs.values()]
        == [(v.type, v.name, v.span) for v in example.outputs.values()]
    )


def _counts_inside(main: Body) -> bool:
    """Return True if a body inside has a symbolic number of iterations."""
    pending = [node.body for node in main.nodes if isinstance(node, CallNode)]
    seen: set[Body] = set()
    while pending:
        body = pending.pop()
        if body in seen:
            continue
        seen.add(body)
        for node in body.nodes:
            if isinstance(node, CallNode):
                if isinstance(node.times, Poly):
                    return True
                pending.append(node.body)
    return False


def _has_distinct_paths(sketch: Sketch, times: tuple[int, ...]) -> bool:
    """Return True if no two paths of a main body are equal with so many iterations."""
    distinct_up_to = sketch.derived.get(path_collisions, ())
    if distinct_up_to and all(a <= b for a, b in zip(times, distinct_up_to, strict=True)):
        return True  # fewer iterations have no more paths
    most = tuple(map(max, zip(times, distinct_up_to, strict=True))) if distinct_up_to else times
    for numbers in dict.fromkeys((most, times)):
        body = Body(sketch.body.block, (), tuple(sketch.nodes(numbers)), ())
        if next(path_collisions(body), None) is None:
            sketch.derived[path_collisions] = numbers if numbers == most else distinct_up_to
            return True
    return False
