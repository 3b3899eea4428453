"""Constant masks of attention: the attributes that are found hide the same keys as the mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from netcalc.dims import symbol
from netcalc.formats.graph.constants import fold_constants
from netcalc.formats.graph.model import Value
from netcalc.formats.graph.simplify.rewriting import Rewriter
from tests.formats.graph.masks import Attention

LENGTH = symbol("length", default=16)


def found(net: Attention, mask: Value) -> Any:
    line = net.attend(mask)
    fold_constants(net.graph)
    Rewriter(net.graph).sweep()
    return line


def shown(attributes: dict[str, Any], queries: int, keys: int) -> np.ndarray:
    """Return the pairs that the attributes of attention show, by its documentation."""
    rows, columns = np.arange(queries)[:, None], np.arange(keys)[None, :]
    if attributes.get("alignment") == "lower_right":
        rows = rows + keys - queries
    result = np.ones((queries, keys), bool)
    if attributes.get("causal"):
        result &= columns <= rows
    window = attributes.get("window")
    if window is not None:
        left, right = window if isinstance(window, list) else (window, window)
        result &= True if left is None else columns >= rows - left
        result &= True if right is None else columns <= rows + right
    return result


def everything(net: Attention) -> Value:
    return net.line("greater_equal", net.query, value=0)


def causal(net: Attention) -> Value:
    return net.line("less_equal", net.key, net.query)


def causal_within_eight(net: Attention) -> Value:
    near = net.line("greater", net.key, net.line("sub", net.query, value=3))
    return net.line("logical_and", net.line("logical_and", net.line("constant", value=True), near), causal(net))


def both_sides(net: Attention) -> Value:
    near = net.line("less_equal", net.line("abs", net.line("sub", net.query, net.key)), value=2)
    return net.line("logical_and", net.line("logical_and", net.line("constant", value=True), near), everything(net))


def packed(net: Attention) -> Value:
    """Return a causal mask within packed sequences, of which there is one."""
    queries, _ = net.lengths
    positions = net.line("expand", net.line("unsqueeze", net.line("arange", stop=queries), axis=0), shape=[2, -1])
    before = net.line("sub", net.line("slice", positions, axis=1, start=0, stop=1), value=1)
    joined = net.line("concat", before, positions, axis=1)
    steps = net.line("sub", net.line("slice", joined, axis=1, start=1), net.line("slice", joined, axis=1, stop=queries))
    number = net.line("cumsum", net.line("not_equal", steps, value=1), axis=1)
    rows = net.line("unsqueeze", net.line("unsqueeze", number, axis=1), axis=3)
    columns = net.line("unsqueeze", net.line("unsqueeze", number, axis=1), axis=1)
    return net.line("logical_and", net.line("equal", rows, columns), causal(net))


def lower_triangle(net: Attention) -> Value:
    return net.line("tril", net.line("constant", value=True, shape=list(net.lengths)))


def not_upper_triangle(net: Attention) -> Value:
    ones = net.line("constant", value=1, shape=list(net.lengths))
    return net.line("equal", net.line("triu", ones, diagonal=1), value=0)


def added(net: Attention) -> Value:
    zeros = net.line("constant", value=0.0)
    hidden = net.line("constant", value=-3.4028234663852886e38)
    return net.line("where", causal(net), zeros, hidden)


def added_in_one(net: Attention) -> Value:
    queries, keys = net.lengths
    return net.line("causal_mask", queries=queries, keys=keys, dtype="float32")


def added_to_zeros(net: Attention) -> Value:
    """Return a mask of zeros that is filled with negative infinity above the diagonal."""
    zeros = net.line("constant", value=0.0, shape=list(net.lengths))
    above = net.line("logical_not", causal(net))
    return net.line("masked_fill", zeros, above, value=float("-inf"))


def inverted(net: Attention) -> Value:
    """Return (1 − mask)·min, with the mask as numbers."""
    numbers = net.line("cast", causal(net), dtype="float32")
    return net.line("mul", net.line("sub", numbers, value=1.0, reverse=True), value=-3.4028234663852886e38)


MASKS: dict[Callable[[Attention], Value], Callable[[Any, Any], Any]] = {
    everything: lambda q, k: (q >= 0) & (k >= 0),
    causal: lambda q, k: k <= q,
    causal_within_eight: lambda q, k: (k > q - 3) & (k <= q),
    both_sides: lambda q, k: abs(q - k) <= 2,
    packed: lambda q, k: k <= q,
    lower_triangle: lambda q, k: k <= q,
    not_upper_triangle: lambda q, k: k <= q,
    added: lambda q, k: k <= q,
    added_in_one: lambda q, k: k <= q,
    added_to_zeros: lambda q, k: k <= q,
    inverted: lambda q, k: k <= q,
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("expanded", [False, True])
def test_that_the_attributes_show_what_the_mask_shows(mask: Callable[[Attention], Value], expanded: bool) -> None:
    for length in (1, 2, 5, 6, 9, LENGTH):
        net = Attention(length, length)
        value = mask(net)
        line = found(net, net.expanded(value) if expanded and value.type.rank == 4 else value)
        assert [one.operation for one in net.graph.lines] == ["scaled_dot_product_attention"]
        assert len(line.inputs) == 3
        for size in [length] if isinstance(length, int) else [1, 2, 5, 11, 30]:
            rows, columns = np.arange(size)[:, None], np.arange(size)[None, :]
            assert (shown(line.attributes, size, size) == MASKS[mask](rows, columns)).all()


def test_that_queries_and_keys_may_differ_in_number() -> None:
    keys = symbol("keys", default=9)
    net = Attention(LENGTH, keys)
    assert found(net, causal(net)).attributes == {"causal": True}
    net = Attention(LENGTH, keys)
    last = net.line("less_equal", net.key, net.line("add", net.query, value=keys - LENGTH))
    assert found(net, last).attributes == {"causal": True, "alignment": "lower_right"}
    net = Attention(4, 9)
    last = net.line("less_equal", net.key, net.line("add", net.query, value=5))
    attributes = found(net, last).attributes
    rows, columns = np.arange(4)[:, None], np.arange(9)[None, :]
    assert (shown(attributes, 4, 9) == (columns <= rows + 5)).all()


def test_that_a_mask_of_padding_stays() -> None:
    net = Attention(LENGTH, LENGTH)
    padding = net.input("padding", 2, LENGTH, dtype="bool")
    seen = net.line("unsqueeze", net.line("unsqueeze", padding, axis=1), axis=1)
    mask = net.line("logical_and", net.line("logical_and", net.line("constant", value=True), causal(net)), seen)
    line = found(net, net.expanded(mask))
    assert line.attributes == {"causal": True}
    assert line.inputs[3] is seen


def test_that_several_masks_of_inputs_are_joined() -> None:
    net = Attention()
    first, second = (net.input(name, 2, 1, 6, 6, dtype="bool") for name in ("first", "second"))
    line = found(net, net.line("logical_and", net.line("logical_and", first, causal(net)), second))
    assert line.attributes == {"causal": True}
    (joined,) = (one for one in net.graph.lines if line.inputs[3] in one.outputs)
    assert (joined.operation, joined.inputs) == ("logical_and", (first, second))


def before_the_query(net: Attention) -> Value:
    return net.line("less", net.key, net.query)


def blocks_of_two(net: Attention) -> Value:
    rows, columns = (net.line("div", value, value=2, rounding="floor") for value in (net.query, net.key))
    return net.line("equal", rows, columns)


def reversed_keys(net: Attention) -> Value:
    return net.line("less_equal", net.line("flip", net.key, axis=3), net.query)


def twice_as_far(net: Attention) -> Value:
    return net.line("less_equal", net.key, net.line("mul", net.query, value=2))


def by_sample(net: Attention) -> Value:
    sample = net.line("arange", stop=2)
    for _ in range(3):
        sample = net.line("unsqueeze", sample, axis=-1)
    return net.line("less_equal", net.line("add", net.key, sample), net.query)


def either(net: Attention) -> Value:
    far = net.line("greater", net.key, net.line("add", net.query, value=3))
    return net.line("logical_or", causal(net), far)


def barely_hidden(net: Attention) -> Value:
    return net.line("where", causal(net), net.line("constant", value=0.0), net.line("constant", value=-10000.0))


def shifted(net: Attention) -> Value:
    return net.line("where", causal(net), net.line("constant", value=1.0), net.line("constant", value=float("-inf")))


@pytest.mark.parametrize(
    "mask",
    [before_the_query, blocks_of_two, reversed_keys, twice_as_far, by_sample, either, barely_hidden, shifted],
)
def test_that_other_masks_stay(mask: Callable[[Attention], Value]) -> None:
    for length in (6, LENGTH):
        net = Attention(length, length)
        value = mask(net)
        line = found(net, value)
        assert line.attributes == {}
        assert line.inputs[3] is value


def test_that_a_finite_mask_must_show_every_query_a_key() -> None:
    """A query without keys gives zeros, and the mean of all values where one number is added to all its scores."""
    net = Attention(9, 4)
    near = net.line("less_equal", net.line("abs", net.line("sub", net.query, net.key)), value=2)
    zeros, hidden = net.line("constant", value=0.0), net.line("constant", value=-3.4028234663852886e38)
    assert found(net, net.line("where", near, zeros, hidden)).attributes == {}
    net = Attention(9, 4)
    near = net.line("less_equal", net.line("abs", net.line("sub", net.query, net.key)), value=2)
    assert found(net, near).attributes == {"window": 2}


def biased(net: Attention, operation: str) -> tuple[Value, Value]:
    """Return a learned bias with keys after the query hidden, and the bias."""
    bias = net.line("parameter", shape=[4, 6, 6])
    hidden = net.line("constant", value=-3.4028234663852886e38)
    if operation == "where":
        return net.line("where", net.expanded(causal(net)), bias, hidden), bias
    if operation == "masked_fill":
        return net.line("masked_fill", bias, net.line("logical_not", causal(net)), value=float("-inf")), bias
    return net.line("add", added(net), bias), bias


@pytest.mark.parametrize("operation", ["where", "masked_fill", "add"])
def test_that_a_bias_stays_without_the_mask(operation: str) -> None:
    net = Attention()
    mask, bias = biased(net, operation)
    line = found(net, mask)
    assert line.attributes == {"causal": True}
    assert line.inputs[3] is bias


def test_that_a_mask_that_hides_nothing_leaves_the_bias() -> None:
    net = Attention()
    bias = net.line("parameter", shape=[4, 6, 6])
    shown = net.line("constant", value=True, shape=[2, 1, 6, 6])
    mask = net.line("where", shown, bias, net.line("constant", value=-3.4028234663852886e38))
    line = found(net, mask)
    assert line.attributes == {}
    assert line.inputs[3] is bias


def test_that_numbers_that_hide_keys_stay_beside_padding() -> None:
    """A query all of whose visible keys are padding sees all keys alike, the later ones too."""
    net = Attention()
    padding = net.input("padding", 2, 1, 1, 6)
    value = net.line("add", added(net), padding)
    line = found(net, value)
    assert line.attributes == {}
    assert line.inputs[3] is value
