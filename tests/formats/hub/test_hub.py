"""Models on the Hub: read through its library and cache, audited by headers alone, and refused with the reason."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import CommandResult
from tests.formats.hub.server import TOKEN, Hub, Repository, ran_with, serving
from tests.formats.huggingface.test_folders import model_folder
from tests.formats.peft.test_adapters import written
from tests.formats.sentence_transformers.test_sentence_transformers import sentence_folder
from tests.test_pipelines import CLIP, CLIP_PARAMS, pipeline

Run = Callable[..., CommandResult]


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of the files in a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return files_of(model_folder(tmp_path_factory.mktemp("whole"), "llama3rope_l1"))


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return files_of(model_folder(tmp_path_factory.mktemp("shards"), "llama3rope_l1", shards=3))


@pytest.fixture(scope="module")
def hub(files: dict[str, bytes], shards: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    sentences = files_of(sentence_folder(tmp_path_factory.mktemp("sentences"), "projected"))
    adapter = written("llama", tmp_path_factory.mktemp("adapter"), base_model_name_or_path="acme/base")
    config = json.loads(files["config.json"])
    own_code = json.dumps(config | {"architectures": ["Model"], "auto_map": {"AutoModel": "model.Model"}}).encode()
    narrow = json.dumps(config | {"intermediate_size": config["intermediate_size"] + 8}).encode()
    index = b'{"weight_map": {"lm_head.weight": "../../secret.safetensors"}}'
    lost = b'{"weight_map": {"lm_head.weight": "model-00007-of-00007.safetensors"}}'
    others = {"scheduler": "scheduler_config.json", "tokenizer": "tokenizer_config.json"}
    parts = files_of(pipeline(tmp_path_factory.mktemp("parts") / "pipe", **others, text_encoder=CLIP))
    deeper = json.dumps(CLIP | {"num_hidden_layers": 4}).encode()
    repositories = {
        "acme/tiny": Repository(files, {"v2": files | {"config.json": narrow}}),
        "acme/sharded": Repository(shards),
        "acme/gated": Repository(files, gated=True),
        "old/tiny": Repository({}, moved_to="acme/tiny"),
        "acme/empty": Repository({"README.md": b""}),
        "acme/own-code": Repository(files | {"config.json": own_code}),
        "acme/pickled": Repository({"config.json": files["config.json"], "pytorch_model.bin": b"\x80\x02"}),
        "acme/damaged": Repository(files | {"model.safetensors": files["model.safetensors"][:-8]}),
        "acme/no-bytes": Repository(files | {"model.safetensors": b""}),
        "acme/endless": Repository(files | {"model.safetensors": (1 << 40).to_bytes(8, "little") + bytes(64)}),
        "acme/outside": Repository({"config.json": files["config.json"], "model.safetensors.index.json": index}),
        "acme/lost": Repository({"config.json": files["config.json"], "model.safetensors.index.json": lost}),
        "acme/down": Repository(files, status=503),
        "acme/forbidden": Repository(files, status=403),
        "single": Repository(files),
        "acme/sentences": Repository(sentences),
        "acme/base": Repository(files_of(adapter.parent / "base")),
        "acme/adapter": Repository(files_of(adapter)),
        "acme/pickled-adapter": Repository({"adapter_config.json": files_of(adapter)["adapter_config.json"]}),
        "acme/pipeline": Repository(parts, {"v2": parts | {"text_encoder/config.json": deeper}}),
        "acme/timm": Repository({"config.json": b'{"architecture": "vit_tiny_patch16_224"}'}),
    }
    with serving(repositories) as started:
        yield started


@pytest.fixture
def command(hub: Hub, tmp_path: Path) -> Run:
    """Return a function that runs a command line in a process of its own, as the library reads its settings once."""
    hub.requests.clear()
    return partial(ran_with, hub, tmp_path / "cache")


def test_a_summary_is_that_of_the_folder(command: Run, hub: Hub, tmp_path: Path, netcalc: Run) -> None:
    folder = model_folder(tmp_path / "tiny", "llama3rope_l1")
    ran = command("summary", "hf:acme/tiny", "-f", "json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == json.loads(netcalc("summary", str(folder), "-f", "json").out)
    assert not any(path.endswith(".safetensors") for _, path, _ in hub.requests)


@pytest.mark.parametrize("name", ["acme/tiny", "acme/sharded", "acme/sentences", "single", "old/tiny"])
def test_an_audit_requests_headers_only(name: str, command: Run, hub: Hub) -> None:
    ran = command("verify", f"hf:{name}")
    assert (ran.code, ran.err) == (0, "")
    assert "every name, shape and type fits" in ran.out
    stored = hub.repositories["acme/tiny" if name == "old/tiny" else name].files
    for file, data in stored.items():
        if file.endswith(".safetensors"):
            header = int.from_bytes(data[:8], "little") + 8
            assert hub.ranges_of(file) == [(0, 7), (8, header - 1)]


@pytest.mark.parametrize("name", ["acme/tiny", "acme/sharded", "acme/sentences", "acme/adapter"])
def test_memory_requests_headers_only(name: str, command: Run, hub: Hub) -> None:
    ran = command("memory", f"hf:{name}", "-f", "json")
    assert (ran.code, ran.err) == (0, "")
    record = json.loads(ran.out)
    names = [name, *(["acme/base"] if name == "acme/adapter" else [])]
    stored = {file: data for repository in names for file, data in hub.repositories[repository].files.items()}
    size = 0
    for file, data in stored.items():
        if file.endswith(".safetensors"):
            header = int.from_bytes(data[:8], "little") + 8
            assert hub.ranges_of(file) == [(0, 7), (8, header - 1)]
            size += len(data) - header
    assert record["files"]["files"] == sum(file.endswith(".safetensors") for file in stored)
    assert record["weights"] + record["buffers"] == size


def test_memory_by_options_requests_no_weights(command: Run, hub: Hub) -> None:
    for options in (["--dtype", "float16"], ["--quantize", "int8"], ["--bytes-from", "configuration"]):
        record = json.loads(command("memory", "hf:acme/sharded", *options, "-f", "json").out)
        assert record["files"] is None
        assert record["notes"][-1].startswith(f"bytes of weights by {'the' if 'bytes' in options[0] else options[0]}")
    assert not any("safetensors" in path for _, path, _ in hub.requests)


def test_memory_of_a_repository_without_weights_says_so(command: Run) -> None:
    record = json.loads(command("memory", "hf:acme/pickled", "-f", "json").out)
    lacking = "bytes of weights by the configuration, as hf:acme/pickled has no weights in safetensors files"
    assert (record["files"], record["notes"][-1]) == (None, lacking)


def test_memory_without_a_connection_names_the_option(command: Run) -> None:
    assert command("params", "hf:acme/tiny").code == 0
    ran = command("memory", "hf:acme/tiny", HF_HUB_OFFLINE="1")
    assert (ran.code, ran.out) == (2, "")
    assert "error[E008]" in ran.err and "--bytes-from configuration counts without the files" in ran.err
    assert command("memory", "hf:acme/tiny", "--bytes-from", "configuration", HF_HUB_OFFLINE="1").code == 0


def test_an_adapter_has_its_base_on_the_hub(command: Run, hub: Hub) -> None:
    ran = command("verify", "hf:acme/adapter")
    assert (ran.code, ran.err) == (0, "")
    assert "every name, shape and type fits" in ran.out
    for name, file in [("acme/base", "model.safetensors"), ("acme/adapter", "adapter_model.safetensors")]:
        header = int.from_bytes(hub.repositories[name].files[file][:8], "little") + 8
        assert hub.ranges_of(file) == [(0, 7), (8, header - 1)]


def test_a_revision_counts(command: Run) -> None:
    ran = command("verify", "hf:acme/tiny@v2")
    assert ran.code == 1
    assert "do not fit" in ran.out
    ran = command("import", "hf:acme/tiny@v2")
    assert "name: tiny\n" in ran.out


def test_a_run_downloads_the_weights_and_says_so(command: Run, tmp_path: Path, netcalc: Run) -> None:
    folder = model_folder(tmp_path / "tiny", "llama3rope_l1")
    expected = json.loads(netcalc("run", str(folder), "--set", "length=4", "-w", ".", "-f", "json").out)
    for name in ("hf:acme/tiny", "hf:acme/sharded"):
        ran = command("run", name, "--set", "length=4", "-w", ".", "-f", "json")
        assert ran.code == 0
        assert "KiB of weights are downloaded" in ran.err
        assert json.loads(ran.out)["outputs"] == expected["outputs"]
    ran = command("run", "hf:acme/tiny", "--set", "length=4", "-w", ".", "-f", "json", HF_HUB_OFFLINE="1")
    assert (ran.code, ran.err) == (0, "")


def test_the_weights_of_another_model_on_the_hub(command: Run, tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "tiny", "llama3rope_l1")
    ran = command("verify", str(folder), "--weights", "hf:acme/sharded")
    assert "every name, shape and type fits" in ran.out


@pytest.mark.parametrize("name", ["tiny", "sharded"])
def test_the_stored_tensors_are_listed(name: str, command: Run, tmp_path: Path, netcalc: Run) -> None:
    folder = model_folder(tmp_path / name, "llama3rope_l1", shards=1 if name == "tiny" else 3)
    ran = command("params", f"hf:acme/{name}", "--stored", "-f", "json")
    assert (ran.code, ran.err) == (0, "")
    expected = json.loads(netcalc("params", str(folder), "--stored", "-f", "json").out)
    found = json.loads(ran.out)
    assert found["tensors"] == expected["tensors"]
    assert found["files"] == expected["files"]


def test_a_pipeline_is_its_parts(command: Run) -> None:
    for revision, layers in (("", 2), ("@v2", 4)):
        name = f"hf:acme/pipeline{revision}"
        ran = command("summary", name, "-f", "json")
        assert (ran.code, ran.err) == (0, "")
        record = json.loads(ran.out)
        model = f"hf:acme/pipeline/text_encoder{revision}"
        assert (record["pipeline"], [part["model"] for part in record["parts"]]) == (name, [None, None, model])
        params = CLIP_PARAMS + (layers - 2) * (CLIP_PARAMS - 1000 * 32 - 77 * 32 - 64) // 2
        alone = json.loads(command("params", model, "-f", "json").out)
        assert record["totals"]["params"] == alone["totals"]["params"] == params
        assert alone["spec"] == "text_encoder"
        again = command("summary", name, "-f", "json", HF_HUB_OFFLINE="1")
        assert (again.code, again.err, again.out) == (0, "", ran.out)


def test_a_repository_of_timm(command: Run, netcalc: Run) -> None:
    found = json.loads(command("params", "hf:acme/timm", "-f", "json").out)
    assert found["totals"] == json.loads(netcalc("params", "timm:vit_tiny_patch16_224", "-f", "json").out)["totals"]


def test_the_cache_answers_without_a_connection(command: Run) -> None:
    ran = command("params", "hf:acme/tiny", HF_HUB_OFFLINE="1")
    assert (ran.code, ran.out) == (2, "")
    assert "error[E008]" in ran.err and "HF_HUB_OFFLINE" in ran.err
    first = command("params", "hf:acme/tiny")
    assert first.code == 0
    for settings in ({"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}):
        again = command("params", "hf:acme/tiny", **settings)
        assert (again.code, again.err, again.out) == (0, "", first.out)
    ran = command("verify", "hf:acme/tiny", HF_HUB_OFFLINE="1")
    assert (ran.code, ran.out) == (2, "")
    assert "error[E008]" in ran.err


def test_a_token_opens_a_gated_model(command: Run) -> None:
    ran = command("verify", "hf:acme/gated", HF_TOKEN=TOKEN)
    assert (ran.code, ran.err) == (0, "")


#: Arguments, and parts of the message.
REFUSED: dict[str, tuple[list[str], list[str]]] = {
    "unknown": (["summary", "hf:acme/none"], ["E008", "no such model, or it is private", "hf auth login"]),
    "gated": (["summary", "hf:acme/gated"], ["E008", "is gated", "/acme/gated"]),
    "forbidden": (["summary", "hf:acme/forbidden"], ["E008", "denied (403)"]),
    "no revision": (["summary", "hf:acme/tiny@v3"], ["E008", "acme/tiny has no revision 'v3'"]),
    "no configuration": (["summary", "hf:acme/empty"], ["E008", "acme/empty has no config.json"]),
    "pipeline": (["params", "hf:acme/pipeline"], ["E007", "lists them: hf:acme/pipeline/text_encoder"]),
    "no folder": (["summary", "hf:acme/tiny/unet"], ["E008", "acme/tiny has no unet/config.json"]),
    "no model in a folder": (["summary", "hf:acme/pipeline/scheduler"], ["E008", "has no scheduler/config.json"]),
    "own code": (["summary", "hf:acme/own-code"], ["E007", "code of its own", "hf:acme/own-code/config.json:"]),
    "server down": (["summary", "hf:acme/down"], ["E008", "status 503", "try again"]),
    "too large": (["summary", "hf:acme/tiny", "--max-spec-size", "100"], ["E008", "the limit is 100"]),
    "pickles": (["verify", "hf:acme/pickled"], ["E008", "no weights in safetensors files"]),
    "pickled adapter": (["verify", "hf:acme/pickled-adapter"], ["E008", "no weights in safetensors files"]),
    "other weights": (["memory", "hf:acme/tiny@v2"], ["E007", "'model.layers.0.mlp.up_proj.weight'", "--bytes-from"]),
    "cut off in memory": (["memory", "hf:acme/damaged"], ["E605", "ends too early", "--bytes-from configuration"]),
    "cut off": (["verify", "hf:acme/damaged"], ["E605", "hf:acme/damaged/model.safetensors", "ends too early"]),
    "no bytes": (["verify", "hf:acme/no-bytes"], ["E605", "ends within the length"]),
    "long header": (["verify", "hf:acme/endless"], ["E605", "should have 1,099,511,627,776 bytes"]),
    "shard elsewhere": (["verify", "hf:acme/outside"], ["E605", "should be the name of a file"]),
    "shard missing": (["verify", "hf:acme/lost"], ["E008", "acme/lost has no model-00007-of-00007.safetensors"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused(case: str, command: Run) -> None:
    arguments, parts = REFUSED[case]
    ran = command(*arguments)
    assert (ran.code, ran.out) == (2, "")
    text = " ".join(ran.err.split())
    assert all(part in text for part in parts), ran.err
    assert "Traceback" not in ran.err


def test_a_refused_connection(command: Run) -> None:
    ran = command("summary", "hf:acme/tiny", HF_ENDPOINT="http://127.0.0.1:9")
    assert (ran.code, ran.out) == (2, "")
    assert "error[E008]" in ran.err and "cannot be reached" in ran.err and "hint" in ran.err


def test_a_server_without_ranges(command: Run, hub: Hub) -> None:
    hub.ranges = False
    try:
        ran = command("verify", "hf:acme/tiny")
    finally:
        hub.ranges = True
    assert (ran.code, ran.out) == (2, "")
    assert "gives no parts of model.safetensors" in ran.err


@pytest.mark.parametrize(
    "name",
    [
        *(
            "hf:",
            "hf:/",
            "hf:a/b/",
            "hf:a/b//c",
            "hf:a/b/../c",
            "hf:a/b/-c",
            "hf:a//b",
            "hf:../b",
            "hf:a/..",
            "hf:-a/b",
            "hf:a/b c",
            "hf:a--b/c",
            "hf:a/b.git",
        ),
        *("hf:a/b@", "hf:a/b@../c", "hf:a/b@x y", "hf:a/b@-x", "hf:a/b\n", f"hf:{'a' * 100}", f"hf:a/b@{'c' * 300}"),
        *("hf://a/b", "hf:@main", "hf:a/b@é", "hf:a/\x00"),
    ],
)
def test_malformed_names(name: str, netcalc: Run) -> None:
    ran = netcalc("summary", name)
    assert (ran.code, ran.out) == (2, "")
    assert "error[E008]" in ran.err
    assert "names no model on the Hub" in " ".join(ran.err.split())
    assert "hf:org/name" in ran.err


def test_without_the_library_the_extra_is_named(netcalc: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    ran = netcalc("summary", "hf:acme/tiny")
    assert (ran.code, ran.out) == (2, "")
    assert "error[E008]" in ran.err
    assert 'pip install "huggingface_hub>=1.0"' in ran.err


def test_the_prefix_is_never_implied(netcalc: Run) -> None:
    ran = netcalc("summary", "acme/tiny")
    assert "error[E004]" in ran.err
