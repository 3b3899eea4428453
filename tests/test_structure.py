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
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _definitions(module: str) -> Iterator[tuple[str, Documented]]:
    """Yield all classes and functions of a module, nested ones included, and the module itself."""
    for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
        if isinstance(node, Documented):
            yield getattr(node, "name", "module"), node


@pytest.mark.parametrize("module", MODULES)
def test_modules_and_functions_are_short(module: str) -> None:
    classes = [node.end_lineno - node.lineno for _, node in _definitions(module) if isinstance(node, ast.ClassDef)]
    length = len((ROOT / module).read_text(encoding="utf-8").splitlines())
    # a module that is one class is not cut to fit
    assert length <= MODULE_LINES or max(classes, default=0) > 0.8 * length
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


# a kernel is documented by the operation that it computes, a rule of an operator by the name of the operator
@pytest.mark.parametrize(
    "module",
    [
        m
        for m in MODULES
        if not any(
            p in m
            for p in ("/kernels/", "/vjps/", "/references/", "/torch/operators/", "/onnx/operators/", "/keras/layers/")
        )
    ],
)
def test_public_classes_and_functions_are_documented(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    public = [
        node
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_")
    ]
    assert ast.get_docstring(tree)
    assert [node.name for node in public if not ast.get_docstring(node)] == []


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
    # a member of a file that is open, and a result, which has `save` from netcalc.weights.saved
    if ast.unparse(call.func) in ("archive.open", "result.save"):
        return False
    if name != "open":
        return name in WRITERS
    texts = [ast.unparse(argument) for argument in (*call.args, *(keyword.value for keyword in call.keywords))]
    return any(re.fullmatch(r"'[rbt]*[wax+][rwaxbt+]*'", text) or "O_CREAT" in text for text in texts)


def _written_by(module: str) -> list[str]:
    """Return the calls of a module that write files, other than to what ``replacing`` gives in the same ``with``."""
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    allowed: set[ast.AST] = set()
    for block in (node for node in ast.walk(tree) if isinstance(node, ast.With)):
        first, *others = (item.context_expr for item in block.items)
        if isinstance(first, ast.Call) and getattr(first.func, "id", "") == "replacing":
            allowed.update(others)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [ast.unparse(call) for call in calls if _writes(call) and call not in allowed]


@pytest.mark.parametrize("module", [module for module in MODULES if module != "netcalc/files.py"])
def test_files_are_written_through_one_module(module: str) -> None:
    """``netcalc.files.replacing`` replaces a file as a whole, and leaves no part of one."""
    assert _written_by(module) == []


def test_every_limit_is_declared_once() -> None:
    tree = ast.parse((ROOT / "netcalc/limits.py").read_text(encoding="utf-8"))
    names = [ast.unparse(target) for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    assert sorted(names) == sorted(set(names))
