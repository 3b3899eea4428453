"""Sums of rows, unrolled rows and symbolic figures agree with the totals, for shipped and for drawn specs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.analysis.conventions import CONVENTIONS, FIRST
from netcalc.analysis.cost import Analysis, Row
from netcalc.analysis.figures import Cost
from netcalc.dims import value_at
from netcalc.ir import Program
from netcalc.spec import elaborate, load_document
from tests.spec.harness import layers, program

SHIPPED = ["mlp", "resnet18", "resnet34", "plain34", "seed_cnn", "transformer"]


def analysis(found: Program, convention: str = "netcalc") -> Analysis:
    return Analysis(found, CONVENTIONS[convention])


def summed(rows: list[Row]) -> Cost:
    return sum((row.total for row in rows), Cost())


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("convention", [*FIRST, "ptflops"])
def test_rows_add_up_to_the_total(name: str, convention: str) -> None:
    found = analysis(elaborate(load_document(name)), convention)
    assert summed(list(found.leaves())) == found.total
    assert summed(list(found.leaves(unroll=True))) == found.total
    assert sum((cost for _, cost in found.by_operation.values()), Cost()) == found.total
    for depth in (1, 2, 3, 9):
        assert summed(list(found.frontier(depth))) == found.total
        assert summed(list(found.frontier(depth, unroll=True))) == found.total


@pytest.mark.parametrize("name", SHIPPED)
def test_children_sum_to_the_parent(name: str) -> None:
    def check(row: Row) -> None:
        if row.children:
            assert summed(list(row.children)) == row.cost
        for child in row.children:
            check(child)

    for row in analysis(elaborate(load_document(name))).tree():
        check(row)


def test_unrolled_rows_carry_full_paths() -> None:
    paths = [row.path for row in analysis(elaborate(load_document("resnet18"))).leaves(unroll=True)]
    assert "layer3.1.conv2" in paths
    assert len(paths) == len(set(paths))


def test_shared_weights_count_once_and_their_work_every_time() -> None:
    total = analysis(layers("- {name: f, repeat: 5, share: true, linear: 8}")).total
    assert (total.params, total.macs) == (8 * 8 + 8, 5 * 2 * 8 * 8)


def test_a_tied_projection_adds_work_but_no_parameters() -> None:
    found = program(
        """
        inputs: {ids: {shape: [1, 7], dtype: int64, range: [0, 50]}}
        layers:
          - {name: embed, embedding: {num_embeddings: 50, embedding_dim: 6}}
          - {name: head, tie: {weight: embed.weight}, linear: {out: 50, bias: false}}
        """
    )
    rows = {row.path: row.cost for row in analysis(found).leaves()}
    assert (rows["embed"].params, rows["head"].params, rows["head"].params_tied) == (300, 0, 300)
    assert rows["head"].macs == 7 * 50 * 6


def test_frozen_parameters_are_not_trainable() -> None:
    total = analysis(layers("- {name: a, freeze: true, linear: 8}\n- {name: b, linear: 8}")).total
    assert (total.params, total.params_trainable) == (144, 72)


def test_operations_that_a_convention_omits_are_listed() -> None:
    assert analysis(elaborate(load_document("resnet18")), "torch").uncounted == (
        "batch_norm",
        "relu",
        "max_pool2d",
        "add",
        "global_avg_pool2d",
    )


@settings(deadline=None, max_examples=25)
@given(
    batch=st.integers(1, 4),
    height=st.integers(32, 80),
    width=st.integers(32, 80),
    out=st.integers(1, 8),
    kernel=st.integers(1, 5),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
)
def test_symbolic_figures_at_a_size_equal_the_figures_of_that_size(
    batch: int, height: int, width: int, out: int, kernel: int, stride: int, padding: int, dilation: int
) -> None:
    text = f"""
    dims: {{batch: {batch}, height: 64, width: 64}}
    inputs: {{x: [batch, 3, height, width]}}
    layers:
      - {{conv2d: {{out: {out}, kernel: {kernel}, stride: {stride}, padding: {padding}, dilation: {dilation}}}}}
      - batch_norm
      - relu
      - max_pool2d: {{kernel: 2, ceil_mode: true}}
      - flatten
      - layer_norm
    """
    symbolic = analysis(program(text, symbolic=("batch", "height", "width"))).total
    sizes = {"batch": batch, "height": height, "width": width}
    exact = analysis(program(text, **sizes)).total
    for name in ("params", "buffers", "macs", "flops", "weight_bytes"):
        assert value_at(getattr(symbolic, name), sizes) == getattr(exact, name)


def test_the_number_of_repeats_does_not_affect_analysis_time() -> None:
    """A million equal layers are analyzed as one folded layer."""
    deep = analysis(layers("- {name: f, repeat: 1_000_000, sequence: [{linear: 8}, relu]}"))
    flat = analysis(layers("- {name: f, repeat: 1, sequence: [{linear: 8}, relu]}"))
    assert deep.total == flat.total.times(1_000_000)
    assert len(list(deep.leaves())) == len(list(flat.leaves()))
