"""Minima, maxima and quotients of sizes with limits: their forms, and their values by brute force."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from netcalc.dims import Dim, assumptions, ceil_div, equal, maximum, minimum, symbol, value_at
from netcalc.dims.atoms import bounds_of
from tests.test_dims import build, formulas

a, b, c, d = (symbol(name) for name in "abcd")
z = symbol("z", least=0)
even = symbol("even", multiple=2)
wide = symbol("wide", least=8, most=64)
small = symbol("small", most=8)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        # nested ones are flat, in one order
        (minimum(a, minimum(b, c)), minimum(minimum(c, a), b)),
        (maximum(c, maximum(a, maximum(b, c))), maximum(a, b, c)),
        (minimum(a, minimum(b, a + 1)), minimum(a, b)),
        # the order of two is decidable
        (minimum(a, a + 1), a),
        (maximum(a, b + 2 * a, c, a + b), maximum(b + 2 * a, c)),
        (maximum(0, z), z),
        (maximum(0, a - 1), a - 1),
        (maximum(a - a // 2, 0), a - a // 2),
        (minimum(a, ceil_div(a, 2)), (a + 1) // 2),
        (minimum(a, a * b), a),
        (maximum(small, wide), wide),
        (minimum(small + b, wide + b), small + b),
        (maximum(minimum(a, 5), minimum(a, 3)), minimum(a, 5)),
        (maximum(minimum(a, b), a), a),
        (minimum(maximum(a, b), b), b),
        (maximum(minimum(a, b, c), minimum(a, b)), minimum(a, b)),
        (maximum(minimum(small, wide - 6), small - 1, 1), maximum(minimum(small, wide - 6), small - 1)),
        # quotients of them
        (minimum(a, b) // 2, minimum(a // 2, b // 2)),
        ((minimum(2 * a, 2 * b + 1) + 4) // 2, minimum(a, b) + 2),
        ((a - minimum(a, 2 * b)) // 2, maximum(0, (a - 2 * b) // 2)),
        (maximum(a * c, b * c) // c, maximum(a, b)),
        (ceil_div(maximum(a, 2 * b), 2), maximum((a + 1) // 2, b)),
        (maximum(minimum(a, b), c) // d // 3, maximum(minimum(a // (3 * d), b // (3 * d)), c // (3 * d))),
        # quotients of quotients
        (a // b // c, a // (b * c)),
        ((a // b + 3) // c, (a + 3 * b) // (b * c)),
        (a // 2 // b // 3, a // (6 * b)),
        (ceil_div(ceil_div(a, b), c), ceil_div(a, b * c)),
        (ceil_div(ceil_div(a, 3), 4), ceil_div(a, 12)),
        ((2 * a + 1) // 2, a),
        ((a * b + b - 1) // b, a),
        (ceil_div(a * b, b), a),
        (ceil_div(even, 2), even // 2),
    ],
)
def test_equal_sizes_have_one_form(size: Dim, expected: Dim) -> None:
    assert size == expected
    assert str(size) == str(expected)


def test_what_is_open_stays() -> None:
    assert str(minimum(a, minimum(c, b))) == "min(a, b, c)"
    assert str(maximum(minimum(c, b), a)) == "max(a, min(b, c))"
    assert str(maximum(z, 1)) == "max(1, z)"
    assert str(minimum(a, b + 3) // 4 + 1) == "min((b + 3)//4, a//4) + 1"
    assert str(a // z // z) == "(a//z)//z"  # no quotient by 0


def test_a_ceiling_written_as_a_negative_floor_is_equal() -> None:
    with assumptions() as notes:
        assert equal(-(-a // 3), ceil_div(a, 3))
        assert equal(a - a // 2, ceil_div(a, 2))
        assert not equal(a // 2, a // 2 + 1)
    assert not notes


limits = st.builds(
    lambda least, extent, multiple: (least, None if extent is None else least + extent, multiple),
    st.integers(0, 6),
    st.none() | st.integers(6, 12),
    st.sampled_from([1, 1, 2, 3]),
)
declared = st.fixed_dictionaries(dict.fromkeys("abc", limits))


def values_of(limit: tuple[int, int | None, int]) -> list[int]:
    """Return all values within the limits; the first ones and a large one if there is no greatest."""
    least, most, multiple = limit
    first = -(-least // multiple) * multiple
    return [*range(first, 16 if most is None else most + 1, multiple)] + ([multiple * 300] if most is None else [])


@settings(max_examples=150, deadline=None)
@given(formulas, declared)
@example(("//", 1, ("-", "b", "c")), {"a": (0, None, 1), "b": (0, None, 2), "c": (0, None, 2)})
def test_reduced_sizes_have_the_plain_value_at_every_size(
    formula: object, limit: dict[str, tuple[int, int | None, int]]
) -> None:
    names = [name for name in limit if name in str(formula)]
    symbols: dict[str, Dim] = {name: symbol(name, None, *limit[name]) for name in limit}
    try:
        size = build(formula, symbols)
    except ZeroDivisionError:
        assume(False)
        raise
    low, high = bounds_of(size)
    for drawn in product(*(values_of(limit[name])[:7] + values_of(limit[name])[-1:] for name in names)):
        at = dict(zip(names, drawn, strict=True))
        try:
            plain = build(formula, dict(at))
        except ZeroDivisionError:
            continue  # no divisor
        try:
            assert value_at(size, at) == plain, at
        except ZeroDivisionError:
            continue
        assert low <= plain <= high


@given(
    st.sampled_from([minimum, maximum]),
    st.sampled_from([-5, -2, -1, 1, 2, 3, 4]),
    st.tuples(*[st.integers(1, 6)] * 2, *[st.integers(-6, 6)] * 4),
    st.integers(1, 9),
    st.just(d) | st.integers(1, 9),
)
def test_quotients_of_extremes_have_one_form(
    pick: Callable[[Dim, Dim], Dim], factor: int, numbers: tuple[int, ...], p: int, q: Dim
) -> None:
    m, n, k, shift, left, right = numbers
    size = factor * pick(m * a + left, n * b + right) + k * c
    assert (size + p * shift) // p == size // p + shift
    assert (size + q * shift) // q == size // q + shift
    assert (size * 7) // (q * 7) == size // q
    assert (size + shift) // p // q == (size + shift) // (p * q)
    assert ceil_div(ceil_div(size, p), q) == ceil_div(size, p * q)
