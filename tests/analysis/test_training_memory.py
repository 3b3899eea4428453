"""Gradients and states of optimizers in ``memory --training``, against published figures and counts by hand."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.analysis.training_memory import TrainingMemory
from netcalc.dims import integer


def training(name: str, optimizer: str, **options: Any) -> TrainingMemory:
    report = netcalc.load(name, **options).memory(training=optimizer)
    assert report.training is not None and report.phase == "training"
    return report.training


def test_adam_holds_four_times_the_weights() -> None:
    # https://huggingface.co/docs/accelerate/usage_guides/model_size_estimator: bert-base-cased, 413.18 MB in float32,
    # 1.61 GB to train it with Adam
    report = netcalc.load("bert-base", set={"vocab": 28996, "length": 8}).memory(training="adam")
    assert report.training is not None
    steps = sum(state.bytes for state in report.training.states if state.name == "step")
    weights = integer(report.weights)
    total = weights + report.training.gradients + report.training.state_bytes - steps
    indices = 2 * 512 * 8  # accelerate counts the int64 buffers position_ids and token_type_ids too
    assert round((weights + indices) / 2**20, 2) == 413.18
    assert total == 4 * weights and round(total / 2**30, 2) == 1.61


@pytest.mark.parametrize(
    ("optimizer", "states"),
    [("sgd", 0), ("momentum", 1), ("adam", 2), ("adamw", 2), ("lion", 1)],
)
def test_states_by_element(optimizer: str, states: int) -> None:
    memory = training("resnet18", optimizer)
    assert memory.trained == 11_689_512  # torchvision's resnet18
    assert memory.gradients == 4 * 11_689_512
    by_element = [state.bytes for state in memory.states if state.name != "step"]
    assert by_element == [4 * 11_689_512] * states


def test_tied_parameters_have_one_gradient() -> None:
    assert training("gpt2", "sgd", set={"length": 8}).trained == 124_439_808  # transformers' GPT2LMHeadModel


def test_frozen_parameters_have_none() -> None:
    memory = training("gpt2", "adamw", set={"length": 8}, lora="*.c_attn=8")
    assert memory.trained == 12 * 8 * (768 + 2304)
    assert memory.state_bytes == 2 * 4 * memory.trained + 12 * 2 * 4


def test_a_pass_without_an_update_has_gradients_alone() -> None:
    report = netcalc.load("mlp").memory(phase="training")
    assert report.training is not None
    assert report.training.optimizer is None and report.training.states == ()
    assert report.training.gradients == 4 * netcalc.load("mlp").params


def test_the_total_is_the_sum_of_its_parts() -> None:
    report = netcalc.load("resnet18").memory(training="momentum")
    assert report.training is not None and report.saved is not None
    buffers = 4 * 2 * 4800 + 8 * 20  # statistics of 20 norms with 4,800 channels, and their counters
    assert report.buffers == buffers
    peak = report.training.peak
    assert peak.kept <= report.saved.eager == report.training.kept and peak.gradients <= report.training.gradients
    assert report.trained == 2 * 4 * 11_689_512 + buffers + peak.gradients + peak.kept + peak.temporaries


def test_fp8_keeps_operands_of_linear_layers_in_8_bits() -> None:
    layers = ", ".join("{linear: {out: 64, bias: false}}" for _ in range(3))
    net = netcalc.loads(f"{{netcalc: 1, name: layers, inputs: {{x: [16, 64]}}, layers: [{layers}]}}")
    memory = net.memory(training="sgd", precision="fp8-mixed").training
    assert memory is not None and memory.gradients == 2 * 3 * 64 * 64
    # three inputs, and the weights of the layers whose input has a gradient
    assert memory.kept == 3 * 16 * 64 + 2 * 64 * 64


def test_8_bit_states_are_of_large_parameters() -> None:
    net = netcalc.loads("{netcalc: 1, name: layer, inputs: {x: [1, 64]}, layers: [{linear: 100}]}")
    memory = net.memory(training="adam8bit").training
    assert memory is not None
    # bitsandbytes: 8 bits and a magnitude of 256 numbers for 6,400 weights, 32 bits for 100 biases
    assert memory.state_bytes == 2 * (6400 + 25 * 4) + 2 * 4 * 100


def test_an_optimizer_of_memory_alone_counts_no_work() -> None:
    with pytest.raises(netcalc.NetcalcError, match="not counted, only the memory"):
        netcalc.load("mlp").analysis(training="adamw8bit")


def test_a_call_that_takes_fewer_values_than_the_one_before_gives_is_no_iteration() -> None:
    # layers of the vision tower end in a call that returns more than the next one takes
    training = netcalc.load("qwen3-vl-8b", set={"length": 64}).memory(phase="training").training
    assert training is not None and training.kept > 0


def test_keys_of_a_step_are_promoted_to_the_type_of_the_cache() -> None:
    """torch.cat of a float32 cache and bfloat16 keys is float32 under autocast (torch 2.13)."""
    spec = {
        "netcalc": 1,
        "inputs": {"x": [1, 2, 1, 8], **{f"past_{name}": [1, 2, 15, 8] for name in ("key", "value")}},
        "layers": [
            {"name": "k", "from": "x", "linear": {"out": 8, "bias": False}},
            {"name": "cache", "from": ["k", "k", "past_key", "past_value"], "key_value_cache": {}},
            {"from": ["cache.0"], "linear": {"out": 3, "bias": False}},
        ],
    }
    memory = netcalc.load_data(spec).memory(training="sgd", precision="bf16-mixed").training
    assert memory is not None
    weight, keys = 3 * 8 * 2, 2 * 16 * 8 * 2  # the last layer keeps both as it casts them, the first its input alone
    assert memory.kept == 2 * 8 * 2 + weight + keys


def test_regions_are_pooled_in_float32_with_results_in_the_type_of_autocast() -> None:
    """torchvision's autocast casts image and boxes, keeps the boxes, and casts the pooled regions back."""
    spec = {
        "netcalc": 1,
        "inputs": {"x": [2, 4, 16, 16], "boxes": [2, 8, 4]},
        "layers": [
            {"name": "conv", "from": "x", "conv2d": {"out": 32, "kernel": 1, "bias": False}},
            {"from": ["conv", "boxes"], "roi_align": {"output_size": 4, "sampling_ratio": 2}},
            "flatten",
            {"linear": {"out": 3, "bias": False}},
        ],
    }
    memory = netcalc.load_data(spec).memory(training="sgd", precision="bf16-mixed").training
    assert memory is not None
    regions = 16 * 32 * 4 * 4 * 2  # saved by the linear layer, in 2 bytes
    boxes = 16 * 5 * 4
    image, weights = 2 * 4 * 256 * 2, (32 * 4 + 3 * 512) * 2
    assert memory.kept == regions + boxes + image + weights
