"""Command ``report``: the page for a browser, and the records in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import netcalc as package
from netcalc.render.page_document import embedded
from tests.conftest import CommandResult
from tests.records.test_records import validated

WEB = Path(package.__file__).parent / "report" / "web"
BUILT = WEB.parent / "built"
#: Bytes that scripts and styles of a page, and the page of a model with 126 layers, may have.
MOST_CODE, MOST_PAGE = 400_000, 1_500_000
HOSTILE = """netcalc: 1
name: "</script><script>alert(1)</script>"
about: "<img src=x onerror=alert(2)> \\u2028 &amp; ]]> <!-- --> <script>"
inputs: {x: [1, 8]}
vars: {classes: 4}
layers: [{name: out, linear: "${classes}"}]
"""


class Document(HTMLParser):
    """Elements and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inside = False
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        place = len(self.elements) - 1
        if self.inside:
            self.texts[place] = self.texts.get(place, "") + data

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(a, self.texts.get(place, "")) for place, (name, a) in enumerate(self.elements) if name == tag]

    @property
    def data(self) -> Any:
        return next(json.loads(text) for attributes, text in self.of("script") if attributes.get("id") == "data")


def test_the_page_has_the_records_of_the_commands(
    netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = netcalc("report", "gpt2", "--device", "h100")
    assert (ran.code, ran.out) == (0, "report.html is written; open it in a browser\n"), ran.err
    (page,) = Document(Path("report.html").read_text(encoding="utf-8")).data["networks"]
    for name, words in {"summary": (), "graph": ("--depth", "9"), "memory": (), "time": ("--device", "h100")}.items():
        assert page[name] == json.loads(netcalc(name, "gpt2", *words, "--format", "json").out)
    total = json.loads(netcalc("explain", "gpt2", "--format", "json").out)
    assert page["workings"]["total"] == total
    path = "transformer.h.0–11.mlp.c_fc"
    layer = json.loads(netcalc("explain", "gpt2", path, "--format", "json").out)
    assert page["workings"]["layers"]["transformer.h.0.mlp.c_fc"] == layer


def test_options_of_memory_and_time_are_those_of_the_page(netcalc: Callable[..., CommandResult]) -> None:
    step = ("--training", "adamw", "--tp", "3", "--dp", "2", "--zero", "1")
    served = ("--quantize", "int8", "--phase", "decode", "--cache", "vllm", "--cache-dtype", "fp8")
    for words, bound in (
        (step, ("--device", "h100:6", "--efficiency", "0.4", "--tokens", "1B")),
        (served, ("--device", "h100", "--arithmetic", "int8", "--unfused")),
    ):
        model = ("gpt2", "--set", "vocab=50259")
        (page,) = validated(netcalc("report", *model, *words, *bound, "--format", "json"), "report")["networks"]
        assert page["memory"] == json.loads(netcalc("memory", *model, *words, "--format", "json").out)
        timed = [word for word in words if word not in ("--cache", "vllm", "--cache-dtype", "fp8")]
        assert page["time"] == json.loads(netcalc("time", *model, *timed, *bound, "--format", "json").out)
    assert netcalc("report", "mlp", "--efficiency", "0.4").code == 2


def test_two_models_are_compared(netcalc: Callable[..., CommandResult]) -> None:
    shown = netcalc("report", "resnet18", "resnet34", "--format", "json")
    record = validated(shown, "report")
    assert [page["title"] for page in record["networks"]] == ["resnet18", "resnet34"]
    assert record["comparison"] == json.loads(netcalc("compare", "resnet18", "resnet34", "--format", "json").out)
    assert netcalc("report", "mlp", "mlp", "mlp").code == 2
    own = json.loads(netcalc("report", "gpt2", "--set", "2:layers=24", "--format", "json").out)
    assert [page["title"] for page in own["networks"]] == ["layers=12", "layers=24"]


def test_shares_of_layers_add_up_to_the_whole() -> None:
    for page in package.report("gpt2", "efficientnet_b0", training="adamw").networks:
        assert {"params", "macs", "flops", "flops_total"} <= page.shares.keys()
        for name, shares in page.shares.items():
            assert sum(shares) == pytest.approx(1, abs=1e-12), name


def test_names_of_specs_cannot_become_markup(tmp_path: Path) -> None:
    file = tmp_path / "hostile.yaml"
    file.write_text(HOSTILE, encoding="utf-8")
    document = Document(package.report(file, file).to_page())
    usual = Document(package.report("mlp", "mlp").to_page())
    assert [tag for tag, _ in document.elements] == [tag for tag, _ in usual.elements]
    assert [text for _, text in document.of("script")][1:] == [text for _, text in usual.of("script")][1:]
    pages = document.data["networks"]
    assert [page["title"] for page in pages] == [f"</script><script>alert(1)</script> ({n})" for n in (1, 2)]
    assert pages[0]["about"] == "<img src=x onerror=alert(2)> \u2028 &amp; ]]> <!-- --> <script>"


def test_the_page_loads_nothing_and_runs_its_own_scripts_alone() -> None:
    text = package.load("mlp").report().to_page()
    document = Document(text)
    (policy,) = (
        content
        for each, _ in document.of("meta")
        if each.get("http-equiv") == "Content-Security-Policy" and (content := each["content"])
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    codes = [code for attributes, code in document.of("script") if attributes.get("id") != "data"]
    hashes = [f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" for code in codes]
    assert rules["script-src"].split() == hashes
    assert not re.search(r"\b(src|href)=[\"']?(https?:)?//", text)


def test_large_integers_keep_their_digits() -> None:
    data = {"a": 2**53 + 1, "b": -(2**60), "c": [2**53 - 1, True, 1.5, None]}
    assert json.loads(embedded(data)) == {"a": str(2**53 + 1), "b": str(-(2**60)), "c": [2**53 - 1, True, 1.5, None]}


def test_scripts_and_pages_are_small() -> None:
    assert sum(file.stat().st_size for file in BUILT.iterdir() if file.suffix in (".js", ".css")) <= MOST_CODE
    deep = package.load("llama-3.1-405b").report(device="h100:16").to_page()
    assert len(deep.encode()) <= MOST_PAGE


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm builds the scripts")
def test_scripts_are_built_of_their_sources(tmp_path: Path) -> None:
    web = tmp_path / "report" / "web"
    shutil.copytree(WEB, web, ignore=shutil.ignore_patterns("node_modules"))
    if (WEB / "node_modules").is_dir():
        (web / "node_modules").symlink_to(WEB / "node_modules")
    elif subprocess.run(["npm", "ci", "--silent"], cwd=web, check=False).returncode != 0:
        pytest.skip("the packages of package-lock.json cannot be had")
    subprocess.run(["npm", "run", "--silent", "build"], cwd=web, check=True)
    built = {file.name: file.read_bytes() for file in (web.parent / "built").iterdir()}
    assert built == {file.name: file.read_bytes() for file in BUILT.iterdir()}
