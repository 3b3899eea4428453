"""Trunks of programs: the operations that all paths pass."""

from __future__ import annotations

import netcalc
from netcalc.analysis.signal.trunk import graph_of, trunks


def paths(layers: str, outputs: str = "") -> list[tuple[list[str], bool]]:
    text = f"netcalc: 1\ninputs: {{x: [4, 8]}}\nlayers:\n{layers}{outputs}"
    graph = graph_of(netcalc.loads(text).request.program)
    return [([graph.instances[n].path for n in trunk.numbers], trunk.tapped) for trunk in trunks(graph)]


def test_a_branch_is_not_on_the_trunk() -> None:
    layers = (
        "  - {name: a, linear: 8}\n"
        "  - {name: sum, add: {shortcut: [], main: [{name: b, linear: 8}, {name: c, relu: {}}]}}\n"
        "  - {name: d, linear: 8}\n"
    )
    assert paths(layers) == [(["a", "sum", "d"], False)]


def test_results_on_the_way_may_have_other_uses() -> None:
    layers = (
        "  - {name: a, linear: 8}\n  - {name: b, linear: 8}\n  - {name: c, linear: 8}\n"
        "  - {name: all, concat: {axis: 1}, from: [a, b, c]}\n"
    )
    assert paths(layers) == [(["a", "b", "c"], True)]
    tapped = layers.rpartition("  - {name: all")[0]
    found = paths(tapped, "outputs: {first: a, last: c}\n")
    assert found == [(["a", "b", "c"], False)]  # to the last output; the first one has nothing new


def test_what_has_no_gradient_is_no_way() -> None:
    layers = (
        "  - {name: a, linear: 8}\n  - {name: b, relu: {}}\n"
        "  - {name: kept, detach: {}, from: a}\n  - {name: c, mul: {}, from: [b, kept]}\n  - {name: d, linear: 8}\n"
    )
    assert paths(layers) == [(["a", "b", "c", "d"], False)]
