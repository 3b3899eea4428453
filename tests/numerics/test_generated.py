"""Randomly generated specs: predictions hold, folded equals unrolled, and symbolic equals numeric."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netcalc.analysis.cost import analyze
from netcalc.analysis.summary import Summary
from netcalc.engine.run import forward
from netcalc.ir import Program
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from netcalc.verification.verify import verify

DRAWS = int(os.environ.get("NETCALC_DRAWS", "30"))
drawn = settings(max_examples=DRAWS, deadline=None, suppress_health_check=list(HealthCheck))

Spec = dict[str, Any]


@st.composite
def steady_image_line(draw: st.DrawFn, channels: int) -> Any:
    """Draw a line that keeps the shape of an image."""
    kernel = draw(st.sampled_from([1, 3, 5]))
    groups = draw(st.sampled_from([1, 2, channels]))
    conv = {"out": channels, "kernel": kernel, "padding": "same", "groups": groups, "bias": draw(st.booleans())}
    norm = draw(st.sampled_from([{"batch_norm": {}}, {"group_norm": {"groups": 2}}, {"instance_norm": {}}]))
    pool = draw(st.sampled_from(["max_pool2d", "avg_pool2d"]))
    activation = draw(st.sampled_from(["relu", "gelu", "silu", "sigmoid", "hardswish"]))
    return draw(
        st.sampled_from(
            [
                {"conv2d": conv},
                norm,
                activation,
                {pool: {"kernel": 3, "stride": 1, "padding": 1}},
                {"add": {"shortcut": [], "residual": [{"conv2d": conv}, activation]}},
                {"basic_block": {"channels": channels}},
            ]
        )
    )


@st.composite
def steady_token_line(draw: st.DrawFn, width: int) -> Any:
    """Draw a line that keeps the shape of a sequence."""
    heads = draw(st.sampled_from([1, 2, 4]))
    hidden = draw(st.integers(1, 12))
    layer = {"heads": heads, "hidden": hidden}
    return draw(
        st.sampled_from(
            [
                {"linear": {"out": width, "bias": draw(st.booleans())}},
                {"layer_norm": {}},
                {
                    "add": {
                        "shortcut": [],
                        "residual": [{"layer_norm": {}}, {"linear": hidden}, "relu", {"linear": width}],
                    }
                },
                {"lstm": {"hidden": width, "batch_first": True}},
                {"transformer_encoder_layer": layer},
                "softmax",
            ]
        )
    )


@st.composite
def networks(draw: st.DrawFn) -> Spec:
    """Draw a small network: a stem, repeated layers and a head."""
    repeated: list[Any] = []
    tokens = draw(st.booleans())
    width = draw(st.sampled_from([4, 8]))
    body = steady_token_line(width) if tokens else steady_image_line(width)
    for number in range(draw(st.integers(1, 3))):
        lines = draw(st.lists(body, min_size=1, max_size=3))
        line: Spec = {"name": f"stage{number}", "sequence": lines}
        if draw(st.booleans()):
            line["repeat"] = draw(st.integers(1, 3))
        repeated.append(line)
    batch, length = draw(st.integers(1, 3)), draw(st.integers(5, 9))
    if tokens:
        ids = {"shape": ["batch", length], "dtype": "int64", "range": [0, 11]}
        stem = [{"name": "embed", "embedding": {"num_embeddings": 11, "embedding_dim": width}}]
        head: list[Any] = [{"name": "head", "linear": draw(st.integers(1, 5))}]
        inputs: Spec = {"ids": ids}
    else:
        inputs = {"image": ["batch", 3, length, draw(st.integers(5, 9))]}
        stem = [
            {"name": "stem", "conv2d": {"out": width, "kernel": 3, "stride": draw(st.integers(1, 2)), "padding": 1}}
        ]
        head = ["global_avg_pool2d", "flatten", {"name": "head", "linear": draw(st.integers(1, 5))}]
    return {
        "netcalc": 1,
        "name": "drawn",
        "dims": {"batch": batch},
        "inputs": inputs,
        "layers": [*stem, *repeated, *head],
    }


def program(spec: Spec, **options: Any) -> Program:
    return elaborate(load_data(spec), **options)


def unrolled_spec(spec: Spec) -> Spec:
    """Return the same spec with its repeats written out."""
    layers: list[Any] = []
    for line in spec["layers"]:
        if isinstance(line, dict) and "repeat" in line:
            for index in range(line["repeat"]):
                layers.append({"name": f"{line['name']}.{index}", "sequence": line["sequence"]})
        else:
            layers.append(line)
    return {**spec, "layers": layers}


@drawn
@given(networks())
def test_predictions_hold(spec: Spec) -> None:
    report = verify(program(spec))
    assert report.ok, [str(check) for check in report.failures]


@drawn
@given(networks())
def test_folded_repeats_equal_unrolled_ones(spec: Spec) -> None:
    folded, unrolled = program(spec), program(unrolled_spec(spec))
    one, other = analyze(folded), analyze(unrolled)
    assert one.total == other.total
    rows = Summary(one, unroll=True).layers
    assert [(r.path, r.params, r.flops) for r in rows] == [
        (r.path, r.params, r.flops) for r in Summary(other, unroll=True).layers
    ]
    first, second = forward(folded, seed=3), forward(unrolled, seed=3)
    for name, array in first.outputs.items():
        np.testing.assert_array_equal(array, second.outputs[name])


@drawn
@given(networks(), st.sampled_from(["netcalc", "torch", "torchvision", "fvcore"]), st.booleans())
def test_rows_add_up_at_every_depth(spec: Spec, convention: str, unroll: bool) -> None:
    analysis = analyze(program(spec), convention)
    for depth in (None, 1, 2, 3):
        rows = Summary(analysis, depth=depth, unroll=unroll).layers
        for figure in ("params", "params_trainable", "buffers", "weight_bytes", "macs", "flops"):
            total = getattr(analysis.total, figure)
            assert sum(getattr(row, figure) * row.repeat for row in rows) == total, (depth, figure)


@drawn
@given(networks())
def test_symbolic_figures_equal_the_numeric_figures(spec: Spec) -> None:
    batch = spec["dims"]["batch"]
    symbolic = analyze(program(spec, symbolic=("batch",))).total
    numbers = analyze(program(spec)).total
    for figure in ("params", "macs", "flops"):
        formula = getattr(symbolic, figure)
        value = formula if isinstance(formula, int) else formula.at({"batch": batch})
        assert value == getattr(numbers, figure)
