"""Kernels derive sizes and types from arrays and attributes, and call no rule of the operation."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from netcalc.dtypes import DTYPES, promote, result_type
from netcalc.numerics import kernels
from netcalc.numerics.kernels._promotion import common_dtype, result_dtype
from netcalc.numerics.numpy_dtypes import numpy_dtype

MODULES = sorted(Path(str(kernels.__file__)).parent.glob("*.py"))
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
            assert not RULES & {alias.name for alias in node.names}


@pytest.mark.parametrize("one", TYPES)
def test_promotion_agrees_with_that_of_rules(one: str) -> None:
    """Both are compared with torch elsewhere; they are written independently."""
    for other in TYPES:
        assert common_dtype(numpy_dtype(one), numpy_dtype(other)) == numpy_dtype(promote(one, other)), other
        scalar, array = np.zeros((), numpy_dtype(other)), np.zeros(1, numpy_dtype(one))
        expected = numpy_dtype(result_type([(one, 1), (other, 0)], 0.5))
        assert result_dtype(array, scalar, 0.5) == expected, other
