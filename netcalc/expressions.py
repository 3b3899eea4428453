"""The small expression language of ``${…}``, of ``when:`` and of the formulas that rules are written in.

Data only: numbers, strings, lists, names, arithmetic, comparison, ``and``/``or``/``not``, ``a if c else b``,
indexing, attribute access on tensors, and the functions of :data:`FUNCTIONS`.  Nothing else parses, and length,
depth and the size of results are bounded.  Division by ``/`` gives a float; sizes want ``//``.

>>> parse("2 if index == 0 else 1").evaluate({"index": 0})
2
>>> parse("(H + 2*p - k)//s + 1").pretty()
'⌊(H + 2·p − k)/s⌋ + 1'
>>> parse("(H + 2*p - k)//s + 1").pretty({"H": 224, "p": 3, "k": 7, "s": 2})
'⌊(224 + 2·3 − 7)/2⌋ + 1'
"""

from __future__ import annotations

import math
import operator
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial, reduce, wraps
from typing import Any, NamedTuple

from netcalc.dims import Poly, UndecidedError, ceil_div, ceil_log2, maximum, minimum

__all__ = ["FUNCTIONS", "MAX_LENGTH", "Expression", "ExpressionError", "parse"]

MAX_LENGTH = 2_000
MAX_DEPTH = 100
MAX_BITS = 4_096
MAX_ITEMS = 10_000

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<string>'[^'\\]*'|\"[^\"\\]*\")|(?P<op>//|\*\*|==|!=|<=|>=|[-+*/%<>()\[\],.:]))",
    re.ASCII,
)
_CONSTANTS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None, "pi": math.pi}
_WORDS = {"if", "else", "and", "or", "not"}


class ExpressionError(Exception):
    """An expression that does not parse or cannot be evaluated; ``column`` counts from 0 within it."""

    def __init__(self, message: str, column: int, *, code: str, name: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.code = code
        self.name = name  # the unknown name, for E202


def _range(*bounds: int) -> list[int]:
    values = range(*bounds)
    if len(values) > MAX_ITEMS:
        raise ValueError(f"range of {len(values):,} items (at most {MAX_ITEMS:,})")
    return list(values)


def _fold(pair: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def over(*values: Any) -> Any:
        items = list(values[0]) if len(values) == 1 and isinstance(values[0], (list, tuple)) else list(values)
        if not items:
            raise ValueError("nothing to compare")
        best = items[0]
        for item in items[1:]:
            best = pair(best, item)
        return best

    return over


def _smaller(a: Any, b: Any) -> Any:
    return minimum(a, b) if isinstance(a, Poly) or isinstance(b, Poly) else min(a, b)


def _larger(a: Any, b: Any) -> Any:
    return maximum(a, b) if isinstance(a, Poly) or isinstance(b, Poly) else max(a, b)


def _sum(values: list[Any]) -> Any:
    return reduce(partial(_arithmetic, "+"), list(values), 0)


def _prod(values: list[Any]) -> Any:
    return reduce(partial(_arithmetic, "*"), list(values), 1)


def _round(value: Any, digits: int = 0) -> Any:
    if abs(digits) > 100:
        raise ValueError(f"to {digits} digits (at most 100)")
    return round(value, digits) if digits else round(value)


def _make_divisible(value: float, divisor: int = 8) -> int:
    """The multiple of ``divisor`` nearest to ``value``, but not under nine tenths of it: widths of MobileNets."""
    nearest = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * value else nearest


def _str(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        raise TypeError("a list has no text")
    return str(value)


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which makes whole numbers, and leaves a symbolic size as it is."""

    @wraps(function)
    def of(value: Any, *rest: Any) -> Any:
        return value if isinstance(value, Poly) else function(value, *rest)

    return of


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": _fold(_smaller),
    "max": _fold(_larger),
    "sum": _sum,
    "prod": _prod,
    "len": len,
    "range": _range,
    "abs": abs,
    "round": _whole(_round),
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "ceil_div": ceil_div,
    "ceil_log2": ceil_log2,
    "make_divisible": _make_divisible,
    "int": _whole(int),
    "float": float,
    "str": _str,
    "sqrt": math.sqrt,
    "log": math.log,
    "log2": math.log2,
    "exp": math.exp,
}


def _too_deep(column: int) -> ExpressionError:
    return ExpressionError(f"nested deeper than {MAX_DEPTH}", column, code="E201")


# -- the tree ---------------------------------------------------------------------------------------


# Equality is identity: parse() remembers the trees it made.
@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    column: int
    height: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        height = 1 + max((child.height for child in self.children()), default=0)
        if height > MAX_DEPTH:
            raise _too_deep(self.column)
        object.__setattr__(self, "height", height)

    def children(self) -> Iterator[_Node]:
        yield from ()


@dataclass(frozen=True, slots=True, eq=False)
class _Literal(_Node):
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class _Name(_Node):
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class _List(_Node):
    items: tuple[_Node, ...]

    def children(self) -> Iterator[_Node]:
        yield from self.items


@dataclass(frozen=True, slots=True, eq=False)
class _Unary(_Node):
    op: str
    operand: _Node

    def children(self) -> Iterator[_Node]:
        yield self.operand


@dataclass(frozen=True, slots=True, eq=False)
class _Binary(_Node):
    op: str
    left: _Node
    right: _Node

    def children(self) -> Iterator[_Node]:
        yield self.left
        yield self.right


@dataclass(frozen=True, slots=True, eq=False)
class _Choice(_Node):
    then: _Node
    test: _Node
    otherwise: _Node

    def children(self) -> Iterator[_Node]:
        yield self.then
        yield self.test
        yield self.otherwise


@dataclass(frozen=True, slots=True, eq=False)
class _Attribute(_Node):
    value: _Node
    name: str

    def children(self) -> Iterator[_Node]:
        yield self.value


@dataclass(frozen=True, slots=True, eq=False)
class _Index(_Node):
    value: _Node
    index: _Node

    def children(self) -> Iterator[_Node]:
        yield self.value
        yield self.index


@dataclass(frozen=True, slots=True, eq=False)
class _Slice(_Node):
    value: _Node
    start: _Node | None
    stop: _Node | None

    def children(self) -> Iterator[_Node]:
        yield self.value
        yield from (bound for bound in (self.start, self.stop) if bound is not None)


@dataclass(frozen=True, slots=True, eq=False)
class _Apply(_Node):
    function: str
    args: tuple[_Node, ...]

    def children(self) -> Iterator[_Node]:
        yield from self.args


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


_BINDING = {
    "or": 1,
    "and": 2,
    "in": 4,
    "not in": 4,
    "==": 4,
    "!=": 4,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "//": 6,
    "%": 6,
    "**": 8,
}
_NOT, _SIGN = 3, 7  # how the prefixes bind


class _Parser:
    """A precedence-climbing parser over one expression."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise ExpressionError(f"longer than {MAX_LENGTH:,} characters", 0, code="E201")
        self.tokens = list(self._tokens(text))
        self.at = 0
        self.depth = 0

    @staticmethod
    def _tokens(text: str) -> Iterator[_Token]:
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if not match:
                column = at + len(text[at:]) - len(text[at:].lstrip())
                raise ExpressionError(f"unexpected {text[column]!r}", column, code="E201")
            kind = match.lastgroup or ""
            yield _Token(kind, match[kind], match.start(kind))
            at = match.end()
        yield _Token("end", "", len(text))

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def take(self, text: str | None = None) -> _Token:
        token = self.token
        if text is not None and token.text != text:
            found = repr(token.text) if token.kind != "end" else "the end"
            raise ExpressionError(f"expected {text!r}, found {found}", token.column, code="E201")
        self.at += 1
        return token

    def whole(self) -> _Node:
        node = self.expression()
        if self.token.kind != "end":
            raise ExpressionError(f"unexpected {self.token.text!r}", self.token.column, code="E201")
        return node

    def expression(self) -> _Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(self.token.column)
        node = self.binary(0)
        if self.token.text == "if" and self.token.kind == "name":
            column = self.take().column
            test = self.binary(0)
            self.take("else")
            node = _Choice(column, node, test, self.expression())
        self.depth -= 1
        return node

    def binary(self, least: int) -> _Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(self.token.column)
        node = self.unary(least)
        compared: _Node | None = None  # the right side of the comparison just read
        while True:
            op = self.token.text if self.token.kind in ("op", "name") else ""
            if op == "not" and self.tokens[self.at + 1].text == "in":
                op = "not in"
            power = _BINDING.get(op)
            if power is None or power < least:
                break
            column = self.take().column
            if op == "not in":
                self.take("in")
            # ** groups to the right, all others to the left
            right = self.binary(power if op == "**" else power + 1)
            if compared is None or op not in _COMPARE:
                node = _Binary(column, op, node, right)
            else:  # a < b < c is a < b and b < c
                node = _Binary(column, "and", node, _Binary(column, op, compared, right))
            compared = right if op in _COMPARE else None
        self.depth -= 1
        return node

    def unary(self, least: int) -> _Node:
        token = self.token
        if token.text in ("-", "+") and token.kind == "op":
            self.take()
            return _Unary(token.column, token.text, self.binary(_SIGN))
        if token.text == "not" and token.kind == "name":
            if least > _NOT:
                raise ExpressionError("'not' wants parentheses here", token.column, code="E201")
            self.take()
            return _Unary(token.column, "not", self.binary(_NOT))
        return self.postfix(self.atom())

    def postfix(self, node: _Node) -> _Node:
        while self.token.kind == "op" and self.token.text in (".", "["):
            opening = self.take()
            if opening.text == ".":
                name = self.take()
                if name.kind not in ("name", "number"):
                    raise ExpressionError("expected a name after '.'", name.column, code="E201")
                node = _Attribute(opening.column, node, name.text)
            else:
                node = self.subscript(opening.column, node)
        return node

    def subscript(self, column: int, value: _Node) -> _Node:
        start = None if self.token.text == ":" else self.expression()
        if start is not None and self.token.text != ":":
            self.take("]")
            return _Index(column, value, start)
        self.take(":")
        stop = None if self.token.text == "]" else self.expression()
        self.take("]")
        return _Slice(column, value, start, stop)

    def atom(self) -> _Node:
        token = self.take()
        if token.kind == "number":
            digits = token.text.replace("_", "")
            if len(digits) > 100:
                raise ExpressionError("a number of over 100 digits", token.column, code="E201")
            return _Literal(token.column, int(digits) if digits.isdigit() else float(digits))
        if token.kind == "string":
            return _Literal(token.column, token.text[1:-1])
        if token.text == "(":
            node = self.expression()
            self.take(")")
            return node
        if token.text == "[":
            return _List(token.column, self.items("]"))
        # `in` is a name (the block's input) wherever a value is expected
        if token.kind == "name" and token.text not in _WORDS:
            if token.text in _CONSTANTS:
                return _Literal(token.column, _CONSTANTS[token.text])
            if self.token.text == "(":
                if token.text not in FUNCTIONS:
                    raise ExpressionError(
                        f"unknown function {token.text!r}; there are {', '.join(sorted(FUNCTIONS))}",
                        token.column,
                        code="E202",
                    )
                self.take()
                return _Apply(token.column, token.text, self.items(")"))
            return _Name(token.column, token.text)
        found = repr(token.text) if token.kind != "end" else "the end"
        raise ExpressionError(f"expected a value, found {found}", token.column, code="E201")

    def items(self, closing: str) -> tuple[_Node, ...]:
        items: list[_Node] = []
        while self.token.text != closing:
            items.append(self.expression())
            if self.token.text != closing:
                self.take(",")
        self.take(closing)
        return tuple(items)


# -- evaluation -------------------------------------------------------------------------------------

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A parsed expression: :meth:`evaluate` it, ask for its :meth:`names`, or print it :meth:`pretty`."""

    text: str
    root: _Node

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """The value with names looked up in ``scope``; :class:`ExpressionError` where there is none."""
        return _evaluate(self.root, scope)

    def names(self) -> frozenset[str]:
        """The names it refers to."""
        return _names(self.root)

    def pretty(self, bindings: Mapping[str, Any] | None = None) -> str:
        """Mathematical notation, with the values of ``bindings`` in the names' places where given."""
        return _pretty(self.root, bindings or {}, 0)


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """The parsed expression; :class:`ExpressionError` (E201, E202) where it is none."""
    return Expression(text, _Parser(text).whole())


def _names(node: _Node) -> frozenset[str]:
    own = {node.name} if isinstance(node, _Name) else set()
    return frozenset(own.union(*(_names(child) for child in node.children())))


def _evaluate(node: _Node, scope: Mapping[str, Any]) -> Any:
    try:
        return _value(node, scope)
    except ExpressionError:
        raise
    except ZeroDivisionError:
        raise ExpressionError("division by zero", node.column, code="E203") from None
    except UndecidedError as why:
        raise ExpressionError(str(why), node.column, code="E404") from None
    except (TypeError, ValueError, OverflowError, IndexError, KeyError, AttributeError) as why:
        raise ExpressionError(_reason(node, why), node.column, code="E203") from None


def _reason(node: _Node, why: Exception) -> str:
    match node, why:
        case _, IndexError():
            return "the index is past the end"
        case _, KeyError():
            return f"no entry {why}"
        case _, OverflowError():
            return "the result is too large"
        case ((_Unary(op=name) | _Binary(op=name)), TypeError()):
            return f"{name!r} does not take these: {why}"
        case _Apply(function=name), _:
            return f"{name}: {why}"
    return str(why)


def _value(node: _Node, scope: Mapping[str, Any]) -> Any:
    match node:
        case _Literal(value=value):
            return value
        case _Name(name=name):
            if name not in scope:
                raise ExpressionError(f"unknown name {name!r}", node.column, code="E202", name=name)
            return scope[name]
        case _List(items=items):
            return _checked([_evaluate(item, scope) for item in items])
        case _Unary(op="not", operand=operand):
            return not _evaluate(operand, scope)
        case _Unary(op=op, operand=operand):
            return _arithmetic(op, 0, _evaluate(operand, scope))
        case _Binary():
            return _binary(node, scope)
        case _Choice(then=then, test=test, otherwise=otherwise):
            return _evaluate(then if _evaluate(test, scope) else otherwise, scope)
        case _Attribute(value=value, name=name):
            return _attribute(_evaluate(value, scope), name, node.column)
        case _Index(value=value, index=index):
            return _evaluate(value, scope)[_evaluate(index, scope)]
        case _Slice(value=value, start=start, stop=stop):
            first, end = (None if bound is None else _evaluate(bound, scope) for bound in (start, stop))
            return _evaluate(value, scope)[first:end]
        case _Apply(function=function, args=args):
            return _checked(FUNCTIONS[function](*(_evaluate(arg, scope) for arg in args)))
    raise AssertionError(node)


def _attribute(value: Any, name: str, column: int) -> Any:
    members = getattr(value, "members", None)
    if not callable(members):
        raise ExpressionError(f"{reprlib.repr(value)} has no attribute {name!r}", column, code="E203")
    found: Mapping[str, Any] = members()
    if name not in found:
        raise ExpressionError(f"no attribute {name!r}; there are {', '.join(found)}", column, code="E202", name=name)
    return found[name]


def _binary(node: _Binary, scope: Mapping[str, Any]) -> Any:
    left = _evaluate(node.left, scope)
    if node.op == "and":
        return left and _evaluate(node.right, scope)
    if node.op == "or":
        return left or _evaluate(node.right, scope)
    right = _evaluate(node.right, scope)
    if node.op in _COMPARE:
        return _COMPARE[node.op](left, right)
    return _arithmetic(node.op, left, right)


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    """A bounded result, or TypeError or ValueError with the reason."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, bool) or one is None:
            raise TypeError(f"{'null' if one is None else str(one).lower()} is not a number")
        if isinstance(one, Poly) and (op == "/" or not isinstance(other, (int, Poly))):
            raise TypeError(f"{one} is a symbolic size, which takes whole numbers and //")
        if isinstance(one, str) and op == "%":
            raise TypeError("a text is not a number")
        if isinstance(one, (list, tuple, str)) and op == "*" and isinstance(other, int):
            _limit(_items(one) * other)
    if op == "**" and isinstance(left, int) and isinstance(right, int):
        _limit_bits((left.bit_length() - 1) * right)
    result = _ARITHMETIC[op](left, right)
    if isinstance(result, complex):
        raise ValueError(f"{left} has no real power {right}")
    return _checked(result)


def _checked(value: Any) -> Any:
    """``value``, unless it is too large."""
    if isinstance(value, int):
        _limit_bits(value.bit_length())
    _limit(_items(value))
    return value


def _items(value: Any) -> int:
    """How many characters or items, those of inner lists included."""
    if isinstance(value, str):
        return len(value)
    return len(value) + sum(map(_items, value)) if isinstance(value, (list, tuple)) else 0


def _limit_bits(bits: int) -> None:
    if bits > MAX_BITS:
        raise ValueError(f"a number of over {MAX_BITS:,} bits")


def _limit(items: int) -> None:
    if items > MAX_ITEMS:
        raise ValueError(f"over {MAX_ITEMS:,} items")


# -- printing ---------------------------------------------------------------------------------------

_SIGNS = {"*": "·", "-": "−", "<=": "≤", ">=": "≥", "!=": "≠", "==": "="}
_SUM, _ATOM = 5, 9  # how sums and single values bind


def _pretty(node: _Node, bindings: Mapping[str, Any], least: int) -> str:
    """The node's text, in parentheses where it binds less than ``least``."""
    text, binds = _printed(node, bindings)
    return f"({text})" if binds < least else text


def _printed(node: _Node, bindings: Mapping[str, Any]) -> tuple[str, int]:
    match node:
        case _Literal(value=value):
            return _number(value), _ATOM
        case _Name(name=name) if name not in bindings:
            return name, _ATOM
        case _Name() | _Attribute() | _Index() | _Slice() if _names(node) <= bindings.keys():
            return _shown(_evaluate(node, bindings))
        case _List(items=items):
            return "[" + ", ".join(_pretty(i, bindings, 0) for i in items) + "]", _ATOM
        case _Unary(op="not", operand=operand):
            return "not " + _pretty(operand, bindings, _NOT), _NOT
        case _Unary(op=op, operand=operand):
            return _SIGNS.get(op, op) + _pretty(operand, bindings, _SIGN + 1), _SIGN
        case _Binary(op="//", left=left, right=right):
            return f"⌊{_pretty(left, bindings, 6)}/{_pretty(right, bindings, 7)}⌋", _ATOM
        case _Binary(op="%", left=left, right=right):
            # in parentheses wherever something stands beside it, as readers differ on how it binds
            return f"{_pretty(left, bindings, 6)} mod {_pretty(right, bindings, 7)}", _BINDING["=="]
        case _Binary(op=op, left=left, right=right):
            binds = _BINDING[op]
            sign = _SIGNS.get(op, op) if binds > _SUM else f" {_SIGNS.get(op, op)} "
            # ** groups to the right, comparisons not at all, all others to the left
            first = _pretty(left, bindings, binds + (op == "**" or op in _COMPARE))
            second = _pretty(right, bindings, binds + (op != "**"))
            if second.startswith("−") and op in _ARITHMETIC:
                second = f"({second})"
            return first + sign + second, binds
        case _Choice(then=then, test=test, otherwise=otherwise):
            first, middle = (_pretty(part, bindings, 1) for part in (then, test))
            return f"{first} if {middle} else {_pretty(otherwise, bindings, 0)}", 0
        case _Attribute(value=value, name=name):
            return f"{_pretty(value, bindings, _ATOM)}.{name}", _ATOM
        case _Index(value=value, index=index):
            return f"{_pretty(value, bindings, _ATOM)}[{_pretty(index, bindings, 0)}]", _ATOM
        case _Slice(value=value, start=start, stop=stop):
            first, end = ("" if bound is None else _pretty(bound, bindings, 0) for bound in (start, stop))
            return f"{_pretty(value, bindings, _ATOM)}[{first}:{end}]", _ATOM
        case _Apply(function="ceil_div", args=(left, right)):
            return f"⌈{_pretty(left, bindings, 6)}/{_pretty(right, bindings, 7)}⌉", _ATOM
        case _Apply(function=function, args=args):
            return f"{function}({', '.join(_pretty(a, bindings, 0) for a in args)})", _ATOM
    raise AssertionError(node)


def _shown(value: Any) -> tuple[str, int]:
    """A value's text, and how it binds."""
    if isinstance(value, Poly):
        try:
            return _printed(parse(str(value)).root, {})
        except ExpressionError:  # longer than an expression may be
            return str(value), _SUM
    text = _number(value)
    return text, _SIGN if text.startswith("−") else _ATOM if re.fullmatch(r"[\w.,]+|[\[\"].*", text) else _SUM


def _number(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_shown(item)[0] for item in value)}]"
    text = f"{value:,}" if isinstance(value, int) and abs(value) > 99_999 else str(value)
    return text.replace("-", "−", 1) if text.startswith("-") else text
