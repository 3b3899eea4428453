"""`netcalc train` and `netcalc signal` of several models: pages, records, charts, and what cannot be compared."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated

NORMS = str(Path(__file__).parent.parent / "fixtures" / "norms.yaml")
TRAINED = str(Path(__file__).parent.parent / "fixtures" / "trained.yaml")
IDENTITY = ("--set", "2:norm=identity")


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("train-rates", ["train", NORMS, *IDENTITY, "--lr", "0.1,1,10", "--training", "sgd", "--steps", "6"]),
        ("train-watch", ["train", "mlp", "--steps", "4", "--watch", "hidden.*.1"]),
        ("train-watch-two", ["train", NORMS, *IDENTITY, "--steps", "3", "--watch", "*.act", "--dtype", "float64"]),
        ("signal", ["signal", NORMS, "--set", "2:activation=relu", "--seeds", "1", "--dtype", "float64"]),
    ],
)
def test_pages(
    name: str,
    arguments: list[str],
    netcalc: Callable[..., CommandResult],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = netcalc(*arguments)
    assert (ran.code, ran.err) == (0, "")
    golden(f"several/{name}.txt", "\n".join(line for line in ran.out.splitlines() if "s for each step" not in line))
    assert max(map(len, ran.out.splitlines())) <= 80


def test_each_run_is_the_run_of_its_network_alone(netcalc: Callable[..., CommandResult]) -> None:
    arguments = ("train", NORMS, *IDENTITY, "--lr", "0.1,1", "--training", "sgd", "--steps", "3", "--seed", "5")
    record = validated(netcalc(*arguments, "--format", "json"), "train-comparison")
    expected = {
        f"norm={norm}, lr {lr:g}": package.load(NORMS, set={"norm": norm}).train(3, lr=lr, training="sgd", seed=5)
        for norm in ("batch_norm", "identity")
        for lr in (0.1, 1)
    }
    assert record["names"] == list(expected)
    for run, alone in zip(record["runs"], expected.values(), strict=True):
        assert [step["loss"] for step in run["steps"]] == list(alone.losses)
    rows = list(csv.DictReader(io.StringIO(netcalc(*arguments, "--format", "csv").out)))
    assert [(row["run"], row["step"]) for row in rows] == [(name, str(n)) for name in expected for n in (1, 2, 3)]
    assert [float(row["loss"]) for row in rows] == [loss for alone in expected.values() for loss in alone.losses]
    assert "| norm=identity, lr 1" in netcalc(*arguments, "--format", "markdown").out


def test_batch_norm_takes_higher_learning_rates() -> None:
    """At a rate of 1 the network with batch norms learns its batch, and the other does not (arXiv:1502.03167)."""
    settings = {"2:norm": "identity"}
    comparison = package.compare_training(NORMS, set=settings, lr=1, training="sgd", steps=30)
    with_norms, without = (run.losses for run in comparison.runs)
    assert with_norms[-1] < 0.2 * with_norms[0]
    assert without[-1] > 0.9 * without[0]


def test_watched_layers_have_the_statistics_of_a_run(netcalc: Callable[..., CommandResult]) -> None:
    network = package.load(NORMS, set={"norm": "identity"}, mode="train")
    arguments = {"training": "sgd", "lr": 0.5, "seed": 3}
    result = network.train(4, watch=["*.act", "fc"], **arguments)
    assert [layer.path for layer in result.watched] == [*(f"layers.{n}.act" for n in range(4)), "fc"]
    before = network.train(3, **arguments).parameters
    traced = network.run(seed=3, weights=before, trace=["*.act", "fc"], keep=True, plan="reference").trace
    for layer, row in zip(result.watched, traced, strict=True):
        assert layer.mean[3] == pytest.approx(float(np.mean(row.array, dtype=float)), rel=1e-6)
        assert layer.std[3] == pytest.approx(float(np.std(row.array.astype(float))), rel=1e-6)
    assert result.losses == network.train(4, **arguments).losses
    table = netcalc("train", NORMS, "--watch", "fc", "--steps", "2", "--format", "csv").out.splitlines()
    assert table[0] == "step,loss,lr,gradient_norm,seconds,fc mean,fc std"
    record = validated(netcalc("train", NORMS, "--watch", "fc", "--steps", "2", "--format", "json"), "train")
    assert [layer["path"] for layer in record["watched"]] == ["fc"] and len(record["watched"][0]["std"]) == 2
    refused = netcalc("train", NORMS, "--watch", "*.akt")
    assert refused.code == 2 and "E503" in refused.err and "--watch *.akt" in refused.err


def test_a_resumed_run_watches_its_own_steps() -> None:
    network = package.load(NORMS)
    whole = network.train(5, watch=["fc"])
    network.train(3, checkpoint_file="c.safetensors")
    resumed = network.train(5, watch=["fc"], resume="c.safetensors")
    assert resumed.watched[0].mean == whole.watched[0].mean[3:]
    assert [row["fc mean"] for row in resumed.records()] == [None] * 3 + list(whole.watched[0].mean[3:])


def test_signals_are_those_of_each_network_alone(netcalc: Callable[..., CommandResult]) -> None:
    arguments = ("signal", NORMS, *IDENTITY, "--seeds", "1")
    record = validated(netcalc(*arguments, "--format", "json"), "signal-comparison")
    alone = [package.load(NORMS, set={"norm": norm}).signal(seeds=1) for norm in ("batch_norm", "identity")]
    assert record["reports"] == [json.loads(json.dumps(package.as_dict(report))) for report in alone]
    rows = list(csv.DictReader(io.StringIO(netcalc(*arguments, "--format", "csv").out)))
    assert {row["network"] for row in rows} == set(record["names"]) == {"norm=batch_norm", "norm=identity"}
    one = validated(netcalc(*arguments, "--filter", "fc", "--format", "json"), "signal-comparison")
    assert [[row["path"] for row in report["layers"]] for report in one["reports"]] == [["fc"], ["fc"]]


def test_layers_that_one_network_has_stand_in_their_place(netcalc: Callable[..., CommandResult]) -> None:
    sizes = ("--set", "batch=4", "--set", "height=32", "--set", "width=32", "--set", "classes=10")
    page = netcalc("signal", "plain18", "resnet18", *sizes, "--seeds", "1").out
    paths = [line.split()[0] for line in page.partition("variance")[2].partition("norm of")[0].splitlines()[2:] if line]
    place = paths.index("layer2.0.downsample.0")
    assert paths[place - 1 : place + 2] == ["layer2.0.conv2", "layer2.0.downsample.0", "layer2.1.conv1"]
    assert "plain18: " in page and "resnet18: " in page


def test_a_chart_has_a_line_for_each_network(netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc("train", NORMS, *IDENTITY, "--steps", "2", "--plot", "loss.svg").code == 0
    assert netcalc("signal", NORMS, *IDENTITY, "--seeds", "1", "--plot", "signal.svg").code == 0
    for file in ("loss.svg", "signal.svg"):
        texts = " ".join(ElementTree.parse(file).getroot().itertext())
        assert "norm=batch_norm" in texts and "norm=identity" in texts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("train", NORMS, "mlp"),
            "the inputs differ: norms has x 32×16 float32 and labels 32 int64 in [0, 4), mlp has x",
        ),
        (("train", "mlp", "--set", "2:classes=5"), "classes=5 has labels 1 int64 in [0, 5)"),
        (("train", NORMS, "tutorial-chain"), "the losses differ: norms has cross_entropy, tutorial-chain has no loss"),
        (("train", NORMS, "smooth.yaml"), "smooth has cross_entropy {label_smoothing: 0.1}"),
        (("train", NORMS, "mlp", "--loss", "sum"), "the outputs that are summed differ: norms has logits 32×4"),
        (("train", NORMS, "mlp", "--loss", "logits"), "mlp has no output 'logits'"),
        (("train", NORMS, "--lr", "0.1,x"), "--lr 0.1,x: should be a number, or several"),
        (("train", NORMS, "--lr", "0.1,-1"), "lr"),
        (("train", NORMS, "--lr", "1,2", "--checkpoint", "c.safetensors"), "--checkpoint goes with one network"),
        (("train", NORMS, "--lr", "1,2", "--output", "w.npz"), ".npz files are not written here"),
        (("train", NORMS, "--set", "3:norm=identity"), "there is no spec '3'"),
        (("signal", NORMS, "mlp"), "the inputs differ: norms has x 32×16 float32, mlp has x 1×784 float32"),
        (("signal", NORMS, *IDENTITY, "--compare-init", "zeros"), "--compare-init compares initializers of one spec"),
    ],
)
def test_what_cannot_be_compared(
    netcalc: Callable[..., CommandResult], arguments: tuple[str, ...], message: str
) -> None:
    text = Path(NORMS).read_text(encoding="utf-8").replace("name: norms", "name: smooth")
    Path("smooth.yaml").write_text(text.replace("cross_entropy: {}", "cross_entropy: {label_smoothing: 0.1}"))
    ran = netcalc(*arguments)
    assert ran.code == 2
    assert "E50" in ran.err
    assert message in " ".join(ran.err.split())


def test_one_network_is_no_comparison() -> None:
    with pytest.raises(package.NetcalcError, match="two specs or more, or several rates"):
        package.compare_training(TRAINED, lr=0.1)
    with pytest.raises(package.NetcalcError, match="two specs or more"):
        package.compare_signals(TRAINED)


def test_a_run_that_diverges_ends_alone(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("train", "mlp", "--steps", "3", "--training", "sgd", "--lr", "0.1,1e30")
    assert ran.code == 1
    assert "lr 1e+30: the loss is not finite from step 2 on" in ran.out
    assert "lr 0.1: " in ran.out
