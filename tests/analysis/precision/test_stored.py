"""Forms of parameters by assignments: which apply, where repeats are split, and what stays in full precision."""

import pytest

import netcalc
from netcalc.analysis.cost import analyze
from netcalc.analysis.precision import stored
from netcalc.analysis.walk import parameters
from netcalc.diagnostics import NetcalcError
from netcalc.ir.check import check

LLAMA = {"layers": 12, "d_model": 512, "heads": 8, "kv_heads": 2, "d_ff": 1024, "vocab": 1000}


@pytest.fixture(scope="module")
def llama():
    return netcalc.load("llama-2-7b", set=LLAMA, dtype="float32").program


def schemes(program):
    return {p.path: p.param.storage.scheme for p in parameters(program) if p.param.storage}


def test_q8_0_of_llama_3_1_8b_has_the_size_of_the_readme_of_llama_cpp():
    """llama.cpp, tools/quantize/README.md: Q8_0 7.95 GiB, 8.5008 bits a weight."""
    cost = analyze(stored(netcalc.load("llama-3.1-8b").program, "q8_0")).total
    assert round(cost.weight_bytes / 2**30, 2) == 7.95
    assert round(8 * cost.weight_bytes / cost.params, 4) == 8.5008


def test_the_first_assignment_that_matches_counts(llama):
    found = schemes(stored(llama, ["*.q_proj.*=int8", "*_proj.*=int4-g128", "float16"]))
    assert found["model.layers.3.self_attn.q_proj.weight"] == "int8"
    assert found["model.layers.3.self_attn.k_proj.weight"] == "int4-g128"
    assert found["model.layers.3.input_layernorm.weight"] == "float16"


def test_a_pattern_with_numbers_splits_a_repeat_and_agrees_with_its_iterations(llama):
    program = stored(llama, ["model.layers.[3-5].mlp.*=int8", "model.layers.11.*=int4-g128"])
    check(program)
    found = schemes(program)
    for layer in range(12):
        path = f"model.layers.{layer}.mlp.up_proj.weight"
        assert found[path] == ("int8" if layer in (3, 4, 5) else "int4-g128" if layer == 11 else "float32")
    total = sum(p.param.storage.bytes for p in parameters(program))
    assert analyze(program).total.weight_bytes == total
    assert analyze(program).total.macs == analyze(llama).total.macs


def test_without_numbers_in_patterns_a_repeat_stays_one_body(llama):
    bodies = [node.body for node in stored(llama, "*.mlp.*=int8").main.nodes if hasattr(node, "body")]
    assert len(bodies) == 1


def test_a_tied_parameter_is_stored_once_as_its_owner():
    program = netcalc.load("gpt2", set={"layers": 2}).program
    cost = analyze(stored(program, "*wte.weight=int8")).total
    rows = 50257
    assert analyze(program).total.weight_bytes - cost.weight_bytes == rows * 768 * 3 - 4 * rows


def test_a_pattern_of_a_tied_parameter_names_its_owner():
    with pytest.raises(NetcalcError, match=r"lm_head.weight is tied to transformer.wte.weight"):
        netcalc.load("gpt2", set={"layers": 1}).quantized("lm_head.*=int8")


@pytest.mark.parametrize(
    ("quantize", "message"),
    [
        ("model.layer.*=int8", "no parameter has a path that matches"),
        (["int8", "*.mlp.*=int4-g128"], "earlier assignments match"),
        ("int9-g128", "there is no scheme 'int9-g128'"),
        ("*.q_porj.*=int8", "did you mean 'q_proj'"),
        ("model.layers.0.mlp.up_prj.weight=int8", "did you mean 'model.layers.0.mlp.up_proj.weight'"),
        ("=int8", "PATTERN=VALUE"),
    ],
)
def test_assignments_without_effect_are_refused(llama, quantize, message):
    with pytest.raises(NetcalcError, match=message):
        stored(llama, quantize)


@pytest.mark.parametrize("quantize", ["int8", "int3-channel", "nf4-dq", "q4_k_m", "float8_e4m3-b128", "gptq-int4-g128"])
def test_symbolic_sizes_give_those_of_numbers(quantize):
    """Mixers have weights whose columns are the number of patches, 196 at 224 × 224 and 49 at 112 × 112."""
    symbolic = netcalc.load("mixer_b16", symbolic=["height", "width"]).quantized(quantize)
    fixed = netcalc.load("mixer_b16", set={"height": 112, "width": 112}).quantized(quantize)
    assert symbolic.cost().weight_bytes.at({"height": 112, "width": 112}) == fixed.cost().weight_bytes


def test_a_size_at_which_rows_fill_groups_contradicts_an_assumption():
    symbolic = netcalc.load("mixer_b16", symbolic=["height", "width"]).quantized("gptq-int4-g128")
    with pytest.raises(NetcalcError, match="E405"):
        symbolic.specialize(height=256, width=256)


def test_assignments_one_after_the_other_are_those_of_one_call():
    network = netcalc.load("llama-2-7b", set=LLAMA)
    together = stored(network.program, ["*.mlp.*=int8", "int4-g128"], "2:4")
    apart = network.quantized("*.mlp.*=int8").quantized("int4-g128").pruned("2:4")
    assert analyze(together).total == apart.cost()
    assert apart.program.assigned == {"--quantize": ("*.mlp.*=int8", "int4-g128"), "--prune": ("2:4",)}


def test_what_stays_as_it_is_and_why():
    report = netcalc.load("qwen3-30b-a3b", set={"layers": 2}, dtype="bfloat16").quantized("int4-g128").storage()
    assert {(group.scheme, group.reason) for group in report.groups} == {
        ("int4-g128", ""),
        ("bfloat16", "an embedding"),
        ("bfloat16", "the last linear layer"),
        ("bfloat16", "the router of experts"),
        ("bfloat16", "one axis (rms_norm)"),
    }
    assert report.params == sum(group.params for group in report.groups)
    report = netcalc.load("resnet18").quantized("*=int8").storage()
    assert {group.reason for group in report.groups} == {"", "a bias", "one axis (batch_norm)"}


def test_rows_that_a_group_does_not_divide_keep_their_precision():
    report = netcalc.load("gpt2", set={"layers": 1}).quantized("*.c_fc.*=int4-g100").storage()
    assert "768 mod 100 is not 0" in {group.reason.removeprefix("for int4-g100, ") for group in report.groups}


@pytest.mark.parametrize("prune", ["1.5", "3:4", "half", "0.5-coo", "4:2"])
def test_shares_that_are_none_are_refused(llama, prune):
    with pytest.raises(NetcalcError, match="E502"):
        stored(llama, prune=prune)


def test_a_layout_without_indices_cannot_be_pruned(llama):
    with pytest.raises(NetcalcError, match="q4_k has no layout with elements removed"):
        stored(llama, "q4_k", "0.5")
