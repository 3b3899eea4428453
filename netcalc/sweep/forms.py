"""Closed forms of the figures of a network, each for the points at which the program has one form.

The main body is elaborated with symbols in place of the integers of a point.  Every comparison that they leave open is
decided at the point, and becomes a claim of the form: at all points where the claims hold, the elaboration takes the
same way, and the figures are the same functions of the integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from netcalc.bounded_cache import BoundedCache
from netcalc.diagnostics import NetcalcError, TooLargeError
from netcalc.dims import (
    Assumption,
    Dim,
    Poly,
    assumptions,
    differences,
    examples,
    followed,
    formulas_kept,
    limited_work,
    symbol,
    value_at,
)
from netcalc.ir import Body, CallNode, Program
from netcalc.ir.paths import path_collisions
from netcalc.opdef import Context
from netcalc.spec.body_cache import CachedBody
from netcalc.spec.document import DimDecl
from netcalc.spec.elaborate import main_body, work_notes
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.library import Loaded
from netcalc.spec.lines import elaborate_lines
from netcalc.spec.requirements import unmet_by_settings
from netcalc.spec.same_body import sketches_apart
from netcalc.spec.settings import Settings
from netcalc.sweep.straight import Straight

#: Limits on numbers are not near below these: of iterations, and of other sizes.
MOST_COUNT, MOST_SIZE = 1 << 14, 1 << 26
#: Steps of work of an attempt to make a form.
_MOST_WORK = 1_000_000

#: Least value of sizes that are neither strides nor kernels: rules decide more about them.
_USUAL = 3
#: Numbers less than this are often divisors of sizes, of which forms become long.
_SMALL = 17
#: Names of symbols in messages.
_SYMBOL = re.compile(r"s\d+_\d+_\w+")
#: Nodes of the bodies that are kept for other forms.
_MOST_NODES = 4_000


class Leaf(NamedTuple):
    """An integer of a value: its place, as (var, index, …), and the least value of its symbol; 0 for no symbol."""

    place: tuple[Any, ...]
    least: int


class Open(NamedTuple):
    """Integers whose values an elaboration needs."""

    places: tuple[tuple[Any, ...], ...]


class Late(NamedTuple):
    """An attempt that was ended because of its work."""


class Form:
    """Figures as functions of the integers of a point, where the claims of the form hold."""

    __slots__ = ("straight", "way")

    def __init__(self, straight: Straight) -> None:
        self.straight = straight
        self.way = 0  # in which it was found


class Counting(NamedTuple):
    """Network and figures that are counted at all points.

    Attributes:
        loaded: the spec.
        counts: names on which numbers of iterations depend.
        ctx: mode and element type.
        figures_of: function that counts a program.
        bodies: bodies of blocks with symbolic sizes, which forms share.
    """

    loaded: Loaded
    counts: frozenset[str]
    ctx: Context
    figures_of: Callable[[Program], Sequence[Dim]]
    bodies: BoundedCache[CachedBody]

    @classmethod
    def of(
        cls, loaded: Loaded, counts: frozenset[str], ctx: Context, figures_of: Callable[[Program], Sequence[Dim]]
    ) -> Counting:
        """Return it with no bodies yet."""
        return cls(loaded, counts, ctx, figures_of, BoundedCache(_MOST_NODES))


class Counted(NamedTuple):
    """A point that is counted.

    Attributes:
        settings: values of dims and vars, which the spec does not refuse.
        figures: its figures, which a form has to give.
    """

    settings: Mapping[str, Any]
    figures: Sequence[int]


def form_of(
    counting: Counting, point: Counted, leaves: Sequence[Leaf], first: int = 0, most: int = _MOST_WORK
) -> Form | Open | Late | None:
    """Return the form of the figures at a point, or the integers that cannot stay open in it; None without either.

    Args:
        counting: what is counted.
        point: the point.
        leaves: integers that become symbols.
        first: the way that is tried before the others.
        most: steps of work after which :class:`Late` is returned.
    """
    found: Open | None = None
    own = Settings(counting.loaded, point.settings, frozenset())
    leaves = [_unless_settled(leaf, counting.loaded, own) for leaf in leaves]
    values = [_at(point.settings, leaf.place) for leaf in leaves]
    usual = [_usual(*each, counting.counts) for each in zip(leaves, values, strict=True)]
    larger = [_larger(*each, counting.loaded) for each in zip(usual, values, strict=True)]
    ways: list[tuple[Callable[[], AbstractContextManager[None]], Sequence[Leaf]]] = [
        (formulas_kept, leaves),
        (formulas_kept, usual),
        (formulas_kept, larger),
        (nullcontext, leaves),
    ]
    for way in (first, *(number for number in range(len(ways)) if number != first)):
        keeping, tried = ways[way]
        with keeping(), limited_work(most) as work:
            made = _form_of(counting, point, tried)
        if isinstance(made, Form):
            made.way = way
            return made
        most -= work.steps
        if most < 0:
            return Late()
        if isinstance(made, Open) and (found is None or len(made.places) < len(found.places)):
            found = made
    return found


def _form_of(counting: Counting, point: Counted, leaves: Sequence[Leaf]) -> Form | Open | None:
    """Return what :func:`form_of` returns, with real numbers as the context keeps them."""
    symbols = {leaf.place: (_name(leaf), leaf.least) for leaf in leaves}
    names = [name for name, _ in symbols.values()]
    values = {name: _at(point.settings, place) for place, (name, _) in symbols.items()}
    fixed = [
        Assumption(symbol(symbols[leaf.place][0], None, 0), "==", _at(point.settings, leaf.place))
        for leaf in leaves
        if not leaf.least
    ]
    symbols = {place: held for place, held in symbols.items() if held[1]}
    try:
        with sketches_apart(), differences() as different, followed(), assumptions() as assumed, examples(values):
            program, limits = _traced(counting, point.settings, symbols)
            if program is None:
                return None
            before = {*assumed, *different}
            figures = [*counting.figures_of(program)]
            if any(claim not in before and not _is_certain(claim) for claim in (*assumed, *different)):
                counting.bodies.clear()  # costs that are kept with them rely on more
            apart = _paths_apart(program)
        open_claims = [
            claim for claim in dict.fromkeys((*limits, *apart, *assumed, *different)) if not _is_certain(claim)
        ]
        if any(not claim.names() <= set(names) for claim in open_claims):
            return None
        least = [_least(*symbols[leaf.place]) for leaf in leaves if leaf.least > 1]
        straight = Straight(names, [*fixed, *least, *open_claims], figures)
        got = straight.at(list(values.values()))
    except TooLargeError:
        return None
    except (NetcalcError, ValueError, TypeError, ArithmeticError) as error:
        known = {name: place for place, (name, _) in symbols.items()}
        found = tuple(known[word] for word in dict.fromkeys(_SYMBOL.findall(_message(error))) if word in known)
        return Open(found) if found else None
    return Form(straight) if got is not None and list(got) == list(point.figures) else None


def _name(leaf: Leaf) -> str:
    """Return the name of the symbol of an integer, which is the same in all forms: bodies with it are shared."""
    return f"s{len(leaf.place)}_{leaf.least}_{'__'.join(map(str, leaf.place))}"


def _unless_settled(leaf: Leaf, loaded: Loaded, own: Settings) -> Leaf:
    """Return an integer as one that is no symbol if its declaration lists its values or allows one only."""
    name = leaf.place[0]
    if name not in loaded.document.dims and own.declaration(name).choices:
        return leaf._replace(least=0)
    _, most, _ = _declared(loaded, own, name)
    return leaf if most is None or most > leaf.least else leaf._replace(least=0)


def _usual(leaf: Leaf, value: int, counts: frozenset[str]) -> Leaf:
    """Return an integer with the limit of a usual size, or as one that is no symbol if it is less."""
    if leaf.place[0] in counts or not leaf.least:
        return leaf
    return leaf._replace(least=_USUAL if value >= _USUAL else 0)


def _larger(leaf: Leaf, value: int, loaded: Loaded) -> Leaf:
    """Return an integer as no symbol if it is a small var, such as the side of a patch, by which sizes are divided."""
    is_small = value < _SMALL and leaf.least == _USUAL and len(leaf.place) == 1
    return leaf._replace(least=0) if is_small and leaf.place[0] in loaded.document.vars else leaf


def _least(name: str, least: int) -> Assumption:
    """Return the claim that an integer is what its symbol stands for."""
    return Assumption(symbol(name, None, 0), ">=", least)


def _message(error: Exception) -> str:
    if isinstance(error, NetcalcError):
        return " ".join(f"{problem.message} {problem.hint or ''}" for problem in error.diagnostics)
    return str(error)


def _traced(
    counting: Counting, settings: Mapping[str, Any], symbols: Mapping[tuple[Any, ...], tuple[str, int]]
) -> tuple[Program | None, Sequence[Assumption]]:
    """Return the program of a spec with symbols for some integers of its settings, and the limits of these."""
    loaded, ctx = counting.loaded, counting.ctx
    values = {name: _with_symbols(value, (name,), symbols) for name, value in settings.items()}
    own = _Symbolic(loaded, settings, {name: value for name, value in values.items() if _is_open(value)})
    limits = list(_limits(loaded, own, symbols, counting.counts))
    unmet, undefined = unmet_by_settings(loaded.cursor, loaded.label, own, settings)
    if undefined:
        raise NetcalcError(undefined)
    for name in own:
        own[name]  # for its errors
    elaboration = Elaboration(loaded, own, ctx, elaborate_lines)
    elaboration.for_form(counting.bodies)
    if unmet or elaboration.patches:
        return None, ()
    main = main_body(elaboration)
    for _ in work_notes(loaded, own):
        pass  # may assume more
    return _program(loaded, own, main, ctx), limits


def _paths_apart(program: Program) -> list[Assumption]:
    """Return the claims about numbers of iterations by which no two paths are equal.

    Raises:
        ValueError: two are equal.
    """
    calls = [node for node in program.main.nodes if isinstance(node, CallNode)]
    calls = [node for node in calls if isinstance(node.times, Poly)]
    for numbers in ([4 * MOST_COUNT] * len(calls), [value_at(node.times, {}) for node in calls]):
        number_of = {id(node): number for node, number in zip(calls, numbers, strict=True)}
        nodes = [_with_times(node, number_of.get(id(node))) for node in program.main.nodes]
        main = Body(program.main.block, (), tuple(node for node in nodes if node is not None), ())
        if next(path_collisions(main), None) is None:  # fewer iterations have no more paths
            return [Assumption(node.times, "<=", number) for node, number in zip(calls, numbers, strict=True)]
    raise ValueError("two paths are equal")


def _with_times(node: Any, times: int | None) -> Any:
    """Return a node with a number of iterations; None for a call without any."""
    if times is None:
        return node
    if times == 0:
        return None
    call = CallNode(node.name, node.body, node.inputs, node.outputs, times, node.start, node.shares, node.span)
    call.module = node.module
    return call


def _is_certain(claim: Assumption) -> bool:
    from netcalc.dims.source import certain

    return certain(claim)


class _Symbolic(Settings):
    """Settings with symbols in place of some values, which are checked as numbers first."""

    def __init__(self, loaded: Loaded, overrides: Mapping[str, Any], symbols: Mapping[str, Any]) -> None:
        super().__init__(loaded, overrides, frozenset())
        self._symbols_of = symbols

    def _resolve(self, name: str) -> Any:
        value = super()._resolve(name)
        return self._symbols_of.get(name, value)


def _limits(
    loaded: Loaded,
    own: Settings,
    symbols: Mapping[tuple[Any, ...], tuple[str, int]],
    counts: frozenset[str],
) -> list[Assumption]:
    """Return the limits that the spec declares for values, and those below which no other limit is near."""
    found = []
    for place, (name, least) in symbols.items():
        size = symbol(name, None, least)
        found.append(Assumption(size, "<", MOST_COUNT if place[0] in counts else MOST_SIZE))
        minimum, maximum, multiple = _declared(loaded, own, place[0])
        found += [] if minimum is None else [Assumption(size, ">=", minimum)]
        found += [] if maximum is None else [Assumption(size, "<=", maximum)]
        found += [] if multiple == 1 else [Assumption(size % multiple, "==", 0)]
    return found


def _declared(loaded: Loaded, own: Settings, name: str) -> tuple[int | None, int | None, int]:
    """Return the least and the greatest value of a dim or var, and the number of which it is a multiple."""
    from math import ceil, floor

    dim = loaded.document.dims.get(name)
    if dim is not None:
        dim = dim if isinstance(dim, DimDecl) else DimDecl()
        return dim.min, dim.max, dim.multiple_of
    declared = own.declaration(name)
    if declared.choices:
        raise ValueError(f"{name} is one of some values")
    return (
        None if declared.minimum is None else ceil(declared.minimum),
        None if declared.maximum is None else floor(declared.maximum),
        1,
    )


def _with_symbols(value: Any, place: tuple[Any, ...], symbols: Mapping[tuple[Any, ...], tuple[str, int]]) -> Any:
    if place in symbols:
        name, least = symbols[place]
        return symbol(name, None, least)
    if type(value) in (list, tuple):
        return type(value)([_with_symbols(item, (*place, index), symbols) for index, item in enumerate(value)])
    return value


def _is_open(value: Any) -> bool:
    return any(map(_is_open, value)) if type(value) in (list, tuple) else isinstance(value, Poly)


def _at(settings: Mapping[str, Any], place: tuple[Any, ...]) -> int:
    value: Any = settings
    for key in place:
        value = value[key]
    return value  # type: ignore[no-any-return]


def _program(loaded: Loaded, settings: Settings, main: Any, ctx: Context) -> Program:
    document = loaded.document
    return Program(
        name=document.name or loaded.label,
        main=main.body,
        inputs=main.inputs,
        output_names=tuple(main.outputs),
        training=ctx.training,
        dtype=ctx.dtype,
        dims={name: settings[name] for name in settings.dims},
        vars={name: settings[name] for name in settings.vars},
        checkpoint_dtype=document.checkpoint.dtype,
        caches=main.caches,
    )
