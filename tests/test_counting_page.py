"""The questions of the page that counts in the browser, as its worker asks them, without a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from netcalc.spec.shipped import shipped_file

SOURCES = Path(__file__).parent.parent / "web/src"
_SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import netcalc_page
for method, arguments in json.load(sys.stdin):
    print(netcalc_page.call(method, json.dumps(arguments)))
print(json.dumps([name for name in ("numpy", "rich", "typer") if name in sys.modules]))
"""


def test_every_question_has_an_answer_without_numpy() -> None:
    file = shipped_file("resnet34")
    assert file is not None
    text = file.read_text()
    resnet = {"text": text, "options": {}}
    asked = {"set": ["batch=2"], "convention": "torch", "quantize": ["*=int8"], "training": "sgd"}
    questions = [
        ("count", resnet),
        ("count", {"text": text, "options": asked}),
        ("count", {"text": text, "options": {"set": ["batch=many"]}}),
        ("count", {"text": text[:2000], "options": {}}),
        ("complete", {"text": text + "  - rel", "options": {}, "position": [text.count("\n"), 7]}),
        ("hover", {**resnet, "position": [34, 20]}),
        ("describe", {**resnet, "name": "relu"}),
        ("sizes", resnet),
        *(("explain", {**resnet, **more}) for more in ({}, {"path": "conv1"}, {"memory": True}, {"operation": "add"})),
        ("memory", resnet),
        ("graph", resnet),
        ("compare", {"documents": [resnet, {"text": text, "options": asked}]}),
        *(("written", {**resnet, "format": name}) for name in ("json", "csv", "markdown")),
        ("specs", {}),
        ("spec", {"name": "resnet34"}),
        ("choices", {}),
        ("spec", {"name": "resnet3456789"}),
    ]
    command = [sys.executable, "-c", _SCRIPT, str(SOURCES)]
    run = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=True)
    *answers, imported = map(json.loads, run.stdout.splitlines())
    assert imported == []
    assert [answer for answer in answers[:-1] if "result" not in answer] == []
    assert answers[-1]["errors"][0]["code"] == "E005"
    first, other, wrong, cut = (answer["result"] for answer in answers[:4])
    assert first["network"]["summary"]["totals"]["params"] == 21_797_672
    assert other["network"]["stored"]["bytes"] < 23_000_000 and other["network"]["summary"]["convention"] == "torch"
    assert wrong["network"] is None and wrong["problems"][0]["code"] == "E501" and cut["network"] is None
