"""Closed forms of sweeps against networks that are counted one by one, and their arithmetic against Python's."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import count
from random import Random
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.bounded_cache import BoundedCache
from netcalc.dims import Assumption, Dim, ceil_log2, maximum, minimum, symbol
from netcalc.spec import iterations, sketches
from netcalc.spec.body_cache import BODIES
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.sketches import _chances_in
from netcalc.sweep import evaluation, families
from netcalc.sweep.evaluation import Evaluator, values_of
from netcalc.sweep.forms import Counted, Counting, Late, Leaf, form_of
from netcalc.sweep.straight import Straight

COUNTS = ("params", "macs", "flops")


def _transformer(draw: Random) -> dict[str, Any]:
    heads = draw.randint(1, 4)
    return {
        "d_model": heads * draw.randint(4, 32) + draw.choice([0, 0, 0, 1]),
        "heads": heads,
        "d_ff": draw.randint(1, 200),
        "encoder_layers": draw.randint(1, 4),
        "decoder_layers": draw.randint(1, 4),
        "source": draw.randint(1, 40),
        "norm_first": draw.random() < 0.5,
        "bias": draw.random() < 0.5,
    }


def _resnet(draw: Random) -> dict[str, Any]:
    channels = [draw.choice([8, 16, 32]) for _ in range(3)]
    return {
        "batch": draw.randint(1, 3),
        "height": 32 * draw.randint(1, 6),
        "stem": draw.choice([8, 16]),
        "channels": channels,
        "depths": [draw.randint(1, 3) for _ in channels],
        "strides": [1, 2, draw.choice([1, 2])],
    }


def _vit(draw: Random) -> dict[str, Any]:
    return {
        "height": draw.choice([16, 32, 48, 50]),
        "width": draw.choice([16, 32]),
        "patch": draw.choice([1, 2, 4, 8, 16]),
        "d_model": 12 * draw.randint(1, 6),
        "layers": draw.randint(1, 5),
        "representation": draw.choice([None, 1, 7]),
        "classes": draw.randint(1, 5),
    }


def _t5(draw: Random) -> dict[str, Any]:
    return {
        "d_model": 8 * draw.randint(1, 8),
        "heads": draw.randint(1, 4),
        "encoder_layers": draw.randint(1, 4),
        "buckets": draw.randint(3, 40),  # 3 have no exact distance
        "max_distance": draw.randint(4, 40),
        "tied": draw.random() < 0.5,
    }


def _unet(draw: Random) -> dict[str, Any]:
    return {
        "batch": draw.randint(1, 3),
        "height": draw.randint(160, 240),  # without padding less than 188 are refused
        "width": 4 * draw.randint(50, 60),
        "image_channels": draw.choice([1, 3]),
        "channels": 2 * draw.randint(1, 4),
        "padding": draw.randint(0, 1),
        "crop": draw.random() < 0.5,
    }


SPACES: dict[str, Callable[[Random], dict[str, Any]]] = {
    "transformer": _transformer,
    "resnet34": _resnet,
    "vit_b_16": _vit,
    "t5-small": _t5,
    "unet": _unet,
}


@pytest.mark.parametrize("name", SPACES)
def test_forms_give_the_figures_of_networks_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # a clock that counts its readings, so that forms do not depend on the machine
    monkeypatch.setattr(families, "process_time", count().__next__)
    monkeypatch.setattr(families, "_START", 1000)
    monkeypatch.setattr(evaluation, "chain_of", lambda *_: None)
    request = netcalc.load(name).request
    draw = Random(7)
    points = [SPACES[name](draw) for _ in range(80)]
    evaluator = Evaluator(request, COUNTS, tuple(points[0]))
    found = evaluator.evaluate({key: [point[key] for point in points] for key in points[0]})
    assert evaluator.by_forms > len(points) // 4
    for place, point in list(enumerate(points))[::3]:
        try:
            alone: dict[str, Any] = dict(values_of(netcalc.load(name, set=point).request, COUNTS))
        except netcalc.NetcalcError as error:
            alone = dict.fromkeys(COUNTS)
            assert str(found.reasons[place]).startswith(error.diagnostics[0].code)
        assert {key: values[place] for key, values in found.figures.items()} == alone, point


def _swin(draw: Random) -> dict[str, Any]:
    heads, window = draw.choice([1, 3]), draw.choice([4, 7])
    return {
        "batch": draw.randint(3, 8),
        "height": 8 * window * draw.randint(1, 2),
        "width": 8 * window,
        "d_model": heads * 8 * draw.randint(2, 8),
        "heads": [heads, 2 * heads],
        "depths": [draw.randint(1, 5), 2],
        "window": window,
        "stochastic_depth": draw.choice([0.0, 0.1]),
    }


def _efficientnet(draw: Random) -> dict[str, Any]:
    stages = [
        ["mbconv", draw.choice([1, 4]), draw.choice([3, 5]), stride, 8 * draw.randint(1, 9), draw.randint(1, 6)]
        for stride in (1, 2, 2)
    ]
    return {"batch": draw.randint(3, 8), "multiplier": draw.randint(10, 40) / 20, "stages": stages}


@pytest.mark.parametrize(("name", "space"), [("swin_t", _swin), ("efficientnet_b0", _efficientnet)])
def test_points_of_many_structures_have_the_figures_of_networks_that_share_nothing(
    name: str, space: Callable[[Random], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Random(11)
    points = [space(draw) for _ in range(30)]
    evaluator = Evaluator(netcalc.load(name).request, COUNTS, tuple(points[0]))
    found = evaluator.evaluate({key: [point[key] for point in points] for key in points[0]})
    for place in range(0, 30, 5):
        monkeypatch.setattr(sketches, "SKETCHES", BoundedCache[sketches.Sketches](10_000))
        monkeypatch.setattr(iterations, "_EQUAL", BoundedCache[bool](10_000))
        BODIES.clear()
        alone = values_of(netcalc.load(name, set=points[place]).request, COUNTS)
        assert {key: values[place] for key, values in found.figures.items()} == alone, points[place]


def test_forms_share_the_bodies_of_blocks_whose_claims_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "_START", 1000)
    elaborated = Elaboration.elaborated
    made: list[Any] = []

    def counted(self: Elaboration, key: Any, elaborate: Any) -> Any:
        if self._keeps_claims:
            made.append(key)
        return elaborated(self, key, elaborate)

    monkeypatch.setattr(Elaboration, "elaborated", counted)
    request = netcalc.load("llama-3-8b").request
    sizes = [{"heads": 4 * size, "kv_heads": 4, "d_model": 64 * size, "batch": size - 2} for size in range(3, 33)]
    evaluator = Evaluator(request, COUNTS, ("heads", "kv_heads", "d_model", "batch", "tied", "logits"))
    first: list[Any] = []
    for tied, logits in ((False, "all"), (False, "last"), (True, "all"), (True, "last")):
        points = [{**each, "tied": tied, "logits": logits} for each in sizes]
        found = evaluator.evaluate({key: [point[key] for point in points] for key in points[0]})
        first = first or made[:]
        for place in range(0, len(points), 13):
            alone = values_of(request.with_settings(points[place]), COUNTS)
            assert {key: values[place] for key, values in found.figures.items()} == alone, points[place]
    assert evaluator.by_forms > 2 * len(sizes)
    assert first and len(made) == len(first)


def test_a_form_holds_where_a_size_that_is_broadcast_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "_START", 1000)
    request = netcalc.load("llama-3-8b").request
    sizes = [(batch, heads) for batch in (1, *range(2, 9)) for heads in (1, 2, 3, 8)]
    for order in (sizes, sizes[::-1]):  # the form is made at one of the first points
        points = [{"batch": b, "heads": h, "kv_heads": 1, "d_model": 16 * h, "padding_mask": True} for b, h in order]
        evaluator = Evaluator(request, COUNTS, tuple(points[0]))
        found = evaluator.evaluate({key: [point[key] for point in points] for key in points[0]})
        assert evaluator.by_forms >= len(points) - 2  # two forms at most: as many heads as key heads, and more
        for place in (0, 7, -8, -1):
            alone = values_of(request.with_settings(points[place]), COUNTS)
            assert {key: values[place] for key, values in found.figures.items()} == alone, points[place]


def test_a_var_that_may_be_one_number_only_stays_a_number_in_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "_START", 1000)
    request = netcalc.load("unet").request  # whose padding is 0 or 1
    points = [
        {"batch": batch, "classes": 6 - batch, "channels": 3 + batch, "height": 480, "padding": 1, "crop": True}
        for batch in range(1, 6)
    ]
    evaluator = Evaluator(request, COUNTS, tuple(points[0]))
    found = evaluator.evaluate({key: [point[key] for point in points] for key in points[0]})
    assert evaluator.by_forms == len(points) - 1
    for place in (1, 4):
        alone = values_of(request.with_settings(points[place]), COUNTS)
        assert {key: values[place] for key, values in found.figures.items()} == alone, points[place]


def test_an_attempt_of_too_much_work_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(counting: Counting, point: Counted, leaves: Sequence[Leaf], *_: Any) -> Any:
        made = form_of(counting, point, leaves, most=100)
        attempts.append(made)
        return made

    attempts: list[Any] = []
    monkeypatch.setattr(families, "form_of", attempt)
    points = {"layers": list(range(1, 40)), "d_model": [12 * place for place in range(1, 40)]}
    evaluator = Evaluator(netcalc.load("gpt2").request, COUNTS, tuple(points))
    found = evaluator.evaluate(points)
    assert attempts and all(isinstance(made, Late) for made in attempts)
    assert evaluator.by_forms == 0
    alone = values_of(evaluator.request.with_settings({"layers": 39, "d_model": 12 * 39}), COUNTS)
    assert {key: values[-1] for key, values in found.figures.items()} == alone


def test_figures_beyond_64_bits_are_exact() -> None:
    request = netcalc.load("gpt2").request
    sizes = [12 * (1 << 20) + 12 * place for place in range(40)]
    columns = {"d_model": sizes, "batch": [1 << 20] * 40, "layers": [1000] * 40}
    evaluator = Evaluator(request, ("macs",), tuple(columns))
    found = evaluator.evaluate(columns)
    assert evaluator.by_forms
    expected = values_of(request.with_settings({"d_model": sizes[-1], "batch": 1 << 20, "layers": 1000}), ("macs",))
    assert found.figures["macs"][-1] == expected["macs"] > 1 << 63


def test_straight_programs_compute_as_python_does() -> None:
    a, b = symbol("a", 5), symbol("b", 3)
    result = (a * a * 7 + a * b - 40) // (b + 1) + maximum(a - b, 2) * minimum(b, 9)
    program = Straight(["a", "b"], [Assumption(a % b, "!=", 0), Assumption(a, ">", b)], [result, a * b])
    draw = Random(3)
    columns = [np.array([draw.randint(0, 50) for _ in range(500)], np.int64) for _ in range(2)]
    held, (first, second) = program.over(columns, 500)
    for x, y, is_held, one, two in zip(*columns, held, first, second, strict=True):
        x, y = int(x), int(y)
        holds = y != 0 and x % y != 0 and x > y
        assert bool(is_held) == holds
        assert program.at([x, y]) == ((int(one), int(two)) if holds else None)
        if holds:
            assert one == (x * x * 7 + x * y - 40) // (y + 1) + max(x - y, 2) * min(y, 9)
            assert two == x * y


def _drawn_size(draw: Random, sizes: list[Dim], depth: int) -> tuple[Dim, Callable[..., int]]:
    """Return a size of drawn operations, and the function of Python's integers that gives its value."""
    if depth == 0 or draw.random() < 0.15:
        index = draw.randrange(len(sizes) + 1)
        constant = draw.randint(-30, 30)
        return (constant, lambda *_: constant) if index == len(sizes) else (sizes[index], lambda *row: row[index])
    (left, f), (right, g) = (_drawn_size(draw, sizes, depth - 1) for _ in range(2))
    kind = draw.choice(["+", "*", "//", "min", "max", "log2"])
    if kind == "+":
        return left + right, lambda *row: f(*row) + g(*row)
    if kind == "*":
        return left * right, lambda *row: f(*row) * g(*row)
    if kind == "//" and right != 0:
        return left // right, lambda *row: f(*row) // g(*row)
    if kind == "log2":
        return ceil_log2(left), lambda *row: (f(*row) - 1).bit_length()
    if kind == "min":
        return minimum(left, right), lambda *row: min(f(*row), g(*row))
    return maximum(left, right), lambda *row: max(f(*row), g(*row))


_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@pytest.mark.parametrize("seed", range(12))
def test_long_columns_are_computed_as_python_does(seed: int) -> None:
    draw = Random(seed)
    sizes: list[Dim] = [symbol(name, None, 0) for name in ("a", "b", "c")]
    most = [3, 40, 1 << 20, 1 << 50][seed % 4]
    first, claims = [draw.randint(1, most) for _ in sizes], []
    for left, right in ([_drawn_size(draw, sizes, 2) for _ in range(2)] for _ in range(4)):
        with suppress(ZeroDivisionError):
            values = left[1](*first), right[1](*first)
            claims.append((left, draw.choice([word for word, holds in _HOLDS.items() if holds(*values)]), right))
    results = [_drawn_size(draw, sizes, 3) for _ in range(3)]
    results += [results[0], (sizes[1], lambda *row: row[1])]
    asserted = [Assumption(left[0], relation, right[0]) for left, relation, right in claims]
    program = Straight(["a", "b", "c"], asserted, [size for size, _ in results])
    for _ in range(3):
        size, least = draw.randint(17_000, 21_000), draw.choice([1, most // 2, 0])
        columns = [np.array([draw.randint(least, most) for _ in range(size)], np.int64) for _ in range(3)]
        held, found = program.over(columns, size)
        for place in [*range(0, size, 97), size - 1]:
            row = [int(column[place]) for column in columns]
            try:
                expected = tuple(of(*row) for _, of in results)
                holds = all(_HOLDS[relation](left[1](*row), right[1](*row)) for left, relation, right in claims)
            except ZeroDivisionError:
                holds = False
            assert bool(held[place]) == (program.at(row) is not None), row
            if held[place]:
                assert holds and tuple(int(column[place]) for column in found) == expected, row


def test_long_columns_of_an_evaluator_may_pass_64_bits_in_some_places() -> None:
    request = netcalc.load("gpt2").request
    size = 200_000
    columns = {"d_model": 12 + 12 * (np.arange(size) % 50), "layers": np.full(size, 5), "batch": np.full(size, 1 << 16)}
    columns["d_model"][150_000] = 12 << 20
    columns["layers"][150_000] = 8_000
    columns["d_model"][140_000] = 100
    evaluator = Evaluator(request, ("macs",), tuple(columns))
    found = evaluator.arrays(columns)
    assert list(found.reasons) == [140_000] and evaluator.by_forms > size - 10
    for place in (0, 70_000, 149_999, 150_000, size - 1):
        point = {name: int(values[place]) for name, values in columns.items()}
        assert found.figures["macs"][place] == values_of(request.with_settings(point), ("macs",))["macs"]
    assert found.figures["macs"][150_000] > 1 << 63


class _CountedSketches(BoundedCache[sketches.Sketches]):
    """Sketches, with the number of structures that they are of."""

    def __init__(self) -> None:
        super().__init__(10_000)
        self.structures = 0

    def put(self, key: Hashable, value: sketches.Sketches, weight: int = 1) -> sketches.Sketches:
        self.structures += 1
        return super().put(key, value, weight)


def test_other_chances_of_dropping_are_no_other_structures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketches, "SKETCHES", kept := _CountedSketches())
    request = netcalc.load("swin_t", mode="train").request
    structures = []
    for chance, width in ((0.0, 48), (0.1, 72), (0.7, 96), (1.0, 120)):
        point = {"stochastic_depth": chance, "d_model": width}
        found = Evaluator(request, COUNTS, tuple(point)).evaluate({name: [value] for name, value in point.items()})
        structures.append(kept.structures)
    alone = values_of(request.with_settings(point), COUNTS)
    assert {key: values[0] for key, values in found.figures.items()} == alone
    assert structures[0] > 0 and set(structures) == {structures[0]}


def test_an_argument_that_is_used_elsewhere_is_no_chance() -> None:
    lines = [{"linear": 8}, {"dropout": "${p}"}, {"stochastic_depth": "${q}"}]
    assert _chances_in({"args": {"p": 0.0, "q": 0.0}, "layers": lines}) == {"p", "q"}
    assert _chances_in({"layers": [*lines, {"when": "p > 0", "relu": {}}]}) == {"q"}
    assert _chances_in({"layers": [*lines, {"inner": {"dropout": "${q}"}}]}) == {"p"}


def test_forms_that_never_pay_take_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"form": 0.0, "single": 0.0}

    def form_of(*_: object) -> None:
        clock["form"] += 5.0

    def at(self: Evaluator, _: object) -> tuple[int, ...]:
        clock["single"] += 1.0
        return (1,) * len(self.figures)

    monkeypatch.setattr(families, "process_time", lambda: sum(clock.values()))
    monkeypatch.setattr(families, "form_of", form_of)
    monkeypatch.setattr(Evaluator, "_figures_at", at)
    rates = [0.001 * number for number in range(40) for _ in range(10)]
    evaluator = Evaluator(netcalc.load("gpt2").request, COUNTS, ("dropout", "d_model"))
    evaluator.evaluate({"dropout": rates, "d_model": [12 * number for number in range(1, 401)]})
    assert clock["single"] == 400
    assert 0 < clock["form"] <= 0.2 * 400 + 5


def test_requirements_of_blocks_hold_where_bodies_are_used_again() -> None:
    block = {"channels": "${c}", "stride": "${s if index == 0 else 1}", "dilation": "${a if index == 0 else b}"}
    network = netcalc.load_data(
        {
            "netcalc": 1,
            "dims": {"d": 64},
            "vars": {"n": 2, "a": 1, "b": 1, "c": 64, "s": 1},
            "inputs": {"x": [1, "d", 56, 56]},
            "layers": [{"repeat": 1, "sequence": [{"repeat": "${n}", "basic_block": block}]}],
        }
    )
    columns = {
        "a": [1] * 40 + [1, 2] * 10,
        "b": [1] * 40 + [2, 1] * 10,
        "c": list(range(8, 68)),
        "d": list(range(8, 68)),
        "n": [1, 2, 3, 2] * 15,
        "s": [1, 2, 1] * 20,
    }
    found = Evaluator(network.request, COUNTS, tuple(columns)).evaluate(columns)
    refused = [reason is not None for reason in found.reasons]
    assert refused == [
        a != 1 or (b != 1 and n > 1) for a, b, n in zip(columns["a"], columns["b"], columns["n"], strict=True)
    ]
