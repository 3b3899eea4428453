"""Longformer with padding, and with lengths that are no multiples of the window, against transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from netcalc.engine.run import forward  # noqa: E402
from tests.oracle.checkpoints.harness import assert_close, randomise  # noqa: E402
from tests.zoo.harness import built  # noqa: E402

SIZES: dict[str, Any] = {"batch": 3, "vocab": 40, "d_model": 32, "heads": 4, "layers": 2, "d_ff": 48, "max_length": 40}
CONFIG: dict[str, Any] = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
CONFIG |= {"intermediate_size": 48, "max_position_embeddings": 40, "pad_token_id": 1, "type_vocab_size": 1}


def attention_mask(length: int, padding: str) -> np.ndarray:
    """Zeros at the end, at the start (also on global tokens), in both places, or all over a window."""
    mask = np.ones((3, length), np.int64)
    if padding in ("right", "both"):
        mask[0, length - 3 :] = 0
    if padding in ("left", "both"):
        mask[1, :1], mask[2, :4] = 0, 0
    if padding == "inside":
        mask[0, 3:], mask[1, 2:-1] = 0, 0
    return mask


@pytest.mark.parametrize("padding", ["none", "right", "left", "both", "inside"])
@pytest.mark.parametrize(
    ("length", "window", "tokens"),
    [(16, 8, 1), (13, 8, 1), (17, 4, 3), (5, 8, 2), (9, 4, 5), (21, 6, 1), (16, 8, 0), (13, 4, 0)],
)
def test_padded_outputs_equal_transformers(length: int, window: int, tokens: int, padding: str) -> None:
    """Also where the outputs are padding."""
    config = transformers.LongformerConfig(**CONFIG, attention_window=window, layer_norm_eps=1e-5)
    model = randomise(transformers.LongformerModel(config))
    mask = attention_mask(length, padding)
    ids = np.random.default_rng(1).integers(3, 40, mask.shape)
    ids[0, mask[0] == 0] = 1  # as tokenizers pad; in the other rows masked tokens have positions
    everywhere = np.zeros_like(mask)
    everywhere[:, :tokens] = 1
    inputs = {"input_ids": ids, "attention_mask": mask}
    with torch.no_grad():
        tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
        expected = model(**tensors, global_attention_mask=torch.from_numpy(everywhere))
    program = built("longformer-base-4096", **SIZES, length=length, window=window, global_tokens=tokens)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    for name, actual in forward(program, inputs, weights=weights).outputs.items():
        assert_close(actual, expected[name].numpy(), name)
