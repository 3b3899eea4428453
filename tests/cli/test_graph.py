"""Command ``graph``: Mermaid, pictures and records of a network's graph."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated

ROOT = Path(__file__).parent.parent.parent


def test_mermaid_is_printed(netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc("graph", "resnet34", "--depth", "1")
    assert (ran.code, ran.err) == (0, "")
    golden("graph/resnet34.mmd", ran.out)
    assert netcalc("graph", "resnet34", "--depth", "1", "--format", "mermaid").out == ran.out
    assert str(package.load("resnet34").graph(depth=1)) + "\n" == ran.out


def test_the_record_is_that_of_the_api(netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("graph", "gpt2", "--format", "json"), "graph")
    assert record == json.loads(json.dumps(package.as_dict(package.load("gpt2").graph())))


@pytest.mark.parametrize("name", ["resnet34", "gpt2", "t5-small", "mixtral-8x7b", "unet", "gemma-3-4b", "inception_v3"])
def test_boxes_of_every_depth_add_up_to_the_totals(name: str) -> None:
    network = package.load(name)
    levels = network.graph(depth=1).levels
    for depth in range(1, levels + 1):
        graph = network.graph(depth=depth)
        assert sum(node.params * node.repeat for node in graph.nodes) == network.params
        assert sum((node.macs or 0) * node.repeat for node in graph.nodes) == network.macs
        ids = {node.id for node in graph.nodes}
        assert all(edge.source in ids and edge.target in ids for edge in graph.edges)
        assert {node.group for node in graph.nodes} | {group.group for group in graph.groups} <= {
            None,
            *(group.id for group in graph.groups),
        }
        assert depth > 1 or not graph.groups
    assert network.graph(depth=levels + 1) == network.graph(depth=levels)


def test_a_graph_is_counted_without_the_engine_that_draws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "quickjs", None)
    graph = package.load("mlp").graph()
    assert graph._repr_html_().startswith("<div><p>flowchart TB")
    with pytest.raises(package.NetcalcError, match="quickjs-ng"):
        graph.plot(tmp_path / "mlp.svg")
    graph.plot(tmp_path / "mlp.dot")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--show", "colors"], "should be params, macs, both or none, not 'colors'"),
        (["--direction", "UP"], "UP"),
        (["--depth", "0"], "0"),
        (["-o", "mlp.pdf"], ".pdf files are not written here"),
        (["-o", "mlp.svg", "--format", "json"], "contradict each other"),
        (["-o", "mlp.mmd", "--format", "json"], "contradict each other"),
        (["-o", "none/mlp.svg"], "there is no folder"),
        (["--convention", "nobody"], "nobody"),
    ],
)
def test_errors(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    netcalc: Callable[..., CommandResult],
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = netcalc("graph", "mlp", *words)
    assert ran.code == 2 and message in ran.err + ran.out and "Traceback" not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_the_picture_of_the_documentation_is_drawn_by_netcalc(request: pytest.FixtureRequest) -> None:
    file = ROOT / "docs" / "graph.svg"
    picture = package.load("gpt2").graph().to_svg() + "\n"
    if request.config.getoption("--update"):
        file.write_text(picture, encoding="utf-8")
    assert file.read_text(encoding="utf-8").rstrip("\n") + "\n" == picture


@pytest.mark.parametrize("lines", [2_000, 6_000])  # too deep for the engine's stack, and above the limit
def test_a_picture_that_is_too_large_is_an_error(lines: int) -> None:
    layers = "\n".join(f"  - {{name: l{number}, linear: 8}}" for number in range(lines))
    graph = package.loads(f"netcalc: 1\nname: long\ninputs: {{x: [1, 8]}}\nlayers:\n{layers}\n").graph()
    with pytest.raises(package.NetcalcError, match=r"E502.*(too large|boxes and edges)"):
        graph.to_svg()
    assert len(graph.to_mermaid().splitlines()) > 2 * lines
