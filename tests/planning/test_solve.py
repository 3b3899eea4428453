"""Sizes that meet conditions: against brute force, published networks, and bad input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from netcalc.analysis.solution import Solution
from netcalc.diagnostics import NetcalcError
from netcalc.network import Network
from tests.conftest import CommandResult

#: A convolutional network with strides, groups, a limit, and a requirement of two unknowns.
CONVOLUTIONS = """
netcalc: 1
name: pyramid
dims: {batch: 1, height: {default: 16, min: 5, max: 40}, width: 16}
vars:
  channels: 8
  groups: {default: 2, min: 1}
  kernel: {default: 3, min: 1, max: 7}
  layers: 2
require:
  - {that: channels % groups == 0, message: groups must divide channels}
  - {that: kernel <= height, message: the kernel must fit}
inputs:
  image: [batch, 3, height, width]
layers:
  - conv2d: {out: "${channels}", kernel: "${kernel}", stride: 2, padding: 1}
  - name: blocks
    repeat: "${layers}"
    sequence:
      - conv2d: {out: "${channels}", kernel: 3, padding: 1, groups: "${groups}"}
      - relu
  - max_pool2d: {kernel: 2, stride: 2}
  - global_avg_pool2d
  - flatten
  - linear: 10
"""
PYRAMID = netcalc.loads(CONVOLUTIONS)
FIGURES = ("params", "macs", "flops")


def at(net: Network, sizes: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the figures of a network at sizes, as it is loaded by itself; None if it is refused."""
    try:
        other = Network(net.request.with_settings(sizes))
    except NetcalcError:
        return None
    return {name: getattr(other, name) for name in FIGURES} | {
        name: value for name, value in {**other.dims, **other.vars}.items() if isinstance(value, int)
    }


def all_of(net: Network, ranges: Mapping[str, Iterable[int]]) -> list[dict[str, int]]:
    """Return the figures of every network in ranges that the spec does not refuse."""
    sizes = (dict(zip(ranges, values, strict=True)) for values in product(*ranges.values()))
    return [figures for each in sizes if (figures := at(net, each)) is not None]


_RANGES = {"height": (5, 40), "channels": (1, 24), "groups": (1, 8), "kernel": (1, 7), "layers": (0, 9)}


@st.composite
def questions(draw: st.DrawFn) -> tuple[dict[str, range], list[tuple[str, str, int]], tuple[str, str, int | None]]:
    """Draw ranges of some unknowns, conditions with amounts near those of networks in them, and an aim."""
    names = draw(st.lists(st.sampled_from([*_RANGES]), min_size=1, max_size=3, unique=True))
    ranges = {}
    for name in names:
        low = draw(st.integers(*_RANGES[name]))
        high = draw(st.integers(low, min(_RANGES[name][1], low + 7)))
        ranges[name] = range(low, high + 1, draw(st.integers(1, 3)))
    known = all_of(
        PYRAMID, {name: (values[0], values[len(values) // 2], values[-1]) for name, values in ranges.items()}
    )
    amounts = {name: sorted({each[name] for each in known} | {1000}) for name in (*FIGURES, *names)}
    conditions = []
    for figure in draw(st.lists(st.sampled_from([*amounts]), max_size=2)):
        amount = draw(st.sampled_from(amounts[figure])) + draw(st.integers(-1, 1))
        conditions.append((figure, draw(st.sampled_from(["<=", ">=", "<", ">", "="])), max(amount, 0)))
    kind, figure = draw(st.sampled_from(["maximize", "minimize", "near"])), draw(st.sampled_from([*amounts]))
    return ranges, conditions, (kind, figure, draw(st.sampled_from(amounts[figure])))


_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "<=": int.__le__,
    ">=": int.__ge__,
    "<": int.__lt__,
    ">": int.__gt__,
    "=": int.__eq__,
}


def score(kind: str, value: int, target: int | None) -> int:
    return {"maximize": value, "minimize": -value}[kind] if kind != "near" else -abs(value - (target or 0))


@settings(max_examples=50, deadline=None)
@given(questions())
def test_the_answer_is_that_of_brute_force(
    question: tuple[dict[str, range], list[tuple[str, str, int]], tuple[str, str, int | None]],
) -> None:
    ranges, conditions, (kind, figure, target) = question
    aim: dict[str, Any] = {kind: f"{figure}={target}" if kind == "near" else figure}
    answer = PYRAMID.solve(unknowns=ranges, under=[f"{f} {r} {a}" for f, r, a in conditions], **aim)
    possible = [each for each in all_of(PYRAMID, ranges) if all(_HOLDS[r](each[f], a) for f, r, a in conditions)]
    assert answer.proved and not answer.within
    assert answer.found == bool(possible)
    if not possible:
        assert answer.conflicts
        return
    best = max(score(kind, each[figure], target) for each in possible)
    own = at(PYRAMID, answer.settings)
    assert own is not None and own in possible
    assert score(kind, own[figure], target) == best
    assert all(answer.figures[name] == own[name] for name in FIGURES)
    _check_steps(answer, ranges, conditions)


def _check_steps(answer: Solution, ranges: Mapping[str, range], conditions: list[tuple[str, str, int]]) -> None:
    """Check what is said of one step further against the networks there."""
    for step in answer.steps:
        if step.value is None:
            continue
        there = at(PYRAMID, {**answer.settings, step.name: step.value})
        assert step.value in ranges[step.name]
        assert (there is None) == (step.outcome == "refused")
        if there is not None:
            broken = [f"{f} {r} {a}" for f, r, a in conditions if not _HOLDS[r](there[f], a)]
            assert [*dict.fromkeys(step.broken)] == [*dict.fromkeys(broken)]
            assert step.outcome != "better"


@settings(max_examples=4, deadline=None)
@given(st.integers(300, 450), st.sampled_from(["macs", "channels", "layers"]), st.sampled_from([1, 2, 3]))
def test_values_without_an_end_are_bounded_by_a_condition(params: int, figure: str, multiple: int) -> None:
    answer = PYRAMID.solve(
        unknowns=["channels", "layers"], under=f"params <= {params}", maximize=figure, multiple_of={"layers": multiple}
    )
    # a channel has 27 weights in the first layer, and a layer of two channels has 20 weights and biases
    possible = [
        each
        for each in all_of(
            PYRAMID, {"channels": range(2, params // 27, 2), "layers": range(multiple, params // 20, multiple)}
        )
        if each["params"] <= params
    ]
    assert answer.proved and "closed forms" in answer.method
    assert answer.figures[figure] == max((each[figure] for each in possible), default=0)


def test_an_unknown_that_divides_another_is_no_greater() -> None:
    answer = netcalc.load("gpt2").solve(unknowns=["heads", "layers"], under="params <= 125M", maximize="flops")
    assert answer.proved
    assert answer.settings == {"heads": 768, "layers": 12}  # more heads have no features


def test_memory_is_counted_and_proved_where_few_networks_are_left() -> None:
    net = netcalc.load("gpt2")
    answer = net.solve(unknowns="layers", under="memory <= 1GiB")
    (layers,) = answer.settings.values()
    memory = {
        number: Network(net.request.with_settings({"layers": number})).memory().total()
        for number in (layers, layers + 1)
    }
    assert answer.proved
    assert memory[layers] == answer.figures["memory"] <= 2**30 < memory[layers + 1]  # type: ignore[operator]


def test_an_answer_by_assumption_is_not_called_proved() -> None:
    net = netcalc.load("gpt2", set={"heads": "${d_model // 64}"})
    answer = net.solve(
        unknowns={"d_model": range(64, 1025, 64), "layers": range(1, 33)},
        under="time <= 10ms",
        maximize="params",
        device="h100",
    )
    assert not answer.proved
    assert "time taken to grow with each unknown" in answer.method
    assert answer.counted < 16 * 32
    for step in answer.steps:
        assert step.outcome in ("breaks", "worse", "end")


def test_values_without_an_end_are_cut_where_a_counted_figure_is_too_great() -> None:
    net = netcalc.load("bamba-9b")  # whose layers differ, so that their number cannot be a symbol
    answer = net.solve(unknowns="layers", under="params <= 2G")
    (layers,) = answer.settings.values()
    there, further = (at(net, {"layers": number}) for number in (layers, layers + 1))
    assert there is not None and further is not None
    assert there["params"] <= 2_000_000_000 < further["params"]
    assert not answer.proved and "params taken to grow" in answer.method


def test_the_longest_input_within_an_assumption() -> None:
    answer = netcalc.load("gpt2").solve(unknowns="length", maximize="length", under="flops <= 1T")
    assert answer.settings == {"length": 1024}  # the rows of the position table
    assert answer.within == ("length <= 1024",)
    assert [step.outcome for step in answer.steps if step.forward] == ["refused"]


# -- published networks -------------------------------------------------------------------------------

#: Brown et al. 2020, arXiv:2005.14165: parameters (Table D.1), and layers, width and features of a head (Table 2.1).
GPT3 = [
    ("125M", 12, 768, 64),
    ("356M", 24, 1024, 64),
    ("760M", 24, 1536, 96),
    ("1320M", 24, 2048, 128),
    ("2650M", 32, 2560, 80),
    ("6660M", 32, 4096, 128),
    ("12850M", 40, 5120, 128),  # the table has a width of 5140, which is no multiple of 128
    ("174600M", 96, 12288, 128),
]


@pytest.mark.parametrize(("params", "layers", "d_model", "head_dim"), GPT3)
def test_the_widths_and_depths_of_gpt3_follow_from_its_parameters(
    params: str, layers: int, d_model: int, head_dim: int
) -> None:
    heads = f"${{d_model // {head_dim}}}"
    wide = netcalc.load("gpt3-small", set={"layers": layers, "heads": heads, "d_model": 8 * head_dim})
    answer = wide.solve(unknowns="d_model", multiple_of={"d_model": head_dim}, near=f"params={params}")
    assert answer.settings == {"d_model": d_model} and answer.proved
    deep = netcalc.load("gpt3-small", set={"d_model": d_model, "heads": heads})
    answer = deep.solve(unknowns="layers", near=f"params={params}")
    assert answer.settings == {"layers": layers} and answer.proved


def test_the_widest_vit_of_depth_12_with_3_heads_under_5_72_million_parameters_is_deit_ti() -> None:
    # Touvron et al. 2021, arXiv:2012.12877, Table 1; 5,717,416 parameters as timm counts them
    net = netcalc.load("deit-base", set={"layers": 12, "heads": 3})
    answer = net.solve(unknowns="d_model", under="params <= 5.72M", maximize="d_model")
    assert answer.settings == {"d_model": 192}
    assert answer.figures["params"] == 5_717_416
    further = next(step for step in answer.steps if step.forward)
    assert (further.value, further.broken) == (195, ("params <= 5.72M",))


@pytest.mark.parametrize(("macs", "multiplier"), [("41M", 0.25), ("149M", 0.5), ("325M", 0.75), ("569M", 1.0)])
def test_the_multipliers_of_mobilenet_follow_from_its_macs(macs: str, multiplier: float) -> None:
    # Howard et al. 2017, arXiv:1704.04861, Table 6
    answer = netcalc.load("mobilenet_v1").solve(unknowns="multiplier=0.25:1:0.05", near=f"macs={macs}")
    assert answer.settings == {"multiplier": multiplier} and answer.proved


def test_the_widest_mobilenet_under_150_million_macs_has_half_the_width() -> None:
    answer = netcalc.load("mobilenet_v1").solve(unknowns="multiplier=0.3:0.7:0.05", under="macs <= 150M")
    assert answer.settings == {"multiplier": 0.5}


#: Height and width, and GFLOPs (multiply-adds) of torchvision's EfficientNet_B0_Weights to B7_Weights.
EFFICIENTNETS = [(224, "0.386G"), (240, "0.687G"), (260, "1.088G"), (300, "1.827G")]
EFFICIENTNETS += [(380, "4.394G"), (456, "10.266G"), (528, "19.068G"), (600, "37.746G")]


@pytest.mark.parametrize(("number", "size", "macs"), [(n, *row) for n, row in enumerate(EFFICIENTNETS)])
def test_the_resolutions_of_efficientnets_follow_from_their_work(number: int, size: int, macs: str) -> None:
    net = netcalc.load(f"efficientnet_b{number}", set={"width": "${height}"})
    answer = net.solve(unknowns="height", multiple_of="height=4", near=f"macs={macs}")
    assert answer.proved
    assert answer.figures["macs"] == netcalc.load(f"efficientnet_b{number}").macs
    assert answer.settings["height"] in ((260, 288) if number == 2 else (size,))  # the strides make these alike


@pytest.mark.parametrize("phi", [2, 5, 7])
def test_the_work_of_efficientnets_grows_as_powers_of_two(phi: int) -> None:
    # Tan & Le 2019, §3.3: depth 1.2^φ, width 1.1^φ and resolution 1.15^φ make about 2^φ times the work
    scaled = {
        name: f"${{{of}}}"
        for name, of in {
            "multiplier": "depth ** 0.523",  # log 1.1 / log 1.2
            "height": "int(224 * depth ** 0.767)",  # log 1.15 / log 1.2
            "width": "height",
        }.items()
    }
    depths = sorted(round(1.2 ** (phi + step / 4), 3) for step in range(-4, 5))
    net = netcalc.load("efficientnet_b0", set=scaled)
    answer = net.solve(unknowns={"depth": depths}, near=f"macs={386 * 2**phi}M")
    assert abs(depths.index(answer.settings["depth"]) - 4) <= 2  # φ to a half


def test_chinchilla_has_20_tokens_for_each_parameter() -> None:
    # Hoffmann et al. 2022, Table 3: 67 billion parameters and 1.5 trillion tokens at 5.76e23 FLOPs; Chinchilla itself
    # has 80 layers of width 8,192 with 64 heads and 32,000 tokens in its vocabulary (Table 4)
    net = netcalc.load("gpt2", set={"d_model": 8192, "heads": 64, "vocab": 32000})
    answer = net.solve(unknowns="layers", law="chinchilla", compute="5.76e23")
    assert [row.optimum.law for row in answer.laws] == ["chinchilla-1", "chinchilla-2", "chinchilla-3"]
    first = answer.laws[0]
    assert answer.settings == first.settings
    assert abs(first.settings["layers"] - 80) <= 5
    assert 18 <= first.tokens / first.params <= 23  # type: ignore[operator]
    assert first.tokens * first.params * 6 == pytest.approx(5.76e23)  # type: ignore[operator]


def test_the_sizes_of_kaplan_are_those_without_embeddings() -> None:
    net = netcalc.load("gpt2")
    answer = net.solve(unknowns="layers", law=["kaplan", "besiroglu"], compute="1e18")
    (layers,) = answer.laws[0].settings.values()  # type: ignore[union-attr]
    target = answer.laws[0].optimum.params
    # 12·d² weights in each layer, and 13·d biases and numbers of norms; 2·d of the last norm
    sizes = {n: n * (12 * 768**2 + 13 * 768) + 2 * 768 for n in (layers - 1, layers, layers + 1)}
    assert answer.laws[0].params == sizes[layers] == answer.figures["non_embedding"]
    assert min(sizes, key=lambda n: abs(sizes[n] - target)) == layers
    assert answer.laws[1].params == at(net, answer.laws[1].settings or {})["params"]  # type: ignore[index]


def test_a_network_without_a_vocabulary_has_no_parameters_without_embeddings() -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.load("resnet18").solve(unknowns="classes", under="non_embedding <= 1M")
    assert caught.value.diagnostics[0].code == "E502"


def test_networks_of_another_form_are_left_out_by_name() -> None:
    # StarCoder 2 takes widths that are no multiple of its 24 heads, for which formulas are others
    net = netcalc.load("starcoder2-3b")
    answer = net.solve(unknowns="d_model", under="params <= 1G")
    assert answer.within == ("d_model is a multiple of 48",)
    assert "unless d_model is a multiple of 48, networks are not compared" in answer.notes
    few = net.solve(unknowns=f"d_model={int(answer.settings['d_model']) - 20}:4096", under="params <= 1G")
    assert few.within == answer.within  # thousands are too many to count each
    near = range(int(answer.settings["d_model"]) - 20, int(answer.settings["d_model"]) + 30)
    all_near = net.solve(unknowns={"d_model": near}, under="params <= 1G")
    possible = {n: figures["params"] for n in near if (figures := at(net, {"d_model": n}))}
    best = max((params, n) for n, params in possible.items() if params <= 10**9)
    assert (all_near.figures["params"], all_near.within, all_near.proved) == (best[0], (), True)


def test_what_is_best_already_stays() -> None:
    answer = netcalc.load("gpt2").solve(unknowns="heads", under="params <= 125M")
    assert answer.settings == {"heads": 12}  # as good as any other number


# -- what excludes everything -------------------------------------------------------------------------


def test_conditions_that_exclude_each_other_are_named_with_the_nearest_network() -> None:
    net = netcalc.load("gpt2")
    answer = net.solve(unknowns="layers", under=["macs >= 1M", "params <= 125M", "flops >= 1T"])
    assert not answer.found and answer.proved
    assert [(each.text, each.others) for each in answer.conflicts] == [
        ("params <= 125M", ("flops >= 1T",)),
        ("flops >= 1T", ("params <= 125M",)),
    ]
    nearest = answer.conflicts[0]
    (layers,) = nearest.settings.values()
    there, below = (at(net, {"layers": number}) for number in (layers, layers - 1))
    assert there is not None and below is not None
    assert there["flops"] >= 10**12 > below["flops"] and there["params"] == nearest.value


def test_a_condition_that_nothing_meets_is_named_alone() -> None:
    answer = netcalc.load("gpt2").solve(unknowns="layers", under=["flops >= 1T", "params <= 1M"])
    assert [(each.text, each.others, each.settings) for each in answer.conflicts] == [
        ("params <= 1M", (), {"layers": 1})
    ]


def test_what_memory_excludes_is_proved_by_the_weights() -> None:
    answer = netcalc.load("gpt2").solve(unknowns="layers", under="memory <= 100MiB")
    assert answer.proved and not answer.found
    (conflict,) = answer.conflicts
    assert conflict.settings == {"layers": 1}
    assert conflict.value == netcalc.load("gpt2", set={"layers": 1}).memory().total()


def test_values_that_the_spec_refuses_are_told() -> None:
    answer = netcalc.load("gpt2").solve(unknowns="d_model=5,7", under="params <= 1G")
    assert not answer.found and "heads must divide d_model" in answer.conflicts[0].text


# -- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--for", "d_modle"), "--for d_modle: the spec has no dim or var of that name", "did you mean 'd_model'?"),
        ((), "nothing is unknown", "--for d_model"),
        (("--for", "d_model=5:3"), "the range is empty", "--for"),
        (("--for", "d_model=8:64:0"), "the step should be above 0", ""),
        (("--for", "batch=-4:64"), "should be a whole number of at least 1, not -4", ""),
        (("--for", "length=0:64"), "should be a whole number of at least 1, not 0", ""),
        (("--for", "dropout=0:2:0.5"), "should be at most 1", ""),
        (("--for", "dropout"), "it is no whole number, and needs a range with a step", "0.25:2:0.25"),
        (("--for", "activation"), "it is no number", ""),
        (("--for", "d_model", "--for", "d_model=8:64"), "given twice", ""),
        (("--for", "d_model", "--multiple-of", "layers=2"), "--multiple-of layers: it is not unknown", "--for layers"),
        (("--for", "d_model", "--multiple-of", "d_model=0"), "should be a whole number of at least 1", ""),
        (("--for", "d_model", "--multiple-of", "d_model"), "should be NAME=NUMBER", "d_model=64"),
        (("--for", "d_model=8:10", "--multiple-of", "d_model=64"), "no value is a multiple of 64", ""),
        (("--for", "d_model", "--under", "parms <= 1M"), "there is no figure 'parms'", "did you mean 'params'?"),
        (("--for", "d_model", "--under", "params about 1M"), "should be FIGURE <= AMOUNT", "params <= 125M"),
        (("--for", "d_model", "--under", "params <= many"), "should be compared with a number", ""),
        (("--for", "d_model", "--under", "memory <= 8 apples"), "should be compared with bytes", ""),
        (("--for", "d_model", "--under", "1M <= params >= 2M"), "should be LEAST <= FIGURE <= MOST", ""),
        (("--for", "d_model", "--under", "params <= 1M ± 2%"), "a tolerance belongs to =", ""),
        (("--for", "d_model", "--under", "time <= 1ms"), "a time is one on a device", "--device h100"),
        (("--for", "d_model", "--maximize", "params", "--minimize", "flops"), "only one figure can be the best", ""),
        (("--for", "d_model", "--near", "params"), "should be FIGURE=AMOUNT", "params=125M"),
        (("--for", "d_model", "--maximize", "params"), "has no greatest value", "--for d_model=1:64"),
        (("--for", "d_model", "--minimize", "speed"), "there is no figure 'speed'", ""),
        (("--for", "d_model", "--law", "chinchila", "--compute", "1e21"), "there is no scaling law", "chinchilla"),
        (("--for", "d_model", "--law", "chinchilla"), "the budget is --compute FLOPS or --tokens N", ""),
        (("--for", "d_model", "--compute", "1e21"), "are the budget of a law", "--law chinchilla"),
        (("--for", "d_model", "--law", "kaplan", "--compute", "1e21", "--near", "params=1M"), "--near with --law", ""),
    ],
)
def test_bad_input_is_one_clear_error(
    arguments: tuple[str, ...], message: str, hint: str, netcalc: Callable[..., CommandResult]
) -> None:
    ran = netcalc("solve", "gpt2", *(arguments or ("--under", "params <= 1M")))
    assert ran.code == 2
    assert ran.err.count("error[") == 1
    assert message in ran.err and hint in ran.err
    assert ran.out == ""


def test_a_symbolic_size_has_no_answer() -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.load("gpt2", symbolic=["length"]).solve(unknowns="layers", under="params <= 1G")
    assert caught.value.diagnostics[0].code == "E404"


def test_without_a_model_a_law_is_asked(netcalc: Callable[..., CommandResult]) -> None:
    assert "compute-optimal" in netcalc("solve", "--law", "chinchilla", "--compute", "5.76e23").out
    ran = netcalc("solve", "--for", "d_model")
    assert (ran.code, "there is no MODEL" in ran.err) == (2, True)


# -- pages --------------------------------------------------------------------------------------------

PAGES = {
    "gpt2": ("gpt2", "--for", "d_model", "--under", "params <= 125M"),
    "two-unknowns": (
        *("gpt2", "--for", "d_model,layers", "--set", "heads=${d_model // 64}", "--multiple-of", "d_model=64"),
        *("--under", "params <= 125M", "--under", "flops <= 300G"),
    ),
    "multiplier": ("mobilenet_v1", "--for", "multiplier=0.25:1:0.05", "--under", "macs <= 150M"),
    "infeasible": ("gpt2", "--for", "layers", "--under", "params <= 125M", "--under", "flops >= 1T"),
    "memory": ("gpt2", "--for", "layers", "--under", "memory <= 1GiB", "--minimize", "layers"),
    "law": (
        *("gpt2", "--for", "d_model=1024:8192:128", "--for", "layers=16:64:8", "--set", "heads=${d_model // 128}"),
        *("--law", "chinchilla", "--law", "besiroglu", "--compute", "1e22"),
    ),
}


@pytest.mark.parametrize("page", PAGES)
def test_pages(
    page: str,
    netcalc: Callable[..., CommandResult],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = netcalc("solve", *PAGES[page])
    assert ran.code == (1 if page == "infeasible" else 0)
    assert max(map(len, ran.out.splitlines())) <= 80
    golden(f"solve/{page}.txt", ran.out)
