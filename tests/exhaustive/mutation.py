"""Changes of source code: one at a time, in a function, a method or a module, loaded into this process."""

from __future__ import annotations

import ast
import copy
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, NamedTuple

from netcalc.ir.build import _APPLIED
from netcalc.registry import Registry
from netcalc.spec.body_cache import BODIES
from netcalc.spec.operations import _OPERATIONS
from netcalc.spec.sketches import SKETCHES

__all__ = ["Site", "executed", "forget", "function_sites", "method_sites", "module_sites", "replaced"]

_OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Add(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.Mult(),
}
_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
}
_NAMES = {
    "maximum": "minimum",
    "minimum": "maximum",
    "floor": "ceil",
    "ceil": "floor",
    "int64": "int32",
    "exp": "expm1",
}
_DTYPES = {"int64": "int32", "int32": "int64", "float32": "float64", "bool": "uint8"}
#: Flag of the compiler: annotations are not evaluated.
_ANNOTATIONS = annotations.compiler_flag
_SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)


class Site(NamedTuple):
    """A place in the source; ``change`` describes the change there, and ``planted`` loads it until the context ends."""

    where: str
    change: Callable[[], str]
    planted: Callable[[], Any]


class _Mutant(NamedTuple):
    """A change of a tree, made when it is asked for."""

    tree: Any
    number: int
    turn: int

    def change(self) -> str:
        """Return the line, and the expression before and after."""
        node = self._node(self.tree)
        return f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)} -> {ast.unparse(self._node(self.changed()))}"

    def changed(self) -> Any:
        """Return a changed copy."""
        copied = copy.deepcopy(self.tree)
        _edits(self._node(copied))[self.turn]()
        return ast.fix_missing_locations(copied)

    def _node(self, tree: Any) -> ast.AST:
        return next(node for number, node in enumerate(ast.walk(tree)) if number == self.number)


def forget() -> None:
    """Drop what is kept for later networks, which may follow from a rule before or after it was changed."""
    for kept in (_APPLIED, BODIES, SKETCHES, _OPERATIONS):
        kept.clear()


def function_sites(module: types.ModuleType, names: Iterable[str] | None = None) -> Iterator[Site]:
    """Yield the changes of functions of a module, which replace them wherever they are referred to."""
    for node in _tree(module.__name__).body:
        old = getattr(module, node.name, None) if isinstance(node, ast.FunctionDef) else None
        if not isinstance(node, ast.FunctionDef) or not inspect.isfunction(old) or (names and node.name not in names):
            continue
        for mutant in _mutants(node):

            def plant(old: Any = old, mutant: _Mutant = mutant) -> Any:
                return replaced(old, _function(mutant.changed(), module.__dict__))

            yield Site(f"{module.__name__}:{node.name}", mutant.change, plant)


def method_sites(
    cls: type, select: Callable[[str], bool], package: str = "netcalc.ops", mentions: tuple[str, ...] = ()
) -> Iterator[Site]:
    """Yield the changes of the methods of a class and of its bases in a package.

    With ``mentions``, only statements that contain one of these words are changed.
    """
    for owner in cls.__mro__:
        if not owner.__module__.startswith(package):
            continue
        declared = next(
            n for n in ast.walk(_tree(owner.__module__)) if isinstance(n, ast.ClassDef) and n.name == owner.__name__
        )
        for node in declared.body:
            if not isinstance(node, ast.FunctionDef) or not select(node.name):
                continue
            old = owner.__dict__[node.name]
            if not isinstance(old, (types.FunctionType, property, staticmethod, classmethod)):
                continue
            for mutant in _mutants(node, mentions):

                def plant(owner: type = owner, name: str = node.name, old: Any = old, mutant: _Mutant = mutant) -> Any:
                    new: Any = _function(mutant.changed(), sys.modules[owner.__module__].__dict__, owner)
                    wrapped = isinstance(old, (property, staticmethod, classmethod))
                    return _attribute(owner, name, old, type(old)(new) if wrapped else new)

                yield Site(f"{owner.__module__}:{owner.__name__}.{node.name}", mutant.change, plant)


def module_sites(
    module: types.ModuleType, registries: Iterable[Registry[Any]], mentions: tuple[str, ...] = ()
) -> Iterator[Site]:
    """Yield the changes of a module that is executed again, so that its registered entries are replaced.

    With ``mentions``, only statements that contain one of these words are changed.
    """
    for mutant in _mutants(_tree(module.__name__), mentions):

        def plant(mutant: _Mutant = mutant) -> Any:
            return executed(module, mutant.changed(), tuple(registries))

        yield Site(module.__name__, mutant.change, plant)


@contextmanager
def replaced(old: Any, new: Any) -> Iterator[None]:
    """Replace an object in modules, in their tables and in registries; independent references keep it."""
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if not name.startswith("netcalc") or name.startswith("netcalc.verification.references"):
                continue
            tables = [module.__dict__]
            for value in module.__dict__.values():
                tables += (
                    [value._entries] if isinstance(value, Registry) else [value] if isinstance(value, dict) else []
                )
            for table in tables:
                for key in [key for key, value in table.items() if value is old]:
                    table[key] = new
                    stack.callback(table.__setitem__, key, old)
        yield


@contextmanager
def _attribute(owner: Any, name: str, old: Any, new: Any) -> Iterator[None]:
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


@contextmanager
def executed(module: types.ModuleType, tree: ast.Module, registries: tuple[Registry[Any], ...]) -> Iterator[None]:
    """Execute a changed module, whose entries of registries are in place of the present ones until the context ends."""
    entries = [dict(registry._entries) for registry in registries]
    for registry in registries:
        for name in [n for n, source in registry._modules.items() if source == module.__name__]:
            registry._entries.pop(name, None)
    try:
        namespace = {"__name__": module.__name__, "__file__": module.__file__, "__package__": module.__package__}
        exec(compile(tree, "<mutant>", "exec"), namespace)
        yield
    finally:
        for registry, before in zip(registries, entries, strict=True):
            registry._entries.clear()
            registry._entries.update(before)


def _function(node: ast.FunctionDef, namespace: dict[str, Any], owner: type | None = None) -> Any:
    """Return a function compiled in a namespace; a method refers to its class for ``super()``."""
    inner = copy.deepcopy(node)
    inner.decorator_list = []
    outer = ast.parse("def outer(__class__):\n    pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [inner, ast.Return(ast.Name(inner.name, ast.Load()))]
    tree = ast.fix_missing_locations(ast.Module([outer], []))
    scope: dict[str, Any] = {}
    code = compile(tree, "<mutant>", "exec", _ANNOTATIONS, dont_inherit=True)
    exec(code, namespace, scope)
    return scope["outer"](owner)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


def _mutants(tree: Any, mentions: tuple[str, ...] = ()) -> Iterator[_Mutant]:
    """Yield the changes of a tree."""
    allowed = _changeable(tree, mentions)
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in allowed:
            yield from (_Mutant(tree, number, turn) for turn in range(len(_edits(node))))


def _changeable(tree: Any, mentions: tuple[str, ...]) -> set[int]:
    """Return the nodes that may be changed: no messages, annotations, decorators or texts of documentation."""
    found: set[int] = set()

    def visit(node: ast.AST, mentioned: bool) -> None:
        if isinstance(node, _SKIPPED):
            return
        if isinstance(node, ast.stmt) and not isinstance(
            node, (ast.FunctionDef, ast.ClassDef, ast.For, ast.With, ast.If)
        ):
            mentioned = not mentions or any(word in ast.unparse(node) for word in mentions)
        if isinstance(node, ast.If):
            mentioned = not mentions or any(word in ast.unparse(node.test) for word in mentions)
        if mentioned:
            found.add(id(node))
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_params", "bases", "keywords_") or (
                isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, mentioned and not isinstance(child, ast.stmt))

    visit(tree, not mentions)
    return found


def _edits(node: ast.AST) -> list[Callable[[], None]]:
    """Return the changes of one node, which are made in place."""

    def put(target: Any, name: str, value: Any) -> Callable[[], None]:
        return lambda: setattr(target, name, value)

    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            return [put(node, "value", not value)]
        if isinstance(value, (int, float)):
            return [put(node, "value", value + 1 if isinstance(value, int) else value * 1.5)]
        return [put(node, "value", _DTYPES[value])] if isinstance(value, str) and value in _DTYPES else []
    if isinstance(node, ast.BinOp):
        edits = [put(node, "right", ast.Constant(0))] if isinstance(node.op, (ast.Add, ast.Sub)) else []
        if isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv)):
            left, right = node.left, node.right

            def swap() -> None:
                node.left, node.right = right, left

            edits.append(swap)
        return [*edits, *([put(node, "op", _OPERATORS[type(node.op)])] if type(node.op) in _OPERATORS else [])]
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        return [put(node, "ops", [_COMPARISONS[type(node.ops[0])], *node.ops[1:]])]
    if isinstance(node, ast.BoolOp):
        return [put(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())]
    if isinstance(node, ast.IfExp):
        body, orelse = node.body, node.orelse

        def exchange() -> None:
            node.body, node.orelse = orelse, body

        return [exchange]
    if isinstance(node, ast.Attribute) and node.attr in _NAMES:
        return [put(node, "attr", _NAMES[node.attr])]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        texts = [a for a in node.args[1:] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        return [put(text, "value", f"({text.value}) + 1") for text in texts]
    return []
