"""Kernels derive sizes and types from arrays and attributes, and call no rule of the operation."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

from netcalc import ops
from netcalc.arrays import numpy_dtype
from netcalc.diagnostics import RuleError
from netcalc.dtypes import DTYPES, promote, result_type
from netcalc.numerics import kernels
from netcalc.numerics.kernels._promotion import common_dtype, result_dtype
from netcalc.verification import references

MODULES = sorted(Path(str(kernels.__file__)).parent.glob("*.py"))
REFERENCES = sorted(Path(str(references.__file__)).parent.glob("*.py"))
#: Imports that a reference may have beside NumPy and other references: tables of names.
SHARED = {
    "from netcalc import ops",
    "from netcalc.registry import Registry",
    "from netcalc.arrays import numpy_dtype",
}
#: Names of rules and of their context that no kernel imports.
RULES = {"Context", "promote", "result_type", "TensorType", "resolve_padding"}
#: Number types that NumPy has for neither kind of promotion.
TYPES = [name for name in DTYPES if not name.startswith("float8")]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_kernel_calls_a_rule(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            assert not (isinstance(owner, ast.Name) and owner.id == "op"), ast.unparse(node)
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            assert not RULES & names
            if str(node.module).startswith("netcalc.ops"):
                assert all(name[0].isupper() for name in names), f"a function of {node.module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_kernels_read_attributes_and_constants_of_operations(path: Path) -> None:
    """A property computes, as rules do, and may be wrong in both."""
    declared = [kind for kind in ops.every().values() if path.stem in (ops.family(kind.name), "__init__")]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "op":
            for kind in declared or ops.every().values():
                found = inspect.getattr_static(kind, node.attr, None)
                assert not isinstance(found, property), f"{kind.__name__}.{node.attr}"


@pytest.mark.parametrize("path", REFERENCES, ids=lambda path: path.stem)
def test_references_import_neither_rules_nor_kernels(path: Path) -> None:
    """Of NumPy's side they share the names of element types alone; import-linter also follows indirect imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("netcalc") for alias in node.names)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("netcalc"):
            assert str(node.module).startswith("netcalc.verification.references") or ast.unparse(node) in SHARED


def has_common_type(one: str, other: str) -> bool:
    """Return True for types that rules let a kernel combine."""
    try:
        promote(one, other)
    except RuleError:
        return False
    return True


@pytest.mark.parametrize("one", TYPES)
def test_promotion_agrees_with_that_of_rules(one: str) -> None:
    """Both are compared with torch elsewhere; they are written independently."""
    for other in TYPES:
        if not has_common_type(one, other):
            continue
        assert common_dtype(numpy_dtype(one), numpy_dtype(other)) == numpy_dtype(promote(one, other)), other
        scalar, array = np.zeros((), numpy_dtype(other)), np.zeros(1, numpy_dtype(one))
        expected = numpy_dtype(result_type([(one, 1), (other, 0)], 0.5))
        assert result_dtype(array, scalar, 0.5) == expected, other
