"""Totals without some layers: published figures, sums by brute force over unrolled layers, and tied parameters."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import cache
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc as package
from netcalc import NetcalcError, Network
from netcalc.analysis.figures import FIGURES
from netcalc.dims import Dim, value_at
from tests.conftest import CommandResult

#: Without tied parameters; with repeats, modules within each other, and layers that alternate.
SPECS = ("resnet34", "unet", "swin_t", "mixtral-8x7b", "gpt-oss-20b", "lstm")
SUMMED = ("params", "params_trainable", "buffers", "weight_bytes", "macs", "flops", "macs_backward", "flops_backward")


@cache
def load(name: str, *symbolic: str) -> Network:
    return package.load(name, symbolic=symbolic)


@cache
def unrolled(name: str) -> list[tuple[str, dict[str, Dim]]]:
    """Every execution by its path with its figures, without any exclusion."""
    layers = load(name).summary(unroll=True, backward=True).layers
    return [(layer.path, {f: FIGURES[f].of(layer) for f in SUMMED}) for layer in layers for _ in range(layer.repeat)]


def matches(path: str, patterns: list[str]) -> bool:
    starts = accumulate(path.split("."), lambda start, part: f"{start}.{part}")
    return any(fnmatchcase(start, pattern) for start in starts for pattern in patterns)


@st.composite
def drawn(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A spec, and patterns that match at least one of its paths each."""
    name = draw(st.sampled_from(SPECS))
    patterns = []
    for _ in range(draw(st.integers(1, 3))):
        parts = draw(st.sampled_from(unrolled(name)))[0].split(".")
        parts = parts[: draw(st.integers(1, len(parts)))]
        hidden = draw(st.sets(st.integers(0, len(parts) - 1), max_size=2))
        parts = [
            draw(st.sampled_from(["*", part[:1] + "*", "?" * len(part)])) if n in hidden else part
            for n, part in enumerate(parts)
        ]
        patterns.append(".".join(parts))
    return name, patterns


@settings(max_examples=60, deadline=None)
@given(drawn())
def test_what_is_excluded_and_the_rest_are_the_total(case: tuple[str, list[str]]) -> None:
    name, patterns = case
    net = load(name)
    found = net.summary(backward=True, exclude=patterns)
    rest: dict[str, Dim] = dict.fromkeys(SUMMED, 0)
    for path, figures in unrolled(name):
        for figure, value in figures.items():
            rest[figure] += 0 if matches(path, patterns) else value
    whole = net.cost(backward=True)
    exclusions = found.analysis.exclusions
    assert exclusions is not None
    assert {f: FIGURES[f].of(found.totals) for f in SUMMED} == rest
    assert found.totals + exclusions.cost == whole
    assert sum(part.layers for part in found.excluded) == sum(matches(path, patterns) for path, _ in unrolled(name))
    # the record says how many instances of each row are left out
    for layers in (found.layers, net.summary(backward=True, exclude=patterns, unroll=True).layers):
        assert sum(layer.macs * (layer.repeat - layer.excluded) for layer in layers) == rest["macs"]
    assert sum(cost.macs for _, cost in found.analysis.by_operation.values()) == rest["macs"]
    assert sum(cost.params for _, cost in found.analysis.by_operation.values()) == rest["params"]


@pytest.mark.parametrize(
    ("name", "dim", "size", "patterns"),
    [("gpt2", "length", 77, ["lm_head", "*.h.?.attn"]), ("resnet34", "batch", 3, ["layer[13]", "fc"])],
)
def test_symbolic_totals_are_those_of_numbers(name: str, dim: str, size: int, patterns: list[str]) -> None:
    symbolic = load(name, dim).cost(exclude=patterns)
    numbers = package.load(name, set={dim: size}).cost(exclude=patterns)
    assert [value_at(value, {dim: size}) for value in symbolic.values] == [*numbers.values]


def test_published_figures_without_a_head() -> None:
    # the backbone of ResNet-18 in torchvision, fc = Identity(): 11,176,512 parameters
    assert load("resnet18").cost(exclude=["fc"]).params == 11_176_512
    # nanoGPT prints "number of parameters: 123.65M", without the embedding of positions
    assert load("gpt2").cost(exclude=["transformer.wpe"]).params == 123_653_376


def test_tied_parameters_are_left_out_with_all_their_uses() -> None:
    gpt2, matrix = load("gpt2"), 50_257 * 768
    one, other = (gpt2.summary(exclude=[path]) for path in ("lm_head", "transformer.wte"))
    assert one.totals.params == other.totals.params == 124_439_808
    assert one.totals.macs == gpt2.macs - 1024 * matrix
    assert [part.tied for part in (*one.excluded, *other.excluded)] == [(), ("transformer.wte.weight",)]
    both = gpt2.summary(exclude=["lm_head", "transformer.wte"])
    assert both.totals.params == 124_439_808 - matrix
    assert [part.totals["params"] for part in both.excluded] == [0, matrix]
    # iterations that share their weights have one path
    albert = package.load("albert-base")
    assert albert.cost(exclude=["*"]).params == 0


def test_working_ends_in_the_total() -> None:
    found = load("vit_b_16").explain(exclude=["heads", "conv_proj"])
    steps = {section.title: section.steps for section in found.sections}
    assert [step.value for step in steps["parameters"][-3:]] == [-769_000, -590_592, 86_567_656 - 769_000 - 590_592]


def test_reconciliation_of_what_is_counted() -> None:
    found = load("vit_b_16").reconcile(before="torchvision", after="fvcore", exclude=["*.encoder_layer_[0-4]", "heads"])
    assert found.before.work < load("vit_b_16").cost("torchvision").flops
    assert sum(group.difference for group in found.groups) == found.difference


def test_the_report_says_what_is_excluded(netcalc) -> None:  # type: ignore[no-untyped-def]
    result: CommandResult = netcalc("summary", "vit_b_16", "--exclude", "heads")
    assert "excluded: heads (768,000 MAC, 1,537,000 FLOP, 769,000 parameters)" in " ".join(result.out.split())
    record = json.loads(netcalc("flops", "vit_b_16", "--exclude", "heads", "--format", "json").out)
    assert record["excluded"] == [
        {"pattern": "heads", "layers": 1, "totals": {"macs": 768_000, "flops": 1_537_000}, "tied": []}
    ]
    rows = netcalc("params", "vit_b_16", "--exclude", "heads", "--format", "csv").out.splitlines()
    assert rows[0].endswith(",excluded")
    assert [row.rpartition(",")[2] for row in rows[1:]].count("1") == 1


@pytest.mark.parametrize(
    ("patterns", "hint"),
    [(["head"], "heads"), (["encoder.layers.encoder_layer_12"], "encoder_layer_"), (["heads", "no"], "conv_proj")],
)
def test_pattern_that_matches_nothing(patterns: list[str], hint: str) -> None:
    with pytest.raises(NetcalcError, match="no layer has a path that matches") as caught:
        load("vit_b_16").cost(exclude=patterns)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E503" and hint in str(diagnostic.hint)


@pytest.mark.parametrize("options", [{"path": "heads"}, {"memory": True}, {"device": "h100"}])
def test_parts_and_plans_exclude_nothing(options: dict[str, object]) -> None:
    with pytest.raises(NetcalcError, match=r"--exclude|whole"):
        load("vit_b_16").explain(exclude=["heads"], **options)  # type: ignore[arg-type]
