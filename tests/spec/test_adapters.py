"""The modifier ``lora``: operations, figures, training and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import netcalc

SPEC = "netcalc: 1\ninputs: {x: [3, 6]}\nlayers:\n  - {name: fc, linear: {out: 4, bias: false}, LORA}\n"


def network(lora: str, **more: Any) -> netcalc.Network:
    return netcalc.loads(SPEC.replace("LORA", lora), **more)


def test_the_output_is_that_of_both_parts() -> None:
    rng = np.random.default_rng(0)
    x, base, first, second = (rng.normal(size=size).astype(np.float32) for size in [(3, 6), (4, 6), (2, 6), (4, 2)])
    weights = {"fc.weight": base, "fc.lora_A.weight": first, "fc.lora_B.weight": second}
    for lora, scale in [
        ("lora: 2", 1),
        ("lora: {rank: 2, alpha: 6}", 3),
        ("lora: {rank: 2, alpha: 6, rank_stabilized: true}", 6 / np.sqrt(2)),
        ("lora: {rank: 2, alpha: 0}", 0),
        ("lora: {rank: 2, dropout: 0.5}", 1),
    ]:
        (output,) = network(lora).run({"x": x}, weights=weights).outputs.values()
        np.testing.assert_allclose(output, x @ base.T + scale * (x @ first.T @ second.T), rtol=1e-5, atol=1e-5)


def test_a_weight_has_the_adapter_of_its_layer() -> None:
    rng = np.random.default_rng(0)
    x, base, first, second = (rng.normal(size=size).astype(np.float32) for size in [(4, 3), (4, 6), (2, 6), (4, 2)])
    weights = {"fc.weight": base, "fc.lora_A.weight": first, "fc.lora_B.weight": second}
    text = "netcalc: 1\ninputs: {x: [4, 3]}\nlayers:\n  - {name: fc, linear_weight: {out: 4, features: 6}, LORA}\n"
    text += "  - {from: x, transpose: [0, 1]}\n  - {from: [_, fc], matmul: {}}\n"
    product = netcalc.loads(text.replace("LORA", "lora: {rank: 2, alpha: 6, dropout: 0.5}"))
    (output,) = product.run({"x": x}, weights=weights).outputs.values()
    np.testing.assert_allclose(output, x.T @ (base + 3 * second @ first), rtol=1e-5, atol=1e-5)
    with pytest.raises(netcalc.NetcalcError, match="no input that dropout applies to"):
        netcalc.loads(text.replace("LORA", "lora: {rank: 2, dropout: 0.5}"), mode="train")


def test_the_adapter_is_trained_where_the_line_is_frozen() -> None:
    total = network("lora: 2, freeze: true").analysis().total
    assert (total.params, total.params_trainable) == (24 + 2 * 6 + 4 * 2, 2 * 6 + 4 * 2)


def test_dropout_acts_in_training() -> None:
    assert "fc.lora_dropout" in network("lora: {rank: 2, dropout: 0.5}", mode="train").shapes
    assert network("lora: {rank: 2, dropout: 0.5}").verify().ok


@pytest.mark.parametrize(
    ("lora", "code", "part"),
    [
        ("lora: 0", "E104", "rank should be a whole number of at least 1, of at most 256 bits, not 0"),
        (f"lora: {2**256}", "E104", "of at most 256 bits, not 115792"),
        (f"lora: {{rank: 2, alpha: {10**400}}}", "E104", "alpha should be a number that a float holds, of at least 0"),
        ("lora: {rank: 2, alpha: .inf}", "E104", "alpha should be a number that a float holds"),
        ("lora: {rank: 2, alpha: .nan}", "E104", "alpha should be a number that a float holds"),
        ("lora: {alpha: 2}", "E104", "rank should be"),
        ("lora: {rank: 2, alpha: -1}", "E104", "alpha should be a number"),
        ("lora: {rank: 2, dropout: 1}", "E104", "dropout should be"),
        ("lora: {rank: 2, rank_stabilized: 1}", "E104", "rank_stabilized should be true or false"),
        ("lora: {rank: 2, aplha: 1}", "E103", "lora has no setting 'aplha'"),
    ],
)
def test_settings_that_are_not_possible(lora: str, code: str, part: str) -> None:
    with pytest.raises(netcalc.NetcalcError) as raised:
        network(lora)
    assert [found.code for found in raised.value.diagnostics] == [code]
    assert part in raised.value.diagnostics[0].message


def test_only_linear_lines_have_adapters() -> None:
    with pytest.raises(netcalc.NetcalcError, match="linear lines take an adapter, and this is relu"):
        netcalc.loads("netcalc: 1\ninputs: {x: [3, 6]}\nlayers:\n  - {name: a, relu: {}, lora: 2}\n")
    with pytest.raises(netcalc.NetcalcError, match="repeated by itself takes no adapter"):
        network("lora: 2, repeat: 2")
    with pytest.raises(netcalc.NetcalcError, match="this is b"):
        netcalc.loads("netcalc: 1\ninputs: {x: [3, 6]}\nblocks: {b: {layers: [relu]}}\nlayers: [{b: {}, lora: 2}]\n")


def test_a_patch_reaches_a_block_with_optional_operations() -> None:
    text = "netcalc: 1\nextends: llama-2-7b\nvars: {layers: 2, d_model: 32, heads: 4, d_ff: 8, vocab: 20}\npatch:\n"
    patch = '  - {at: "model.layers.*.self_attn.v_proj", set: {lora: 3}}\n'
    plain, adapted = netcalc.loads(text.replace("patch:\n", "")), netcalc.loads(text + patch)
    assert adapted.params - plain.params == 2 * 3 * (32 + 32)
