"""Layout of exported code against ``ruff format``, on drawn statements, and on some that were laid out wrongly."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from collections.abc import Callable

import pytest

from netcalc.formats.export.torch.layout import laid_out

_NAMES = ("x", "hidden", "query_states", "word_embeddings_layernorm", "relative_position_bias")
_OPERATORS = ("+", "-", "*", "/", "//", "@", "==", ">=", "and", "or", "&", "|")


class _Drawn:
    """Source of statements such as the writer makes: a depth limits how far expressions are nested."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def statement(self) -> str:
        value = self.expression(4)
        names = [f"{name}{place}" for place, name in enumerate(self._some(self.name, 3))]
        return self._random.choice((f"{', '.join(names)} = {value}", f"return {value}", f"self.layer = {value}"))

    def expression(self, depth: int) -> str:
        makers: tuple[Callable[[int], str], ...] = (self._call, self._sum, self._chain, self._display, self._choice)
        return self._random.choice(makers)(depth - 1) if depth else self._atom()

    def name(self, _: int = 0) -> str:
        return self._random.choice(_NAMES)

    def _atom(self) -> str:
        return self._random.choice((self.name(), "12", "1e-05", f"self.{self.name()}", f"{self.name()}.shape[1]"))

    def _some(self, make: Callable[[int], str], most: int, depth: int = 0) -> list[str]:
        return [make(depth) for _ in range(self._random.randint(1, most))]

    def _call(self, depth: int) -> str:
        arguments = self._some(self.expression, 4, depth)
        if self._random.random() < 0.3:
            arguments.append(f"scale={self.expression(depth)}")
        return f"{self._random.choice(('F.pad', 'torch.cat', 'rotated'))}({', '.join(arguments)})"

    def _sum(self, depth: int) -> str:
        operator = self._random.choice(_OPERATORS)
        terms = [f"({part})" if " " in part else part for part in self._some(self.expression, 3, depth)]
        return f" {operator} ".join(terms)

    def _chain(self, depth: int) -> str:
        links = "".join(f".{self._random.choice(('to', 'flatten'))}({self.expression(depth)})" for _ in range(3))
        return f"{self.name()}{links}" if self._random.random() < 0.5 else f"self.{self.name()}({self.name()}){links}"

    def _display(self, depth: int) -> str:
        items = [*self._some(self.expression, 3, depth), self.name()]
        kind = self._random.choice(("[]", "()", "{}", "*"))
        if kind == "{}":
            return "{" + ", ".join(f'"{place}": {item}' for place, item in enumerate(items)) + "}"
        if kind == "*":
            return f"nn.ModuleList({items[0]} for _ in range({self.name()}))"
        return f"{kind[0]}{', '.join(items)}{kind[1]}"

    def _choice(self, depth: int) -> str:
        return f"f({self._atom()} if {self.name()} else {self._atom()}, {self.expression(depth)})"


@pytest.mark.parametrize("indent", [4, 8])
def test_drawn_statements(indent: int) -> None:
    """The layout is a fixed point of ruff: what is laid out stays as it is."""
    drawn = _Drawn(indent)
    statements = [drawn.statement() for _ in range(300)]
    margin = "\n".join(f"{' ' * place}if x:" for place in range(0, indent, 4))
    ours = [f"{margin}\n" + "\n".join(laid_out(text, indent)) for text in statements]
    code = "\nMARK\n".join(ours) + "\n"
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "-"]
    ran = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
    if "No module named ruff" in ran.stderr:
        pytest.skip("ruff is not installed")
    assert ran.returncode == 0, ran.stderr
    theirs = ran.stdout.removesuffix("\n").split("\nMARK\n")
    different = [(its, other) for its, other in zip(ours, theirs, strict=True) if its != other]
    assert not different, "\n\n".join(different[0])


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        ("x = f(a)", ["x = f(a)"]),
        (
            f"x = f({'a' * 40}, {'b' * 40})",
            ["x = f(", f"    {'a' * 40}, {'b' * 40}", ")"],
        ),
        (
            f"x = f({'a' * 40}, {'b' * 40}, {'c' * 40})",
            ["x = f(", *(f"    {letter * 40}," for letter in "abc"), ")"],
        ),
        (
            f"x = f({'a' * 40}, {'b' * 40}).to(y)",
            ["x = f(", f"    {'a' * 40}, {'b' * 40}", ").to(y)"],
        ),
        (
            f"x = self.{'a' * 40}(x).flatten(1).{'b' * 40}(y)",
            ["x = (", f"    self.{'a' * 40}(x)", "    .flatten(1)", f"    .{'b' * 40}(y)", ")"],
        ),
        (
            f"{'a' * 40}, {'b' * 40} = f(x)",
            [f"{'a' * 40}, {'b' * 40} = f(", "    x", ")"],
        ),
        (
            f"{'a' * 50}, {'b' * 50} = f(x)",
            ["(", f"    {'a' * 50},", f"    {'b' * 50},", ") = f(x)"],
        ),
        (
            f"x = [{'a' * 50}({'b' * 50})]",
            ["x = [", f"    {'a' * 50}(", f"        {'b' * 50}", "    )", "]"],
        ),
        (
            f"x = ({'a' * 50} + {'b' * 50}) * c",
            ["x = (", f"    {'a' * 50}", f"    + {'b' * 50}", ") * c"],
        ),
        ("x = y[a+1:,::2]", ["x = y[a + 1 :, ::2]"]),
        ("x = a**b + (a+1)**b", ["x = a**b + (a + 1) ** b"]),
    ],
)
def test_long_lines(statement: str, lines: list[str]) -> None:
    assert laid_out(statement, 0) == lines


def test_results_of_a_function() -> None:
    results = ", ".join(["Tensor"] * 12)
    lines = laid_out(f"def forward(self, x: Tensor) -> tuple[{results}]:", 4)
    assert lines[:3] == ["    def forward(", "        self, x: Tensor", "    ) -> tuple["]
    assert lines[-1] == "    ]:"


def test_a_long_quotient_stays_a_number() -> None:
    quotient = f"({'a' * 50} - {'b' * 50}) // 2"
    text = "\n".join(laid_out(f"x = f({quotient}, ({'c' * 90}))", 0))
    arguments = ast.parse(text).body[0].value.args  # type: ignore[attr-defined]
    assert [type(argument).__name__ for argument in arguments] == ["BinOp", "Name"]
