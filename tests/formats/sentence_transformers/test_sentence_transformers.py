"""Folders of sentence-transformers: figures, weights and embeddings, older files, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import netcalc as api
from tests.conftest import CommandResult

Run = Callable[..., CommandResult]
HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "recorded.json").read_text())
CASES = RECORDED["cases"]
TENSORS = load_file(HERE / "recorded.safetensors")


def sentence_folder(folder: Path, case: str) -> Path:
    """Write a recorded model as sentence-transformers saves it."""
    files = {"config.json": RECORDED["config"], "sentence_bert_config.json": RECORDED["transformer"]}
    for name, content in (files | CASES[case]["files"]).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content, indent=2))
    save_file({n.removeprefix("w/"): t for n, t in TENSORS.items() if n[:2] == "w/"}, folder / "model.safetensors")
    for module in {name.split("/")[1] for name in TENSORS if name.startswith(f"{case}/")}:
        prefix = f"{case}/{module}/model.safetensors/"
        weights = {n.removeprefix(prefix): t for n, t in TENSORS.items() if n.startswith(prefix)}
        save_file(weights, folder / module / "model.safetensors")
    return folder


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    """Change a JSON file."""
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


@pytest.mark.parametrize("case", CASES)
def test_embeddings_and_parameters_are_the_recorded_ones(case: str, tmp_path: Path, netcalc: Run) -> None:
    folder = sentence_folder(tmp_path / "model", case)
    ran = netcalc("verify", str(folder))
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert "every name, shape and type fits" in ran.out
    inputs = {name: TENSORS[f"in/{name}"] for name in ("input_ids", "attention_mask")}
    batch, length = inputs["input_ids"].shape
    network = api.load(folder, set={"batch": batch, "length": length})
    assert network.params == CASES[case]["params"]
    npz = tmp_path / "inputs.npz"
    np.savez(npz, **inputs)
    taken = [option for name in inputs for option in ("-i", f"{name}={npz}")]
    output = tmp_path / "out.npz"
    sizes = ("--set", f"batch={batch}", "--set", f"length={length}")
    ran = netcalc("run", str(folder), *sizes, *taken, "-w", ".", "-o", str(output))
    assert (ran.code, ran.err) == (0, "")
    expected, actual = TENSORS[f"out/{case}"], np.load(output)["sentence_embedding"]
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("case", ["concatenated", "projected"])
def test_the_written_spec_gives_the_same_figures(case: str, tmp_path: Path, netcalc: Run) -> None:
    folder = sentence_folder(tmp_path / "model", case)
    spec = tmp_path / "spec.yaml"
    assert netcalc("import", str(folder), "-o", str(spec)).code == 0
    totals = [json.loads(netcalc("summary", str(given), "-f", "json").out)["totals"] for given in (folder, spec)]
    assert totals[0] == totals[1]


def test_a_golden_spec(tmp_path: Path, netcalc: Run, golden: Callable[[str, str], None]) -> None:
    golden("import/sentence.yaml", netcalc("import", str(sentence_folder(tmp_path / "tiny", "projected"))).out)


def test_files_of_earlier_versions(tmp_path: Path) -> None:
    """A transformer in a folder of its own, modes as fields, and the length to which texts are cut."""
    folder = sentence_folder(tmp_path / "new", "concatenated")
    old = sentence_folder(tmp_path / "old", "concatenated")
    (old / "0_Transformer").mkdir()
    for name in ("config.json", "model.safetensors"):
        (old / name).rename(old / "0_Transformer" / name)
    (old / "sentence_bert_config.json").unlink()
    settings = {"max_seq_length": 7, "do_lower_case": False}
    (old / "0_Transformer" / "sentence_bert_config.json").write_text(json.dumps(settings))
    paths = {"Transformer": "0_Transformer", "Pooling": "1_Pooling"}
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{name}"}
        for number, (name, path) in enumerate(paths.items())
    ]
    (old / "modules.json").write_text(json.dumps(modules))
    modes = ("cls_token", "mean_tokens", "lasttoken")
    flags = {f"pooling_mode_{mode}": mode in modes for mode in (*modes, "max_tokens", "mean_sqrt_len_tokens")}
    (old / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16} | flags))
    rewrite(old / "0_Transformer" / "config.json", lambda data: data | {"architectures": ["BertForMaskedLM"]})
    inputs = {name: TENSORS[f"in/{name}"][:, :7] for name in ("input_ids", "attention_mask")}
    first, second = api.load(folder, set={"batch": 3, "length": 7}), api.load(old, set={"batch": 3})
    assert second.params == first.params
    given, kept = (network.run(inputs, seed=5).outputs["sentence_embedding"] for network in (first, second))
    # the modes are in the order of their fields: the first token, the mean, the last token
    assert np.allclose(kept, np.concatenate([given[:, :16], given[:, 32:], given[:, 16:32]], axis=1), atol=1e-6)


def _module(kind: str, path: str = "2_Other") -> Callable[[Any], Any]:
    return lambda modules: [*modules, {"idx": 9, "name": "9", "path": path, "type": kind}]


#: File that is changed, the change, and a part of the message.
REFUSED: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "unknown module": ("modules.json", _module("sentence_transformers.models.CNN"), "sentence_transformers.models.CNN"),
    "own code": ("modules.json", _module("custom_st.Transformer"), "custom_st.Transformer has code of its own"),
    "folder elsewhere": ("modules.json", _module("sentence_transformers.models.Dense", "../x"), "is no folder beside"),
    "missing folder": ("modules.json", _module("sentence_transformers.models.Dense"), "has no 2_Other/config.json"),
    "no pooling": ("modules.json", lambda modules: modules[:1], "has no pooling"),
    "pooling first": ("modules.json", lambda modules: modules[::-1], "is not known as number 0"),
    "no list": ("modules.json", lambda modules: {}, "should be a list of modules"),
    "no type": ("modules.json", lambda modules: [{"path": ""}], "a type and a path"),
    "kwargs": ("modules.json", lambda modules: [m | {"kwargs": ["task"]} for m in modules], "kwargs"),
    "pooling field": ("1_Pooling/config.json", lambda data: data | {"heads": 2}, "'heads' of Pooling is not known"),
    "pooling mode": ("1_Pooling/config.json", lambda data: data | {"pooling_mode": "median"}, "'median' is not known"),
    "pooling type": ("1_Pooling/config.json", lambda data: data | {"pooling_mode": 3}, "3 is not known"),
    "prompt": ("1_Pooling/config.json", lambda data: data | {"include_prompt": False}, "include_prompt = false"),
    "dimension": (
        "1_Pooling/config.json",
        lambda data: data | {"embedding_dimension": 17},
        "the embedding has 17 features",
    ),
    "no dimension": ("1_Pooling/config.json", lambda data: {"pooling_mode": "cls"}, "word_embedding_dimension"),
    "dense input": ("2_Dense/config.json", lambda data: data | {"in_features": 15}, "in_features is 15"),
    "dense activation": (
        "2_Dense/config.json",
        lambda data: data | {"activation_function": "os.system"},
        "activation_function = 'os.system'",
    ),
    "dense residual": ("2_Dense/config.json", lambda data: data | {"use_residual": True}, "use_residual = true"),
    "tokens": ("2_Dense/config.json", lambda data: data | {"module_input_name": "token_embeddings"}, "module_input"),
    "task": ("sentence_bert_config.json", lambda data: data | {"transformer_task": "fill-mask"}, "transformer_task"),
    "query length": ("sentence_bert_config.json", lambda data: data | {"query_length": 32}, "query_length = 32"),
    "length": ("sentence_bert_config.json", lambda data: data | {"max_seq_length": "many"}, "max_seq_length"),
    "transformer": ("config.json", lambda data: data | {"experts": 8}, "experts"),
    "architecture": ("config.json", lambda data: data | {"architectures": ["Net"]}, "'Net' is not known"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_known_is_refused(case: str, tmp_path: Path, netcalc: Run) -> None:
    file, change, part = REFUSED[case]
    folder = sentence_folder(tmp_path, "projected")
    rewrite(folder / file, change)
    ran = netcalc("summary", str(folder))
    assert (ran.code, ran.out) == (2, "")
    assert "error[E" in ran.err
    assert part in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


def test_the_dimension_of_the_pooling_is_that_of_the_transformer(tmp_path: Path, netcalc: Run) -> None:
    folder = sentence_folder(tmp_path, "normalized")
    rewrite(folder / "1_Pooling" / "config.json", lambda data: data | {"embedding_dimension": 17})
    ran = netcalc("summary", str(folder))
    assert (ran.code, ran.out) == (2, "")
    assert "another number of features" in ran.err


def test_a_module_without_weights_fails_the_audit(tmp_path: Path, netcalc: Run) -> None:
    folder = sentence_folder(tmp_path, "projected")
    (folder / "2_Dense" / "model.safetensors").unlink()
    ran = netcalc("verify", str(folder))
    assert ran.code == 1
    assert "2_Dense.linear.weight" in ran.out
