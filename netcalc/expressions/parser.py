"""Precedence-climbing parser: text to expression tree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from netcalc.characters import word_end
from netcalc.expressions.arithmetic import COMPARE
from netcalc.expressions.errors import ExpressionError, too_deep
from netcalc.expressions.functions import FUNCTIONS
from netcalc.expressions.tree import Apply, Attribute, Binary, Choice, Index, List, Literal, Name, Node, Slice, Unary
from netcalc.limits import MAX_EXPRESSION, MAX_EXPRESSION_DEPTH

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<string>'[^'\\]*'|\"[^\"\\]*\")|(?P<op>//|\*\*|==|!=|<=|>=|[-+*/%<>()\[\],.:]))",
    re.ASCII,
)
_SPACES = " \t\n\r\f\v"
_CONSTANTS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None, "pi": math.pi}
_WORDS = {"if", "else", "and", "or", "not"}


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


BINDING = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(COMPARE, 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
    "**": 8,
}
NOT, SIGN = 3, 7  # precedence of the prefixes


class Parser:
    """Parser of one expression."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_EXPRESSION:
            raise ExpressionError(f"longer than {MAX_EXPRESSION:,} characters", 0, code="E201")
        self.tokens = list(self._tokens(text))
        self.at = 0
        self.depth = 0

    @staticmethod
    def _tokens(text: str) -> Iterator[_Token]:
        at = 0
        while text[at:].strip(_SPACES):
            match = _TOKEN.match(text, at)
            if match is None or (match.lastgroup == "name" and not text.isascii()):  # letters of other scripts
                start = len(text) - len(text[at:].lstrip(_SPACES))
                at = word_end(text, start)
                if at == start:
                    raise ExpressionError(f"unexpected {text[start]!r}", start, code="E201")
                yield _Token("name", text[start:at], start)
                continue
            kind = match.lastgroup or ""
            yield _Token(kind, match[kind], match.start(kind))
            at = match.end()
        yield _Token("end", "", len(text))

    @property
    def token(self) -> _Token:
        """The next token."""
        return self.tokens[self.at]

    def take(self, text: str | None = None) -> _Token:
        """Goes past the next token, which has to be ``text`` if that is given."""
        token = self.token
        if text is not None and token.text != text:
            seen = repr(token.text) if token.kind != "end" else "the end"
            raise ExpressionError(f"expected {text!r}, found {seen}", token.column, code="E201")
        self.at += 1
        return token

    def whole(self) -> Node:
        """Parse the whole text; ExpressionError (E201, E202) if it is malformed."""
        node = self.expression()
        if self.token.kind != "end":
            raise ExpressionError(f"unexpected {self.token.text!r}", self.token.column, code="E201")
        return node

    def expression(self) -> Node:
        """Parse ``a if test else b``, or an expression of higher precedence."""
        self.depth += 1
        if self.depth > MAX_EXPRESSION_DEPTH:
            raise too_deep(self.token.column)
        node = self.binary(0)
        if self.token.text == "if" and self.token.kind == "name":
            column = self.take().column
            test = self.binary(0)
            self.take("else")
            node = Choice(column, node, test, self.expression())
        self.depth -= 1
        return node

    def binary(self, least: int) -> Node:
        """Parse operators of at least the given precedence with their operands."""
        self.depth += 1
        if self.depth > MAX_EXPRESSION_DEPTH:
            raise too_deep(self.token.column)
        node = self.unary(least)
        compared: Node | None = None  # the right side of the comparison just read
        while True:
            op = self.token.text if self.token.kind in ("op", "name") else ""
            if op == "not" and self.tokens[self.at + 1].text == "in":
                op = "not in"
            power = BINDING.get(op)
            if power is None or power < least:
                break
            column = self.take().column
            if op == "not in":
                self.take("in")
            # ** groups to the right, all others to the left
            right = self.binary(power if op == "**" else power + 1)
            if compared is None or op not in COMPARE:
                node = Binary(column, op, node, right)
            else:  # a < b < c is a < b and b < c
                node = Binary(column, "and", node, Binary(column, op, compared, right))
            compared = right if op in COMPARE else None
        self.depth -= 1
        return node

    def unary(self, least: int) -> Node:
        """Parse a value, or a prefix with its operand."""
        token = self.token
        if token.text in ("-", "+") and token.kind == "op":
            self.take()
            return Unary(token.column, token.text, self.binary(SIGN))
        if token.text == "not" and token.kind == "name":
            if least > NOT:
                raise ExpressionError("'not' wants parentheses here", token.column, code="E201")
            self.take()
            return Unary(token.column, "not", self.binary(NOT))
        return self.postfix(self.atom())

    def postfix(self, node: Node) -> Node:
        """Parse the attributes and subscripts that follow a value."""
        while self.token.kind == "op" and self.token.text in (".", "["):
            opening = self.take()
            if opening.text == ".":
                name = self.take()
                if name.kind not in ("name", "number"):
                    raise ExpressionError("expected a name after '.'", name.column, code="E201")
                node = Attribute(opening.column, node, name.text)
            else:
                node = self.subscript(opening.column, node)
        return node

    def subscript(self, column: int, value: Node) -> Node:
        """Parse ``index]`` or ``start:stop]``, after the opening bracket."""
        start = None if self.token.text == ":" else self.expression()
        if start is not None and self.token.text != ":":
            self.take("]")
            return Index(column, value, start)
        self.take(":")
        stop = None if self.token.text == "]" else self.expression()
        self.take("]")
        return Slice(column, value, start, stop)

    def atom(self) -> Node:
        """Parse a literal, a name, a call, a list, or an expression in parentheses."""
        token = self.take()
        if token.kind == "number":
            digits = token.text.replace("_", "")
            if len(digits) > 100:
                raise ExpressionError("a number of over 100 digits", token.column, code="E201")
            return Literal(token.column, int(digits) if digits.isdigit() else float(digits))
        if token.kind == "string":
            return Literal(token.column, token.text[1:-1])
        if token.text == "(":
            node = self.expression()
            self.take(")")
            return node
        if token.text == "[":
            return List(token.column, self.items("]"))
        # `in` is a name (the block's input) wherever a value is expected
        if token.kind == "name" and token.text not in _WORDS:
            if token.text in _CONSTANTS:
                return Literal(token.column, _CONSTANTS[token.text])
            if self.token.text == "(":
                if token.text not in FUNCTIONS and token.text != "value":
                    raise ExpressionError(
                        f"unknown function {token.text!r}; there are {', '.join(sorted((*FUNCTIONS, 'value')))}",
                        token.column,
                        code="E202",
                    )
                self.take()
                return Apply(token.column, token.text, self.items(")"))
            return Name(token.column, token.text)
        seen = repr(token.text) if token.kind != "end" else "the end"
        raise ExpressionError(f"expected a value, found {seen}", token.column, code="E201")

    def items(self, closing: str) -> tuple[Node, ...]:
        """Parse expressions separated by commas, up to the closing bracket."""
        items: list[Node] = []
        while self.token.text != closing:
            items.append(self.expression())
            if self.token.text != closing:
                self.take(",")
        self.take(closing)
        return tuple(items)
