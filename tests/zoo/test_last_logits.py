"""With ``logits=last`` a causal language model gives the last position's logits of a full pass, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.spec.library import load_document
from tests.verification.test_decoding import DECODERS
from tests.zoo.harness import SIZES, SMALL, shipped

#: Decoders of encoder–decoder models, whose first step is one token long.
ENCODER_DECODERS = {
    *("bart-base", "led-base-16384", "m2m100-418m", "mbart-large-cc25", "opus-mt-en-de", "pegasus-large"),
    *("transformer", "transformer-big", "whisper-base", "whisper-small", "whisper-tiny", "switch-base-8"),
    *("mt5-small", "t5-base", "t5-large", "t5-small", "t5-v1_1-small", "rnnsearch-50", "seq2seq-attention"),
    "seq2seq-lstm",
}
CAUSAL = sorted(DECODERS.keys() - ENCODER_DECODERS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CAUSAL)
def test_the_last_logits_are_those_of_a_full_pass(name: str) -> None:
    settings: dict[str, Any] = {**SMALL[name], **DECODERS[name]}
    every = netcalc.load(name, set=settings).run(seed=3).outputs["logits"]
    last = netcalc.load(name, set={**settings, "logits": "last"}).run(seed=3).outputs["logits"]
    assert last.shape == (every.shape[0], 1, *every.shape[2:])
    np.testing.assert_allclose(last, every[:, -1:], rtol=1e-4, atol=1e-5)


DECODING = [name for name in shipped() if "use_cache" in load_document(name).document.vars]


@pytest.mark.parametrize("name", sorted(set(DECODING) - ENCODER_DECODERS - SIZES))
def test_every_shipped_decoder_has_the_var(name: str) -> None:
    program = netcalc.load(name, set={"logits": "last"}).program
    outputs = dict(zip(program.output_names, program.main.output_types, strict=True))
    assert outputs["logits"].shape[1] == 1


def test_the_loss_needs_all_logits() -> None:
    with pytest.raises(NetcalcError, match="loss"):
        netcalc.load("gpt2", set={**SMALL["gpt2"], "logits": "last"}).summary(training="sgd", loss="loss")
