"""Charts of commands: printed at 80 columns, and written by the suffix of ``-o``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import netcalc as package
from netcalc.render.numbers import bytes_text
from netcalc.render.plot.text import chart_text
from netcalc.render.presentations import charts
from netcalc.render.text import Terminal, width_of
from tests.conftest import CommandResult
from tests.render.test_plot_layout import CASES, result

Run = Callable[..., CommandResult]
_SVG = "{http://www.w3.org/2000/svg}"
#: Commands that print charts with ``--charts``.
PRINTED = {
    "summary": ["summary", "resnet18", "--depth", "1"],
    "params": ["params", "gpt2", "--top", "5", "--sort", "params"],
    "flops": ["flops", "mlp", "--training", "adamw"],
    "compare": ["compare", "resnet18", "vit_b_16", "--depth", "1"],
    "conventions": ["compare", "mlp", "-c", "netcalc", "-c", "torch"],
    "signal": ["signal", "tutorial-chain", "--seeds", "1", "--dtype", "float64", "--filter", "*.linear", "--top", "2"],
}
#: Charts that ``-o FILE.svg`` writes.
WRITTEN = {
    "summary mlp": ["mlp: parameters by layer", "mlp: FLOPs by layer"],
    "params mlp": ["mlp: parameters by layer"],
    "flops mlp": ["mlp: FLOPs by layer"],
    "compare mlp resnet18": ["parameters by operation", "FLOPs by operation"],
    "memory resnet18": ["resnet18: memory by layer", "resnet18: activations by layer"],
    "time mlp --device l4": ["mlp: layers under the roofs of NVIDIA L4", "mlp: least time by layer"],
    "signal mlp --seeds 1": ["mlp: variance of activations", "mlp: norm of gradients"],
    "train mlp --steps 2": ["loss of mlp, adamw"],
}


@pytest.mark.parametrize("name", PRINTED)
def test_charts_are_printed(name: str, netcalc: Run, golden: Callable[[str, str], None]) -> None:
    plain, drawn = netcalc(*PRINTED[name]), netcalc(*PRINTED[name], "--charts")
    assert (drawn.code, drawn.err) == (0, "")
    assert all(width_of(line) <= 80 for line in drawn.out.splitlines())
    assert {*plain.out.splitlines()} <= {*drawn.out.splitlines()}, "the page stays as it is"
    golden(f"charts/{name}.txt", "\n".join(line for line in drawn.out.splitlines() if line not in plain.out) + "\n")


@pytest.mark.parametrize("command", WRITTEN)
def test_the_suffix_of_output_chooses_a_picture(command: str, netcalc: Run, tmp_path: Path) -> None:
    file = tmp_path / "chart.SVG"
    ran = netcalc(*command.split(), "-o", str(file))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    titles = [title.text for title in ElementTree.parse(file).getroot().iterfind(f"{_SVG}g/{_SVG}title")]
    assert [title.partition(", bound")[0] for title in titles if title] == WRITTEN[command]


def test_bars_are_of_the_rows_that_are_selected(netcalc: Run, tmp_path: Path) -> None:
    file = tmp_path / "chart.svg"
    assert netcalc("params", "resnet18", "--filter", "layer4.*", "--sort", "path", "-o", str(file)).code == 0
    names = [e.text for e in ElementTree.parse(file).getroot().iter(f"{_SVG}text") if e.get("text-anchor") == "end"]
    paths = [name for name in names if name]
    assert paths and all(path.startswith("layer4.") for path in paths) and paths == sorted(paths)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shapes", "mlp", "-o", "a.svg"], ".svg files are not written here"),
        (["summary", "mlp", "-o", "a.gif"], ".gif files are not written here"),
        (["flops", "resnet18", "--symbolic", "batch", "-o", "a.svg"], "a chart needs a number in place of"),
        (["flops", "resnet18", "--symbolic", "batch", "--charts"], "a chart needs a number in place of"),
        (["memory", "resnet18", "--symbolic", "batch", "-o", "a.svg"], "charts need numbers in place of batch"),
        (["summary", "mlp", "-o", "a.svg", "--format", "csv"], "contradict each other"),
    ],
)
def test_pictures_that_cannot_be_drawn(words: list[str], message: str, netcalc: Run, tmp_path: Path) -> None:
    ran = netcalc(*words)
    assert ran.code == 2 and message in ran.err and "hint" in ran.err
    assert not Path("a.svg").exists()


@pytest.mark.parametrize("width", [80, 44])
@pytest.mark.parametrize(("name", "verb"), CASES)
def test_charts_fit_the_terminal(name: str, verb: str, width: int) -> None:
    for chart in charts(result(name, verb)):
        lines = [*chart_text(chart, Terminal(color=False, width=width))]
        assert all(width_of(line) <= width for line in lines)
        assert all("\x1b" not in line for line in lines)
        colored = [*chart_text(chart, Terminal(color=True, width=width))]
        assert len(colored) == len(lines) and any("\x1b[" in line for line in colored)


def test_the_peak_is_marked_in_the_terminal(netcalc: Run) -> None:
    """The mark is at the top of the column of its layer, whose name is below."""
    lines = netcalc("memory", "t5-small").out.splitlines()
    start = lines.index("t5-small: activations by layer")
    rows = lines[start + 2 : start + 14]
    (row,) = [number for number, line in enumerate(rows) if "✕" in line]
    column = rows[row].index("✕")
    assert all(len(line) <= column or line[column] in " ▁▂▃▄▅▆▇█" for line in rows[:row])
    assert all(line[column] == "█" for line in rows[row + 1 :])
    assert lines[start + 15].rstrip().endswith("lm_head") and len(lines[start + 15].rstrip()) - 1 == column
    assert any(line.strip() == "✕ peak 63.8 MiB at lm_head" for line in lines)


def test_memory_over_ranges(netcalc: Run, tmp_path: Path) -> None:
    """One range is a chart of areas, two are lines of totals, and what is no number has bars."""
    file = tmp_path / "over.svg"

    def drawn(*words: str) -> tuple[list[str], dict[str, int]]:
        assert netcalc("memory", *words, "-o", str(file)).code == 0
        root = ElementTree.parse(file).getroot()
        kinds = [element.tag.removeprefix(_SVG) for element in root.iter()]
        texts = [element.text or "" for element in root.iter(f"{_SVG}text")]
        return texts, {kind: kinds.count(kind) for kind in ("polygon", "polyline", "rect")}

    texts, kinds = drawn("gpt2", "--over", "length=64,256,1024")
    assert texts[:4] == ["gpt2: memory over length", "weights", "caches and states", "activations"]
    assert {"64", "256", "1024", "length", "memory (MiB)"} <= {*texts} and kinds["polygon"] == 2 * 3
    texts, kinds = drawn("gpt2", "--over", "batch=1,2", "--over", "length=64,128")
    assert texts[1:3] == ["batch=1", "batch=2"] and kinds["polygon"] == 0
    texts, kinds = drawn("gpt2", "--over", "use_cache=true,false")
    assert {"use_cache=True", "use_cache=False"} & {*texts} and kinds["rect"] > 4


def test_memory_of_a_split_is_drawn_by_stage(netcalc: Run, tmp_path: Path) -> None:
    file = tmp_path / "split.svg"
    assert netcalc("memory", "llama-3.1-8b", "--pp", "4", "--training", "adamw", "-o", str(file)).code == 0
    texts = [element.text for element in ElementTree.parse(file).getroot().iter(f"{_SVG}text")]
    split = package.load("llama-3.1-8b").memory(training="adamw", pp=4).split
    assert split is not None
    expected = [bytes_text(stage.total) for stage in split.stages]
    assert [text for text in texts if text in expected] == expected
    assert [text for text in texts if text and text.startswith("stage ")] == [f"stage {n}" for n in range(4)]
