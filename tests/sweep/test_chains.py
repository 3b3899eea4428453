"""Networks that are counted part by part, against networks that are counted as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest

import netcalc
from netcalc.sweep import segments
from netcalc.sweep.chains import chain_of
from netcalc.sweep.evaluation import Evaluator, values_of

COUNTS = ("params", "macs", "flops")


def _mobilenet(draw: Random) -> dict[str, Any]:
    def row() -> list[Any]:
        activation = draw.choice(["relu", "hardswish"])
        return [draw.choice([3, 5]), 8 * draw.randint(1, 9), 8 * draw.randint(1, 4), draw.random() < 0.5, activation]

    return {
        "batch": draw.randint(1, 4),
        "multiplier": draw.choice([0.5, 1.0, 1.3]),
        "rows": [[*row(), draw.choice([1, 1, 2, 3])] for _ in range(draw.randint(1, 4))],
    }


def _efficientnet(draw: Random) -> dict[str, Any]:
    def stage() -> list[Any]:
        return [draw.choice(["mbconv", "mbconv", "fused_mbconv"]), draw.choice([1, 4]), draw.choice([3, 5])]

    return {
        "multiplier": draw.randint(10, 40) / 20,
        "depth": draw.randint(5, 20) / 10,
        "stages": [
            [*stage(), draw.choice([1, 2]), 8 * draw.randint(1, 9), draw.randint(1, 4)]
            for _ in range(draw.randint(1, 3))
        ],
    }


def _densenet(draw: Random) -> dict[str, Any]:
    depths = [draw.randint(0, 6) for _ in range(draw.randint(1, 3))]
    return {"height": draw.choice([16, 64]), "growth_rate": draw.randint(1, 32), "depths": depths}


def _swin(draw: Random) -> dict[str, Any]:
    heads, window = draw.choice([1, 3]), draw.choice([4, 7])
    return {
        "height": 8 * window * draw.randint(1, 2),
        "width": 8 * window,
        "d_model": heads * 8 * draw.randint(2, 8) + draw.choice([0, 0, 0, 1]),
        "heads": [heads, 2 * heads],
        "depths": [draw.randint(1, 5), draw.randint(1, 2)],
        "window": window,
        "stochastic_depth": draw.choice([0.0, 0.1]),
        "norm_first": draw.random() < 0.5,
    }


def _resnet(draw: Random) -> dict[str, Any]:
    return {
        "channels": [8 * draw.randint(1, 4) for _ in range(3)],
        "depths": [draw.randint(1, 3) for _ in range(3)],
        "strides": [1, 2, draw.choice([1, 2])],
        "dilations": [1, draw.choice([1, 1, 2]), 1],
    }


def _shufflenet(draw: Random) -> dict[str, Any]:
    return {"batch": draw.randint(1, 9), "height": draw.choice([64, 224]), "classes": draw.randint(1, 99)}


#: Specs of chains, with values of which some are refused.
SPACES: Mapping[str, Callable[[Random], dict[str, Any]]] = {
    "mobilenet_v3_small": _mobilenet,
    "efficientnet_b0": _efficientnet,
    "densenet121": _densenet,
    "swin_t": _swin,
    "resnet34": _resnet,
    "resnext50_32x4d": _resnet,
    "shufflenet_v2_x1_0": _shufflenet,
}


def _whole(name: str, point: Mapping[str, Any]) -> tuple[int, ...] | None:
    try:
        found = values_of(netcalc.load(name, set=point).request, COUNTS)
    except netcalc.NetcalcError:
        return None
    return tuple(found[key] for key in COUNTS)


@pytest.mark.parametrize("name", SPACES)
def test_parts_have_the_figures_of_the_whole(name: str) -> None:
    draw = Random(5)
    points = [SPACES[name](draw) for _ in range(24)]
    chain = chain_of(netcalc.load(name).request, COUNTS)
    assert chain is not None
    asked: list[Mapping[str, Any]] = []

    def whole(point: Mapping[str, Any]) -> tuple[int, ...]:
        asked.append(point)
        return _whole(name, point) or ()

    found = chain.figures(points, whole)
    assert not chain.has_failed and len(asked) <= 4
    expected = [_whole(name, point) for point in points]
    assert found == expected and len(set(found)) > 6


NESTED = """netcalc: 1
dims: {batch: 2, size: 9}
vars: {turns: 2, widths: [3, 4], twice: 1, base: 2, kind: relu, chance: 0.5}
inputs: {x: [batch, size]}
layers:
- linear: "${base}"
- repeat: {each: "${widths}", as: width, index: number, start: 1}
  sequence:
  - {name: "first${number}", linear: "${width + number}"}
  - {when: number > 1, name: "more${number}", linear: "${widths[number - 2]}"}
  - name: "inner${number}"
    repeat: {times: "${twice}", index: again}
    sequence:
    - linear: "${width + (again if number == 1 else 2 * base)}"
    - {when: again > 0, "${kind}": {}}
    - dropout: "${chance * again / max(twice, 1)}"
- repeat: turns
  linear: "${base + index}"
- {"${kind}": {}}
- linear: ${turns + len(widths)}
"""


def test_nested_repeats_have_the_figures_of_the_whole(tmp_path: Any) -> None:
    file = tmp_path / "nested.yaml"
    file.write_text(NESTED)
    draw = Random(2)
    points = [
        {
            "size": draw.randint(1, 9),
            "turns": draw.randint(0, 3),
            "widths": [draw.randint(-1, 6) for _ in range(draw.randint(0, 3))],
            "twice": draw.randint(0, 3),
            "base": draw.randint(1, 5),
            "kind": draw.choice(["relu", "gelu", "layer_norm"]),
            "chance": draw.choice([0.0, 0.5, 3.0]),
        }
        for _ in range(120)
    ]
    expected = [_whole(str(file), point) for point in points]
    chain = chain_of(netcalc.load(file).request, COUNTS)
    assert chain is not None
    found = chain.figures(points, lambda point: _whole(str(file), point) or ())
    assert not chain.has_failed
    same = [one == other for one, other in zip(found, expected, strict=True) if one is not None]
    assert all(same) and len(same) > 20 and None in expected


def test_an_evaluator_counts_what_its_chain_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = Random(3)
    points = [_swin(draw) for _ in range(40)]
    columns = {key: [point[key] for point in points] for key in points[0]}
    evaluator = Evaluator(netcalc.load("swin_t").request, COUNTS, tuple(columns))
    found = evaluator.evaluate(columns)
    for place in range(0, 40, 3):
        figures = tuple(found.figures[key][place] for key in COUNTS)
        assert figures == (_whole("swin_t", points[place]) or (None, None, None))
        assert (found.reasons[place] is None) == (figures[0] is not None)

    def wrong(*_: object) -> list[int]:
        return [1, 1, 1, 2, 2, 2, 2]

    monkeypatch.setattr(segments.Segment, "_count", wrong)
    again = Evaluator(netcalc.load("swin_t").request, COUNTS, tuple(columns))
    assert again.evaluate(columns) == found and again._chain is not None and again._chain.has_failed


@pytest.mark.parametrize(
    "lines",
    [
        "[{repeat: 2, linear: 4}, {from: x, linear: 4}]",
        "[{repeat: 2, share: true, linear: 8}]",
        "[{repeat: {times: 2, collect: {output: list}}, linear: 8}]",
        "[{repeat: 2, linear: '${x.shape[1]}'}]",
        "[{repeat: {times: 2, index: width}, linear: 8}]",
        "[{linear: 8}]",
        "[{repeat: 2, linear: 8, when: width > 0}]",
    ],
)
def test_other_networks_are_no_chains(lines: str) -> None:
    text = f"netcalc: 1\nvars: {{width: 2}}\ninputs: {{x: [2, 8]}}\nlayers: {lines}\n"
    assert chain_of(netcalc.loads(text).request, COUNTS) is None
