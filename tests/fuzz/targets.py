"""Fuzz targets: functions of bytes, out of which nothing may come but the errors for bad input.

Each decodes its bytes as a kind of input and reads it as the commands do.  They run without atheris too: a test feeds
them the corpus.
"""

from __future__ import annotations

import ast
import contextlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.expressions import ExpressionError, parse
from netcalc.spec.library import load_data, load_text
from netcalc.spec.shipped import specs_dir
from netcalc.weights.checkpoint_files import open_weights
from tests.fuzz.exercise import exercise, refused
from tests.fuzz.grammar import ByteSource, document

__all__ = ["TARGETS"]


def yaml(data: bytes) -> None:
    """Read the bytes as the text of a spec, and exercise it."""
    text = data.decode("utf-8", "surrogateescape")
    exercise(lambda: load_text(text, "spec.yaml", specs_dir()), Random(len(data)))


def expression(data: bytes) -> None:
    """Parse, print and evaluate the bytes as an expression, and compare the value with that in Python."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        parsed = parse(text)
        parsed.names()
        parsed.pretty()
        value = parsed.evaluate(SCOPE)
    except ExpressionError as error:
        assert error.code.startswith("E") and error.message
        return
    expected = _in_python(text)
    if expected is not None:
        assert value == expected[0] and type(value) is type(expected[0]), f"{value!r}, in Python {expected[0]!r}"


def elaboration(data: bytes) -> None:
    """Read the bytes as choices of a grammar of specs, and exercise the spec."""
    spec = document(ByteSource(data))
    exercise(lambda: load_data(spec), Random(len(data)))


def tensors(data: bytes) -> None:
    """Read the bytes after the first as a file of tensors, whose format the first byte gives."""
    suffix = SUFFIXES[data[0] % len(SUFFIXES)] if data else SUFFIXES[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(data[1:])
        try:
            opened = open_weights([path])
            for name, header in list(opened.headers.items())[:20]:
                with contextlib.suppress(NetcalcError):
                    array = opened.load(name)
                    assert array.shape == header.shape
        except NetcalcError as error:
            refused(error)


#: The targets by name.
TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "yaml": yaml,
    "expression": expression,
    "elaboration": elaboration,
    "tensors": tensors,
}

SUFFIXES = (".safetensors", ".npz", ".npy", ".safetensors.index.json")
SCOPE: dict[str, Any] = {"a": 3, "b": -7, "c": 0, "x": [4, 5, 6], "index": 2}

#: Parts of Python whose meaning is that of expressions, on whole numbers of moderate size.
_SAME = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp),
    *(ast.List, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.UAdd, ast.USub, ast.Not, ast.And, ast.Or),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Subscript),
)


def _in_python(text: str) -> tuple[Any] | None:
    """Return the value of an expression in Python, or None if its meaning may differ there."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if not isinstance(node, _SAME):
            return None
        if isinstance(node, ast.Constant) and type(node.value) not in (int, bool):
            return None
        if isinstance(node, ast.Name) and node.id not in SCOPE:
            return None
    try:
        return (eval(compile(tree, "<expression>", "eval"), {"__builtins__": {}}, dict(SCOPE)),)
    except Exception as error:
        raise AssertionError(f"a value, and in Python {type(error).__name__}") from error
