"""The context in which rules are evaluated, and the working that they record."""

from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.dtypes import DType
from netcalc.expressions import ExpressionError, parse
from netcalc.results import Entry, recorded


@recorded("label", "formula", "substituted", Entry("value", "plain_value"))
class WorkingLine(NamedTuple):
    """A line of working: a formula, the formula with numbers substituted, and its value."""

    label: str
    formula: str
    substituted: str
    value: Any

    @property
    def plain_value(self) -> bool | int | float | str | None:
        """The value, as text unless it is simple."""
        return self.value if self.value is None or isinstance(self.value, (int, float, str)) else str(self.value)


class Context:
    """Settings of the program that a rule may read.

    ``dtype`` is the program's floating-point type, for outputs whose type no input determines (an embedding's).
    Where ``working`` is a list, the formulas that the rule evaluates are appended to it.
    """

    def __init__(
        self, *, training: bool = False, dtype: DType = "float32", working: list[WorkingLine] | None = None
    ) -> None:
        self.training = training
        self.dtype: DType = dtype
        self.working = working

    def size(self, label: str, formula: str, **values: Any) -> Any:
        """Evaluate ``formula`` (see :mod:`netcalc.expressions`) at these values, and record it as working.

        The text that is evaluated is the text that ``netcalc explain`` prints.
        """
        expression = parse(formula)
        try:
            value = expression.evaluate(values)
        except ExpressionError as error:
            raise RuleError(f"{label}: {error.message}") from None
        if self.working is not None:
            self.working.append(WorkingLine(label, expression.pretty(), expression.pretty(values), value))
        return value
