"""Models that are given as text in place of a name."""

from __future__ import annotations

import json

import pytest

import netcalc
from netcalc import NetcalcError

SPEC = "netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{linear: 4}]\n"
GPT2 = {
    "model_type": "gpt2",
    "architectures": ["GPT2Model"],
    "vocab_size": 100,
    "n_layer": 2,
    "n_embd": 64,
    "n_head": 2,
}


@pytest.mark.parametrize(
    "text",
    [
        SPEC,
        f"# {'x' * 40}\n{SPEC}",
        "{netcalc: 1, inputs: {x: [1, 8]}, layers: [{linear: 4}]}",
        json.dumps({"netcalc": 1, "inputs": {"x": [1, 8]}, "layers": [{"linear": 4}]}, indent=1),
    ],
)
def test_the_text_of_a_spec(text: str) -> None:
    assert netcalc.load(text).params == 36


@pytest.mark.parametrize("indent", [None, 2])
def test_the_text_of_a_configuration(indent: int | None) -> None:
    network = netcalc.load(json.dumps(GPT2, indent=indent), set={"length": 4})
    assert network.params == 172_032  # as transformers' GPT2Model has
    assert network.memory(phase="decode").token_bytes == 2 * 2 * 64 * 4
    spec = netcalc.loads(network.to_yaml())
    assert spec.params == 172_032


def test_texts_beside_names() -> None:
    comparison = netcalc.compare(SPEC, "tutorial-chain")
    assert comparison.totals[0].params == 36
    assert [tensor.name for tensor in netcalc.describe(SPEC).outputs] == ["output"]


@pytest.mark.parametrize(
    ("model", "code", "words"),
    [
        (SPEC.replace("linear", "liner"), "E102", "<text>:3:11"),
        (SPEC + "extends: no-such-spec\n", "E005", "<text>:4"),
        ('{"model_type": "gpt2",\n"n_layer": }', "E001", "<text>:2"),
        (json.dumps({**GPT2, "n_layers": 2}), "E007", "<text>"),
        ("mlp\nmlp", "E104", "should be a mapping"),
        ("hf:a/b\n", "E008", "hf:a/b"),
        ("mlp\n", "E005", "no shipped spec"),
    ],
)
def test_errors_have_their_place_in_the_text(model: str, code: str, words: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(model)
    error = caught.value.diagnostics[0]
    assert error.code == code and words in str(error)


def test_a_spec_as_text_is_built_by_no_library() -> None:
    with pytest.raises(NetcalcError, match="E502: <text> is a spec, which no library builds"):
        netcalc.load(SPEC, via="library")


def test_a_text_is_no_larger_than_a_file() -> None:
    for text in (SPEC, json.dumps(GPT2)):
        with pytest.raises(NetcalcError, match=r"E003.*bytes"):
            netcalc.load(text, max_spec_size=20)
