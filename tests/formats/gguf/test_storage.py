"""The types in which a file stores parameters, as assignments of schemes."""

from __future__ import annotations

import pytest

from netcalc.formats.gguf.storage import stored_types

CHECKPOINT = {
    "ignore": ["rope_freqs.weight"],
    "model.layers.*.mlp.down.*": "blk.*.ffn_down.*",
    "model.layers.*.mlp.up": {"from": ["blk.*.gate.weight", {"from": "blk.*.up.weight", "transpose": True}], "axis": 1},
    "model.layers.*.kv.weight": {"any": ["blk.*.k_b.weight", "blk.*.kv_b.weight"]},
    "head.weight": "output.weight",
}
TYPES = {
    "rope_freqs.weight": "F32",
    **{f"blk.{layer}.ffn_down.weight": "Q6_K" if layer in (0, 11) else "Q4_K" for layer in range(12)},
    "blk.0.ffn_down.bias": "F32",
    **{f"blk.{layer}.gate.weight": "IQ2_XXS" for layer in range(2)},
    "blk.0.up.weight": "IQ2_XXS",
    "blk.1.up.weight": "BF16",
    "blk.0.kv_b.weight": "MXFP4",
    "output.weight": "F16",
}


def test_types_that_differ_by_layer_and_tensors_that_are_joined() -> None:
    assert set(stored_types(CHECKPOINT, TYPES, "float32")) == {
        "model.layers.0.mlp.down.weight=q6_k",
        "model.layers.11.mlp.down.weight=q6_k",
        "model.layers.*.mlp.down.weight=q4_k",
        "model.layers.*.mlp.down.bias=float32",
        "model.layers.*.mlp.up=iq2_xxs",
        "model.layers.1.mlp.up=plain",
        "model.layers.*.kv.weight=mxfp4",
        "head.weight=float16",
    }


def test_what_differs_comes_before_what_is_common_and_longer_patterns_first() -> None:
    rules = stored_types(CHECKPOINT, TYPES, "float32")
    forms = [rule.partition("=")[0] for rule in rules]
    assert forms.index("model.layers.0.mlp.down.weight") < forms.index("model.layers.*.mlp.down.weight")
    common = [form for form in forms if "*" in form]
    assert common == sorted(common, key=len, reverse=True)


def test_a_file_in_the_element_type_has_no_assignments() -> None:
    assert stored_types(CHECKPOINT, {"blk.0.ffn_down.weight": "F16"}, "float16") == ()


def test_a_type_without_a_scheme_is_an_error() -> None:
    types = {"blk.0.ffn_down.weight": "Q8_1", "blk.1.ffn_down.weight": "TQ1_0"}
    with pytest.raises(ValueError, match="bytes of parameters of type Q8_1 are not known"):
        stored_types(CHECKPOINT, types, "float32")
