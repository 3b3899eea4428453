"""Expression language: values against Python, limits, errors and printing."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netcalc.dims import Poly, symbol
from netcalc.expressions import FUNCTIONS, ExpressionError, parse
from netcalc.limits import MAX_EXPRESSION
from netcalc.tensor_type import TensorType

NAMES = ("a", "b", "c")
scopes = st.fixed_dictionaries({name: st.integers(-9, 9) for name in NAMES})
numbers = st.sampled_from(NAMES) | st.integers(0, 9).map(str) | st.floats(0, 9, allow_subnormal=False).map(repr)
whole = st.sampled_from(NAMES) | st.integers(0, 9).map(str)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Combine expressions with and without parentheses, so that precedence matters."""
    operators = ["+", "-", "*", "//", "%", "/", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
    return st.one_of(
        st.builds("{} {} {}".format, inner, st.sampled_from(operators), inner),
        # no towers of powers, which Python would take years over
        st.builds("{} ** {}".format, st.sampled_from(NAMES), st.sampled_from(["2", "0", "-1", "-b", "c"])),
        st.builds("({}) ** {}".format, inner, st.sampled_from(["2", "0", "-1"])),
        st.builds("-{}".format, inner),
        st.builds("+{}".format, inner),
        st.builds("not {}".format, inner),
        st.builds("({})".format, inner),
        st.builds("{} if {} else {}".format, inner, inner, inner),
        st.builds("[{}, {}, {}][{}]".format, inner, inner, inner, st.sampled_from(["0", "-1", "1 + 1"])),
        st.builds("{} in [{}, {}]".format, inner, inner, inner),
        st.builds("{} not in [{}, {}]".format, inner, inner, inner),
        st.builds("min({}, {})".format, inner, inner),
        st.builds("max([{}, {}])".format, inner, inner),
        st.builds("sum([{}, {}])".format, inner, inner),
        st.builds("abs({})".format, inner),
        st.builds("len([{}, {}])".format, inner, inner),
    )


texts = st.recursive(numbers, combined, max_leaves=8)


@settings(max_examples=1000)
@given(texts, scopes)
def test_evaluates_as_python(text: str, scope: dict[str, int]) -> None:
    try:
        wanted = eval(text, {"__builtins__": {"min": min, "max": max, "sum": sum, "abs": abs, "len": len}}, scope)
    except (ArithmeticError, TypeError, SyntaxError):
        wanted = None
    if isinstance(wanted, complex):
        wanted = None
    try:
        actual = parse(text).evaluate(scope)
    except ExpressionError as error:
        # stricter than Python: truth values are no numbers, and numbers are bounded
        assert wanted is None or "is not a number" in error.message or "over 4,096 bits" in error.message
        return
    assert wanted is not None, f"Python refuses {text}"
    assert actual == wanted or (math.isnan(actual) and math.isnan(wanted))
    assert type(actual) is type(wanted)


#: Without floats, for which ⌊x/y⌋ and x // y differ now and then.
whole_texts = st.recursive(whole, combined, max_leaves=8).filter(lambda text: not re.search(r" / |\*\* [^02]", text))


@given(whole_texts, scopes)
def test_prints_what_it_means(text: str, scope: dict[str, int]) -> None:
    try:
        value = parse(text).evaluate(scope)
    except ExpressionError:
        assume(False)
    for printed in (parse(text).pretty(), parse(text).pretty(scope)):
        back = printed.replace("⌊", "floor(").replace("⌋", ")").replace("·", "*").replace("−", "-")
        back = back.replace(" mod ", " % ").replace("≤", "<=").replace("≥", ">=").replace("≠", "!=")
        back = re.sub(r"(?<=\d),(?=\d)", "", back.replace(" = ", " == "))
        assume(not re.search(r"\d{100}", back))
        again = parse(back).evaluate(scope)
        assert again == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-2 ** 2", -4),
        ("(-2) ** 2", 4),
        ("2 ** 3 ** 2", 512),
        ("2 ** -1", 0.5),
        ("-2 ** -1", -0.5),
        ("- -3", 3),
        ("7 - 4 - 2", 1),
        ("2 * 3 % 4", 2),
        ("-7 // 2", -4),
        ("1 + 2 * 3 == 7 and not 1 > 2", True),
        ("not 1 == 2", True),
        ("1 < 2 < 3", True),
        ("0 <= 0 and 5", 5),
        ("1 < 0 or 5 in [5]", True),
        ("3 > 2 > 1", True),
        ("3 > 2 == 2", True),
        ("(3 > 2) == true", True),
        ("1 if 0 else 2 if 0 else 3", 3),
        ("0 or 5", 5),
        ("0 and missing", 0),
        ("1 or missing", 1),
        ("3 if true else missing", 3),
        ("[1, 2, 3,][1]", 2),
        ("[[1, 2], [3]][0][-1]", 2),
        ("[1, 2, 3][1:]", [2, 3]),
        ("[1, 2, 3][:-1]", [1, 2]),
        ("[1, 2, 3][1:2]", [2]),
        ("[1, 2, 3][:]", [1, 2, 3]),
        ("[[1, 2, 3]][0][5:]", []),
        ("[1] + [2] * 2", [1, 2, 2]),
        ("[]", []),
        ("'same' == \"same\"", True),
        ("'a' + 'b'", "ab"),
        ("'in' in ['in', 'out']", True),
        ("1_000 + 1e3", 2000.0),
        ("null == None", True),
        ("round(2.5) + floor(2.7) + ceil(2.1) + int(2.9)", 9),
        ("round(3.14159, 2)", 3.14),
        ("ceil_div(7, 2)", 4),
        ("ceil_log2(9)", 4),
        ("prod([2, 3, 4])", 24),
        ("prod([])", 1),
        ("range(2, 8, 3)", [2, 5]),
        ("sorted([3, 1, 2.5])", [1, 2.5, 3]),
        ("sqrt(16) + log2(8) + exp(0) + log(1)", 8.0),
        ("str(3) + 'x'", "3x"),
        ("float('1.5')", 1.5),
        # table of the normal distribution
        (
            "[round(normal_quantile(0.95), 4), normal_quantile(0.5), round(normal_quantile(0.025), 4)]",
            [1.6449, 0.0, -1.96],
        ),
        # torchvision.models._utils._make_divisible
        ("[make_divisible(33.6), make_divisible(10), make_divisible(3, 8)]", [32, 16, 8]),
        ("pi", math.pi),
    ],
)
def test_values(text: str, value: Any) -> None:
    assert parse(text).evaluate({}) == value


X = TensorType((8, 64, 56, 28))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("in.channels", 64),
        ("in.channels in [64, 128]", True),
        ("in.channels not in [64, 128]", False),
        ("3 in in.shape", False),
        ("not in.rank == 4", False),
        ("in.height // 2 + in.width", 56),
        ("in.shape[-1]", 28),
        ("in.batch * in.elements // in.elements", 8),
        ("in.dtype == 'float32'", True),
        ("len(in.shape) == in.rank", True),
        ("prod(in.shape) == in.elements", True),
    ],
)
def test_attributes_of_tensors(text: str, value: Any) -> None:
    assert parse(text).evaluate({"in": X}) == value
    assert parse(text).names() == {"in"}


def test_names() -> None:
    assert parse("[a, b[c]] if min(d, 1) else in.channels").names() == {"a", "b", "c", "d", "in"}
    assert parse("pi + 1").names() == frozenset()


def test_symbolic_sizes() -> None:
    h, w = symbol("h", default=224), symbol("w", default=7)
    scope = {"h": h, "w": w}
    assert parse("(h + 2*3 - 7)//2 + 1").evaluate(scope) == (h + 1) // 2
    assert str(parse("min(h, w) + max([h, 1])").evaluate(scope)) == "h + min(h, w)"
    assert parse("int(h) + floor(h) + ceil(h) + round(h) - 3 * abs(h)").evaluate(scope) == h
    assert parse("h if h > w else w").evaluate(scope) == h
    assert parse("-h + h").evaluate(scope) == 0
    assert parse("h ** 2 // h % h").evaluate(scope) == 0


#: Each with its code and the column, from 0, that the error points at.
ERRORS = [
    ("", "E201", 0, "expected a value, found the end"),
    ("1 +", "E201", 3, "found the end"),
    ("1 2", "E201", 2, "unexpected '2'"),
    ("(1", "E201", 2, "expected ')', found the end"),
    ("[1, 2", "E201", 5, "expected ',', found the end"),
    ("[1 2]", "E201", 3, "expected ',', found '2'"),
    ("a ! b", "E201", 2, "unexpected '!'"),
    ("a = 1", "E201", 2, "unexpected '='"),
    ("a.", "E201", 2, "expected a name after '.'"),
    ("1 if 2", "E201", 6, "expected 'else'"),
    ("a if b else", "E201", 11, "found the end"),
    ("'open", "E201", 0, 'unexpected "\'"'),
    ("1_", "E201", 1, "unexpected '_'"),
    ("2x", "E201", 1, "unexpected 'x'"),
    ("x²", "E201", 1, "unexpected '²'"),
    ("else", "E201", 0, "expected a value, found 'else'"),
    ("1 + not 2", "E201", 4, "'not' wants parentheses here"),
    ("lambda: 1", "E201", 6, "unexpected ':'"),
    ("a: 2", "E201", 1, "unexpected ':'"),
    ("{1: 2}", "E201", 0, "unexpected '{'"),
    ("9" * 101, "E201", 0, "over 100 digits"),
    ("1" * (MAX_EXPRESSION + 1), "E201", 0, "longer than 2,000 characters"),
    ("1 + missing", "E202", 4, "unknown name 'missing'"),
    ("2 * eval(1)", "E202", 4, "unknown function 'eval'"),
    ("1 + x.color", "E202", 5, "no attribute 'color'; there are shape"),
    ("x.__class__", "E202", 1, "no attribute '__class__'"),
    ("[1].append", "E203", 3, "[1] has no attribute 'append'"),
    ("3 + 1 // 0", "E203", 6, "division by zero"),
    ("1 % 0", "E203", 2, "division by zero"),
    ("0 ** -1", "E203", 2, "division by zero"),
    ("int('9' * 5000)", "E203", 0, "a number of over 4,096 bits"),
    ("1 + 'a'", "E203", 2, "'+' does not take these"),
    ("-'a'", "E203", 0, "'-' does not take these"),
    ("'%d' % 3", "E203", 5, "'%' does not take these: a text is not a number"),
    ("1 < 'a'", "E203", 2, "'<' does not take these"),
    ("1 in 2", "E203", 2, "'in' does not take these"),
    ("true + 1", "E203", 5, "true is not a number"),
    ("-false", "E203", 0, "false is not a number"),
    ("null * 2", "E203", 5, "null is not a number"),
    ("[1][1]", "E203", 3, "past the end"),
    ("[1][0.5]", "E203", 3, "list indices"),
    ("[1][:0.5]", "E203", 3, "slice indices"),
    ("[1][0:1:2]", "E201", 7, "expected ']'"),
    ("[1][]", "E201", 4, "expected a value"),
    ("sqrt(0 - 1)", "E203", 0, "sqrt: "),
    ("(0 - 8) ** 0.5", "E203", 8, "-8 has no real power 0.5"),
    ("exp(1000)", "E203", 0, "too large"),
    ("int('x')", "E203", 0, "int: invalid literal"),
    ("min([])", "E203", 0, "min: nothing to compare"),
    ("len()", "E203", 0, "len: "),
    ("10 ** 400 / 3", "E203", 10, "too large"),
    ("h / 2", "E203", 2, "h is a symbolic size, which takes whole numbers and //"),
    ("h * 0.5", "E203", 2, "h is a symbolic size"),
    ("sqrt(h)", "E404", 0, "h is symbolic"),
    ("range(h)", "E404", 0, "h is symbolic"),
    ("[1, 2][h]", "E404", 6, "h is symbolic"),
    ("1 if h > 3 else 2", "E404", 7, "'h' is not known"),
    ("h ** 99", "E404", 2, "powers up to 16"),
]


@pytest.mark.parametrize(("text", "code", "column", "message"), ERRORS)
def test_errors_have_a_code_and_a_column(text: str, code: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text).evaluate({"x": X, "h": symbol("h")})
    assert message in caught.value.message
    assert (caught.value.code, caught.value.column) == (code, column)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("chanels + 1").evaluate({"channels": 3})
    assert caught.value.name == "chanels"


@pytest.mark.parametrize("text", ["(" * 60 + "1" + ")" * 60, "-" * 200 + "1", "[" * 200, "1 if 1 else " * 120 + "1"])
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises(ExpressionError, match="nested deeper than 100"):
        parse(text)


@pytest.mark.parametrize("tail", ["+1", "*1", ".a", "[0]", " and 1", "<1"])
def test_length_of_chains_is_bounded(tail: str) -> None:
    assert parse("a" + tail * 40).names() == {"a"}
    with pytest.raises(ExpressionError, match="nested deeper than 100"):
        parse("a" + tail * 200)


@pytest.mark.parametrize(
    "text",
    [
        "2 ** 5000",
        "(2 ** 4000) * (2 ** 4000)",
        "prod([2 ** 4000, 2 ** 4000])",
        "9 ** 9 ** 9 ** 9",
        "10 ** 100 ** 100",
    ],
)
def test_numbers_are_bounded(text: str) -> None:
    with pytest.raises(ExpressionError, match="over 4,096 bits"):
        parse(text).evaluate({})


def test_small_bases_take_any_power() -> None:
    assert parse("(-1) ** 1000001").evaluate({}) == -1
    assert parse("2 ** 4095").evaluate({}) == 2**4095


@pytest.mark.parametrize(
    "text",
    [
        "[1] * 100000000000",
        "100000000000 * 'ab'",
        "[[1] * 5000] * 3",
        "[[1] * 5000, [1] * 5000]",
        "[1] * 9000 + [1] * 9000",
        "prod(['a' * 5000, 10000, 10000])",
        "range(10 ** 9)",
    ],
)
def test_lists_and_texts_are_bounded(text: str) -> None:
    with pytest.raises(ExpressionError, match="10,000"):
        parse(text).evaluate({})


@pytest.mark.parametrize("text", ["round(1, -1000000000)", "str([[1], [2]])", "range(10 ** 30)"])
def test_functions_do_bounded_work(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text).evaluate({})
    assert caught.value.code == "E203"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_fail_with_a_reason_only(name: str) -> None:
    for arguments in (
        "",
        "0",
        "-1",
        "1.5",
        "'a'",
        "[]",
        "[1, 'a']",
        "null",
        "true",
        "h",
        "[h, 2]",
        "x",
        "1, 0",
        "h, 0",
    ):
        try:
            parse(f"{name}({arguments})").evaluate({"h": symbol("h", 3), "x": X})
        except ExpressionError as error:
            assert error.message


@settings(max_examples=300)
@given(st.text(alphabet=st.sampled_from("ab01 .,+-*/%<>=!()[]'\"_einotrfs"), max_size=30))
def test_any_text_is_parsed_or_an_error(text: str) -> None:
    try:
        parse(text).evaluate({"a": 2, "b": [1, 2], "s": symbol("s")})
    except ExpressionError as error:
        assert 0 <= error.column <= len(text)


H = {"H": 224, "p": 3, "k": 7, "s": 2}


@pytest.mark.parametrize(
    ("text", "bindings", "printed"),
    [
        ("(H + 2*p - k)//s + 1", {}, "⌊(H + 2·p − k)/s⌋ + 1"),
        ("(H + 2*p - k)//s + 1", H, "⌊(224 + 2·3 − 7)/2⌋ + 1"),
        ("(H + 2*p - d*(k - 1) - 1)//s + 1", {**H, "d": 2}, "⌊(224 + 2·3 − 2·(7 − 1) − 1)/2⌋ + 1"),
        ("(H - 1)*s - 2*p + d*(k - 1) + op + 1", {}, "(H − 1)·s − 2·p + d·(k − 1) + op + 1"),
        ("H + p0 + p1", {"H": 5, "p0": -1, "p1": -2}, "5 + (−1) + (−2)"),
        ("p*s - p", {"p": -1, "s": 3}, "−1·3 − (−1)"),
        ("-p**2", {"p": -3}, "−(−3)**2"),
        ("(-p)**2", {}, "(−p)**2"),
        ("a//b//c", {}, "⌊⌊a/b⌋/c⌋"),
        ("a//(b*c)", {}, "⌊a/(b·c)⌋"),
        ("ceil_div(L + 1, w)*w", {}, "⌈(L + 1)/w⌉·w"),
        ("a - (b - c)", {}, "a − (b − c)"),
        ("a - b - c", {}, "a − b − c"),
        ("(a % b)*c", {}, "(a mod b)·c"),
        ("(a**b)**c", {}, "(a**b)**c"),
        ("a**b**c", {}, "a**b**c"),
        ("2 if index == 0 else 1", {}, "2 if index = 0 else 1"),
        ("(2 if i else 1)*c", {}, "(2 if i else 1)·c"),
        ("not (a or b) and c != 1", {}, "not (a or b) and c ≠ 1"),
        ("min(a, b*c)", {"a": 1}, "min(1, b·c)"),
        ("[a, -1]", {}, "[a, −1]"),
        ("in.channels//2", {}, "⌊in.channels/2⌋"),
        ("in.channels//2", {"in": X}, "⌊64/2⌋"),
        ("s[1]*2", {"s": [3, 4]}, "4·2"),
        ("sum(s[:n + 1])", {}, "sum(s[:n + 1])"),
        ("sum(s[n:])", {"s": [3, 4]}, "sum([3, 4][n:])"),
        ("mode == 'same'", {"mode": "full"}, '"full" = "same"'),
        ("n", {"n": 1234567}, "1,234,567"),
        ("n", {"n": -1234567}, "−1,234,567"),
        ("x", {"x": True}, "true"),
        ("x", {"x": None}, "null"),
        ("x", {"x": [1, None, -2]}, "[1, null, −2]"),
        ("2*h + 1", {"h": symbol("a") + 1}, "2·(a + 1) + 1"),
        ("h//2", {"h": (symbol("a") * 3 - 1) // 4 + 1}, "⌊⌊(3·a + 3)/4⌋/2⌋"),
        ("2*n", {"n": 3 * symbol("a")}, "2·(3·a)"),
    ],
)
def test_printing(text: str, bindings: dict[str, Any], printed: str) -> None:
    assert parse(text).pretty(bindings) == printed


def test_a_symbolic_size_too_long_to_parse_is_printed_as_it_is() -> None:
    total = sum((symbol(f"n{i}") for i in range(300)), start=symbol("n"))
    assert isinstance(total, Poly)
    assert parse("2*n").pretty({"n": total}) == f"2·({total})"
