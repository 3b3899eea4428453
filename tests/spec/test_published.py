"""Published figures: parsing, precision and inheritance."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

import netcalc as package
from netcalc.diagnostics import NetcalcError
from netcalc.reference.specs import describe
from netcalc.spec.document import Published
from netcalc.spec.library import load_document, load_text
from tests.conftest import CommandResult


def published(value: str | int) -> Published:
    return Published(figure="params", value=value, where="Table 1")


@pytest.mark.parametrize(
    ("value", "number"), [("117 M", 117_000_000), ("4.5G", 4_500_000_000), ("512", 512), (61, 61), ("1.5 k", 1500)]
)
def test_printed_figures_are_parsed(value: str | int, number: int) -> None:
    assert published(value).number == Decimal(number)


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        ("117 M", 116_500_000, 117_500_000),
        ("110 M", 105_000_000, 115_000_000),  # 11 and 0: the last digit may be rounded away
        ("13.0 B", 12_950_000_000, 13_050_000_000),
        ("1.3 B", 1_250_000_000, 1_350_000_000),
        ("175 T", 174_500_000_000_000, 175_500_000_000_000),
        (25_557_032, 25_557_032, 25_557_032),
    ],
)
def test_a_count_agrees_to_the_printed_digits(value: str | int, least: int, most: int) -> None:
    figure = published(value)
    assert figure.agrees(least)
    assert figure.agrees(most)
    assert not figure.agrees(least - 1)
    assert not figure.agrees(most + 1)


@pytest.mark.parametrize("value", ["about 5", "5 X", "-3", "5.", "0"])
def test_malformed_figures(value: str) -> None:
    with pytest.raises(NetcalcError):
        load_text(f"netcalc: 1\npublished: [{{figure: params, value: {value}, where: Table 1}}]\nlayers: [relu]\n")


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ("{figure: top-1 error, value: 25.03 %, where: Table 2}", "quoted: true"),
        ("{figure: params, value: 25.03 %, where: Table 2}", "117 M"),
        ("{figure: params, value: 5 M, where: Table 2, quoted: true}", "cannot be quoted"),
        ("{figure: BLEU, value: '28.4', where: Table 2, quoted: true, miscounted: no}", "cannot be quoted"),
        ("{figure: params, value: 5 M, where: Table 2, note: a, miscounted: b}", "one reason"),
    ],
)
def test_a_figure_is_counted_or_quoted(figure: str, said: str) -> None:
    with pytest.raises(NetcalcError) as error:
        load_text(f"netcalc: 1\npublished: [{figure}]\nlayers: [relu]\n")
    assert said in str(error.value)


def test_a_figure_is_miscounted_in_digits_that_may_be_rounded_away() -> None:
    """BERT large's 340 M agree with its 335,141,888 parameters as 34 tens of millions, and not as 340 millions."""
    printed = {"figure": "params", "value": "340 M", "where": "§3"}
    assert Published(**printed).stands(335_141_888)
    assert Published(**printed, miscounted="with heads").stands(335_141_888)
    assert not Published(**printed, miscounted="with heads").stands(339_600_000)
    assert not Published(**printed, note="with heads").stands(335_141_888)


def test_quoted_results_stand_beside_counted_figures() -> None:
    """The errors of the four networks in Table 2 of arXiv:1512.03385."""
    errors = {"plain18": "27.94 %", "resnet18": "27.88 %", "plain34": "28.54 %", "resnet34": "25.03 %"}
    for name, error in errors.items():
        (quoted,) = (p for p in describe(load_document(name)).published if p.quoted and "Table 2" in p.where)
        assert (quoted.value, quoted.counted) == (error, None)
    large, *_ = describe(load_document("bert-large")).published
    assert (large.value, large.counted, bool(large.miscounted)) == ("340 M", 335_141_888, True)


def test_published_figures_are_not_inherited(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text(
        "netcalc: 1\npublished: [{figure: params, value: 5 M, where: Table 1}]\nlayers: [relu]\n"
    )
    child = tmp_path / "child.yaml"
    child.write_text("netcalc: 1\nextends: parent\n")
    assert load_document(child).document.published == []


COUNTED = """
netcalc: 1
vars: {{width: 8}}
published:
  - {{figure: params, value: {value}, where: a table, {more}}}
inputs: {{x: [1, 8]}}
layers:
  - {{name: hidden, linear: "${{width}}"}}
  - {{name: head, linear: 2}}
"""


@pytest.mark.parametrize(
    ("value", "more", "command"),
    [
        (90, "note: ''", "netcalc summary SPEC --convention torch"),
        (72, "exclude: head", "netcalc summary SPEC --convention torch --exclude head"),
        (18, "exclude: [hidden]", "netcalc summary SPEC --convention torch --exclude hidden"),
        (46, "set: {width: 4}", "netcalc summary SPEC --set width=4 --convention torch"),
        (36, "set: {width: 4}, exclude: head", "netcalc summary SPEC --set width=4 --convention torch --exclude head"),
    ],
)
def test_figures_at_other_sizes_and_without_layers(
    value: int, more: str, command: str, tmp_path: Path, netcalc: Callable[..., CommandResult]
) -> None:
    spec = tmp_path / "counted.yaml"
    spec.write_text(COUNTED.format(value=value, more=more), encoding="utf-8")
    assert netcalc("check", str(spec)).code == 0
    (figure,) = package.reproduce(str(spec)).figures
    assert (figure.verdict, figure.value) == ("reproduced", value)
    assert figure.working[0].command == command.replace("SPEC", str(spec))
    record = json.loads(netcalc(*shlex.split(figure.working[0].command)[1:], "--format", "json").out)
    assert record["totals"]["params"] == value
    (described,) = package.describe(str(spec)).published
    assert described.counted == value
    spec.write_text(COUNTED.format(value=value + 1, more=more), encoding="utf-8")
    assert netcalc("check", str(spec)).code == 1


@pytest.mark.parametrize(
    ("more", "code"), [("exclude: tail", "E503"), ("set: {widths: 4}", "E501"), ("quoted: true", "E104")]
)
def test_bad_figures(more: str, code: str, tmp_path: Path) -> None:
    spec = tmp_path / "counted.yaml"
    spec.write_text(
        COUNTED.format(value=90, more=f"exclude: head, {more}" if "quoted" in more else more), encoding="utf-8"
    )
    with pytest.raises(NetcalcError) as caught:
        package.reproduce(str(spec))
    assert caught.value.diagnostics[0].code == code
