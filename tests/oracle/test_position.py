"""Position embeddings, biases and rotations against transformers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.diagnostics import RuleError
from netcalc.tensor_type import TensorType
from tests.arrays import normal
from tests.ops.harness import buffer_table, execute
from tests.oracle.harness import draws

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

flags = st.booleans()
alignments = st.sampled_from(["upper_left", "lower_right"])


# -- sinusoids --------------------------------------------------------------------------------------


@draws
@given(length=st.integers(1, 40), half=st.integers(2, 12), odd=flags)
def test_sinusoids_of_fairseq_and_whisper(length: int, half: int, odd: bool) -> None:
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
    from transformers.models.whisper.modeling_whisper import sinusoids

    features = 2 * half + odd
    attrs = {"layout": "halves", "downscale_freq_shift": 1}
    pe = buffer_table("sinusoidal_positions", attrs, TensorType((length, features)))
    expected = M2M100SinusoidalPositionalEmbedding.get_embedding(length, features)
    np.testing.assert_allclose(pe, expected.numpy(), atol=1e-5)
    if not odd:
        np.testing.assert_allclose(pe, sinusoids(length, features).numpy(), atol=1e-5)


@draws
@given(length=st.integers(1, 40), half=st.integers(1, 12))
def test_sinusoids_of_marian(length: int, half: int) -> None:
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    embedding = MarianSinusoidalPositionalEmbedding(length, 2 * half)
    expected = embedding.create_weight()
    pe = buffer_table("sinusoidal_positions", {"layout": "halves"}, TensorType((length, 2 * half)))
    np.testing.assert_allclose(pe, expected.numpy(), atol=1e-5)


# -- rotation ---------------------------------------------------------------------------------------

factors = st.floats(1, 40)
originals = st.integers(4, 200)
scalings = st.one_of(
    st.none(),
    st.fixed_dictionaries({"rope_type": st.just("linear"), "factor": factors}),
    st.fixed_dictionaries(
        {"rope_type": st.just("dynamic"), "factor": factors, "original_max_position_embeddings": originals}
    ),
    st.fixed_dictionaries(
        {
            "rope_type": st.just("llama3"),
            "factor": factors,
            "low_freq_factor": st.floats(0.5, 2),
            "high_freq_factor": st.floats(2.5, 8),
            "original_max_position_embeddings": originals,
        }
    ),
    st.fixed_dictionaries(
        {"rope_type": st.just("yarn"), "factor": factors, "original_max_position_embeddings": originals},
        optional={
            "attention_factor": st.floats(0.5, 2),
            "beta_fast": st.floats(8, 64),
            "beta_slow": st.floats(0.5, 4),
            "mscale": st.floats(0.5, 2),
            "mscale_all_dim": st.floats(0.5, 2),
            "truncate": flags,
        },
    ),
    st.fixed_dictionaries(
        {
            "rope_type": st.just("longrope"),
            "factor": factors,
            "short_factor": st.lists(st.floats(1, 4), min_size=4, max_size=4),
            "long_factor": st.lists(st.floats(1, 40), min_size=4, max_size=4),
            "original_max_position_embeddings": originals,
        },
        optional={"attention_factor": st.floats(0.5, 2)},
    ),
)


def reference_table(scaling: dict[str, Any] | None, theta: float, positions: Any, head: int, part: float) -> Any:
    """Return cos and sin as transformers' Llama computes them."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    parameters = {"rope_type": "default", **(scaling or {}), "rope_theta": theta, "partial_rotary_factor": part}
    original = (scaling or {}).get("original_max_position_embeddings", 64)
    if parameters["rope_type"] == "dynamic":
        del parameters["original_max_position_embeddings"]  # in transformers it is max_position_embeddings of the model
    config = LlamaConfig(
        hidden_size=head, num_attention_heads=1, max_position_embeddings=original, rope_parameters=parameters
    )
    if parameters["rope_type"] == "default":
        config.head_dim = int(head * part)
    return LlamaRotaryEmbedding(config)(torch.zeros(1), positions)


@draws
@given(
    scaling=scalings,
    theta=st.sampled_from([100.0, 1e4, 5e5]),
    part=st.sampled_from([1.0, 0.5]),
    batch=st.integers(1, 2),
    length=st.integers(1, 30),
    first=st.integers(0, 60),
    given_positions=flags,
)
def test_rotation_as_in_llama(
    scaling: dict[str, Any] | None,
    theta: float,
    part: float,
    batch: int,
    length: int,
    first: int,
    given_positions: bool,
) -> None:
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    turned = 8
    head = int(turned / part)
    x = normal(batch, 3, length, head)
    positions = np.arange(first, first + length)[None].repeat(batch, 0)
    if given_positions:
        positions = np.random.default_rng(1).integers(0, first + 1, size=(batch, length))
    cos, sin = reference_table(scaling, theta, torch.from_numpy(positions), head, part)
    expected = x.copy()
    expected[..., :turned] = apply_rotary_pos_emb(*[torch.from_numpy(x[..., :turned])] * 2, cos, sin)[0].numpy()
    attrs = {"rotary_dim": turned, "theta": theta, "scaling": scaling, "offset": 0 if given_positions else first}
    (y,) = execute("rotary_embedding", attrs, x, positions if given_positions else None).outputs
    np.testing.assert_allclose(y, expected, atol=3e-5)


@draws
@given(
    share=st.floats(0, 1),
    factor=factors,
    theta=st.sampled_from([100.0, 1e6]),
    pairs=st.integers(1, 6),
    length=st.integers(1, 30),
)
def test_rotation_of_a_share_of_the_pairs(share: float, factor: float, theta: float, pairs: int, length: int) -> None:
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    scaling = {"rope_type": "proportional", "factor": factor}
    cos, sin = reference_table(scaling, theta, torch.arange(length)[None], 2 * pairs, share)
    x = normal(1, 3, length, 2 * pairs)
    expected = apply_rotary_pos_emb(*[torch.from_numpy(x)] * 2, cos, sin)[0].numpy()
    attrs = {"theta": theta, "scaling": scaling | {"partial_rotary_factor": share}}
    (y,) = execute("rotary_embedding", attrs, x).outputs
    np.testing.assert_allclose(y, expected, atol=3e-5)


@pytest.mark.parametrize("share", [0.25, 0.3, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("head", [9, 12, 13, 22])
def test_share_of_a_head_as_in_gpt_neox(head: int, share: float) -> None:
    """transformers refuses an odd number of features only where there is no further one to pair with."""
    from transformers.models.gpt_neox import modeling_gpt_neox as neox

    rope = {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": share}
    config = neox.GPTNeoXConfig(hidden_size=2 * head, num_attention_heads=2, rope_parameters=rope)
    x = normal(1, 2, 7, head)
    cos, sin = neox.GPTNeoXRotaryEmbedding(config)(torch.from_numpy(x), torch.arange(7)[None])
    attrs = {"theta": 100.0, "rotary_dim": int(head * share)}
    try:
        expected = neox.apply_rotary_pos_emb(*[torch.from_numpy(x)] * 2, cos, sin)[0].numpy()
    except RuntimeError:
        with pytest.raises(RuleError, match=r"rotary_dim .*, which takes .* in pairs, exceeds"):
            execute("rotary_embedding", attrs, x)
        return
    np.testing.assert_allclose(execute("rotary_embedding", attrs, x).outputs[0], expected, atol=1e-5)


@draws
@given(length=st.integers(1, 20), half=st.integers(1, 6), rest=st.integers(0, 3))
def test_interleaved_rotation_as_in_gptj(length: int, half: int, rest: int) -> None:
    from transformers.models.gptj import modeling_gptj as gptj

    x = normal(1, 2, length, 2 * half + rest)
    sin, cos = torch.split(gptj.create_sinusoidal_positions(length, 2 * half)[None], half, dim=-1)
    turning = torch.from_numpy(x[..., : 2 * half]).transpose(1, 2)
    expected = gptj.apply_rotary_pos_emb(turning, sin, cos).transpose(1, 2)
    (y,) = execute("rotary_embedding", {"interleaved": True, "rotary_dim": 2 * half}, x).outputs
    np.testing.assert_allclose(y[..., : 2 * half], expected.numpy(), atol=1e-5)


# -- biases -----------------------------------------------------------------------------------------


@draws
@given(
    buckets=st.integers(4, 48),
    further=st.integers(1, 300),
    bidirectional=flags,
    queries=st.integers(1, 5),
    keys=st.integers(1, 400),
    alignment=alignments,
)
def test_buckets_of_t5(
    buckets: int, further: int, bidirectional: bool, queries: int, keys: int, alignment: str
) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    furthest = buckets + further
    attrs = {"num_buckets": buckets, "max_distance": furthest, "bidirectional": bidirectional}
    first = keys - queries if alignment == "lower_right" else 0
    offsets = torch.arange(keys)[None] - torch.arange(first, first + queries)[:, None]
    expected = T5Attention._relative_position_bucket(offsets, bidirectional, buckets, furthest)
    weights = {"weight": np.arange(2 * buckets, dtype=np.float32).reshape(buckets, 2)}
    (y,) = execute(
        "t5_position_bias",
        {**attrs, "num_heads": 2, "alignment": alignment},
        normal(queries, 1),
        normal(keys, 1),
        weights=weights,
    ).outputs
    np.testing.assert_array_equal(y[0, 1], 2 * expected.numpy() + 1)


@draws
@given(heads=st.integers(1, 40), length=st.integers(1, 12))
def test_alibi_of_bloom(heads: int, length: int) -> None:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    expected = build_alibi_tensor(torch.ones(1, length), heads, torch.float32)
    (bias,) = execute("alibi_bias", {"num_heads": heads, "per_query": False}, normal(length, 4)).outputs
    np.testing.assert_allclose(bias, expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("window", [(1, 1), (2, 3), (7, 7)])
def test_index_of_swin(window: tuple[int, int]) -> None:
    from transformers.models.swin.modeling_swin import SwinRelativePositionBias

    expected = SwinRelativePositionBias(2, window).relative_position_index.flatten().numpy()
    np.testing.assert_array_equal(
        buffer_table("relative_position_bias", {"window_size": list(window), "num_heads": 2}), expected
    )
    rows = TensorType((math.prod(2 * side - 1 for side in window), 2))
    np.testing.assert_array_equal(
        buffer_table("relative_position_lookup", {"window_size": list(window)}, rows), expected
    )


@pytest.mark.parametrize(("window", "earlier"), [((1, 1), None), ((2, 3), None), ((7, 7), None), ((8, 4), (7, 2))])
def test_coordinates_of_swin_v2(window: tuple[int, int], earlier: tuple[int, int] | None) -> None:
    from transformers import Swinv2Config
    from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention

    found = buffer_table("relative_coordinates", {"window_size": window, "pretrained_window_size": earlier})
    module = Swinv2SelfAttention(Swinv2Config(), 4, 2, window, earlier or (0, 0))
    np.testing.assert_allclose(found, module.relative_coords_table.numpy(), rtol=1e-6)


@pytest.mark.parametrize("window", [(2, 3), (4, 4)])
def test_index_of_beit(window: tuple[int, int]) -> None:
    from transformers.models.beit.modeling_beit import BeitRelativePositionBias

    expected = BeitRelativePositionBias.generate_relative_position_index(window)
    index = buffer_table("relative_position_bias", {"window_size": list(window), "num_heads": 2, "class_token": True})
    np.testing.assert_array_equal(index, expected.flatten().numpy())
