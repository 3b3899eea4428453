"""Rewritten expressions against the expressions that they are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.expressions import Expression, parse
from netcalc.expressions.rewriting import literal, rewritten
from netcalc.expressions.tree import Node

SCOPE = {"a": 3, "b": -2, "c": 0.25, "t": True, "l": [4, -5, 6], "n": None, "s": "x'y", "i": 1}
TEXTS = [
    "a if i == 1 else b",
    "c * (sum(l[:a]) + i) / max(sum(l) - 1, 1)",
    "-i + b ** 2",
    "-(i - b) ** 2",
    "l[i:] if not t or n == null else l[:i]",
    "[i, a, [b, c], l[i]]",
    "a or i > 1 and not t",
    "(a - b) - (i - (a - i))",
    "a // 2 % 3 * i",
    "s if i < 0 else 'z'",
    "min(i, a, l[-1]) < b",
    "len(l) * i in l",
    "i ** 2 ** a",
]


@pytest.mark.parametrize("text", TEXTS)
@given(number=st.integers(-3, 3))
def test_values_stay_where_parts_are_replaced(text: str, number: int) -> None:
    def value(node: Node) -> str:
        return literal(Expression("", node).evaluate(SCOPE))

    scope = {**SCOPE, "i": number}

    def result(of: str) -> object:
        try:
            return parse(of).evaluate(scope)
        except Exception as error:
            return type(error)

    changed = rewritten(parse(text).root, {"i"}, value)
    assert result(changed) == result(text)
    assert parse(changed).names() <= {"i"}


@pytest.mark.parametrize("value", [float("inf"), float("nan"), {}, "'\"", "\\", [{}]])
def test_other_values_have_no_literal(value: object) -> None:
    with pytest.raises(ValueError):
        literal(value)
