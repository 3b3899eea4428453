"""Settings that a shipped spec cannot have are refused for one reason, its requirement (E108)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.diagnostics import NetcalcError
from netcalc.spec import elaborate, load_document

#: Values of the vars that requirements relate, some of which do not fit each other.
POOL: dict[str, st.SearchStrategy[Any]] = {
    "d_model": st.sampled_from([12, 16, 24, 30, 36]),
    "heads": st.integers(1, 6),
    "decoder_heads": st.integers(1, 6),
    "kv_heads": st.integers(1, 4),
    "head_dim": st.integers(1, 8),
    "rotary_dim": st.integers(1, 8),
    "rope_share": st.sampled_from([0.25, 0.5, 0.75, 1.0]),
    "rope_dim": st.integers(1, 6),
    "d_ff": st.integers(1, 20),
    "experts": st.integers(1, 6),
    "experts_per_token": st.integers(1, 6),
    "layers": st.integers(1, 4),
    "dense_layers": st.integers(1, 4),
    "groups": st.integers(1, 5),
    "encoder_layers": st.integers(1, 3),
    "decoder_layers": st.integers(1, 3),
    "period": st.integers(1, 4),
    "window": st.integers(1, 9),
    "global_tokens": st.integers(1, 9),
    "towers": st.integers(1, 6),
    "projection": st.none() | st.integers(1, 40),
    "hidden": st.integers(1, 40),
    "patch": st.integers(3, 18),
    "vision_d_model": st.sampled_from([12, 18]),
    "vision_heads": st.integers(1, 5),
    "text_d_model": st.sampled_from([12, 18]),
    "text_heads": st.integers(1, 5),
}
LISTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "swin_t": {"depths": st.lists(st.integers(1, 2), min_size=1, max_size=3)}
    | {"heads": st.lists(st.integers(1, 4), min_size=1, max_size=3), "d_model": st.sampled_from([12, 15, 16])},
    "convnext_tiny": {
        "depths": st.lists(st.integers(1, 2), min_size=1, max_size=3),
        "channels": st.lists(st.integers(1, 9), min_size=1, max_size=3),
    },
    "resnet34": {
        "depths": st.lists(st.integers(1, 2), min_size=1, max_size=3),
        "channels": st.lists(st.integers(1, 9), min_size=1, max_size=3),
    },
    "regnet_x_400mf": {
        "depths": st.lists(st.integers(1, 2), min_size=1, max_size=3),
        "channels": st.lists(st.sampled_from([8, 12, 16]), min_size=1, max_size=3),
        "group_widths": st.lists(st.sampled_from([4, 8]), min_size=1, max_size=3),
    },
    "shufflenet_v2_x1_0": {
        "depths": st.lists(st.integers(1, 2), min_size=1, max_size=3),
        "channels": st.lists(st.integers(6, 9).map(lambda n: 4 * n // 2), min_size=3, max_size=5),
    },
}
SPECS = [
    "llama-3-8b",
    "qwen2-7b",
    "qwen3-8b",
    "qwen1.5-moe-a2.7b",
    "mistral-7b",
    "mixtral-8x7b",
    "gemma-2b",
    "gemma-2-2b",
    "gemma-3-1b",
    "phi-3-mini",
    "gpt1",
    "gpt2",
    "pythia-1b",
    "gpt-j-6b",
    "opt-125m",
    "bloom-7b1",
    "falcon-7b",
    "deepseek-v3",
    "bert-base",
    "roberta-base",
    "distilbert-base",
    "albert-base",
    "electra-small",
    "longformer-base-4096",
    "bart-base",
    "opus-mt-en-de",
    "whisper-tiny",
    "t5-small",
    "switch-base-8",
    "clip-vit-base-patch32",
    "vilt-b32",
    "detr-resnet-50",
    "transformer",
    "vit_b_16",
    "deit-base",
    "mixer_b16",
    "alexnet-original",
    "lstm",
    "swin_t",
    "convnext_tiny",
    "resnet34",
    "regnet_x_400mf",
    "shufflenet_v2_x1_0",
]
SMALL = {"batch": 1, "length": 8, "source": 8, "target": 6, "vocab": 20, "max_length": 16, "sparse": True}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_drawn_settings_are_valid_or_refused_by_a_requirement(name: str, data: st.DataObject) -> None:
    loaded = load_document(name)
    declared = {*loaded.document.dims, *loaded.document.vars}
    pool = LISTS.get(name, {}) or {var: values for var, values in POOL.items() if var in declared}
    chosen = data.draw(st.fixed_dictionaries({}, optional=pool))
    small: dict[str, Any] = {var: value for var, value in SMALL.items() if var in declared and name not in LISTS}
    if "router" in declared:
        small["router"] = {"top_k_router": {}}  # without groups of experts, which the operation checks itself
    if "d_model" in pool and name not in LISTS:
        small["d_model"] = 24
    try:
        elaborate(loaded, {**small, **chosen})
        event("valid")
    except NetcalcError as error:
        event("refused")
        assert {found.code for found in error.diagnostics} == {"E108"}, (chosen, error)


@pytest.mark.parametrize(
    ("name", "chosen", "message"),
    [
        ("llama-3-8b", {"heads": 24}, "heads must divide d_model"),
        ("qwen3-8b", {"kv_heads": 3}, "every key and value head must serve the same number of query heads"),
        ("gemma-2b", {"head_dim": 9}, "the features of a head are rotated in pairs"),
        ("pythia-1b", {"heads": 6}, "heads must divide d_model"),
        ("gpt2", {"d_model": 770}, "heads must divide d_model"),
        ("mixtral-8x7b", {"experts_per_token": 9}, "a token cannot have more experts than there are"),
        ("swin_t", {"heads": [5, 6, 12, 24]}, "heads must divide the features"),
        ("vit_b_16", {"patch": 15}, "patches must cover the image"),
        ("regnet_y_400mf", {"channels": [48, 100, 208, 440]}, "the group width must divide the channels"),
        ("resnext50_32x4d", {"block": {"bottleneck": {"groups": 3, "width": 64}}}, "groups must divide"),
        ("shufflenet_v2_x1_0", {"channels": [24, 115, 232, 464, 1024]}, "a unit has two branches of equal channels"),
    ],
)
def test_a_setting_that_the_reference_refuses_is_one_kind_of_error(
    name: str, chosen: dict[str, Any], message: str
) -> None:
    with pytest.raises(NetcalcError) as refused:
        elaborate(load_document(name), chosen)
    for found in refused.value.diagnostics:
        assert found.code == "E108"
        assert message in found.message


def test_groups_of_albert_share_its_layers() -> None:
    """Layer i is in group ⌊i / (layers/groups)⌋, as in transformers, so that 5 layers are executed."""
    one, two = (
        Analysis(elaborate(load_document("albert-base"), {"layers": 5, "groups": groups}), CONVENTIONS["torch"]).total
        for groups in (1, 2)
    )
    assert one.flops == two.flops
