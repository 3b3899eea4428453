"""Comparison of networks: sums of rows, matching of repeats of different lengths, and folding."""

from __future__ import annotations

import time

import pytest

import netcalc
from netcalc.analysis.compare import Comparison, Match

STACK = """
netcalc: 1
name: stack
vars: {n: 5, wide: 8}
inputs: {x: [1, 8]}
layers:
  - {name: layers, repeat: "${n}", sequence: [{name: up, linear: "${wide}"}, relu, {name: down, linear: 8}]}
  - {name: head, linear: 2}
"""


def stacks(*settings: dict[str, int]) -> Comparison:
    return netcalc.compare(*(netcalc.loads(STACK, set=each) for each in settings))


def labels(matches: tuple[Match, ...]) -> list[tuple[str, int, list[bool]]]:
    return [(m.label, m.repeat, [layer is not None for layer in m.layers]) for m in matches]


@pytest.mark.parametrize("depth", [None, 1, 2, 3])
@pytest.mark.parametrize(
    "specs",
    [
        ("resnet34", "resnet18"),
        ("resnet18", "resnet34"),
        ("albert-base", "bert-base"),
        ("transformer", "transformer-big", "mlp"),
        ("swin_t", "swin_s", "vit_b_16"),
        ("llama-3-8b", "llama-3-70b"),
    ],
    ids=" ".join,
)
def test_rows_add_up_to_the_totals(specs: tuple[str, ...], depth: int | None) -> None:
    comparison = netcalc.compare(*specs, convention="torch")
    rows = list(comparison.rows(depth=depth, all=True))
    different = list(comparison.rows(depth=depth))
    assert 0 < len(different) <= len(rows)
    for name in ("params", "buffers", "macs", "flops"):
        first, *others = (getattr(totals, name) for totals in comparison.totals)
        for place, total in enumerate([first, *others]):
            assert sum((row.figures(name)[place] or 0) * row.repeat for row in rows) == total
            assert (
                sum(((row.figures(name)[place] or 0) - (row.figures(name)[0] or 0)) * row.repeat for row in different)
                == total - first
            )


def test_a_network_equals_itself() -> None:
    comparison = netcalc.compare("resnet34", "resnet34")
    assert comparison.same
    assert not list(comparison.rows())
    assert comparison.names == ("resnet34 (1)", "resnet34 (2)")


def test_repeats_are_split_at_the_end_of_another_networks_repeat() -> None:
    (layers, head) = stacks({"n": 5}, {"n": 3}, {"n": 9}).layers
    assert labels(layers.children) == [
        ("0–2", 3, [True, True, True]),
        ("3–4", 2, [True, False, True]),
        ("5–8", 4, [False, False, True]),
    ]
    assert [child.differs for child in layers.children] == [False, True, True]
    assert not head.differs


def test_a_difference_inside_a_repeat_is_reported_once() -> None:
    (layers, _) = stacks({"wide": 8}, {"wide": 16}).layers
    (run,) = layers.children
    assert (run.label, run.repeat) == ("0–4", 5)
    assert [(child.path, child.repeat) for child in run.children if child.differs] == [
        ("layers.0.up", 5),
        ("layers.0.0", 5),
        ("layers.0.down", 5),
    ]
    assert run.children[0].attributes == {"out": (8, 16)}
    assert run.children[0].figures("params") == (72, 144)


def test_equal_iterations_are_folded_again() -> None:
    varied = STACK.replace(
        'sequence: [{name: up, linear: "${wide}"}', 'sequence: [{name: up, linear: "${wide + index}"}'
    )
    comparison = netcalc.compare(netcalc.loads(STACK, set={"n": 6}), netcalc.loads(varied, set={"n": 2}))
    assert labels(comparison.layers[0].children) == [
        ("0", 1, [True, True]),
        ("1", 1, [True, True]),
        ("2–5", 4, [True, False]),
    ]


def test_millions_of_layers_are_compared_without_unrolling() -> None:
    networks = [netcalc.loads(STACK, set={"n": n}) for n in (3_000_000, 1_000_000)]
    start = time.process_time()
    comparison = netcalc.compare(*networks)
    assert time.process_time() - start < 1
    assert [row.repeat for row in comparison.rows()] == [2_000_000]


def test_a_block_that_one_network_lacks_is_one_difference() -> None:
    comparison = netcalc.compare("resnet34", "resnet34", "mlp")
    layer1 = next(match for match in comparison.layers if match.path == "layer1")
    assert layer1.differs
    assert not any(child.differs for child in layer1.children)


def test_weights_shared_by_iterations_count_once_and_their_work_every_time() -> None:
    shared = STACK.replace("repeat: ", "share: true, repeat: ")
    one, two = (netcalc.loads(shared, set={"n": n}) for n in (2, 6))
    comparison = netcalc.compare(one, two)
    (layers, head) = comparison.layers
    assert layers.figures("params") == (144, 144)
    assert layers.figures("macs") == (2 * 128, 6 * 128)
    assert not head.differs


def test_layers_that_alternate_are_matched_by_their_numbers() -> None:
    """Periods of two and of six: the differences of the layers add up to those of the totals."""
    found = netcalc.compare("gemma-2-2b", "gemma-3-1b")
    rows = list(found.rows(all=True))
    for figure in ("params", "macs", "flops"):
        sums = [sum((row.figures(figure)[i] or 0) * row.repeat for row in rows) for i in range(2)]
        assert sums == [getattr(totals, figure) for totals in found.totals]
    for spec in ("gemma-2-2b", "gemma-3-1b"):
        labels = {row.path: row for row in netcalc.compare(spec, spec).rows(all=True)}
        assert netcalc.compare(spec, spec).same
        assert sum(row.repeat for path, row in labels.items() if path.endswith("q_proj")) == 26


def test_layers_that_alternate_are_few_rows() -> None:
    found = netcalc.compare("gemma-2-2b", netcalc.load("gemma-2-2b", set={"window": 512, "d_ff": 4608}))

    def numbers(name: str) -> list[tuple[int, str]]:
        rows = (row for row in found.rows(all=True) if row.path.endswith(name))
        return [(row.repeat, str(row.ranges[0][1])) for row in rows]

    # the window changes every second layer
    assert numbers("gate_proj") == [(13, "0,2,…,24"), (13, "1,3,…,25")]
