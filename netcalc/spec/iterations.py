"""The iterations that ``repeat:`` asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from netcalc.bounded_cache import BoundedCache
from netcalc.characters import is_name
from netcalc.diagnostics import NetcalcError
from netcalc.dims import (
    Poly,
    UndecidedError,
    assumptions,
    default_of,
    differences,
    in_sketch,
    is_traced,
    keeps_formulas,
    limited_work,
    symbol,
)
from netcalc.limits import MAX_TIMES
from netcalc.spec.body_cache import has_symbols, hashable
from netcalc.spec.cursor import Cursor, kept
from netcalc.spec.evaluate import evaluate, evaluate_expression, is_closed, names_at, names_in
from netcalc.spec.line_syntax import Line
from netcalc.spec.modifiers import condition_holds
from netcalc.spec.reporter import LineBudget
from netcalc.spec.scope import Poisoned, Scope

#: Texts with values of their names: True if the value is the same for every index.
_EQUAL: BoundedCache[bool] = BoundedCache(20_000)


class Iterations(NamedTuple):
    """Values of the loop variables in each iteration."""

    indices: Sequence[int]  # without those that ``when`` skips
    index_name: str
    item_name: str | None = None
    items: Sequence[Any] = ()
    start: int = 0  # the index of the first iteration
    varies: bool = False  # True if the line uses a loop variable, so that iterations may differ
    named: bool = False  # True if the name of the line uses a loop variable, so that each iteration has its own name
    unknown: Poly | None = None  # the number of iterations if it is symbolic, which only a sketch allows

    @property
    def times(self) -> int:
        """Number of iterations."""
        return len(self.indices) if self.unknown is None else self.unknown  # type: ignore[return-value]

    def variables(self, iteration: int) -> dict[str, Any]:
        """Return the loop variables of one iteration, counted from 0."""
        index = self.indices[iteration] if self.unknown is None else self.start + iteration
        return {self.index_name: index} | ({self.item_name: self.items[index - self.start]} if self.item_name else {})


def read_iterations(line: Line, scope: Scope, budget: LineBudget, *, symbolic: bool = False) -> Iterations:
    """Return the iterations of a line with ``repeat``, without those for which its ``when`` is false.

    Their number may be a symbolic size if ``symbolic``.

    Raises:
        NetcalcError: E104 or E107 for a malformed ``repeat``.
    """
    cursor = line.modifiers["repeat"]
    none = _declared_loop(cursor)
    loops_over = {none.index_name, none.item_name}
    none = none._replace(named=is_named_by_variable(line))
    when = line.modifier("when")
    if when is not None and not names_at(when, is_expression=True) & loops_over:
        if not condition_holds(line, scope):
            return none  # the number of iterations is not evaluated
        when = None
    iterations = _counted_iterations(none, cursor, scope, symbolic=symbolic)
    changing = {*loops_over, *("_" if "from" in line.modifiers else ())}
    varies = none.named or bool(_names_beside(line.cursor) & changing)
    iterations = iterations._replace(varies=varies)
    return iterations if when is None else _filtered_iterations(iterations, line, when, scope, budget)


def has_equal_arguments(line: Line, iterations: Iterations, scope: Scope) -> bool:
    """Return True if the iterations of a block that use their index have equal arguments whatever it is.

    ``${kinds[index % len(kinds)]}`` uses the index and has the same value in all iterations if there is a single kind.
    """
    if iterations.named or line.args is None or _uses_loop_otherwise(line, iterations):
        return False
    index = iterations.index_name
    using = kept(line.args.derived, (has_equal_arguments, index), lambda: tuple(_texts_using(line.args, index)))
    return all(_has_equal_values(text, iterations, scope) for text in using)


def _uses_loop_otherwise(line: Line, iterations: Iterations) -> bool:
    """Return True if a line uses more of its loop than the index in its arguments."""
    loop = index, item = iterations.index_name, iterations.item_name

    def uses() -> bool:
        modifiers = {key: cursor.data for key, cursor in line.modifiers.items() if key not in ("repeat", "name")}
        names_of_args = frozenset() if line.args is None else names_at(line.args)
        return bool((names_in(modifiers) | (names_of_args - {index})) & {index, item, "_"})

    return kept(line.cursor.derived, (_uses_loop_otherwise, loop), uses)


def _texts_using(cursor: Cursor | None, name: str) -> Iterator[Cursor]:
    """Yield the texts in a value whose expressions use a name."""
    if cursor is None or name not in names_at(cursor):
        return
    if isinstance(cursor.data, str):
        yield cursor
        return
    parts = cursor.elements() if isinstance(cursor.data, list) else (item for _, item in cursor.items())
    for part in parts:
        yield from _texts_using(part, name)


def _has_equal_values(text: Cursor, iterations: Iterations, scope: Scope) -> bool:
    """Return True if a text has the same value whatever the index is."""
    index = iterations.index_name

    def computed() -> bool:
        values = []
        try:
            with differences() as different, assumptions() as assumed, limited_work():
                for name in ("index_of_one", "index_of_another"):
                    number = symbol(name, least=iterations.start)
                    values.append(evaluate(text, scope.child(variables={index: number})))
            equal = bool(values[0] == values[1])  # raises if it depends on the index
        except (NetcalcError, ValueError, TypeError, ArithmeticError):
            return False
        return equal and not different and not assumed

    if not is_closed(text):
        return computed()
    try:
        others = [scope[name] for name in sorted(names_at(text) - {index})]
        key = text.data, index, iterations.start, in_sketch(), keeps_formulas(), hashable(others)
        if has_symbols(others):
            return computed()
        known = _EQUAL.get(key)
    except (NetcalcError, LookupError, TypeError, Poisoned):  # its error is that of an iteration
        return computed()
    return _EQUAL.put(key, computed()) if known is None else known


def is_named_by_variable(line: Line) -> bool:
    """Return True if the name of a repeated line uses a loop variable, so that each iteration has its own."""
    name = line.modifier("name")
    if name is None:
        return False
    none = _declared_loop(line.modifiers["repeat"])
    return bool(names_at(name) & {none.index_name, none.item_name})


def _names_beside(cursor: Cursor) -> frozenset[str]:
    """Return the names used in a repeated line besides its name and the number of its iterations."""
    rest = ((key, value) for key, value in cursor.data.items() if key not in ("repeat", "name"))
    return kept(cursor.derived, _names_beside, lambda: names_in(dict(rest)))


def _declared_loop(cursor: Cursor) -> Iterations:
    """Return the loop variables, without iterations yet; NetcalcError (E104, E107) if ``repeat`` is wrong."""
    data = cursor.data
    if not isinstance(data, dict):
        return Iterations((), "index")
    if set(data) - {"times", "each", "as", "index", "start", "take", "collect"} or ("times" in data) == (
        "each" in data
    ):
        hint = "repeat: 3, or {times: 3, index: i, start: 1}, or {each: [64, 128], as: width}"
        raise cursor.error("E107", "repeat: requires either times or each", hint)
    for key in ("as", "index"):
        if key in data and not (isinstance(data[key], str) and is_name(data[key])):
            raise cursor[key].error("E104", f"{key}: should be a name of letters, digits and '_'")
    return Iterations((), data.get("index", "index"), data.get("as", "item") if "each" in data else None)


def _counted_iterations(none: Iterations, cursor: Cursor, scope: Scope, *, symbolic: bool) -> Iterations:
    """Return all iterations, with the items that they run over."""
    data = cursor.data
    if not isinstance(data, dict):
        return _numbered_iterations(none, _whole_number("repeat", cursor, cursor, scope, symbolic=symbolic), 0)
    start = _whole_number("start", cursor["start"], cursor["start"], scope) if "start" in data else 0
    if "times" in data:
        return _numbered_iterations(
            none, _whole_number("repeat", cursor["times"], cursor, scope, symbolic=symbolic), start
        )
    each = cursor["each"]
    items = evaluate_expression(each, scope) if isinstance(each.data, str) else evaluate(each, scope)
    if not isinstance(items, (list, tuple)):
        raise each.error("E104", "each: should be a list")
    return none._replace(indices=range(start, start + len(items)), items=items, start=start)


def _numbered_iterations(none: Iterations, count: int, start: int) -> Iterations:
    if isinstance(count, Poly):
        return none._replace(unknown=count, start=start)
    return none._replace(indices=range(start, start + count), start=start)


def _whole_number(what: str, cursor: Cursor, place: Cursor, scope: Scope, *, symbolic: bool = False) -> int:
    count = evaluate_expression(cursor, scope)
    if symbolic and isinstance(count, Poly) and count >= 1 and _is_at_most(count, MAX_TIMES):
        return count  # type: ignore[return-value]
    if isinstance(count, Poly):
        names = sorted(count.names())
        message = f"{what}: must be a number, as iterations are counted, and {count} is symbolic"
        hint = f"leave out --symbolic {', '.join(names)}; a dim without a default needs a size"
        raise cursor.error("E404", message, hint)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_TIMES:
        raise place.error("E104", f"{what}: should be a whole number from 0 to {MAX_TIMES:,}, not {count}")
    return count


def _is_at_most(count: Poly, limit: int) -> bool:
    """Return True if a symbolic number is within a limit of netcalc; of a closed form its default is."""
    if is_traced():
        return count <= limit
    default = default_of(count)
    return default is None or default <= limit


def _filtered_iterations(
    iterations: Iterations, line: Line, when: Cursor, scope: Scope, budget: LineBudget
) -> Iterations:
    """Return the iterations for which the line's ``when``, which uses a loop variable, holds."""
    if iterations.unknown is not None:
        raise UndecidedError(f"which of {iterations.unknown} iterations are left out")
    budget.spend(iterations.times, when)
    indices = iterations.indices
    holds = (condition_holds(line, scope.child(variables=iterations.variables(i))) for i in range(iterations.times))
    return iterations._replace(indices=[index for index, included in zip(indices, holds, strict=True) if included])
