"""Symbolic sizes against integers."""

from __future__ import annotations

import functools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netcalc.dims import (
    Dim,
    Poly,
    UndecidedError,
    assumptions,
    bounds_of,
    ceil_div,
    ceil_log2,
    exact_div,
    maximum,
    minimum,
    product,
    symbol,
    value_at,
)
from netcalc.dims.bounds import bounds_of_terms, is_at_least
from netcalc.dims.extremes import reduced
from netcalc.dims.settled import joined
from netcalc.dims.terms import terms_of

NAMES = ("a", "b", "c")
BINARY = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "min": minimum,
    "max": maximum,
}

sizes = st.fixed_dictionaries({name: st.integers(1, 40) for name in NAMES})
formulas = st.recursive(
    st.sampled_from(NAMES) | st.integers(-6, 9),
    lambda inner: st.tuples(st.sampled_from(list(BINARY)), inner, inner) | st.tuples(st.just("**"), inner),
    max_leaves=7,
)

#: Sums of a name, its quotients, and minima and maxima, with coefficients.
parts = st.sampled_from(NAMES) | st.tuples(st.just("//"), st.sampled_from(NAMES), st.integers(2, 5))
parts = parts | st.tuples(st.sampled_from(["min", "max"]), parts, parts)
sums = st.lists(st.tuples(st.just("*"), st.integers(-4, 4), parts), min_size=2, max_size=4).map(
    lambda terms: functools.reduce(lambda left, right: ("+", left, right), terms)
)


def build(formula: object, values: dict[str, Dim]) -> Dim:
    """Evaluate the formula with ordinary operators on the values of its names."""
    match formula:
        case str():
            return values[formula]
        case int():
            return formula
        case ("**", inner):
            return build(inner, values) ** 2
        case (op, left, right):
            return BINARY[op](build(left, values), build(right, values))
    raise AssertionError(formula)


def symbols(**defaults: int) -> dict[str, Dim]:
    return {name: symbol(name, defaults.get(name)) for name in NAMES}


def integer(formula: object, values: dict[str, int]) -> int:
    """Evaluate the formula in integers; formulas that divide by zero are discarded."""
    try:
        return build(formula, values)  # type: ignore[return-value]
    except ZeroDivisionError:
        assume(False)
        raise


def symbolic(formula: object, **defaults: int) -> Dim:
    try:
        return build(formula, symbols(**defaults))
    except ZeroDivisionError:
        assume(False)
        raise


def value(dim: Dim, at: dict[str, int]) -> int:
    try:
        return value_at(dim, at)
    except ZeroDivisionError:  # at these sizes a divisor is zero
        assume(False)
        raise


@settings(max_examples=400)
@given(formulas, sizes)
def test_symbolic_arithmetic_is_integer_arithmetic(formula: object, at: dict[str, int]) -> None:
    assert value(symbolic(formula), at) == integer(formula, at)


@given(formulas, sizes)
def test_the_text_of_a_size_means_what_the_size_is(formula: object, at: dict[str, int]) -> None:
    size = symbolic(formula)
    expected = value(size, at)
    assert eval(str(size), {"min": min, "max": max, **at}) == expected


@given(formulas, formulas, formulas)
def test_equal_sizes_have_one_form(x: object, y: object, z: object) -> None:
    a, b, c = symbolic(x), symbolic(y), symbolic(z)
    for one, other in [
        (a + b, b + a),
        (a * b, b * a),
        ((a + b) + c, a + (b + c)),
        (a * (b + c), a * b + a * c),
        (a - b, -(b - a)),
        (minimum(a, b), minimum(b, a)),
        (maximum(a, b), maximum(b, a)),
    ]:
        assert one == other
        assert str(one) == str(other)
        assert hash(one) == hash(other)


polynomials = st.recursive(
    st.sampled_from(NAMES) | st.integers(-6, 9),
    lambda inner: st.tuples(st.sampled_from(["+", "-", "*"]), inner, inner),
    max_leaves=7,
)


@given(polynomials, st.integers(1, 9), st.integers(1, 9), st.integers(-9, 9))
def test_quotients_by_numbers_have_one_form(formula: object, p: int, q: int, shift: int) -> None:
    a = symbolic(formula)
    assert a // p // q == a // (p * q)
    assert (a * p) // (q * p) == a // q
    assert (a + q * shift) // q == a // q + shift
    assert a // -q == -a // q
    assert a // q * q + a % q == a


@given(formulas, formulas)
def test_exact_division_undoes_multiplication(x: object, y: object) -> None:
    a, b = symbolic(x), symbolic(y)
    assume(b != 0)
    assert exact_div(a * b, b) == a
    assert (a * b) // b == a
    assert (a * b) % b == 0


@given(formulas, formulas, sizes)
def test_an_exact_quotient_is_exact(x: object, y: object, at: dict[str, int]) -> None:
    a, b = symbolic(x), symbolic(y)
    quotient = exact_div(a, b)
    if quotient is not None:
        assert quotient * b == a
        assert value(quotient, at) * value(b, at) == value(a, at)


def test_exact_division_with_a_remainder_has_no_result() -> None:
    h, w = symbol("h"), symbol("w")
    assert exact_div(7, 2) is None
    assert exact_div(7, 0) is None
    assert exact_div(0, h) == 0
    assert exact_div(h, 2) is None
    assert exact_div(2 * h + 1, h) is None
    assert exact_div(h * h - w * w, h + w) == h - w


@given(formulas, formulas, sizes)
def test_order_agrees_with_the_default_values(x: object, y: object, at: dict[str, int]) -> None:
    a, b = symbolic(x, **at), symbolic(y, **at)
    left, right = value(a, {}), value(b, {})
    try:
        assert (a < b) == (left < right)
        assert (a <= b) == (left <= right)
        assert (a > b) == (left > right)
        assert (a >= b) == (left >= right)
    except ZeroDivisionError:
        assume(False)


@given(formulas, formulas, sizes, sizes)
def test_an_order_without_assumption_holds_at_all_sizes(
    x: object, y: object, at: dict[str, int], elsewhere: dict[str, int]
) -> None:
    a, b = symbolic(x, **at), symbolic(y, **at)
    value(a, {}), value(b, {})
    with assumptions() as notes:
        less = a < b
    if not notes:
        assert (value(a, elsewhere) < value(b, elsewhere)) == less


@settings(max_examples=300)
@given(st.lists(formulas | sums, min_size=2, max_size=4), sizes, st.integers(-300, 300))
def test_a_proof_of_a_bound_is_found_exactly_where_the_bound_is(
    drawn: list[object], at: dict[str, int], n: int
) -> None:
    for size in (symbolic(formula, **at) for formula in drawn):
        low = bounds_of_terms(terms_of(size))[0]
        for number in (n, 0, *((low, low + 1) if isinstance(low, int) else ())):
            assert is_at_least(terms_of(size), number) == (low >= number)


@settings(max_examples=200)
@given(st.lists(formulas | sums, min_size=2, max_size=5), sizes, sizes)
def test_sizes_at_which_operands_are_compared_first_leave_no_other_operands(
    drawn: list[object], at: dict[str, int], elsewhere: dict[str, int]
) -> None:
    """A size without a default is not tried, so that all pairs are compared by their bounds."""
    tried, untried = ([symbolic(formula, **at) for formula in drawn] for at in (elsewhere, {}))
    assert list(map(str, reduced("max", tried))) == list(map(str, reduced("max", untried)))
    assert value(maximum(*tried), at) == max(value(size, at) for size in tried)


def test_what_is_assumed_is_recorded_once_and_in_order() -> None:
    h, w = symbol("h", default=224), symbol("w", default=5)
    with assumptions() as notes:
        assert h >= 7
        assert not w >= 7
        assert h >= 7
        assert h + 1 > 1  # of any size, so nothing is assumed
        with assumptions() as inner:
            assert w < h
    assert [str(note) for note in notes] == ["h >= 7", "w < 7"]
    assert [str(note) for note in inner] == ["w < h"]


def test_an_undecided_order_is_an_error() -> None:
    with pytest.raises(UndecidedError, match="'h' is not known"):
        symbol("h") > symbol("w") + 3  # noqa: B015
    with pytest.raises(UndecidedError, match="'h' is not known"):
        value_at(symbol("h") * 2, {"w": 3})


@pytest.mark.parametrize("use", [float, range, lambda h: [1, 2][h], lambda h: h**-1, lambda h: h**17])
def test_a_symbolic_size_is_not_a_number(use: object) -> None:
    with pytest.raises(UndecidedError, match="h"):
        use(symbol("h", default=1))  # type: ignore[operator]


def test_division_by_zero_is_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        symbol("h") // 0


@settings(max_examples=200)
@given(formulas, sizes, st.data())
def test_forms_and_bounds_hold_for_a_size_below_another(
    formula: object, at: dict[str, int], data: st.DataObject
) -> None:
    a = symbol("a")
    at |= {"b": data.draw(st.integers(0, at["a"] - 1))}
    try:
        size = build(formula, {"a": a, "b": symbol("b", least=0, most=a - 1), "c": symbol("c")})
    except ZeroDivisionError:
        assume(False)
    expected = integer(formula, at)
    assert value(size, at) == expected
    assert bounds_of(size)[0] <= expected <= bounds_of(size)[1]


def test_indices_in_row_major_order() -> None:
    height, width, channels = (symbol(name) for name in ("height", "width", "channels"))
    row, column = symbol("row", least=0, most=height - 1), symbol("column", least=0, most=width - 1)
    place = row * width + column
    assert (place // width, place % width, place // (height * width)) == (row, column, 0)
    assert ((place * channels) // channels, (place * channels) % channels) == (place, 0)
    assert (height * width - 1 - place).bounds()[0] == 0
    number = symbol("number", least=0, most=height * width - 1)
    assert (number // width // height, number // width % height) == (0, number // width)


def test_a_remainder_is_below_its_divisor() -> None:
    a, b = symbol("a"), symbol("b")
    assert (a % b).bounds()[0] == 0
    assert (b - 1 - a % b).bounds()[0] == 0
    assert a // (a + b) == 0


def test_bounds_stay_exact_for_large_numbers() -> None:
    h, large = symbol("h"), 2**53 + 1
    assert h * large >= large
    assert not h * large < large
    assert h * 10**400 >= 10**400
    assert 1 // (h + 1) * symbol("w") <= 0


@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_ceil_div_is_the_least_sufficient_quotient(a: int, b: int) -> None:
    n = ceil_div(symbol("a"), b)
    assert (value_at(n, {"a": a}) - 1) * b < a <= value_at(n, {"a": a}) * b


@given(st.integers(1, 10**6))
def test_ceil_log2_is_the_least_sufficient_exponent(a: int) -> None:
    n = value_at(ceil_log2(symbol("a")), {"a": a})
    assert n == ceil_log2(a)
    assert a <= 2**n
    assert n == 0 or a > 2 ** (n - 1)


def test_names_and_products() -> None:
    h, w = symbol("h"), symbol("w")
    size = product([minimum(h // 2, 7), w, 3])
    assert isinstance(size, Poly)
    assert size.names() == {"h", "w"}
    assert product([]) == 1
    assert abs(h) == h
    assert abs(-h * 2) == h * 2


@pytest.mark.parametrize(
    ("size", "text"),
    [
        ((symbol("h") + 2 * 3 - 7) // 2 + 1, "(h + 1)//2"),
        (symbol("h") // 4 // 2 * 3, "3*(h//8)"),
        (-(symbol("h") // 2), "-(h//2)"),
        (1 - symbol("h") // 2, "-(h//2) + 1"),
        ((symbol("h") - 1) * (symbol("w") + 1), "h*w + h - w - 1"),
        (maximum(symbol("h"), symbol("w")) ** 2, "max(h, w)**2"),
        (5 * symbol("h") // (2 * symbol("h")), "2"),
        ((2 * symbol("h") + 3) // 4, "(h + 1)//2"),
    ],
)
def test_printing(size: Dim, text: str) -> None:
    assert str(size) == text


def test_quotients_by_a_large_number_are_no_turns() -> None:
    size = symbol("size")
    assert joined(3 * (size // 10**12)) == 3 * (size // 10**12)
