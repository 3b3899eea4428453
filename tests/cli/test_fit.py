"""Command ``fit``: pages and records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated

PAGES: dict[str, list[str]] = {
    "yes": ["fit", "llama-3.1-8b", "--device", "h100"],
    "no": ["fit", "llama-3.1-8b", "--device", "8GiB"],
    "weights": ["fit", "llama-3-70b", "--device", "rtx-4090", "--quantize", "int8"],
    "devices": ["fit", "mixtral-8x7b"],
    "splits": ["fit", "llama-3-70b", "--device", "h100:8", "--length", "32768"],
    "training": ["fit", "bert-base", "--device", "t4", "--training", "adamw", "--batch", "8"],
    "end": ["fit", "gpt2", "--device", "l4", "--phase", "decode"],
    "images": ["fit", "resnet50", "--device", "jetson-agx-orin", "--reserve", "1GiB"],
    "csv": ["fit", "llama-3.1-8b", "--device", "24GiB", "--format", "csv"],
    "csv-splits": ["fit", "llama-3-70b", "--device", "h100:8", "--format", "csv"],
    "markdown": ["fit", "gpt2", "--format", "markdown"],
}


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str, netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc(*PAGES[name])
    assert (ran.code, ran.err) == (0, "")
    assert name in ("markdown", "csv", "csv-splits") or all(len(line) <= 80 for line in ran.out.splitlines())
    assert len(ran.out.splitlines()) <= 20
    golden(f"fit/{name}.txt", ran.out)


def test_the_record_is_that_of_the_api(netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("fit", "gpt2", "--device", "300MiB", "--format", "json"), "fit")
    report = package.load("gpt2").fit(device="300MiB")
    assert record == package.as_dict(report)
    assert record["fits"] is False and record["margin"] == -(record["total"] - 300 * 2**20)
    assert record["largest_batch"] == {"number": 0, "reason": ""}


def test_errors(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("fit", "gpt2", "--device", "h10")
    assert ran.code == 2 and "no such device" in ran.err and "near are" in ran.err
    ran = netcalc("fit", "gpt2", "--device", "h100:5")
    assert ran.code == 2 and "no split of gpt2 has so many devices" in ran.err
