"""Published figures of the memory of training, of one device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.analysis.memory_report import MemoryReport
from netcalc.dims import integer

SPECS = Path(netcalc.__file__).parent / "data" / "published" / "specs"
TOKENS = 2048
#: Width, heads, layers and batch of the networks of Korthikanti et al. 2022, arXiv:2205.05198, Table 3.
MEGATRON = {
    "22B": (6144, 64, 48, 4),
    "175B": (12288, 96, 96, 1),
    "530B": (20480, 128, 105, 1),
    "1T": (25600, 160, 128, 1),
}


def megatron(name: str, **options: Any) -> MemoryReport:
    width, heads, layers, batch = MEGATRON[name]
    sizes = {"width": width, "heads": heads, "layers": layers, "batch": batch, "tokens": TOKENS}
    return netcalc.load(SPECS / "megatron_stack.yaml", set=sizes).memory(
        phase="training", precision="16-mixed", mixed="megatron", **options
    )


def kept(report: MemoryReport) -> int:
    assert report.saved is not None
    return report.saved.ideal


@pytest.mark.parametrize("name", MEGATRON)
def test_activations_of_megatron_layers(name: str) -> None:
    # equations 1 and 4 and section 5 without parallelism: s·b·h·(34 + 5·a·s/h) a layer, 34·s·b·h with selective and
    # 2·s·b·h with full recomputation; the paper leaves out mean and deviation of both norms: 16 bytes of a token
    width, heads, layers, batch = MEGATRON[name]
    rows = TOKENS * batch
    statistics = 16 * rows * layers
    every = layers * rows * (34 * width + 5 * heads * TOKENS)
    assert kept(megatron(name)) == every + statistics
    assert kept(megatron(name, recompute="selective")) == 34 * layers * rows * width + statistics
    assert kept(megatron(name, recompute="full")) == 2 * layers * rows * width
    if layers % 4 == 0:
        assert kept(megatron(name, recompute="every:4")) == 2 * layers // 4 * rows * width


@pytest.mark.parametrize(
    ("name", "ways", "printed"), [("22B", 8, 45.5625), ("175B", 64, 45.5625), ("530B", 280, 31.640625)]
)
def test_parameters_and_states_of_megatron(name: str, ways: int, printed: float) -> None:
    # the same, as calculon's llm/validation.py prints it in GiB: 12·h²·L·18 bytes, divided by t·p.  Biases and norms,
    # which it leaves out, are 13 numbers for each feature of a layer
    report = megatron(name, training="adam")
    assert report.training is not None
    steps = sum(state.bytes for state in report.training.states if state.name == "step")
    total = integer(report.weights) + report.training.gradients + report.training.held - steps
    width, _, layers, _ = MEGATRON[name]
    assert total == 18 * layers * (12 * width * width + 13 * width)
    assert (total - 18 * layers * 13 * width) / ways / 2**30 == printed


def test_zero_counts_16_bytes_for_a_parameter() -> None:
    # Rajbhandari et al. 2020, arXiv:1910.02054, section 3.1: 2 + 2 + 12 bytes; 24 GB for GPT-2 with 1.5 B parameters
    report = netcalc.load("gpt2-xl", set={"length": 8}).memory(training="adam", precision="16-mixed", mixed="deepspeed")
    assert report.training is not None
    steps = sum(state.bytes for state in report.training.states if state.name == "step")
    total = integer(report.weights) + report.training.gradients + report.training.held - steps
    assert total == 16 * report.training.trained == 16 * 1_557_611_200
    assert round(total / 1e9) == 25  # the paper has 1.5 B parameters


def test_activations_of_gpt_2_are_more_than_zero_says() -> None:
    # the same, section 3.2: "about 60 GB" for length 1 K and batch 32, which is 12·h·b·s·L numbers in 16 bits, 24 bytes
    # where Megatron's layer keeps 34 + 5·a·s/h: the scores of 25 heads are 80 of 114 bytes.  Logits come on top
    report = netcalc.load("gpt2-xl", set={"batch": 32, "length": 1024}).memory(phase="training", precision="16-true")
    printed = 12 * 1600 * 32 * 1024 * 48 * 2
    assert round(printed / 1e9, 1) == 60.4
    assert kept(report) / printed == pytest.approx((34 + 5 * 25 * 1024 / 1600) / 24, rel=0.02)


@pytest.mark.parametrize(("rank", "printed"), [(8, 37_748_736), (1, 4_718_592)])
def test_adapters_of_gpt_3(rank: int, printed: int) -> None:
    # Hu et al. 2021, arXiv:2106.09685, Table 4: 37.7 M and 4.7 M parameters of adapters of q and v in GPT-3
    lora = [f"layers.*.self_attn.{name}_proj={rank}" for name in ("q", "v")]
    report = netcalc.load(SPECS / "gpt3_stack.yaml", lora=lora).memory(training="adam", precision="bf16-true")
    assert report.training is not None and report.training.trained == printed
    assert report.training.gradients == 2 * printed


def test_qlora_has_states_of_adapters_alone() -> None:
    # Dettmers et al. 2023, arXiv:2305.14314, section 3: constants of 64 weights take 0.5 bits a parameter, and 0.127
    # with double quantization
    bits = {}
    for scheme in ("nf4", "nf4-dq"):
        net = netcalc.load("llama-2-70b", set={"length": 8}, quantize=f"*_proj.weight={scheme}", lora="*_proj=64")
        report = net.memory(training="adamw8bit", precision="bf16-true")
        (packed,) = (kind for kind in report.stored if scheme == kind.scheme)
        bits[scheme] = 8 * integer(packed.bytes) / integer(packed.elements) - 4
        assert report.training is not None
        assert report.training.state_bytes == pytest.approx((2 + 2 * 4 / 256) * report.training.trained)
        assert report.training.gradients == 2 * report.training.trained
        # the weights of a product are unpacked for it
        assert report.training.peak.temporaries > 2 * 8192 * 28672
    assert bits["nf4"] == pytest.approx(0.5, abs=1e-3) and bits["nf4-dq"] == pytest.approx(0.127, abs=1e-3)


def test_layers_of_torchtitan() -> None:
    # torchtitan's tests/unit_tests/test_activation_checkpoint.py: three products, backward FLOPs over 2·512³ of 8, and
    # 12 if all of them are computed again; 2 MB and 0 MB are kept beside the input.  Its policies that keep single
    # products have no counterpart here
    text = """
netcalc: 1
name: toy
dims: {batch: 512}
inputs: {x: [batch, 512]}
layers:
  - name: layers
    repeat: 1
    sequence:
      - {name: gate, linear: {out: 512, bias: false}}
      - {name: wq, linear: {out: 512, bias: false}}
      - {name: output, linear: {out: 1024, bias: false}}
"""
    net = netcalc.loads(text)
    total = net.analysis("torch", backward=True, input_gradients=["x"]).total
    forward, backward = integer(total.flops), integer(total.flops_backward)
    assert backward / (2 * 512**3) == 8
    assert (backward + forward) / (2 * 512**3) == 12
    given = 512 * 512 * 4
    report = net.memory(phase="training", precision="32-true")
    assert report.saved is not None and (report.saved.eager - given) / 2**20 == 2
    again = net.memory(phase="training", precision="32-true", recompute="full")
    assert again.saved is not None and again.saved.eager - given == 0
