"""Expressions of Python as documents that are broken where ``ruff format`` breaks them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from netcalc.formats.export.torch.document import SOFT, SPACE, Doc, Expandable, Group, IfBreaks, Indent, Item

_TERNARY, _OR, _AND, _NOT, _COMPARE, _UNARY, _POWER, _PRIMARY = 1, 2, 3, 4, 5, 12, 13, 15
_OPERATORS: dict[type[ast.operator], tuple[str, int]] = {
    ast.BitOr: ("|", 6),
    ast.BitXor: ("^", 7),
    ast.BitAnd: ("&", 8),
    ast.LShift: ("<<", 9),
    ast.RShift: (">>", 9),
    ast.Add: ("+", 10),
    ast.Sub: ("-", 10),
    ast.Mult: ("*", 11),
    ast.Div: ("/", 11),
    ast.FloorDiv: ("//", 11),
    ast.Mod: ("%", 11),
    ast.MatMult: ("@", 11),
    ast.Pow: ("**", _POWER),
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_UNARIES: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not "}
_BRACKETS: dict[type[ast.expr], tuple[str, str]] = {
    ast.Tuple: ("(", ")"),
    ast.List: ("[", "]"),
    ast.Set: ("{", "}"),
    ast.Dict: ("{", "}"),
    ast.GeneratorExp: ("(", ")"),
    ast.ListComp: ("[", "]"),
    ast.SetComp: ("{", "}"),
    ast.DictComp: ("{", "}"),
}


def precedence(node: ast.expr) -> int:
    """Return how tightly an expression binds."""
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)][1]
    if isinstance(node, ast.UnaryOp):
        return _NOT if isinstance(node.op, ast.Not) else _UNARY
    if isinstance(node, ast.BoolOp):
        return _AND if isinstance(node.op, ast.And) else _OR
    if isinstance(node, ast.Compare):
        return _COMPARE
    return _TERNARY if isinstance(node, ast.IfExp) else _PRIMARY


class Expressions:
    """Writer of the expressions of a text.

    ``group`` is the number of the optional parentheses around an expression, which decide its breaks; 0 stands for
    brackets, inside which it breaks by itself, and None for an expression that has no breaks but those of its brackets.
    """

    def __init__(self, source: str) -> None:
        self._source = source.encode()

    # -- breaks that need parentheses around them

    @staticmethod
    def _space(group: int | None) -> Item:
        if group == 0:
            return SPACE
        return " " if group is None else IfBreaks((SPACE,), (" ",), group)

    @staticmethod
    def _soft(group: int | None) -> Item:
        if group == 0:
            return SOFT
        return "" if group is None else IfBreaks((SOFT,), (), group)

    @staticmethod
    def _grouped(items: Doc, group: int | None) -> Doc:
        if group is None:
            return items
        return (Group(items, condition=group or None),)

    @staticmethod
    def brackets(left: str, items: Doc, right: str, group: int | None = 0) -> Doc:
        """Return items between brackets, on lines of their own if there is no room for them."""
        inner = Group((left, Indent((SOFT, *items)), SOFT, right))
        return (Expandable((inner,), group),) if group else (inner,)

    # -- expressions

    def of(self, node: ast.expr, group: int | None = 0) -> Doc:
        """Return the document of an expression."""
        if isinstance(node, (ast.BinOp, ast.BoolOp, ast.Compare)):
            return self._grouped(self._operators(self._flat(node, group), group), group)
        if isinstance(node, ast.IfExp):
            return self._grouped(self._conditional(node, group), group)
        if isinstance(node, ast.UnaryOp):
            return (_UNARIES[type(node.op)], *self._operand(node.operand, precedence(node), group))
        if isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
            return self._primary(node, group)
        if isinstance(node, ast.Starred):
            return ("*", *self._operand(node.value, 6, group))
        if type(node) in _BRACKETS:
            return self._display(node, group)
        if isinstance(node, ast.Slice):
            return (self._slice(node),)
        return (self.text(node),)

    def text(self, node: ast.expr) -> str:
        """Return an expression as it is in the source."""
        return self._source[node.col_offset : node.end_col_offset].decode()

    def _operand(self, node: ast.expr, least: int, group: int | None) -> Doc:
        """Return an operand, in parentheses if it binds less than it has to."""
        if precedence(node) >= least:
            return self.of(node, group)
        return self.brackets("(", self.of(node), ")", group)

    # -- operators

    def _flat(self, node: ast.expr, group: int | None) -> list[tuple[int, str, Doc]]:
        """Return operands with the operators before them and how tightly these bind; the first one has none."""
        if isinstance(node, ast.BinOp):
            name, its = _OPERATORS[type(node.op)]
            if isinstance(node.op, ast.Pow):
                return self._power(node, group)
            return [*self._side(node.left, its, group), *self._side(node.right, its + 1, group, (its, name))]
        if isinstance(node, ast.BoolOp):
            name, its = ("and", _AND) if isinstance(node.op, ast.And) else ("or", _OR)
            first, *others = node.values
            sides = [self._side(other, its + 1, group, (_OR, name)) for other in others]
            return [*self._side(first, its + 1, group), *(operand for side in sides for operand in side)]
        assert isinstance(node, ast.Compare)
        operands = self._side(node.left, _COMPARE + 1, group)
        for comparison, right in zip(node.ops, node.comparators, strict=True):
            operands += self._side(right, _COMPARE + 1, group, (_COMPARE, _COMPARISONS[type(comparison)]))
        return operands

    def _side(
        self, node: ast.expr, least: int, group: int | None, operator: tuple[int, str] = (0, "")
    ) -> list[tuple[int, str, Doc]]:
        if precedence(node) >= least and isinstance(node, (ast.BinOp, ast.BoolOp, ast.Compare)):
            (_, _, first), *others = self._flat(node, group)
            return [(*operator, first), *others]
        return [(*operator, self._operand(node, least, group))]

    def _power(self, node: ast.BinOp, group: int | None) -> list[tuple[int, str, Doc]]:
        base = self._operand(node.left, _PRIMARY, group)
        exponent = self._operand(node.right, _UNARY, group)
        if _is_simple(node.left) and _is_simple(node.right):
            return [(0, "", (*base, "**", *exponent))]
        return [(0, "", base), (_POWER, "**", exponent)]

    def _operators(self, operands: list[tuple[int, str, Doc]], group: int | None) -> Doc:
        """Return operands that are broken at the operators that bind least, and further inside."""
        if len(operands) == 1:
            return operands[0][2]
        least = min(its for its, _, _ in operands[1:])
        items: list[Item] = []
        start = 0
        for place in [*(i for i, (its, _, _) in enumerate(operands) if i and its == least), len(operands)]:
            part = operands[start:place]
            inner = self._operators([(0, "", part[0][2]), *part[1:]], group)
            if start:
                items += [self._space(group), f"{part[0][1]} "]
            items += self._grouped(inner, group) if len(part) > 1 else inner
            start = place
        return items

    def _conditional(self, node: ast.IfExp, group: int | None) -> Doc:
        return (
            *self._operand(node.body, _OR, group),
            self._space(group),
            "if ",
            *self._operand(node.test, _OR, group),
            self._space(group),
            "else ",
            *(
                self._conditional(node.orelse, group)
                if isinstance(node.orelse, ast.IfExp)
                else self.of(node.orelse, group)
            ),
        )

    # -- calls, attributes and subscripts

    def _primary(self, node: ast.expr, group: int | None) -> Doc:
        items = self._links(node, group, fluent=is_fluent(node))
        return self._grouped(items, group) if is_fluent(node) else items

    def _links(self, node: ast.expr, group: int | None, *, fluent: bool) -> Doc:
        if isinstance(node, ast.Call):
            return (*self._links(node.func, group, fluent=fluent), *self._arguments(node, group))
        if isinstance(node, ast.Subscript):
            inside = self._index(node.slice)
            return (*self._links(node.value, group, fluent=fluent), *self.brackets("[", inside, "]", group))
        if isinstance(node, ast.Attribute):
            before = self._links(node.value, group, fluent=fluent)
            breaks = fluent and isinstance(node.value, (ast.Call, ast.Subscript))
            return (*before, *((self._soft(group),) if breaks else ()), f".{node.attr}")
        return self._operand(node, _PRIMARY, group)

    def _arguments(self, node: ast.Call, group: int | None) -> Doc:
        arguments: list[Doc] = [self.of(argument) for argument in node.args]
        arguments += [(f"{its.arg}=" if its.arg else "**", *self.of(its.value)) for its in node.keywords]
        if not arguments:
            return ("()",)
        if len(arguments) == 1 and isinstance(node.args[0] if node.args else None, ast.GeneratorExp):
            generator = node.args[0]
            assert isinstance(generator, ast.GeneratorExp)
            inside = self._comprehension(self.of(generator.elt), generator.generators)
            return self.brackets("(", (Group(inside),), ")", group)
        return self.brackets("(", (Group(separated(arguments, ends=True)),), ")", group)

    def _index(self, node: ast.expr) -> Doc:
        if isinstance(node, ast.Tuple):
            items = [self.of(item) for item in node.elts]
            return (*items[0], ",") if len(items) == 1 else (Group(separated(items, ends=True)),)
        return self.of(node)

    def _slice(self, node: ast.Slice) -> str:
        ends = [node.lower, node.upper, *([node.step] if node.step is not None else [])]
        texts = ["" if end is None else one_line(self.of(end)) for end in ends]
        if all(end is None or _is_simple_end(end) for end in ends):
            return ":".join(texts)
        first, *others = texts
        return (f"{first} " if first else "") + "".join(f": {text} " if text else ":" for text in others).rstrip()

    # -- displays

    def _display(self, node: ast.expr, group: int | None) -> Doc:
        if isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
            left, right = _BRACKETS[type(node)]
            inside = self._comprehension(self.of(node.elt), node.generators)
            return self.brackets(left, (Group(inside),), right, group)
        if isinstance(node, ast.DictComp):
            pair = (*self.of(node.key), ": ", *self.of(node.value))
            return self.brackets("{", (Group(self._comprehension(pair, node.generators)),), "}", group)
        if isinstance(node, ast.Dict):
            pairs: list[Doc] = [
                ("**", *self.of(value)) if key is None else (*self.of(key), ": ", *self.of(value))
                for key, value in zip(node.keys, node.values, strict=True)
            ]
            return self._items("{", pairs, "}", group)
        assert isinstance(node, (ast.Tuple, ast.List, ast.Set))
        left, right = _BRACKETS[type(node)]
        items = [self.of(item) for item in node.elts]
        if isinstance(node, ast.Tuple) and len(items) == 1:
            return self.brackets(left, (*items[0], ","), right, group)
        return self._items(left, items, right, group)

    def _items(self, left: str, items: list[Doc], right: str, group: int | None) -> Doc:
        if not items:
            return (left + right,)
        return self.brackets(left, separated(items, ends=True), right, group)

    def _comprehension(self, element: Doc, generators: Sequence[ast.comprehension]) -> Doc:
        items: list[Item] = [Group(element)]
        for its in generators:
            clause: list[Item] = [
                "for ",
                *self._target(its.target),
                SPACE,
                "in ",
                Group(self._operand(its.iter, _OR, 0)),
            ]
            for test in its.ifs:
                clause += [SPACE, "if ", *self.of(test)]
            items += [SPACE, Group(clause)]
        return items

    def _target(self, node: ast.expr) -> Doc:
        if isinstance(node, ast.Tuple):
            return (", ".join(self.text(item) for item in node.elts),)
        return self.of(node)


def one_line(items: Doc) -> str:
    """Return a document on one line."""
    text = ""
    for item in items:
        if isinstance(item, str):
            text += item
        elif isinstance(item, IfBreaks):
            text += one_line(item.flat)
        else:
            text += getattr(item, "flat", "") or one_line(getattr(item, "items", ()))
    return text


def is_fluent(node: ast.expr) -> bool:
    """Return True for at least two attributes of calls in a row, each of which may begin a line."""
    count = 0
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        inner = node.func if isinstance(node, ast.Call) else node.value
        if precedence(inner) < _PRIMARY:
            count += isinstance(node, ast.Attribute)
            break
        count += isinstance(node, ast.Attribute) and isinstance(inner, (ast.Call, ast.Subscript))
        node = inner
    return count >= 2


def separated(items: Sequence[Doc], *, ends: bool = False) -> Doc:
    """Return items with commas between them, behind which lines may be broken; ``ends`` puts one behind the last.

    A single item has no comma behind it.
    """
    parts: list[Item] = []
    for place, item in enumerate(items):
        parts += [",", SPACE, *item] if place else item
    return [*parts, IfBreaks((",",))] if ends and len(items) > 1 else parts


def _is_simple(node: ast.expr) -> bool:
    """Return True for an operand beside which a power has no spaces."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return isinstance(node.operand, (ast.Name, ast.Constant)) or _is_dotted(node.operand)
    return isinstance(node, (ast.Name, ast.Constant)) or _is_dotted(node)


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_simple_end(node: ast.expr) -> bool:
    """Return True for the end of a range beside whose colon there are no spaces."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, (ast.Name, ast.Constant))
    return isinstance(node, (ast.Name, ast.Constant))
