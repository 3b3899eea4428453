"""Models in GGUF with parts that netcalc does not know: errors, and never silent figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats import opened_weights
from netcalc.numerics.parameters import check_weights
from tests.formats.gguf.conversion import add, metadata, tensors
from tests.formats.gguf.conversion import write as write_model
from tests.formats.gguf.small import SMALL, drawn


def write(
    folder: Path,
    model: str = "llama",
    *,
    architecture: str = "llama",
    added: dict[str, Any] | None = None,
    removed: tuple[str, ...] = (),
    others: dict[str, Any] | None = None,
    extra: dict[str, tuple[int, ...]] | None = None,
) -> Path:
    """Write a small model with changes in its metadata and its tensors."""
    _, arrays = drawn(folder, SMALL[model])
    path = folder / "model.gguf"
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in {**metadata(SMALL[model]), **(added or {})}.items():
        if key not in removed:
            add(writer, f"{architecture}.{key}", value)
    for key, value in (others or {}).items():
        add(writer, key, value)
    for name, array in tensors(SMALL[model], arrays):
        if name not in removed:
            writer.add_tensor(name, np.ascontiguousarray(array))
    for name, shape in (extra or {}).items():
        writer.add_tensor(name, np.ones(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def problems(path: Path) -> tuple[Diagnostic, ...]:
    """Return the errors of loading a model."""
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(path)
    return caught.value.diagnostics


def the_problem(path: Path, code: str = "E007") -> Diagnostic:
    (diagnostic,) = problems(path)
    assert diagnostic.code == code
    return diagnostic


def test_an_unknown_architecture_has_the_nearest_as_a_hint(tmp_path: Path) -> None:
    found = the_problem(write(tmp_path, architecture="llama4"))
    assert found.message == "models of the architecture 'llama4' cannot be imported from GGUF"
    assert "the nearest known architecture is 'llama'" in (found.hint or "")


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ({"attention.sliding_windw": 4}, "the key 'llama.attention.sliding_windw' is not known; it is 4"),
        ({"expert_feed_forward_length": 8}, "the key 'llama.expert_feed_forward_length' is not known; it is 8"),
        ({"rope.scaling.type": "su"}, "rope.scaling.type = 'su' is not known"),
        ({"rope.scaling.type": "linear", "rope.scaling.new": 2}, "rope.scaling.new = 2 is not known"),
    ],
)
def test_unknown_keys_and_values_are_refused_by_name(added: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path, added=added)
    found = the_problem(path)
    assert found.message == message
    assert found.span is not None
    assert found.span.file == str(path)


@pytest.mark.parametrize(
    ("added", "code", "message"),
    [
        ({"attention.head_count": [4, 4, 2]}, "E104", "attention_head_count"),
        ({"attention.head_count": "four"}, "E104", "attention_head_count"),
        ({"attention.causal": False}, "E108", "attention.causal"),
        ({"pooling_type": 1}, "E108", "pooling_type"),
        ({"attention.value_length": 4}, "E108", "attention.value_length"),
        ({"rope.dimension_count": 2}, "E108", "rope.dimension_count"),
        ({"rope.freq_base": "high"}, "E104", "rope_freq_base"),
    ],
)
def test_values_that_a_spec_cannot_express(added: dict[str, Any], code: str, message: str, tmp_path: Path) -> None:
    found = problems(write(tmp_path, added=added))
    assert found[0].code == code
    assert message in found[0].message


def test_ignored_keys_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, added={"attention.sliding_windw": 4})
    network = netcalc.load(path, ignore=["llama.attention.sliding_windw"])
    assert network.params == netcalc.load(write(tmp_path)).params
    assert "llama.attention.sliding_windw" in network.program.notes[0]


def test_missing_keys_and_tensors(tmp_path: Path) -> None:
    removed = ("block_count", "embedding_length", "token_embd.weight")
    messages = [problem.message for problem in problems(write(tmp_path, removed=removed))]
    expected = ["llama.block_count is missing", "llama.embedding_length is missing"]
    assert messages == [*expected, "the tensor 'token_embd.weight' is missing"]


def test_parts_of_a_model_are_refused(tmp_path: Path) -> None:
    found = the_problem(write(tmp_path, others={"general.type": "mmproj"}))
    assert found.message == "general.type is 'mmproj': this is no whole model"


def test_keys_of_others_have_no_effect(tmp_path: Path) -> None:
    others = {"general.name": "x", "tokenizer.ggml.model": "llama", "quantize.imatrix.entries_count": 5, "maker.key": 1}
    assert netcalc.load(write(tmp_path, others=others)).params == drawn(tmp_path, SMALL["llama"])[0].params


def test_a_value_for_each_layer_is_one_if_all_are_equal(tmp_path: Path) -> None:
    path = write(tmp_path, added={"attention.head_count_kv": [2, 2, 2], "feed_forward_length": [48, 48, 48]})
    assert netcalc.load(path).params == drawn(tmp_path, SMALL["llama"])[0].params


@pytest.mark.parametrize("kind", ["linear", "yarn"])
def test_scaled_angles(kind: str, tmp_path: Path) -> None:
    added = {"rope.scaling.type": kind, "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}
    scaling = {"rope_type": kind, "factor": 4.0, "original_max_position_embeddings": 16}
    config = {**SMALL["llama"], "rope_scaling": scaling if kind == "yarn" else {"rope_type": kind, "factor": 4.0}}
    network, arrays = drawn(tmp_path, config)
    path = write(tmp_path, added=added)
    ids = {"input_ids": np.arange(12)[None]}
    found = netcalc.load(path, set={"length": 12}).run(ids, weights=path).outputs["logits"]
    np.testing.assert_allclose(found, network.run(ids, weights=arrays).outputs["logits"], rtol=1e-4, atol=1e-4)


def llama3_divisors(scaling: dict[str, Any], width: int, theta: float) -> np.ndarray[Any, Any]:
    """Return the divisors of generate_extra_tensors in the converter's class LlamaModel."""
    low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
    original = scaling["original_max_position_embeddings"]
    found = []
    for frequency in theta ** -(np.arange(0, width, 2) / width):
        length = 2 * np.pi / frequency
        smooth = (original / length - low) / (high - low)
        between = 1 / ((1 - smooth) / factor + smooth)
        found.append(1 if length < original / high else factor if length > original / low else between)
    return np.array(found, np.float32)


def test_divisors_of_rotary_frequencies_are_read(tmp_path: Path) -> None:
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaling["original_max_position_embeddings"] = 40
    config = {**SMALL["llama"], "rope_scaling": scaling, "rope_theta": 100.0, "head_dim": 16}
    network, arrays = drawn(tmp_path, config)
    divisors = llama3_divisors(scaling, 16, 100.0)
    assert len(set(divisors)) > 3
    path = write_model(tmp_path / "model.gguf", config, arrays, others={"rope_freqs.weight": divisors})
    ids = {"input_ids": np.arange(12)[None]}
    found = netcalc.load(path, set={"length": 12})
    assert check_weights(found.program, opened_weights(path)).ok
    expected = network.run(ids, weights=arrays).outputs["logits"]
    np.testing.assert_allclose(found.run(ids, weights=path).outputs["logits"], expected, rtol=2e-4, atol=2e-4)


def test_divisors_for_short_and_long_inputs_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    short, long = (rng.uniform(1, 8, 4).astype(np.float32) for _ in range(2))
    scaling = {"rope_type": "longrope", "short_factor": short.tolist(), "long_factor": long.tolist()}
    config = {**SMALL["phi3"], "rope_scaling": scaling, "original_max_position_embeddings": 16}
    network, arrays = drawn(tmp_path, config)
    factor = np.sqrt(1 + np.log(64 / 16) / np.log(16)).item()
    extra = {"rope.scaling.original_context_length": 16, "rope.scaling.attn_factor": factor}
    others = {"rope_factors_short.weight": short, "rope_factors_long.weight": long}
    path = write_model(tmp_path / "model.gguf", config, arrays, extra=extra, others=others)
    ids = {"input_ids": np.arange(12)[None]}
    expected = network.run(ids, weights=arrays).outputs["logits"]
    found = netcalc.load(path, set={"length": 12}).run(ids, weights=path).outputs["logits"]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


def test_divisors_that_are_not_known(tmp_path: Path) -> None:
    scaled = {"rope.scaling.type": "linear", "rope.scaling.factor": 2.0}
    found = the_problem(write(tmp_path, added=scaled, extra={"rope_freqs.weight": (4,)}))
    assert found.message == "rope.scaling.type = 'linear' beside factors in tensors is not known"
    found = the_problem(write(tmp_path, extra={"rope_freqs.weight": (2, 2)}))
    assert found.message == "the tensor 'rope_freqs.weight' of F32 is not known"


def test_audits_name_the_tensors_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, removed=("blk.1.ffn_up.weight",), extra={"blk.1.ffn_sup.weight": (48, 32), "nextn": (3,)})
    report = check_weights(netcalc.load(path).program, opened_weights(path))
    kinds = {(mismatch.kind, mismatch.name) for mismatch in report.mismatches}
    expected = {("missing", "blk.1.ffn_up.weight"), ("unexpected", "blk.1.ffn_sup.weight"), ("unexpected", "nextn")}
    assert kinds == expected


@pytest.mark.parametrize("key", ["embedding_length", "feed_forward_length", "block_count", "attention.head_count"])
def test_a_mutated_key_does_not_fit_the_tensors(key: str, tmp_path: Path) -> None:
    added = {key: metadata(SMALL["qwen3"])[key] * 2, "attention.key_length": 16}
    path = write(tmp_path, "qwen3", architecture="qwen3", added=added)
    assert not check_weights(netcalc.load(path).program, opened_weights(path)).ok
