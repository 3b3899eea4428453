"""The iterations that ``repeat:`` asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import evaluate, evaluate_expression, names_in
from netcalc.spec.limits import MAX_TIMES
from netcalc.spec.line_syntax import Line
from netcalc.spec.modifiers import condition_holds
from netcalc.spec.reporter import LineBudget
from netcalc.spec.scope import Scope

__all__ = ["Iterations", "read_iterations"]


class Iterations(NamedTuple):
    """Values of the loop variables in each iteration."""

    indices: Sequence[int]  # without those that ``when`` skips
    index_name: str
    item_name: str | None = None
    items: Sequence[Any] = ()
    varies: bool = False  # True if the line uses a loop variable, so that iterations may differ

    @property
    def times(self) -> int:
        """Number of iterations."""
        return len(self.indices)

    def variables(self, iteration: int) -> dict[str, Any]:
        """Return the loop variables of one iteration, counted from 0."""
        index = self.indices[iteration]
        return {self.index_name: index} | ({self.item_name: self.items[index]} if self.item_name else {})


def read_iterations(line: Line, scope: Scope, budget: LineBudget) -> Iterations:
    """Return the iterations of a line with ``repeat``, without those for which its ``when`` is false.

    Raises:
        NetcalcError: E104 or E107 for a malformed ``repeat``.
    """
    cursor = line.modifiers["repeat"]
    if isinstance(cursor.data, dict):
        iterations = _from_mapping(cursor, scope)
    else:
        iterations = Iterations(_range(cursor, cursor, scope), "index")
    rest = {key: value for key, value in line.cursor.data.items() if key not in ("repeat", "name")}
    changing = {iterations.index_name, iterations.item_name, *("_" if "from" in line.modifiers else ())}
    varies = bool(names_in(rest) & changing)
    return _filtered(iterations._replace(varies=varies), line, scope, budget)


def _from_mapping(cursor: Cursor, scope: Scope) -> Iterations:
    data = cursor.data
    if set(data) - {"times", "each", "as", "index"} or ("times" in data) == ("each" in data):
        hint = "repeat: 3, or {times: 3, index: i}, or {each: [64, 128], as: width}"
        raise NetcalcError(Diagnostic("E107", "repeat: requires either times or each", cursor.span, hint=hint))
    for key in ("as", "index"):
        if key in data and not (isinstance(data[key], str) and data[key].isidentifier()):
            message = f"{key}: should be a name of letters, digits and '_'"
            raise NetcalcError(Diagnostic("E104", message, cursor[key].span))
    index_name = data.get("index", "index")
    if "times" in data:
        return Iterations(_range(cursor["times"], cursor, scope), index_name)
    each = cursor["each"]
    items = evaluate_expression(each, scope) if isinstance(each.data, str) else evaluate(each, scope)
    if not isinstance(items, (list, tuple)):
        raise NetcalcError(Diagnostic("E104", "each: should be a list", each.span))
    return Iterations(range(len(items)), index_name, data.get("as", "item"), items)


def _range(times: Cursor, repeat: Cursor, scope: Scope) -> range:
    count = evaluate_expression(times, scope)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_TIMES:
        message = f"repeat: should be a whole number from 0 to {MAX_TIMES:,}, not {count}"
        raise NetcalcError(Diagnostic("E104", message, repeat.span))
    return range(count)


def _filtered(iterations: Iterations, line: Line, scope: Scope, budget: LineBudget) -> Iterations:
    """Return the iterations for which the line's ``when`` holds."""
    when = line.modifier("when")
    if when is None:
        return iterations
    if not names_in(when.data, is_expression=True) & {iterations.index_name, iterations.item_name}:
        return iterations if condition_holds(line, scope) else iterations._replace(indices=())
    budget.spend(iterations.times, when)
    holds = (condition_holds(line, scope.child(variables=iterations.variables(i))) for i in range(iterations.times))
    return iterations._replace(indices=[index for index, included in enumerate(holds) if included])
