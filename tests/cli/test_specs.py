"""Output of `netcalc specs`: families, figures, filters and search."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import netcalc as package
from netcalc.spec.shipped import shipped, specs_dir
from tests.conftest import CommandResult


@pytest.mark.parametrize(("name", "format_"), [("teaching.txt", "table"), ("teaching.md", "markdown")])
def test_pages(
    name: str, format_: str, netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]
) -> None:
    golden(f"specs/{name}", netcalc("specs", "--family", "teaching", "--format", format_).out)


def test_figures_equal_those_of_the_summary(netcalc: Callable[..., CommandResult]) -> None:
    specs = json.loads(netcalc("specs", "resnet-", "--family", "resnet", "-f", "json", "-c", "torchvision").out)[
        "specs"
    ]
    assert {"resnet18", "resnet34"} <= {spec["name"] for spec in specs}
    for spec in specs:
        cost = package.load(spec["name"]).cost("torchvision")
        assert (spec["params"], spec["macs"]) == (cost.params, cost.macs)


def test_the_search_ignores_case(netcalc: Callable[..., CommandResult]) -> None:
    rows = list(csv.DictReader(io.StringIO(netcalc("specs", "--search", "RESNET-34", "--format", "csv").out)))
    assert "resnet34" in [row["name"] for row in rows]
    assert all("resnet-34" in " ".join(row.values()).lower() for row in rows)


def test_the_page_of_a_spec(
    netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None], tmp_path: Path
) -> None:
    golden("specs/llama-3.1-8b.txt", netcalc("specs", "llama-3.1-8b").out.replace(str(specs_dir()), "specs"))
    spec = tmp_path / "own.yaml"
    spec.write_text(
        "netcalc: 1\nname: own\nabout: Settings of every kind\ndims: {batch: }\n"
        "vars: {width: {default: 8, min: 2, max: 64, about: units}, twice: '${2 * width}',\n"
        "  kind: {default: a, choices: [a, b]}, on: true, none: null, mixed: [1, 2.5], empty: ''}\n"
        "inputs: {x: [batch, width], bias: {shape: [width], default: 0, about: added at the end}}\n"
        "layers: [{linear: '${twice}'}]\n"
        "loss:\n"
        "  inputs: {target: {shape: [batch, '${twice}'], about: what the outputs should be}}\n"
        "  layers: [{name: error, from: [output, target], sub: }, square, {mean: {axis: [0, 1]}}]\n"
    )
    golden("specs/own.txt", netcalc("specs", str(spec)).out.replace(str(tmp_path), "folder"))


def test_an_inherited_loss_that_does_not_fit_is_no_part_of_the_page(
    netcalc: Callable[..., CommandResult], tmp_path: Path
) -> None:
    (tmp_path / "base.yaml").write_text(
        "netcalc: 1\ninputs: {x: [2, 3]}\nlayers: [{name: out, linear: 1}]\noutputs: [out]\n"
        "loss: {layers: [{from: out, mean: {axis: [0, 1]}}]}\n"
    )
    (tmp_path / "other.yaml").write_text("netcalc: 1\nextends: ./base.yaml\noutputs: {other: out}\n")
    pages = [netcalc("specs", str(tmp_path / name), "-f", "json") for name in ("base.yaml", "other.yaml")]
    base, other = (json.loads(page.out)["loss"] for page in pages)
    assert (base, other) == ({"operations": ["mean"], "sources": ["out"], "inputs": {}}, None)


def test_every_format_of_a_page_has_all_settings(netcalc: Callable[..., CommandResult]) -> None:
    record = json.loads(netcalc("specs", "t5-small", "--format", "json").out)
    assert record == package.as_dict(package.describe("t5-small"))
    rows = list(csv.DictReader(io.StringIO(netcalc("specs", "t5-small", "--format", "csv").out)))
    assert [row["name"] for row in rows] == [*record["dims"], *record["vars"]]
    markdown = netcalc("specs", "t5-small", "--format", "markdown").out
    assert all(name in markdown for name in [*record["dims"], *record["vars"], *record["inputs"], *record["outputs"]])


def test_yaml_is_the_file(netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc("specs", "gpt2", "--yaml").out == shipped()["gpt2"].read_text(encoding="utf-8")
    ran = netcalc("specs", "--yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "name it" in ran.err


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("no_such.yaml", "E004"),
        ("no/such.yml", "E004"),
        ("folder.d", "E004"),
        ("./folder.d", "E004"),
        ("no/such", "E502"),
    ],
)
def test_a_file_that_cannot_be_read(
    name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netcalc: Callable[..., CommandResult]
) -> None:
    (tmp_path / "folder.d").mkdir()
    monkeypatch.chdir(tmp_path)
    result = netcalc("specs", name)
    assert result.code == 2
    assert result.err.startswith(f"error[{code}]: ")


def test_a_page_of_a_path_without_a_suffix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netcalc: Callable[..., CommandResult]
) -> None:
    (tmp_path / "net").write_text("netcalc: 1\ninputs: {x: [1, 2]}\nlayers: [{linear: 1}]\n")
    monkeypatch.chdir(tmp_path)
    assert "parameters  3" in netcalc("specs", "./net").out


def test_init_names_the_file_that_cannot_be_written(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    file = tmp_path / "nothing" / "net.yaml"
    result = netcalc("init", str(file))
    assert (result.code, result.err.splitlines()[0][:50]) == (2, f"error[E502]: {file} cannot be written"[:50])


def test_a_name_is_also_a_word(netcalc: Callable[..., CommandResult]) -> None:
    found = [spec["name"] for spec in json.loads(netcalc("specs", "--search", "bert-base", "-f", "json").out)["specs"]]
    assert {"bert-base", "bert-base-cased"} <= set(found)


@pytest.mark.parametrize("arguments", [["--family", "resnt"], ["nothing of the kind"]])
def test_invalid_arguments(arguments: list[str], netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("specs", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "error[E502]" in ran.err


@pytest.mark.parametrize(
    ("word", "present", "absent"),
    [
        ("moe", "deepseek-v3", "mlp"),  # a tag of networks with experts
        ("gnn", "gcn", "googlenet"),
        ("detection", "detr-resnet-50", "electra-small-discriminator"),  # a tag that specs state
        ("cnn", "resnet34", "seed_cnn"),  # which has most of its work in its linear layers
        ("rnn", "lstm", "gpt2"),
        ("mixture of", "mixtral-8x7b", "resnet34"),
        ("lenet", "lenet5", "mobilenet_v2"),  # the beginning of a word before the inside of another
        ("bilenet", "mobilenet_v2", "lenet5"),
    ],
)
def test_words_are_searched_as_tags_and_by_their_beginnings(
    word: str, present: str, absent: str, netcalc: Callable[..., CommandResult]
) -> None:
    found = [spec["name"] for spec in json.loads(netcalc("specs", "--search", word, "-f", "json").out)["specs"]]
    assert present in found and absent not in found
