"""Expressions that are malformed, escape from their language, or ask for large numbers, texts and lists."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.case import Case

#: An expression by the code that it ends with; each is the width of a linear layer.
EXPRESSIONS: dict[str, list[str]] = {
    "E201": [
        "().__class__",
        "os.system('ls')",
        "4 +",
        "",
        "(((",
        "1 if 2",
        "[1, 2",
        "lambda: 1",
        "x := 3",
        "[i for i in range(9)]",
        "1; 2",
        "import os",
        "a.b.c(",
        "'open",
        "1 2",
        "{1: 2}",
        "not",
        "~1",
        "1 << 100",
        "$",
        "\\x",
        "(" * 500 + "1" + ")" * 500,
        "-" * 900 + "1",
        "1 + " * 450 + "1 +",
        "1" + " + 1" * 3000,
        "[" * 300 + "]" * 300,
        "0x",
        "1e",
        "é +",
        "a ? b : c",
        "1 = 1",
        "`ls`",
        "min(1,,2)",
        "1..2",
        "@",
    ],
    "E202": [
        "f(*a)",
        "nothing",
        "__import__('os')",
        "eval('1')",
        "open('/etc/passwd')",
        "exec",
        "getattr(in, 'shape')",
        "globals()",
        "type(1)",
        "in.__class__",
        "format",
        "self",
        "value",
    ],
    "E203": [
        "in.features.real",
        "in.shape.__len__",
        "4 // 0",
        "4 / 0",
        "4 % 0",
        "0 ** -1",
        "9 ** 9 ** 9",
        "2 ** 100000",
        "(2 ** 4000) * (2 ** 4000)",
        "10 ** 10 ** 10",
        "exp(100000)",
        "log(0)",
        "log(-1)",
        "sqrt(-1)",
        "range(10 ** 9)",
        "range(0, 5, 0)",
        "[0] * 10 ** 9",
        "'a' * 10 ** 9",
        "sum(range(10 ** 12))",
        "int('x')",
        "float('x')",
        "int(1e400)",
        "int(1e308 * 10 - 1e308 * 10)",
        "[1, 2][5]",
        "[1][2 ** 70]",
        "min([])",
        "len(5)",
        "1 + 'a'",
        "-'a'",
        "[] < 1",
        "sum(['a'])",
        "prod([2 ** 4000, 2 ** 4000])",
        "round(1e308) ** 9",
        "ceil(1e308 * 10)",
        "make_divisible(1, 0)",
        "normal_quantile(1)",
        "normal_quantile('x')",
        "normal_quantile([1])",
        "sorted(1)",
        "sorted(['a', 1])",
        "str(2 ** 4000) * 1000",
        "[[0] * 9999] * 9999",
        "int('9' * 5000)",
        "1e308 ** 2",
        "(-8) ** 0.5",
        "ceil_div(1, 0)",
    ],
    "E104": [
        "1.5",
        "'a'",
        "[1]",
        "0",
        "-3",
        "1 == 1",
        "1e400",
        "1e400 - 1e400",
        "in",
        "in.shape",
        "[]",
        "''",
    ],
}


def _doubling(steps: int, first: str, step: str) -> str:
    lines = [f"v0: {first}", *(f"v{i}: {step.format(f'v{i - 1}')}" for i in range(1, steps))]
    return (
        "netcalc: 1\nvars:\n  "
        + "\n  ".join(lines)
        + f"\ninputs: {{x: [1, 8]}}\nlayers: [{{linear: '${{len(v{steps - 1})}}'}}]\n"
    )


#: Specs whose variables grow by each line, by code and name.
GROWING: dict[str, dict[str, str]] = {
    "E401": {
        "concat": "netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{repeat: 5000, concat: {axis: 1, a: [], b: []}}]\n",
    },
    "E203": {
        "text": _doubling(32, "abcdefgh", '"${{{0}}}${{{0}}}"'),
        "text-sum": _doubling(32, "abcdefgh", '"${{{0} + {0}}}"'),
        "list": _doubling(32, "[1, 2, 3]", '"${{{0} + {0}}}"'),
        "nested-list": _doubling(32, "[1, 2, 3]", '"${{[{0}, {0}]}}"'),
        "square": _doubling(32, "3", '"${{{0} * {0}}}"'),
        "str-list": _doubling(32, "[1, 2, 3]", '"${{str([{0}, {0}])}}"'),
    },
}

#: Texts at other places that hold expressions.
PLACES: dict[str, dict[str, str]] = {
    "when": {"E201": "1 +", "E202": "nothing", "E203": "1 // 0"},
    "repeat": {"E201": "1 +", "E202": "nothing", "E203": "1 // 0", "E104": "[1]"},
    "share": {"E201": "1 +", "E202": "nothing"},
    "freeze": {"E201": "1 +", "E202": "nothing"},
}


def cases() -> Iterator[Case]:
    """Yield a case for each expression."""
    for code, expressions in EXPRESSIONS.items():
        for index, expression in enumerate(expressions):
            text = (
                "netcalc: 1\ninputs: {x: [1, 8]}\nlayers:\n  - linear: {out: '${"
                + expression.replace("'", "''")
                + "}'}\n"
            )
            yield Case(f"expression/{code}/{index}", ("shapes", "spec.yaml"), code, {"spec.yaml": text})
    for code, texts in GROWING.items():
        for name, text in texts.items():
            yield Case(f"growing/{name}", ("shapes", "spec.yaml"), code, {"spec.yaml": text})
    for key, expected in PLACES.items():
        for code, expression in expected.items():
            repeat = ", repeat: 2" if key == "share" else ""
            text = f"netcalc: 1\ninputs: {{x: [1, 8]}}\nlayers: [{{{key}: '{expression}'{repeat}, linear: 8}}]\n"
            yield Case(f"expression/{key}/{code}", ("shapes", "spec.yaml"), code, {"spec.yaml": text})
