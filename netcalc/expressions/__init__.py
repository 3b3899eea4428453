"""The expression language of ``${…}``, of ``when:`` and of the formulas in rules.

Data only: numbers, strings, lists, names, arithmetic, comparison, ``and``/``or``/``not``, ``a if c else b``,
indexing, attribute access on tensors, and the functions of :data:`FUNCTIONS`.  Nothing else parses, and length,
depth and the size of results are bounded.  Division by ``/`` gives a float; sizes take ``//``.

>>> parse("2 if index == 0 else 1").evaluate({"index": 0})
2
>>> parse("(H + 2*p - k)//s + 1").pretty()
'⌊(H + 2·p − k)/s⌋ + 1'
>>> parse("(H + 2*p - k)//s + 1").pretty({"H": 224, "p": 3, "k": 7, "s": 2})
'⌊(224 + 2·3 − 7)/2⌋ + 1'
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from netcalc.diagnostics import NetcalcError
from netcalc.dims import UndecidedError
from netcalc.expressions.closures import Function, function_of
from netcalc.expressions.errors import ExpressionError
from netcalc.expressions.evaluation import evaluate, holds
from netcalc.expressions.functions import FUNCTIONS
from netcalc.expressions.parser import Parser
from netcalc.expressions.tree import Node, names_of

__all__ = ["FUNCTIONS", "Expression", "ExpressionError", "parse"]


class Expression(NamedTuple):
    """A parsed expression; ``function`` is another form of it, see :mod:`netcalc.expressions.closures`."""

    text: str
    root: Node
    function: Function | None = None

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Return the value with names looked up in ``scope``; ExpressionError (E202, E203, E404) if there is none."""
        if self.function is not None:
            try:
                return self.function(scope)
            except Exception as error:
                # a name in the scope has its own error; of all others the tree knows the place
                if isinstance(error, NetcalcError) and not isinstance(error, UndecidedError):
                    raise
        return evaluate(self.root, scope)

    def holds(self, scope: Mapping[str, Any]) -> bool:
        """Return True if the condition holds, or symbolic sizes leave it open; raises as :meth:`evaluate` does.

        What is left open is recorded as an assumption (:func:`netcalc.dims.assumptions`).
        """
        return holds(self.root, scope)

    def __reduce__(self) -> tuple[Any, ...]:
        return parse, (self.text,)  # the function of closures is made anew

    def names(self) -> frozenset[str]:
        """Return the names that the expression refers to."""
        return names_of(self.root)

    def pretty(self, bindings: Mapping[str, Any] | None = None) -> str:
        """Return the expression in mathematical notation, with values in place of the names in ``bindings``."""
        from netcalc.expressions.printing import pretty  # only explanations need it

        return pretty(self.root, bindings or {}, 0)


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Parse an expression; ExpressionError (E201, E202) if it is malformed."""
    root = Parser(text).whole()
    return Expression(text, root, function_of(root))
