"""Published figures computed anew: verdicts, files of papers, their errors, and the page of all figures.

The figures themselves are recomputed by ``python -m tests.exhaustive published``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import netcalc as package
from netcalc.reproduction import figures
from netcalc.reproduction.papers import paper_in, paper_names, shipped_paper
from netcalc.reproduction.printed import printed_figure
from netcalc.spec.shipped import shipped
from tests.conftest import CommandResult
from tests.exhaustive.published import recorded
from tests.exhaustive.record import read
from tests.generators.published_page import published_page
from tests.records.test_records import validated

PAGE = Path(__file__).parent.parent / "docs" / "published.md"
#: A paper on a linear layer of 64 + 8 parameters, and 128 FLOPs.
SPEC = "{netcalc: 1, name: layer, inputs: {x: [1, 8]}, layers: [{linear: 8}]}"
PAPER = """
paper: Authors, A paper
source: paper.pdf
networks: {{layer: {{model: layer.yaml}}}}
values: {{params: {{model: layer, field: params}}, k: 1000}}
figures:
  - {{id: one, {figure}}}
"""


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return a function that writes a paper with a figure to the current folder and returns its name."""
    monkeypatch.chdir(tmp_path)
    Path("layer.yaml").write_text(SPEC)

    def write(figure: str) -> str:
        Path("paper.yaml").write_text(PAPER.format(figure=figure))
        return "paper.yaml"

    return write


# -- printed figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "means", "inside", "outside"),
    [
        ("59.25 GiB", "", 59.2549 * 2**30, 59.2551 * 2**30),
        ("15.93 GB", "GiB", 15.934 * 2**30, 15.93 * 10**9),
        ("3.14e23 FLOP", "", 3.1449e23, 3.1451e23),
        ("45.7 %", "", 0.4574, 0.4576),
        ("34 days", "", 33.6, 33.4),
        ("120 GB", "", 120.4e9, 120.6e9),
        ("1.10", "", 1.104, 1.106),
        ("34,560", "", 34_560, 34_561),
        (72, "", 72, 73),
        ("43,000 tokens", "", 43_000, 42_653),
    ],
)
def test_a_figure_is_reached_within_half_of_its_last_digit(
    printed: str | int, means: str, inside: float, outside: float
) -> None:
    figure = printed_figure(printed, means)
    assert figure.is_reached_by(inside) and not figure.is_reached_by(outside)


def test_zeros_of_a_rounded_number_do_not_count() -> None:
    rounded = printed_figure("43,000 tokens", digits=2)
    assert rounded.is_reached_by(42_500) and rounded.is_reached_by(43_499) and not rounded.is_reached_by(42_499)
    assert printed_figure("10,700 tokens", digits=3).tolerance == 50
    for text, digits in (("43,100", 2), ("43", 2), ("4.30", 1), ("4e3", 1)):
        with pytest.raises(ValueError, match="digits"):
            printed_figure(text, digits=digits)


def test_computed_figures_are_written_as_the_printed_one() -> None:
    shown = {text: printed_figure(text).shown(value) for text, value in [("1.9 GB", 1.875e9), ("3.14e23", 3.1429e23)]}
    assert shown == {"1.9 GB": "1.875 GB", "3.14e23": "3.1429e23"}
    assert printed_figure("0.00").shown(-1e-9) == "0.00" and printed_figure("34,560").shown(1234567) == "1,234,567"
    assert printed_figure("800 KB", "KiB").number == Fraction(800 * 1024)


# -- verdicts and exit codes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "verdict", "code"),
    [
        ("printed: 72, value: params", "reproduced", 0),
        ("printed: 0.07 k, value: params", "reproduced", 0),
        ("printed: 71, value: params", "differs", 1),
        ("printed: 71, value: params, reason: It leaves one out.", "explained", 0),
        ("printed: 72, value: params, reason: It leaves one out.", "differs", 1),
        (
            'printed: "128", values: {w: {model: layer, summary: {convention: torch}, field: totals.flops}}',
            "reproduced",
            0,
        ),
        ("printed: 288 bytes, values: {w: {model: layer, memory: {}, field: weights}}", "reproduced", 0),
        ('printed: "0.072", values: {share: params/k}, value: share', "reproduced", 0),
    ],
)
def test_verdicts(
    figure: str, verdict: str, code: int, paper: Callable[[str], str], netcalc: Callable[..., CommandResult]
) -> None:
    ran = netcalc("reproduce", paper(figure), "--format", "json")
    assert (ran.code, ran.err) == (code, "")
    record = validated(CommandResult(0, ran.out, ""), "reproduce")
    assert [found["verdict"] for found in record["figures"]] == [verdict]
    assert record == package.as_dict(package.reproduce("paper.yaml"))
    assert record["ok"] == (code == 0)


def test_figures_that_a_spec_carries() -> None:
    verdicts = {figure.figure: figure.verdict for figure in package.reproduce("resnet34/*").figures}
    assert verdicts == {
        "resnet34/macs": "reproduced",
        "resnet34/top-1-error": "quoted",
        "resnet34/top-1-error-2": "quoted",
        "resnet34/params": "reproduced",
        "resnet34/macs-2": "reproduced",
    }


def test_a_network_has_the_figures_that_follow_from_it_alone(paper: Callable[[str], str]) -> None:
    names = [figure.figure for figure in package.load("llama-3.1-405b", set={"layers": 2}).reproduce().figures]
    assert names == ["llama-3.1-405b/params", "deepseek-insights-2025/table1-llama-3.1-405b", "llama3-2024/flops-405b"]
    paper("printed: 72, value: params")
    assert package.load("layer.yaml").reproduce().figures == ()


def test_figures_of_several_networks_are_not_those_of_one(
    paper: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(
        paper("printed: 2, values: {a: {model: mlp, field: params}, b: {model: alexnet, field: params}}, value: b/a")
    )
    monkeypatch.setattr(figures, "paper_names", lambda: ["paper"])
    monkeypatch.setattr(figures, "shipped_paper", lambda name: paper_in(path))
    assert package.load("mlp").reproduce().figures == ()
    (both,) = [figure for figure in package.reproduce("mlp").figures if figure.figure == "paper/one"]
    assert both.models == ("alexnet", "mlp")


# -- bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "code", "message"),
    [
        ("printed: 72 pounds, value: params", "E104", "the unit should be one of"),
        ("printed: many, value: params", "E104", "should be a number with a unit"),
        ("printed: 1.10, value: params", "E104", "printed"),
        ("printed: 72, value: params, wher: Table 1", "E101", "unknown key 'wher'"),
        ("value: params", "E105", "'printed' is missing"),
        ("printed: 72", "E104", "a figure without `value` has one of `values`"),
        ("printed: 72, value: parms", "E202", "'parms' is no value of the figure or the paper"),
        ("printed: 72, values: {a: b, b: a}, value: a", "E202", "refers to itself"),
        ("printed: 72, value: params +", "E201", "paper/one"),
        ("printed: 72, values: {a: {model: layer, field: parms}}", "E104", "there is no field parms"),
        ("printed: 72, values: {a: {field: params}}", "E104", "a value is of a model, a mean_field or a device"),
        ("printed: 72, values: {a: {model: layer, memory: {}, summary: {}, field: x}}", "E104", "of one method"),
        ("printed: 72, values: {a: {model: layer, field: name}}", "E104", "'layer' is no number"),
        ("printed: 72, values: {a: {model: layer, set: {width: 1}, field: params}}", "E501", "width"),
        (
            "printed: 1, values: {a: {mean_field: {activation: linear}, field: mean}}",
            "E104",
            "is no activation function",
        ),
        ("printed: 1, values: {a: {device: h900, field: memory}}", "E502", "there is no such device"),
    ],
)
def test_a_bad_file_is_an_error_with_its_line(
    figure: str, code: str, message: str, paper: Callable[[str], str], netcalc: Callable[..., CommandResult]
) -> None:
    ran = netcalc("reproduce", paper(figure))
    assert ran.code == 2 and ran.err.startswith(f"error[{code}]") and message in ran.err.replace("\n  ", " ")
    assert "paper.yaml:7" in ran.err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet43", "did you mean 'resnet34'"),
        ("hf-mem/gpt-oss-120b-tokn", "did you mean 'hf-mem/gpt-oss-120b-token'"),
        ("mlp", "mlp: no published figures"),
        ("nowhere.yaml", "error[E004]: nowhere.yaml cannot be read"),
    ],
)
def test_a_name_without_figures(name: str, message: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("reproduce", name)
    assert ran.code == 2 and message in ran.err


# -- what ships -------------------------------------------------------------------------------------------


def test_a_sample_is_what_is_recorded() -> None:
    names = [
        "korthikanti-2022/fig1-1t",
        "megatron-bridge/qwen3-30b-a3b",
        "edge-of-chaos/chi-4",
        "timm-nfnet-gains/silu",
    ]
    record = read("published")["result"]
    assert recorded(package.reproduce(*names)) == {name: record[name] for name in names}


def test_the_record_has_all_figures_of_papers_and_none_that_differs() -> None:
    record = read("published")["result"]
    papers = paper_names()
    named = {name for paper in papers for name, _ in shipped_paper(paper).figures()}
    assert {name for name in record if name.partition("/")[0] in papers} == named
    assert not {*papers} & shipped().keys()
    assert not [name for name, figure in record.items() if figure["verdict"] == "differs"]
    assert not [name for name, figure in record.items() if figure["verdict"] == "explained" and not figure["reason"]]


def test_the_page_of_all_figures_is_that_of_the_record(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update"):
        PAGE.write_text(published_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == published_page()


@pytest.mark.parametrize(
    ("names", "page"),
    [
        (("llama3-2024", "resnet34/*"), "several.txt"),
        (("korthikanti-2022/fig1-175b",), "single.txt"),
        (("llama3-2024", "--format", "markdown"), "several.md"),
    ],
)
def test_pages(
    names: tuple[str, ...], page: str, netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]
) -> None:
    ran = netcalc("reproduce", *names)
    assert (ran.code, ran.err) == (0, "")
    assert page.endswith(".md") or all(len(line) <= 80 for line in ran.out.splitlines())
    golden(f"reproduce/{page}", ran.out)
