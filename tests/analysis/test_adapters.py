"""The option ``--lora``: figures of papers and of PEFT, training, weights and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc as api
from tests.conftest import CommandResult

Run = Callable[..., CommandResult]

PEFT: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "formats" / "peft" / "adapters.json").read_text(encoding="utf-8")
)["cases"]

#: The dimensions of GPT-3 with projections of their own for queries, keys and values.
GPT3 = {"d_model": 12288, "heads": 96, "layers": 96, "d_ff": 4 * 12288}


@pytest.mark.parametrize(("rank", "trainable"), [(8, 37_748_736), (1, 4_718_592)])
def test_gpt3_has_the_figures_of_the_paper(rank: int, trainable: int) -> None:
    """Hu et al. 2021, arXiv:2106.09685, Table 4 and Section 4.2, at the projections of queries and values."""
    separate = api.load("opt-125m", set=GPT3, lora={"*.q_proj": rank, "*.v_proj": rank}).analysis().total
    fused = api.load("gpt3-175b", lora={"*.c_attn": rank}).analysis().total
    assert (separate.params_trainable, fused.params_trainable) == (trainable, trainable)


@pytest.mark.parametrize(
    ("case", "lora"),
    [
        ("llama", ["*.q_proj={rank: 4, alpha: 8, dropout: 0.1}", "*.v_proj={rank: 4, alpha: 8, dropout: 0.1}"]),
        (
            "patterns",
            ["*.0.self_attn.q_proj={rank: 2, alpha: 4}", "*.q_proj=4", "*.0.mlp.gate_proj={rank: 4, alpha: 16}"],
        ),
        ("layers", ["*.h.1.attn.c_attn={rank: 2, alpha: 8}"]),
        ("all", ["{rank: 3, alpha: 6, rank_stabilized: true}"]),
        ("regex", ["*.mlp.up_proj={rank: 2, alpha: 8}", "*.mlp.down_proj={rank: 2, alpha: 8}"]),
    ],
)
def test_the_network_is_that_of_peft(case: str, lora: list[str], tmp_path: Path) -> None:
    for part, name in (("base", "config.json"), ("adapter", "adapter_config.json")):
        (tmp_path / part).mkdir()
        (tmp_path / part / name).write_text(json.dumps(PEFT[case][part]))
    own = api.load(tmp_path / "base", lora=lora)
    theirs = api.load(tmp_path / "adapter")
    total = own.analysis().total
    assert (total.params_trainable, total.params) == (PEFT[case]["trainable"], PEFT[case]["all"])
    assert own.shapes == theirs.shapes
    assert own.analysis(training="adamw").total == theirs.analysis(training="adamw").total
    assert api.loads(own.to_yaml()).analysis().total == total


def test_the_first_match_counts() -> None:
    total = api.load("mlp", lora=["hidden.0.*=2", "hidden.*=4"]).analysis().total
    assert total.params_trainable == 2 * (784 + 512) + 4 * (512 + 256)


def test_layers_without_a_number_in_common_have_patches_of_their_own() -> None:
    total = api.load("vgg16", lora="classifier.*=2").analysis().total
    assert total.params_trainable == 2 * (25088 + 4096) + 2 * (4096 + 4096) + 2 * (4096 + 1000)
    assert api.load("vgg16", lora=2).analysis().total.params_trainable == 2 * (25088 + 4096) + 2 * (4096 + 4096)


def test_the_network_starts_as_it_was_and_only_adapters_are_trained() -> None:
    settings = {"layers": 2, "d_model": 16, "heads": 2, "d_ff": 24, "vocab": 40, "length": 6}
    base = api.load("llama-2-7b", set=settings)
    network = api.load("llama-2-7b", set=settings, lora={"*.q_proj": 2, "*.up_proj": {"rank": 1, "alpha": 4}})
    weights = base.train(1, lr=0.01).parameters
    before = base.run(seed=3, weights=weights).outputs["logits"]
    np.testing.assert_array_equal(network.run(seed=3, weights=weights).outputs["logits"], before)
    trained = network.train(4, lr=0.1, weights=weights)
    assert trained.losses[-1] < trained.losses[0]
    changed = {n for n, v in trained.parameters.items() if n not in weights or not np.array_equal(v, weights[n])}
    assert changed == {name for name in trained.parameters if ".lora_" in name}


def test_weights_still_need_all_other_parameters() -> None:
    network = api.load("mlp", lora={"hidden.*": 2})
    with pytest.raises(api.NetcalcError, match=r"'hidden\.\*\.\*\.bias' ×2 is missing"):
        network.run(weights={"hidden.0.0.weight": np.zeros((512, 784), np.float32)})


@pytest.mark.parametrize(
    ("model", "lora", "code", "part"),
    [
        ("gpt2", "*.c_atn=8", "E502", "no linear line matches '*.c_atn' = hint: did you mean '*.c_attn'?"),
        ("gpt2", "x=8", "E502", "linear lines: *.c_attn, *.c_proj, *.c_fc"),
        ("gpt2", "*.wte=8", "E502", "linear lines take an adapter, and transformer.wte is embedding"),
        ("gpt2", "=8", "E502", "should be a rank, or PATTERN=RANK"),
        ("gpt2", "", "E502", "should be a rank, or PATTERN=RANK"),
        ("gpt2", "true", "E502", "should be a rank, or PATTERN=RANK"),
        ("gpt2", "*.c_attn=a", "E502", "should be a rank, or PATTERN=RANK"),
        ("gpt2", "0", "E104", "lora: rank should be a whole number of at least 1, of at most 256 bits, not 0"),
        ("gpt2", "*.c_attn={rank: 3, alhpa: 4}", "E103", "lora has no setting 'alhpa'"),
        ("gpt2", "*.c_attn={rank: 3", "E001", ""),
        ("resnet18", "8", "E502", "the network has no linear line but the last"),
    ],
)
def test_options_that_are_not_possible(model: str, lora: str, code: str, part: str, netcalc: Run) -> None:
    ran = netcalc("params", model, "--lora", lora)
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err
    assert part in " ".join(ran.err.split())


def test_a_step_of_decoding_of_many_layers_has_the_adapters_of_the_network() -> None:
    first = api.load("llama-3-70b", lora=16)
    step = api.load("llama-3-70b", lora=16, set={"past": 10, "length": 1})
    assert step.cost().params_trainable == first.cost().params_trainable == 207_093_760


def test_a_line_repeated_by_itself_takes_none() -> None:
    text = "netcalc: 1\ninputs: {x: [3, 6]}\nlayers:\n  - {name: fc, repeat: 2, linear: 6}\n  - linear: 2\n"
    with pytest.raises(api.NetcalcError, match=r"fc\.0 is a line repeated by itself"):
        api.loads(text, lora=2)


def test_arguments_of_the_api() -> None:
    for lora in (2, np.int64(2), {"hidden.*": 2}, "hidden.*=2", ["hidden.*=2"]):
        assert api.load("mlp", lora=lora).analysis().total.params_trainable == 2 * (784 + 512 + 512 + 256)
    with pytest.raises(api.NetcalcError, match="the argument 'lora' should be a rank"):
        api.load("mlp", lora=2.5)  # type: ignore[arg-type]


def test_the_option_in_commands(netcalc: Run) -> None:
    for command in (
        ("shapes", "mlp"),
        ("flops", "mlp"),
        ("explain", "mlp", "hidden.0.0.lora_A"),
        ("verify", "mlp"),
        ("run", "mlp"),
        ("train", "mlp", "--steps", "1"),
    ):
        ran = netcalc(*command, "--lora", "hidden.*=3")
        assert (ran.code, ran.err) == (0, ""), command
    assert "lora_A" in netcalc("shapes", "mlp", "--lora", "3").out
