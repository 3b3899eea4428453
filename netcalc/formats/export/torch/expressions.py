"""Values of attributes and sizes as Python expressions."""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from netcalc.dims import Poly
from netcalc.dims.atoms import Atom, Call, CeilLog2, Symbol
from netcalc.dims.formulas import factors
from netcalc.dims.polynomial import as_dim
from netcalc.dims.reals import RealFormula, SymbolicReal


class _Any:
    """A value of a line that a call leaves out, which equals every value."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


#: The value of a line that a call leaves out.
ANY: Any = _Any()


class ModuleName(str):
    """The name of a class of modules, as the value of an argument."""


#: Function that returns the expression of a symbol by name.
Names = Callable[[str], str]


def identifier(text: str) -> str:
    """Return a text as a name of Python: other characters become underscores.

    >>> identifier("block1-0"), identifier("lambda"), identifier("2d")
    ('block1_0', 'lambda_', '_2d')
    """
    name = "".join(c if c.isalnum() or c == "_" else "_" for c in text) or "_"
    name = f"_{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or name in _BUILTINS else name


_BUILTINS = frozenset(
    {"input", "type", "max", "min", "sum", "range", "len", "self", "F", "nn", "torch", "math", "Tensor"}
)


def class_name(text: str) -> str:
    """Return a name of a block or of a line as the name of a class.

    >>> class_name("basic_block"), class_name("gpt2-medium"), class_name("0")
    ('BasicBlock', 'Gpt2Medium', 'Part0')
    """
    parts = "".join(c if c.isalnum() else " " for c in text).split()
    name = "".join(part[0].upper() + part[1:] for part in parts) or "Part"
    return name if name[0].isalpha() else f"Part{name}"


def numbered(name: str, number: int) -> str:
    """Return a name with a number behind it; with an underscore between them if the name ends with a digit.

    >>> numbered("BasicBlock", 2), numbered("InvertedResidualV3", 2)
    ('BasicBlock2', 'InvertedResidualV3_2')
    """
    return f"{name}_{number}" if name[-1:].isdigit() else f"{name}{number}"


def symbols_of(value: Any) -> Iterator[str]:
    """Yield the names of the symbols in a value."""
    if isinstance(value, (Poly, RealFormula)):
        yield from sorted(symbol.name for symbol in value.symbols())
    elif isinstance(value, SymbolicReal):
        yield from symbols_of(value.size)
    elif isinstance(value, tuple):
        for item in value:
            yield from symbols_of(item)


def literal(value: Any, names: Names = identifier) -> str:
    """Return a number, a text, a truth value, None or a size as an expression."""
    if isinstance(value, Poly):
        return size(value, names)
    if isinstance(value, SymbolicReal):
        return _real(value, names)
    if isinstance(value, float) and not math.isfinite(value):
        return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(literal(item, names) for item in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, ModuleName):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def _real(value: SymbolicReal, names: Names) -> str:
    """Return a real number that follows from sizes as an expression."""
    if not isinstance(value, RealFormula):
        inside = size(value.size, names)
        if value.ratio is None:
            return f"math.{value.function}({inside})"
        over, under = value.ratio
        return f"{over / under} * {inside if is_atomic(inside) else f'({inside})'}"
    parts = [literal(part, names) for part in value.parts]
    if value.function in ("+", "-", "*", "/", "**") and len(parts) == 2:
        first, second = (part if is_atomic(part) else f"({part})" for part in parts)
        if value.function == "**":
            simple = value.parts[1] if isinstance(value.parts[1], (int, float)) else None
            second = parts[1] if type(simple) in (int, float) else second
            return f"{first} ** {second}" if "(" in first + second else f"{first}**{second}"
        return f"{first} {value.function} {second}"
    if value.function == "float":
        return f"float({parts[0]})"
    return f"math.{value.function}({', '.join(parts)})"


def size(dim: Poly, names: Names) -> str:
    """Return a size as an expression, with the symbols as ``names`` gives them."""
    text = ""
    for monomial, coefficient in dim.monomials():
        part = _term(factors(monomial, abs(coefficient)), names)
        sign = "-" if coefficient < 0 else "+"
        if text:
            text = f"{text} {sign} {part}"
        elif coefficient < 0:
            text = f"-({part})" if "//" in part else f"-{part}"
        else:
            text = part
    return text


def _term(term: Any, names: Names) -> str:
    number, powers = term
    parts: list[str] = [] if number == 1 and powers else [str(number)]
    for atom, power in powers:
        base = _atom(atom, names)
        if power > 1 and "//" in base:
            base = f"({base})"
        if power == 1 and " // " in base and parts:
            base = f"({base})"
        hugs = base.replace("_", "a").replace(".", "a").isalnum()
        parts.append(base if power == 1 else f"{base}**{power}" if hugs else f"{base} ** {power}")
    return " * ".join(parts)


def _atom(atom: Atom, names: Names) -> str:
    if isinstance(atom, Symbol):
        name = names(atom.name)
        return name if atom.multiple == 1 else f"{name} // {atom.multiple}"
    if isinstance(atom, CeilLog2):
        return f"({size(_poly(atom.size), names)} - 1).bit_length()"
    if not isinstance(atom, Call):
        raise ValueError(f"{atom} has no form as an expression")
    operands = [literal(as_dim(operand), names) for operand in atom.operands]
    if atom.function == "//":
        left, right = (part if is_atomic(part) else f"({part})" for part in operands)
        return f"{left} // {right}"
    return f"{atom.function}({', '.join(operands)})"


def _poly(operand: Any) -> Poly:
    dim = as_dim(operand)
    assert isinstance(dim, Poly)
    return dim


@lru_cache(maxsize=100_000)
def is_atomic(text: str) -> bool:
    """Return True for an expression that may stand before a dot or beside an operator without parentheses."""
    if text.replace("_", "a").replace(".", "a").isalnum():
        return True
    tree = ast.parse(text, mode="eval").body
    return (
        isinstance(tree, (ast.Call, ast.Attribute, ast.Subscript, ast.Name, ast.List))
        or (isinstance(tree, ast.Constant) and not text.startswith("-"))
        or (isinstance(tree, ast.Tuple) and text.startswith("("))
    )


def annotation(values: list[Any]) -> str:
    """Return the type of an argument that has these values."""
    kinds = {_kind(value) for value in values}
    if kinds == {"int", "float"}:
        kinds = {"float"}
    if kinds == {"int", "float", "None"}:
        kinds = {"float", "None"}
    return " | ".join(sorted(kinds - {"None"}) + (["None"] if "None" in kinds else []))


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, ModuleName):
        return "type[nn.Module]"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, Poly)):
        return "int"
    if isinstance(value, float):
        return "float"
    if isinstance(value, (tuple, list)):
        kinds = [_kind(item) for item in value]
        return f"tuple[{', '.join(kinds)}]" if len(kinds) <= 3 else f"tuple[{kinds[0]}, ...]"
    return type(value).__name__
