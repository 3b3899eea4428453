"""Sizes of modules and functions, the opening of docstrings, and import cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULE_LINES = 350
FUNCTION_LINES = 60
#: Openings that are forbidden: a docstring starts with a noun phrase or a verb.
OPENERS = {"What", "Whether", "How", "Those", "Which", "Where", "When", "Who", "One"}


def _modules(folder: str) -> list[str]:
    """Paths of all Python files in a folder."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py"))


MODULES = _modules("netcalc")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _definitions(module: str) -> Iterator[tuple[str, Documented]]:
    """Yield all classes and functions of a module, nested ones included, and the module itself."""
    for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
        if isinstance(node, Documented):
            yield getattr(node, "name", "module"), node


@pytest.mark.parametrize("module", MODULES)
def test_modules_and_functions_are_short(module: str) -> None:
    assert len((ROOT / module).read_text(encoding="utf-8").splitlines()) <= MODULE_LINES
    lines = [
        (name, node.end_lineno - node.lineno + 1)
        for name, node in _definitions(module)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None
    ]
    assert [(name, count) for name, count in lines if count > FUNCTION_LINES] == []


@pytest.mark.parametrize("module", [*MODULES, *_modules("benchmarks")])
def test_docstrings_open_with_a_noun_or_a_verb(module: str) -> None:
    opened = [(name, (ast.get_docstring(node) or "-").split()[0].strip(".,:;")) for name, node in _definitions(module)]
    assert [(name, word) for name, word in opened if word in OPENERS] == []


# a kernel is documented by the operation that it computes
@pytest.mark.parametrize("module", [m for m in MODULES if "/kernels/" not in m and "/references/" not in m])
def test_public_classes_and_functions_are_documented(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    public = [
        node
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_")
    ]
    assert ast.get_docstring(tree)
    assert [node.name for node in public if not ast.get_docstring(node)] == []


def test_no_modules_import_each_other() -> None:
    """Imports inside functions and for type checking count as well."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("netcalc", exclude_type_checking_imports=False, cache_dir=None)
    upstream = {module: graph.find_upstream_modules(module) for module in graph.modules}
    cyclic = {module for module, needed in upstream.items() if any(module in upstream[other] for other in needed)}
    assert cyclic == set()


def test_every_limit_is_declared_once() -> None:
    tree = ast.parse((ROOT / "netcalc/limits.py").read_text(encoding="utf-8"))
    names = [ast.unparse(target) for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    assert sorted(names) == sorted(set(names))
