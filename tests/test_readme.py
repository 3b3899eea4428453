"""The README: its length, its picture and its table beside other tools."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import netcalc
from netcalc.cli import main
from tests.generators.tools_page import RECORD

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
_TOOLS = ("torchinfo", "fvcore-no-grad", "ptflops")


def test_it_fits_two_screens() -> None:
    assert len(README.splitlines()) <= 120


def test_its_picture_is_current(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    (name,) = re.findall(r"!\[[^\]]*\]\(docs/([^)]*)\.svg\)", README)
    drawn = tmp_path / "drawn.svg"
    assert main(["graph", name, "--depth", "2", "--direction", "LR", "-o", str(drawn)]) == 0
    picture = ROOT / "docs" / f"{name}.svg"
    if request.config.getoption("--update"):
        picture.write_bytes(drawn.read_bytes())
    assert picture.read_bytes() == drawn.read_bytes(), "run pytest --update"


@pytest.mark.parametrize("name", ["vit_b_16", "swin_t", "gpt2"])
def test_its_table_has_the_recorded_figures_of_tools(name: str) -> None:
    (row,) = re.findall(rf"^\| {name},.*GMAC \|(.*)\|$", README, re.MULTILINE)
    shown = [cell.strip() for cell in row.split("|")][:4]
    tools = json.loads(RECORD.read_text(encoding="utf-8"))
    network = netcalc.load(name, set={"length": 128} if name == "gpt2" else {})
    figures = [network.macs, *(tools[tool]["figures"][name] for tool in _TOOLS)]
    assert shown == [f"{figure / 1e9:.2f}" for figure in figures]


def test_its_table_has_the_figures_of_hf_mem() -> None:
    """983,040 bytes are printed in issue 61 of hf-mem, which netcalc/data/published/hf-mem.yaml quotes."""
    (figure,) = netcalc.reproduce("hf-mem/gemma-4-31b-token").figures
    ours = netcalc.load("gemma-4-31b", set={"length": 1}).memory(cache="ideal").token_bytes
    assert f"| {ours:,} | | | | {figure.printed.split()[0]} |" in README


def test_its_table_has_the_ratios_of_the_benchmark() -> None:
    tasks = json.loads((ROOT / "benchmarks/results/tools.json").read_text(encoding="utf-8"))["tasks"]
    ratios = " | ".join(f"{tasks[tool]['ratio']:.0f}×" for tool in ("torchinfo", "fvcore", "ptflops"))
    assert f"time | 1 | {ratios} |" in README
