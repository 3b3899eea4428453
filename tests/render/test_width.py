"""Width of reports: at most 80 columns for every shipped spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from netcalc import ops
from netcalc.analysis.compare import compare
from netcalc.analysis.cost import Analysis, analyze
from netcalc.analysis.explain import explain
from netcalc.analysis.summary import Summary
from netcalc.reference.operation_list import listed_operations
from netcalc.render.presentations import View, lines
from netcalc.render.selection import Selection
from netcalc.render.text import Terminal, width_of
from netcalc.results import Result
from netcalc.spec import elaborate, load_document
from netcalc.spec.shipped import catalogue, shipped
from tests.conftest import CommandResult
from tests.exhaustive.pages import SAMPLED, wide_lines

SMALL = str(Path(__file__).parent.parent / "fixtures" / "small.yaml")
#: Shipped specs that run quickly, of different families.
QUICK = [
    "mlp",
    "rnn",
    "gru",
    "lstm",
    "gcn",
    "bert-tiny",
    "squeezenet1_1",
    "shufflenet_v2_x0_5",
    "mobilenet_v3_small",
    "lstm-lm-ptb-small",
]


def too_wide(text: str) -> list[str]:
    return [line for line in text.splitlines() if width_of(line) > 80]


def reports(analysis: Analysis, neighbour: Analysis) -> Iterator[tuple[str, Result, View]]:
    for view in ("shapes", "params", "flops", "summary"):
        yield view, Summary(analysis, view), View()
    yield "summary --top", Summary(analysis), View(Selection(top=5))
    yield "explain", explain(analysis.program, None, analysis.convention), View()
    yield "compare", compare([analysis, neighbour]), View()


def family(name: str) -> str:
    return name.partition("-")[0].rstrip("0123456789")


FAMILIES = sorted({family(name) for name in shipped()})


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", FAMILIES)
def test_reports_fit_on_every_shipped_spec(first: str) -> None:
    """Each spec is compared with its neighbour in the list."""
    specs = [name for name in sorted(shipped()) if family(name) == first]
    analyses = [(name, analyze(elaborate(load_document(name), {}))) for name in specs]
    for (name, analysis), (_, neighbour) in pairwise([*analyses, analyses[0]]):
        for command, result, view in reports(analysis, neighbour):
            text = "\n".join(lines(result, view, Terminal(width=80)))
            assert not too_wide(text), f"{command} {name}"


@pytest.mark.parametrize("name", sorted(shipped())[::SAMPLED])
def test_further_pages_fit(name: str) -> None:
    """``python -m tests.exhaustive pages`` has all specs."""
    assert wide_lines(name) == []


@pytest.mark.parametrize("command", [["specs"], ["specs", "bert", "--sort", "params"], ["ops"]])
def test_lists_fit(command: list[str], netcalc: Callable[..., CommandResult]) -> None:
    assert not too_wide(netcalc(*command).out)


@pytest.mark.parametrize("spec", QUICK)
def test_runs_fit_on_small_specs(spec: str, netcalc: Callable[..., CommandResult]) -> None:
    for command in (["run", spec, "--trace", "*"], ["verify", spec], ["signal", spec, "--seeds", "1"]):
        ran = netcalc(*command)
        assert (ran.code, too_wide(ran.out)) == (0, [])


def test_profiles_and_failures_fit(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    assert not too_wide(netcalc("run", SMALL, "--profile", "--threads", "1").out)
    np.savez(tmp_path / "w.npz", **{"head.weight": np.zeros((9, 8), "float32"), "stage.7.weight": np.zeros(3)})
    ran = netcalc("verify", SMALL, "--weights", str(tmp_path / "w.npz"))
    assert (ran.code, too_wide(ran.out.partition("\n")[2])) == (1, [])


@pytest.mark.parametrize("command", [["summary", "detr-resnet-50"], ["explain", "gpt2"], ["ops"], ["specs", "bert"]])
def test_wide_output_and_pipes_are_complete(
    command: list[str], netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = netcalc(*command, "--wide").out
    monkeypatch.delenv("COLUMNS")
    assert netcalc(*command).out == wide
    assert "not shown" not in wide and "shortened" not in wide
    assert too_wide(wide)


@pytest.mark.parametrize("name", ops.names())
def test_pages_of_operations_fit(name: str, netcalc: Callable[..., CommandResult]) -> None:
    assert not too_wide(netcalc("ops", name).out)


def test_lists_have_a_line_for_each_family_and_each_entry(netcalc: Callable[..., CommandResult]) -> None:
    for verb, entries in (
        ("specs", sorted((spec.family, name) for name, spec in catalogue().items())),
        ("ops", [(entry.family, entry.name) for entry in listed_operations().entries]),
    ):
        table = netcalc(verb).out.split("\n\n")[0].splitlines()[2:]
        names = [line.lstrip("├└─ ").split("  ")[0] for line in table if not line.startswith("shortened")]
        families = [family for family, _ in groupby(entries, itemgetter(0))]
        assert len(names) == len(families) + len(entries)
        assert sorted(names) == sorted([*families, *(name for _, name in entries)])
