"""Command ``train``: the page, formats, files, and an interrupt."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from safetensors.numpy import load_file

import netcalc as package
from tests.conftest import CommandResult
from tests.png import decoded, require_png
from tests.records.test_records import validated

SPEC = str(Path(__file__).parent.parent / "fixtures" / "trained.yaml")


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_page(netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc("train", SPEC, "--lr", "0.01", "--schedule", "cosine", "--warmup", "4", "--clip", "1")
    assert (ran.code, ran.err) == (0, "")
    golden("runs/train.txt", re.sub(r"[0-9.e-]+ s for", "… s for", ran.out))
    assert max(map(len, ran.out.splitlines())) <= 80


def test_help_says_what_it_is_for(netcalc: Callable[..., CommandResult]) -> None:
    page = netcalc("train", "--help").out
    assert "use PyTorch for that" in " ".join(page.split())
    assert max(map(len, page.splitlines())) <= 80


def test_formats(netcalc: Callable[..., CommandResult]) -> None:
    arguments = ("train", SPEC, "--steps", "3", "--training", "momentum", "--hyper", "dampening=0.1", "--seed", "2")
    record = validated(netcalc(*arguments, "--format", "json"), "train")
    result = package.load(SPEC).train(3, training="momentum", settings={"dampening": 0.1}, seed=2)
    assert record["schema"] == "netcalc/train/1"
    assert [step["loss"] for step in record["steps"]] == list(result.losses)
    assert record["settings"] == {"lr": 0.001, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.0}
    assert {p["path"]: p["norm"] for p in record["parameters"]} == {n.path: n.norm for n in result.norms}
    written = package.as_dict(result)
    assert written.keys() == record.keys()
    assert [step["gradient_norm"] for step in written["steps"]] == list(result.gradient_norms)
    table = netcalc(*arguments, "--format", "csv").out.splitlines()
    assert table[0] == "step,loss,lr,gradient_norm,seconds"
    assert len(table) == 4
    markdown = netcalc(*arguments, "--format", "markdown").out
    assert "```text" in markdown
    assert "| step |" in markdown.replace("  ", " ")


def test_the_last_line_of_one_step_and_of_a_loss_that_is_not_finite(netcalc: Callable[..., CommandResult]) -> None:
    one = netcalc("train", SPEC, "--steps", "1", "--loss", "sum").out
    assert re.search(r"^loss \S+$", one, re.MULTILINE)
    ended = netcalc("train", "mlp", "--steps", "3", "--training", "sgd", "--lr", "1e30")
    assert ended.code == 1
    assert "the loss is not finite from step 2 on" in " ".join(ended.out.split())


def test_files(netcalc: Callable[..., CommandResult]) -> None:
    rng = np.random.default_rng(0)
    np.savez("data.npz", x=rng.normal(size=(9, 6)).astype("float32"), labels=rng.integers(0, 3, 9))
    arguments = ("train", SPEC, "--data", "data.npz", "--batch", "3", "--steps", "4")
    ran = netcalc(*arguments, "--plot", "loss.svg", "--output", "w.safetensors", "--checkpoint", "c.safetensors")
    assert ran.code == 0, ran.err
    assert "9 samples in batches of 3" in ran.out
    assert ElementTree.parse("loss.svg").getroot().tag.endswith("svg")
    assert load_file("w.safetensors").keys() == {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}
    assert netcalc("run", SPEC, "--weights", "w.safetensors").code == 0
    resumed = netcalc(*arguments[:-1], "6", "--resume", "c.safetensors", "--format", "json")
    assert json.loads(resumed.out)["resumed"] == 4


def test_the_loss_curve_as_png(netcalc: Callable[..., CommandResult]) -> None:
    require_png()
    assert netcalc("train", SPEC, "--steps", "3", "--plot", "loss.png").code == 0
    assert len(decoded(Path("loss.png").read_bytes()).colors()) > 2


def test_a_png_without_its_library_is_refused_before_training(
    netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    ran = netcalc("train", SPEC, "--steps", "3", "--plot", "loss.png", "--output", "w.npz")
    assert ran.code == 2 and "needs resvg-py" in ran.err
    assert not Path("w.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--plot", "loss.gif"), "--plot loss.gif: .gif files are not written here"),
        (("--plot", "absent/loss.svg"), "--plot absent/loss.svg: there is no folder 'absent'"),
        (("--output", "w.pt"), "--output w.pt: .pt files are not written here"),
        (("--output", "absent/w.npz"), "--output absent/w.npz: there is no folder 'absent'"),
        (("--hyper", "beta1"), "--hyper beta1: should be name=number"),
        (("--steps", "0"), "--steps"),
        (("--batch", "0"), "--batch"),
    ],
)
def test_options_that_are_refused(
    netcalc: Callable[..., CommandResult], arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    ran = netcalc("train", SPEC, *arguments)
    assert ran.code == 2
    assert "E502" in ran.err
    assert message in " ".join(ran.err.split())
    assert not list(tmp_path.iterdir())


def test_a_spec_without_loss(netcalc: Callable[..., CommandResult]) -> None:
    Path("plain.yaml").write_text("{netcalc: 1, inputs: {x: [2, 3]}, layers: [{name: fc, linear: 2}]}")
    ran = netcalc("train", "plain.yaml")
    assert ran.code == 2
    assert "error[E502]: the spec 'plain.yaml' has no loss" in ran.err
    assert "--loss" in ran.err
    assert netcalc("train", "plain.yaml", "--loss", "sum", "--steps", "2").code == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_an_interrupt_leaves_the_last_checkpoint() -> None:
    command = [sys.executable, "-m", "netcalc", "train", SPEC, "--steps", "20000", "--max-work", "1e15"]
    command += ["--checkpoint", "c.safetensors", "--checkpoint-every", "5"]
    # a shell starts background jobs with interrupts ignored, which its children inherit
    process = subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while not Path("c.safetensors").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert [path.name for path in Path().iterdir()] == ["c.safetensors"]
    steps = load_file("c.safetensors")["training/steps"]
    assert len(steps) and len(steps) % 5 == 0
