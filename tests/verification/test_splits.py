"""Networks that are really split in NumPy: outputs, gradients and the bytes that ranks send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.parallel.declared import split_over
from netcalc.analysis.parallel.pieces import RankProgram
from netcalc.analysis.walk import instances
from netcalc.arrays import Array
from netcalc.ir import Program
from netcalc.numerics.inputs import run_inputs
from netcalc.verification.splits import predicted_bytes, split_run, whole_run

_SMALL = {"d_model": 32, "vocab": 64, "batch": 2}
_DECODER = {**_SMALL, "heads": 8, "kv_heads": 2, "layers": 2, "d_ff": 48, "length": 8}
#: Small sizes of the shipped specs.
SIZES: dict[str, dict[str, Any]] = {
    "llama-3-8b": _DECODER,
    "gpt2": {**_SMALL, "heads": 4, "layers": 2, "max_length": 16, "length": 8},
    "bert-base-mlm": {**_SMALL, "heads": 4, "layers": 2, "max_length": 16, "length": 8},
    "mixtral-8x7b": {**_DECODER, "kv_heads": 4, "experts": 4},
    "t5-small": {**_SMALL, "heads": 4, "head_dim": 8, "d_ff": 48, "encoder_layers": 2, "source": 8, "target": 4},
    # norms of heads, one head of keys, norms of all heads, fused projections, latents, biased experts with sinks
    "qwen3-8b": {**_DECODER, "head_dim": 8},
    "gemma-2b": {**_DECODER, "heads": 4, "kv_heads": 1, "head_dim": 8},
    "olmo-2-7b": {**_DECODER, "heads": 4, "kv_heads": 4},
    "phi-3-mini": {**_DECODER, "heads": 4, "kv_heads": 4},
    "deepseek-v3": {
        **{name: size for name, size in _DECODER.items() if name != "kv_heads"},
        "heads": 4,
        "q_rank": 16,
        "kv_rank": 16,
        "nope_dim": 8,
        "rope_dim": 8,
        "v_dim": 8,
        "dense_layers": 1,
        "experts": 8,
        "experts_per_token": 2,
        "d_expert": 16,
        "router": {"top_k_router": {"scoring": "sigmoid"}},
    },
    "gpt-oss-20b": {**_DECODER, "head_dim": 8, "experts": 4, "experts_per_token": 2},
}
#: Specs that run with sequence parallelism too.
BY_POSITION = ("llama-3-8b", "mixtral-8x7b", "phi-3-mini")


def _program(name: str) -> tuple[Program, Any]:
    name, _, adapters = name.partition(" ")
    network = netcalc.load(name, set=SIZES[name], dtype="float64", lora=adapters or None)
    return network.program, network.request.source


def _seeds(program: Program) -> Mapping[str, Array]:
    rng = np.random.default_rng(1)
    types = zip(program.output_names, program.main.output_types, strict=True)
    return {name: rng.standard_normal([int(size) for size in type_.shape]) for name, type_ in types if type_.is_float}


#: A network with low-rank adapters, which are cut as their layers.
ADAPTED = "llama-3-8b *_proj=4"


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    ("name", "sequence"), [*((n, False) for n in (*SIZES, ADAPTED)), *((n, True) for n in BY_POSITION)]
)
def test_a_split_network_gives_outputs_gradients_and_predicted_bytes(name: str, ranks: int, sequence: bool) -> None:
    program, source = _program(name)
    rank = split_over(program, source, ranks, sequence=sequence)
    arrays = [np.asarray(array) for array in run_inputs(program, {})]
    seeds = _seeds(program)
    whole, split = whole_run(program, arrays, seeds), split_run(program, rank, arrays, seeds)
    assert split.outputs.keys() == whole.outputs.keys() and split.gradients.keys() == whole.gradients.keys()
    for mine, others in ((split.outputs, whole.outputs), (split.gradients, whole.gradients)):
        for path, array in others.items():
            np.testing.assert_allclose(mine[path], array, rtol=1e-9, atol=1e-12, err_msg=path)
    assert split.sent == predicted_bytes(rank)
    assert split.sent  # something was exchanged


@pytest.mark.parametrize("name", ["llama-3-8b", "gpt2", "t5-small", "deepseek-v3", "gemma-2b"])
def test_a_step_of_decoding_of_a_split_network_has_its_pieces_of_the_caches(name: str) -> None:
    network = netcalc.load(name, set=SIZES[name], dtype="float64").at_step(past=6, new=1)
    program = network.program
    rank = split_over(program, network.request.source, 4)
    arrays = [np.asarray(array) for array in run_inputs(program, {})]
    whole, split = whole_run(program, arrays, {}), split_run(program, rank, arrays, {})
    for path, array in whole.outputs.items():
        np.testing.assert_allclose(split.outputs[path], array, rtol=1e-9, atol=1e-12, err_msg=path)
    held = {spec.name: piece for spec, piece in zip(rank.program.inputs, rank.inputs, strict=True)}
    of_heads = {key: piece for key, piece in held.items() if key.endswith(("key", "value"))}
    assert of_heads and all((piece is None) == (name == "deepseek-v3") for piece in of_heads.values())


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", SIZES)
def test_pieces_of_parameters_add_up_to_the_whole(name: str, ranks: int) -> None:
    program, source = _program(name)
    rank = split_over(program, source, ranks)
    whole = {i.owners[p.name]: p.elements for i in instances(program) for p in i.node.params}
    held = dict.fromkeys(whole, 0)
    for path, elements, copies in _pieces(rank):
        held[path] = elements * ranks // copies
    assert held == whole


def _pieces(rank: RankProgram) -> list[tuple[str, int, int]]:
    """Path, elements on a rank and number of ranks that hold the same, of each parameter."""
    found = []
    for instance in instances(rank.program):
        for param in instance.node.params:
            piece = rank.cut(instance.node, param.name).piece
            copies = rank.ranks if piece is None else rank.ranks // piece.shards
            found.append((instance.owners[param.name], int(param.elements), copies))
    return found
