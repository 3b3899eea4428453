"""Command ``time``: pages, records, selection and charts."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated

LLAMA = ["time", "llama-3-8b", "--dtype", "bfloat16", "--set", "length=4096", "--device", "h100"]

PAGES: dict[str, list[str]] = {
    "decode": [*LLAMA, "--phase", "decode"],
    "prefill": [*LLAMA, "--phase", "prefill", "--depth", "3", "--efficiency", "0.5"],
    "training": ["time", "llama-3.1-405b", "--device", "h100:1024", "--training", "adamw", "--depth", "2"],
    "run": [
        "time",
        "gpt3-175b",
        "--device",
        "a100:1024",
        "--tokens",
        "300B",
        "--arithmetic",
        "bfloat16",
        "--depth",
        "2",
    ],
    "split": [
        *("time", "llama-3.1-405b", "--set", "length=8192", "--set", "batch=8", "--device", "h100:128"),
        *("--training", "adamw", "--tp", "8", "--sp", "--pp", "2", "--dp", "8", "--zero", "1", "--micro-batch", "1"),
    ],
    "images": ["time", "resnet18", "--device", "rtx-4090", "--dtype", "float16", "--sort", "seconds", "--top", "5"],
    "no-peak": ["time", "resnet18", "--device", "m4-max", "--depth", "1"],
    "csv": ["time", "resnet18", "--device", "l4", "--depth", "1", "--format", "csv"],
    "markdown": ["time", "mlp", "--device", "l4", "--format", "markdown"],
}


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str, netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc(*PAGES[name])
    assert (ran.code, ran.err) == (0, "")
    assert all(len(line) <= 80 for line in ran.out.splitlines()) or name in ("markdown", "csv")
    golden(f"time/{name}.txt", ran.out)


def test_the_record_is_that_of_the_api(netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc(*LLAMA, "--phase", "decode", "--efficiency", "0.4", "--format", "json"), "time")
    net = package.load("llama-3-8b", dtype="bfloat16", set={"length": 4096})
    report = net.time(device="h100", phase="decode", efficiency=0.4)
    assert record == package.as_dict(report)
    assert record["device"]["sources"]["bandwidth"].startswith("NVIDIA H100")
    assert sum(layer["seconds"] for layer in record["layers"]) == pytest.approx(record["seconds"])
    assert f"{report}\n" == netcalc(*LLAMA, "--phase", "decode", "--efficiency", "0.4").out


def test_rows_are_selected_in_all_formats(netcalc: Callable[..., CommandResult]) -> None:
    rows = list(csv.DictReader(netcalc(*LLAMA, "--filter", "*.mlp.*", "--format", "csv").out.splitlines()))
    assert rows[0]["path"] == "model.layers.0-31.mlp.gate_proj"
    assert {row["times"] for row in rows} == {"32"}


def test_a_chart_has_roofs_and_a_point_for_each_layer(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    path = tmp_path / "roofline.svg"
    assert netcalc(*LLAMA, "--phase", "prefill", "-o", str(path)).code == 0
    tree = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    roofline, times = [group for group in tree if group.tag.endswith("}g")]
    worked = [layer for layer in package.load("llama-3-8b").time(device="h100").layers if layer.flops]
    dots = [element for element in roofline.iter() if element.get("class", "").startswith("dot ")]
    legend = {element.attrib["class"] for element in dots}
    assert len(dots) == len(worked) + len(legend)
    assert len([e for e in roofline.iter() if e.get("class", "").startswith("line ")]) == 1 + 1  # and in the legend
    assert len([e for e in times.iter() if e.get("class", "").startswith("bar ")]) >= len(worked)
    assert "roofs of h100" in path.read_text(encoding="utf-8")


def test_no_device_is_an_error(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("time", "mlp")
    assert ran.code == 2 and "a time is one on a device" in ran.err and "--device h100" in ran.err
