"""Published figures: parsing, precision and inheritance."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.spec.document import Published
from netcalc.spec.library import load_document, load_text


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


def test_published_figures_are_not_inherited(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text(
        "netcalc: 1\npublished: [{figure: params, value: 5 M, where: Table 1}]\nlayers: [relu]\n"
    )
    child = tmp_path / "child.yaml"
    child.write_text("netcalc: 1\nextends: parent\n")
    assert load_document(child).document.published == []
