"""Values of sizes at arrays, against Python integers element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Dim, Poly, assumptions, ceil_log2, maximum, minimum, symbol
from tests.test_dims import NAMES, formulas, symbolic

NUMBERS = st.integers(1, 40) | st.sampled_from([10**4, 10**9, 2**31, 2**62, 2**63 - 1])
DTYPES = st.sampled_from(["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "object"])


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Draw an array whose elements its element type holds, or a number."""
    dtype = draw(DTYPES)
    bound = 2**80 if dtype == "object" else int(np.iinfo(dtype).max)
    number = (NUMBERS | st.integers(bound // 2, bound)).filter(lambda n: n <= bound)
    array = np.empty(shape, dtype)
    for index in np.ndindex(shape):
        array[index] = draw(number)
    return draw(st.sampled_from([array, array[..., ::-1], int(array.flat[0]) if array.size else array]))


def polynomial(formula: Any) -> Poly:
    """Return the size of a formula over a, b and c; a rejected example if it has none."""
    with assumptions():
        found = symbolic(formula, **dict.fromkeys(NAMES, 7))
    assume(isinstance(found, Poly))
    assert isinstance(found, Poly)
    return found


@settings(deadline=None, max_examples=300)
@given(formulas, st.data())
def test_arrays_give_what_integers_give(formula: Any, data: st.DataObject) -> None:
    dim = polynomial(formula)
    shapes = data.draw(st.sampled_from([[(3,)] * 3, [(2, 1), (3,), (1,)], [(0,)] * 3, [(1,), (2, 2), (2, 1)]]))
    given = {name: data.draw(arrays(shape)) for name, shape in zip(NAMES, shapes, strict=True)}
    used = {name: given[name] for name in dim.names()}
    broadcast = np.broadcast_arrays(*(np.asarray(size, dtype=object) for size in used.values()))
    expected = np.empty(broadcast[0].shape, object)
    try:
        for index in np.ndindex(expected.shape):
            expected[index] = dim.at({name: int(array[index]) for name, array in zip(used, broadcast, strict=True)})
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            dim.at(given)
        return
    found = dim.at(given)
    if all(isinstance(size, int) for size in used.values()):
        assert type(found) is int and found == expected[()]
        return
    assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()
    assert found.dtype == object or found.dtype == np.int64


@settings(deadline=None, max_examples=100)
@given(st.lists(NUMBERS, min_size=1), st.integers(-3, 3), st.integers(0, 2**70))
@example([1], 0, 2**63 - 1)
def test_logarithms(numbers: list[int], shift: int, factor: int) -> None:
    size = symbol("a", default=7)
    dim = ceil_log2(size * size + shift) * (factor + 1) + size
    assert isinstance(dim, Poly)
    assert dim.at({"a": np.array(numbers)}).tolist() == [dim.at({"a": number}) for number in numbers]


def test_results_beyond_64_bits_do_not_wrap_around() -> None:
    """BERT with 10⁹ sequences of 10⁴ tokens."""
    macs = netcalc.load("bert-base", symbolic=["batch", "length"]).macs
    assert isinstance(macs, Poly)
    batch, length = np.array([1, 10**9]), np.array([128, 10**4])
    assert macs.at({"batch": batch, "length": length}).tolist() == [
        macs.at({"batch": 1, "length": 128}),
        macs.at({"batch": 10**9, "length": 10**4}),
    ]
    assert macs.at({"batch": batch, "length": length})[1] > 2**63


@pytest.mark.parametrize(
    ("dim", "size", "dtype"),
    [
        (lambda a: a * a, 3_037_000_499, "int64"),
        (lambda a: a * a, 3_037_000_500, "object"),  # the square exceeds 2⁶³ − 1
        (lambda a: a * a * a // (a * a + 1), 2**22, "object"),  # only an intermediate result does
        (lambda a: a + 2**63, 1, "object"),
        (lambda a: a - 2**63, 1, "int64"),
        (lambda a: a * -(2**63), 1, "int64"),
    ],
)
def test_elements_are_int64_where_every_intermediate_result_fits(dim: Any, size: int, dtype: str) -> None:
    formula: Dim = dim(symbol("a", default=7))
    assert isinstance(formula, Poly)
    for kind in ("int64", "uint64"):
        found = formula.at({"a": np.array([1, size], kind)})
        assert found.dtype == dtype and found.tolist() == [formula.at({"a": 1}), formula.at({"a": size})]


@pytest.mark.parametrize("use", [lambda a, b: a // b, minimum, maximum, lambda a, b: a * b])
def test_numbers_beyond_64_bits_beside_arrays(use: Any) -> None:
    dim = use(symbol("a", default=7), symbol("b", default=7))
    expected = [dim.at({"a": one, "b": 2**63}) for one in (1, 3)]
    assert dim.at({"a": np.array([1, 3], "int8"), "b": 2**63}).tolist() == expected


def test_narrow_arrays_are_widened_and_not_changed() -> None:
    dim = symbol("a", default=7) ** 4
    given = np.array([200, 3], "uint8")
    assert dim.at({"a": given}).tolist() == [1_600_000_000, 81]
    assert given.dtype == np.uint8


def test_sizes_that_are_multiples() -> None:
    dim = symbol("h", default=64, multiple=32) * 3
    assert isinstance(dim, Poly)
    assert dim.at({"h": np.array([32, 96], "uint8")}).tolist() == [96, 288]
    for size in (33, np.array([32, 33])):
        with pytest.raises(NetcalcError, match="E502: h should be a multiple of 32, not 33"):
            dim.at({"h": size})


@pytest.mark.parametrize("sizes", [{}, {"w": 3}, {"w": np.array([3])}])
def test_a_size_that_is_not_given_and_has_no_default(sizes: dict[str, Any]) -> None:
    with pytest.raises(NetcalcError, match="E404: the size of 'h' is not known"):
        (symbol("h") * symbol("w")).at(sizes)  # type: ignore[union-attr]


def test_numbers_of_numpy_are_numbers() -> None:
    dim = symbol("a", default=7) ** 12
    for one in (np.int8(100), np.uint64(100), np.array(100), np.array(100, object)):
        assert type(dim.at({"a": one})) is int and dim.at({"a": one, "other": 2.5}) == 10**24
    assert dim.at({"a": None}) == 7**12


@pytest.mark.parametrize(
    ("size", "what"),
    [
        (2.0, "float"),
        (True, "bool"),
        ("3", "str"),
        ([1, 2], "list"),
        (np.float64(2), "float64"),
        (np.ones(2, "float32"), "an array of float32"),
        (np.ones(2, bool), "an array of bool"),
        (np.array([1, 2.5], object), "an array of object"),
        (np.array([1, True], object), "an array of object"),
    ],
)
def test_other_types_are_errors(size: object, what: str) -> None:
    dim = symbol("a", default=7) * 2
    assert isinstance(dim, Poly)
    with pytest.raises(NetcalcError, match=f"E502.*'a' should be an integer or an array of integers, not {what}$"):
        dim.at({"a": size})
