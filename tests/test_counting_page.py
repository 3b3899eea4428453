"""The questions of the page that counts in the browser, as its worker asks them, without a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from netcalc.spec.shipped import shipped_file
from tests.browser.test_counting_page_files import LLAMA, write_gguf
from tests.formats.huggingface.packed import compressed

SOURCES = Path(__file__).parent.parent / "web/src"
_SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import netcalc_page
from pathlib import Path
if len(sys.argv) > 2:
    netcalc_page.FOLDER = Path(sys.argv[2])
for method, arguments in json.load(sys.stdin):
    print(netcalc_page.call(method, json.dumps(arguments)))
print(json.dumps([name for name in ("numpy", "rich", "typer") if name in sys.modules]))
"""


def asked(questions: list[tuple[str, dict[str, Any]]], folder: Path) -> list[dict[str, Any]]:
    """Return the answers to questions in a process that has nothing else, with ``folder`` as that of the page."""
    command = [sys.executable, "-c", _SCRIPT, str(SOURCES), str(folder)]
    run = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=True)
    *answers, imported = map(json.loads, run.stdout.splitlines())
    assert imported == []
    return answers


def test_files_are_counted_as_they_store_parameters(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    parameters = write_gguf(tmp_path / "files/small.gguf", quantized="Q4_0")
    fp8 = compressed("float-quantized", num_bits=8, type="float", strategy="channel")
    awq = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
    plain, packed = (json.dumps({**LLAMA, **more}) for more in ({}, {"quantization_config": awq}))
    (file, full, four, unknown, broken) = asked(
        [
            ("imported_file", {"name": "small.gguf"}),
            *(("imported", {"files": {"config.json": text}}) for text in (plain, packed)),
            ("imported", {"files": {"config.json": json.dumps(LLAMA | fp8)}}),
            ("imported", {"files": {"config.json": plain[:-1]}}),
        ],
        tmp_path,
    )
    assert broken["errors"][0]["place"] == f"config.json:1:{len(plain)}"
    assert full["result"]["options"] == {} and full["result"]["note"] == ""
    # 4 bits, for 128 of them a scale of 16 bits and a zero point of 4, beside embedding, output and norms in bfloat16
    linear = 32 * (4096 * (2 * 4096 + 2 * 1024) + 3 * 4096 * 14336)
    rest = 2 * (2 * 128256 * 4096 + 65 * 4096)
    blocks = 8 * (4 * 512 * 512 + 3 * 1536 * 512) + 2 * 16000 * 512
    bytes_ = {"small.gguf": blocks // 32 * 18 + 4 * 17 * 512, "awq": linear * (4 * 128 + 20) // (8 * 128) + rest}
    for name, answer in (("small.gguf", file), ("awq", four)):
        assert answer["result"]["note"] == ""
        (counted,) = asked([("count", spec_of(answer))], tmp_path)
        assert counted["result"]["network"]["summary"]["totals"]["weight_bytes"] == bytes_[name], name
    assert parameters == blocks + 17 * 512
    assert unknown["result"]["note"].startswith("Parameters are counted in full precision: ")


def spec_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the document that an imported file becomes."""
    return {name: answer["result"][name] for name in ("text", "options")}


def test_every_question_has_an_answer_without_numpy(tmp_path: Path) -> None:
    file = shipped_file("resnet34")
    assert file is not None
    text = file.read_text()
    resnet = {"text": text, "options": {}}
    chosen = {"set": ["batch=2"], "convention": "torch", "quantize": ["*=int8"], "training": "sgd"}
    questions: list[tuple[str, dict[str, Any]]] = [
        ("count", resnet),
        ("count", {"text": text, "options": chosen}),
        ("count", {"text": text, "options": {"set": ["batch=many"]}}),
        ("count", {"text": text[:2000], "options": {}}),
        ("complete", {"text": text + "  - rel", "options": {}, "position": [text.count("\n"), 7]}),
        ("hover", {**resnet, "position": [34, 20]}),
        ("describe", {**resnet, "name": "relu"}),
        ("sizes", resnet),
        *(("explain", {**resnet, **more}) for more in ({}, {"path": "conv1"}, {"memory": True}, {"operation": "add"})),
        ("memory", resnet),
        ("graph", resnet),
        ("compare", {"documents": [resnet, {"text": text, "options": chosen}]}),
        *(("written", {**resnet, "format": name}) for name in ("json", "csv", "markdown")),
        ("specs", {}),
        ("spec", {"name": "resnet34"}),
        ("choices", {}),
        ("spec", {"name": "resnet3456789"}),
    ]
    answers = asked(questions, tmp_path)
    assert [answer for answer in answers[:-1] if "result" not in answer] == []
    assert answers[-1]["errors"][0]["code"] == "E005"
    first, other, wrong, cut = (answer["result"] for answer in answers[:4])
    assert first["network"]["summary"]["totals"]["params"] == 21_797_672
    summary = other["network"]["summary"]
    assert summary["totals"]["weight_bytes"] < 23_000_000 and summary["convention"] == "torch"
    assert wrong["network"] is None and wrong["problems"][0]["code"] == "E501" and cut["network"] is None
