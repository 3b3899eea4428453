"""Statements of at most 88 columns a line, laid out as ``ruff format`` does."""

from __future__ import annotations

import ast

from netcalc.formats.export.torch.document import SOFT, WIDTH, Doc, Group, IfBreaks, Indent, Item, Printer, numbers
from netcalc.formats.export.torch.syntax import Expressions, is_fluent, one_line, precedence, separated

__all__ = ["WIDTH", "laid_out"]

_HEADS = ("def ", "if ", "for ", "while ", "with ", "class ", "elif ", "else:")


def laid_out(statement: str, indent: int) -> list[str]:
    """Return the lines of one statement, which is written on one line, at an indentation of so many columns."""
    is_head = statement.startswith(_HEADS) and statement.endswith(":")
    if statement.startswith(("elif ", "else:")):
        return [" " * indent + statement]
    (node,) = ast.parse(f"{statement} pass" if is_head else statement).body
    items, behind = _Statements(statement, indent).of(node)
    return Printer(indent).lines(items, behind)


class _Statements:
    """Writer of one statement."""

    def __init__(self, source: str, indent: int) -> None:
        self._source = source
        self._indent = indent
        self._expressions = Expressions(source)

    def of(self, node: ast.stmt) -> tuple[Doc, str]:
        """Return the document of a statement and the text behind it."""
        if isinstance(node, ast.FunctionDef):
            return self._function(node)
        if isinstance(node, ast.Assign):
            return (*self._targets(node.targets), *self._last(node.value)), ""
        if isinstance(node, ast.AnnAssign):
            head = f"{self._expressions.text(node.target)}: {self._expressions.text(node.annotation)}"
            return (head,) if node.value is None else (f"{head} = ", *self._last(node.value)), ""
        if isinstance(node, ast.AugAssign):
            head = self._source[: node.value.col_offset]
            return (head, *self._last(node.value)), ""
        if isinstance(node, ast.Return):
            return ("return",) if node.value is None else ("return ", *self._last(node.value)), ""
        if isinstance(node, ast.Expr):
            return self._last(node.value), ""
        if isinstance(node, ast.For):
            return (f"for {self._target(node.target)} in ", *self._last(node.iter)), ":"
        if isinstance(node, (ast.If, ast.While)):
            word = "if" if isinstance(node, ast.If) else "while"
            return (f"{word} ", *self._last(node.test)), ":"
        return (self._source,), ""

    def _targets(self, nodes: list[ast.expr]) -> Doc:
        items: list[Item] = []
        for node in nodes:
            if isinstance(node, ast.Tuple):
                items += [*self._tuple(node), " = "]
            else:
                items.append(f"{one_line(self._expressions.of(node))} = ")
        return items

    def _tuple(self, node: ast.Tuple) -> Doc:
        """Return the items of a tuple without parentheses, which it gets if it is broken."""
        soft = Indent((SOFT, *separated([self._expressions.of(item) for item in node.elts], ends=True)))
        return (Group((IfBreaks(("(",)), soft, SOFT, IfBreaks((")",)))),)

    def _target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Tuple):
            return ", ".join(self._expressions.text(item) for item in node.elts)
        return self._expressions.text(node)

    def _function(self, node: ast.FunctionDef) -> tuple[Doc, str]:
        behind: Doc = ()
        long = False
        if node.returns is not None:
            text = f" -> {self._expressions.text(node.returns)}"
            long = node.col_offset + self._indent + len(text) + 2 > WIDTH
            behind = (" -> ", *self._expressions.of(node.returns)) if long else (text,)
        parameters = []
        defaults = [None] * (len(node.args.args) - len(node.args.defaults)) + [*node.args.defaults]
        for its, default in zip(node.args.args, defaults, strict=True):
            text = its.arg if its.annotation is None else f"{its.arg}: {self._expressions.text(its.annotation)}"
            equals = " = " if its.annotation is not None else "="
            parameters.append(text if default is None else f"{text}{equals}{self._expressions.text(default)}")
        group = Group(separated([(text,) for text in parameters], ends=True))
        between: Doc = Expressions.brackets("(", (group,), ")")
        if long:
            between = ("(", Indent((SOFT, group)), SOFT, ")")
        return (f"def {node.name}", *between, *behind), ":"

    # -- expressions that end a statement, around which parentheses may be put

    def _last(self, node: ast.expr) -> Doc:
        make = self._expressions.of
        if isinstance(node, ast.Tuple):
            return self._tuple(node) if len(node.elts) > 1 and self._is_bare(node) else make(node)
        if isinstance(node, (ast.Name, ast.Constant)) or _is_dotted(node):
            return self._parenthesized(make(node, None))
        if not _may_have_parentheses(node):
            return make(node, None)
        if _needs_no_parentheses(node):
            number = next(numbers) + 1
            inner = make(node, number)
            return (
                Group(
                    (IfBreaks(("(",)), Indent((SOFT, *inner), number), SOFT, IfBreaks((")",))),
                    number,
                ),
            )
        return self._parenthesized(make(node))

    def _is_bare(self, node: ast.Tuple) -> bool:
        """Return True for a tuple without parentheses."""
        return node.col_offset == node.elts[0].col_offset

    @staticmethod
    def _parenthesized(items: Doc) -> Doc:
        return (Group((IfBreaks(("(",)), Indent((SOFT, *items)), SOFT, IfBreaks((")",)))),)


def _may_have_parentheses(node: ast.expr) -> bool:
    return (
        isinstance(node, (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp))
        or is_fluent(node)
        or (isinstance(node, ast.UnaryOp) and _may_have_parentheses(node.operand))
    )


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _needs_no_parentheses(node: ast.expr) -> bool:
    """Return True for an expression that is broken inside its brackets rather than at its operator.

    It has one operator that binds least, and begins or ends with brackets that have something in them.
    """
    operators: list[int] = []
    brackets: list[bool] = []
    _collect(node, operators, brackets)
    if not any(brackets) or is_fluent(node):
        return False
    if operators and operators.count(min(operators)) > 1:
        return False
    return _begins_with_brackets(node) or _ends_with_brackets(node)


def _collect(node: ast.expr, operators: list[int], brackets: list[bool]) -> None:
    """Collect the operators outside brackets, by how tightly they bind, and the brackets."""
    if isinstance(node, ast.BinOp):
        operators.append(precedence(node))
        for side in (node.left, node.right):
            _collect_side(side, precedence(node) + (side is node.right), operators, brackets)
    elif isinstance(node, ast.BoolOp):
        operators += [4] * (len(node.values) - 1)
        for value in node.values:
            _collect_side(value, precedence(node) + 1, operators, brackets)
    elif isinstance(node, ast.Compare):
        operators += [precedence(node)] * len(node.ops)
        for value in (node.left, *node.comparators):
            _collect_side(value, precedence(node) + 1, operators, brackets)
    elif isinstance(node, ast.IfExp):
        operators.append(precedence(node))
        for value in (node.body, node.test, node.orelse):
            _collect_side(value, 2, operators, brackets)
    elif isinstance(node, ast.UnaryOp):
        _collect_side(node.operand, precedence(node), operators, brackets)
    elif isinstance(node, ast.Attribute):
        _collect(node.value, operators, brackets)
        if _has_brackets(node.value):
            operators.append(15)
    else:
        brackets.append(_has_brackets(node))
        if isinstance(node, (ast.Call, ast.Subscript)):
            _collect(node.func if isinstance(node, ast.Call) else node.value, operators, brackets)


def _collect_side(node: ast.expr, least: int, operators: list[int], brackets: list[bool]) -> None:
    if precedence(node) < least:
        brackets.append(True)
    else:
        _collect(node, operators, brackets)


def _sides(node: ast.expr) -> tuple[ast.expr | None, ast.expr | None]:
    """Return the first and the last operand of an expression; None where it has none."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.BoolOp):
        return node.values[0], node.values[-1]
    if isinstance(node, ast.Compare):
        return node.left, node.comparators[-1]
    if isinstance(node, ast.IfExp):
        return node.body, node.orelse
    return None, node.operand if isinstance(node, ast.UnaryOp) else None


def _begins_with_brackets(node: ast.expr) -> bool:
    first = node.func if isinstance(node, ast.Call) else _sides(node)[0]
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        first = node.value
    if first is None:
        return not isinstance(node, ast.UnaryOp) and _has_brackets(node)
    return precedence(first) < precedence(node) or _begins_with_brackets(first)


def _ends_with_brackets(node: ast.expr) -> bool:
    last = _sides(node)[1]
    if last is None:
        return _has_brackets(node)
    tighter = isinstance(node, ast.BinOp)
    return precedence(last) < precedence(node) + tighter or _ends_with_brackets(last)


def _has_brackets(node: ast.expr | None) -> bool:
    """Return True for an expression that ends with brackets that have something in them."""
    if isinstance(node, ast.Call):
        return bool(node.args or node.keywords)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return bool(node.elts)
    return isinstance(node, (ast.Subscript, ast.Dict, ast.GeneratorExp, ast.ListComp, ast.DictComp, ast.SetComp))
