"""Rows of padding tokens in embeddings of the shipped specs."""

from __future__ import annotations

import pytest

import netcalc
from netcalc.analysis.walk import instances

#: The pad_token_id of the published config.json, whose row the class in transformers 5.23.0 leaves zero.
PADDING = {
    "albert-base": 0,
    "bart-base": 1,
    "bert-base": 0,
    "fnet-base": 3,
    "gemma-2b": 0,
    "gemma-3-4b": 0,
    "gemma-3n-e4b": 0,
    "gemma-4-e2b": 0,
    "glm-4-9b": 151329,
    "gpt-oss-20b": 199999,
    "llama-2-7b": None,
    "llama-4-scout": 200018,
    "modernbert-base": 50283,
    "olmo-2-7b": 100277,
    "olmoe-1b-7b": 1,
    "opt-125m": 1,
    "opus-mt-en-de": 58100,
    "pegasus-large": 0,
    "phi-3-mini": 32000,
    "olmo-7b": 1,
    "olmo-3-7b": 100277,
    "exaone-4.0-32b": 0,
    "seed-oss-36b": 1,
    "ernie-4.5-0.3b": 0,
    "minitron-4b": None,
    "command-r-35b": 0,
    "hunyuan-7b": 127961,
    "helium-1-2b": 3,
    "afm-4.5b": None,
    "glm-4-9b-chat": 151329,
    "llama-3.2-11b-vision": 128004,
    "ministral-3-8b": 11,
    "ministral-3-8b-vision": 11,
    "apertus-8b": 3,
    "smollm3-3b": 128004,
    "whisper-tiny": 50257,
    # classes that leave no row out, whatever the configuration says
    "bloom-560m": None,
    "gpt2": None,
    "t5-small": None,
}


@pytest.mark.parametrize(("spec", "row"), PADDING.items())
def test_padding(spec: str, row: int | None) -> None:
    tables = [i.node.op for i in instances(netcalc.load(spec).program) if i.node.op.name == "embedding"]
    vocabulary = max(table.num_embeddings for table in tables)
    assert {table.padding_idx for table in tables if table.num_embeddings == vocabulary} == {row}


def test_a_smaller_vocabulary_lacks_the_row() -> None:
    assert netcalc.load("whisper-tiny", set={"vocab": 100}).params < netcalc.load("whisper-tiny").params
