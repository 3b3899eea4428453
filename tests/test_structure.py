"""Sizes of modules and functions, the opening of docstrings, and import cycles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcalc.ops import FAMILIES

ROOT = Path(__file__).parent.parent
MODULE_LINES = 500
FUNCTION_LINES = 60
#: Openings that are forbidden: a docstring starts with a noun phrase or a verb.
OPENERS = {"What", "Whether", "How", "Those", "Which", "Where", "When", "Who", "One"}


def _modules(folder: str) -> list[str]:
    """Paths of all Python files in a folder."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py"))


MODULES = _modules("netcalc")
#: The modules by their folders: each is read once for all rules.
FOLDERS: dict[str, list[str]] = {}
for _module in [*MODULES, *_modules("benchmarks")]:
    FOLDERS.setdefault(_module.rpartition("/")[0], []).append(_module)
#: Folders of kernels, which are documented by the operations that they compute, and of rules of operators, which are
#: by the names of the operators.
NAMED_BY_OPERATIONS = ("kernels", "vjps", "references", "torch/operators", "onnx/operators", "keras/layers")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function


@pytest.mark.parametrize("folder", FOLDERS)
def test_modules_keep_to_the_rules(folder: str) -> None:
    assert [broken for module in FOLDERS[folder] for broken in _broken(module)] == []


def _broken(module: str) -> Iterator[str]:
    """Yield the rules that a module breaks, in words."""
    text = (ROOT / module).read_text(encoding="utf-8")
    tree = ast.parse(text)
    found = [*_openings(tree)]
    if module.startswith("netcalc/"):
        found += _lengths(tree, len(text.splitlines()))
        found += () if module == "netcalc/files.py" else _written_by(tree)
        if not any(f"/{folder}/" in module for folder in NAMED_BY_OPERATIONS):
            found += _undocumented(tree)
    yield from (f"{module}: {each}" for each in found)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, Documented]]:
    """Yield all classes and functions of a module, nested ones included, and the module itself."""
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            yield getattr(node, "name", "module"), node


def _lengths(tree: ast.Module, length: int) -> Iterator[str]:
    """Yield a module and functions that are too long; a module that is one class is not cut to fit."""
    definitions = ((name, node) for name, node in _definitions(tree) if not isinstance(node, ast.Module))
    lines = [(name, node, (node.end_lineno or 0) - node.lineno) for name, node in definitions]
    classes = [count for _, node, count in lines if isinstance(node, ast.ClassDef)]
    if length > MODULE_LINES and max(classes, default=0) <= 0.8 * length:
        yield f"{length} lines"
    for name, node, count in lines:
        if isinstance(node, Function) and count + 1 > FUNCTION_LINES:
            yield f"{name} has {count + 1} lines"


def _openings(tree: ast.Module) -> Iterator[str]:
    """Yield docstrings that open with neither a noun nor a verb."""
    for name, node in _definitions(tree):
        word = (ast.get_docstring(node) or "-").split()[0].strip(".,:;")
        if word in OPENERS:
            yield f"the docstring of {name} opens with {word}"


def _undocumented(tree: ast.Module) -> Iterator[str]:
    """Yield public classes and functions without a docstring, and the module itself."""
    public = [node for node in tree.body if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_")]
    for name, node in (("module", tree), *((node.name, node) for node in public)):
        if not ast.get_docstring(node):
            yield f"{name} has no docstring"


@pytest.mark.parametrize(
    "folder",
    [
        "netcalc/ops",
        "netcalc/ops/backward",
        "netcalc/ops/eager",
        "netcalc/numerics/kernels",
        "netcalc/numerics/vjps",
        "netcalc/verification/references",
        "netcalc/analysis/signal/rules",
        "netcalc/formats/torch/operators",
    ],
)
def test_modules_about_operations_are_named_as_their_families(folder: str) -> None:
    """Other modules begin with an underscore; ``no_gradient`` has the operations of all families without one."""
    modules = {path.stem for path in (ROOT / folder).glob("*.py") if not path.stem.startswith("_")}
    assert modules - set(FAMILIES) - {"no_gradient"} == set()


def test_no_modules_import_each_other() -> None:
    """Imports inside functions and for type checking count as well."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("netcalc", exclude_type_checking_imports=False, cache_dir=None)
    upstream = {module: graph.find_upstream_modules(module) for module in graph.modules}
    cyclic = {module for module, needed in upstream.items() if any(module in upstream[other] for other in needed)}
    assert cyclic == set()


#: Calls that write files or change folders, however they are reached.
WRITERS = {
    *("write_text", "write_bytes", "touch", "mkdir", "makedirs", "unlink", "rmtree", "copyfile", "copy2"),
    *("tofile", "save", "savez", "savez_compressed", "savetxt", "save_file", "mkstemp", "mkdtemp", "memmap"),
    *("NamedTemporaryFile", "TemporaryDirectory", "symlink_to", "hardlink_to"),
}


def _writes(call: ast.Call) -> bool:
    """Return True for a call that writes a file, or opens one for writing."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name != "open" and name not in WRITERS:
        return False
    # a member of a file that is open, and a result, which has `save` from netcalc.weights.saved
    if ast.unparse(call.func) in ("archive.open", "result.save"):
        return False
    if name != "open":
        return True
    texts = [ast.unparse(argument) for argument in (*call.args, *(keyword.value for keyword in call.keywords))]
    return any(re.fullmatch(r"'[rbt]*[wax+][rwaxbt+]*'", text) or "O_CREAT" in text for text in texts)


def _written_by(tree: ast.Module) -> Iterator[str]:
    """Yield the calls that write files, other than to what ``replacing`` gives in the same ``with``.

    ``netcalc.files.replacing`` replaces a file as a whole, and leaves no part of one.
    """
    allowed: set[ast.AST] = set()
    for block in (node for node in ast.walk(tree) if isinstance(node, ast.With)):
        first, *others = (item.context_expr for item in block.items)
        if isinstance(first, ast.Call) and getattr(first.func, "id", "") == "replacing":
            allowed.update(others)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _writes(node) and node not in allowed:
            yield f"{ast.unparse(node)} writes a file"


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ('"""A module."""\n\ndef f() -> None:\n    """What it does."""\n', "the docstring of f opens with What"),
        ('"""A module."""\n\nclass C: ...\n', "C has no docstring"),
        ("x = 1\n", "module has no docstring"),
        ('"""A module."""\n\ndef _f() -> None:\n' + "    f()\n" * 60, "_f has 61 lines"),
        ('"""A module."""\n' + "x = 1\n" * 500, "501 lines"),
        ('"""A module."""\nopen("x", "w")\n', "open('x', 'w') writes a file"),
    ],
)
def test_what_breaks_a_rule_is_named(text: str, broken: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netcalc").mkdir()
    (tmp_path / "netcalc" / "m.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr("tests.test_structure.ROOT", tmp_path)
    assert [*_broken("netcalc/m.py")] == [f"netcalc/m.py: {broken}"]


def test_every_limit_is_declared_once() -> None:
    tree = ast.parse((ROOT / "netcalc/limits.py").read_text(encoding="utf-8"))
    names = [ast.unparse(target) for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    assert sorted(names) == sorted(set(names))
