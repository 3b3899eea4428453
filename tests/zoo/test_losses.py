"""The losses of the shipped specs: which have one, that they elaborate, and that only those who ask do so."""

from __future__ import annotations

import sys
from subprocess import run
from typing import Any

import pytest

from netcalc.ir.check import check
from netcalc.request import Request
from netcalc.spec import load_document
from netcalc.spec.library import load_text
from netcalc.spec.shipped import catalogue
from tests.zoo.harness import SMALL, requested

#: Specs without a loss, and why.
NO_LOSS: dict[str, str] = {
    **dict.fromkeys(
        (
            *(f"bert-{size}" for size in ("base", "base-cased", "large", "mini", "small", "tiny")),
            *("albert-base", "bigbird-roberta-base", "camembert-base", "deberta-v3-base", "distilbert-base"),
            *(
                "electra-small",
                "esm2-650m",
                "fnet-base",
                "longformer-base-4096",
                "mobilebert",
                "modernbert-base",
                "mpnet-base",
                "nomic-embed-text-v1",
            ),
            *("roberta-base", "roberta-large", "xlm-roberta-base", "xlnet-base-cased", "vilt-b32", "layoutlmv3-base"),
        ),
        "without a head; with one it has a loss",
    ),
    **dict.fromkeys(("dinov2-small", "dinov3-vits16", "wav2vec2-base", "hubert-base"), "features without a head"),
    **dict.fromkeys(("rnn", "lstm", "gru", "layer-norm-lstm", "layer-norm-gru"), "a layer, not a model"),
    "rtdetr-r50vd": "boxes of noise are matched too, with a loss of its own",
    "depth-anything-small": "depth up to a scale and a shift, which follow from its target",
    "vit-mae-base": "its patches are predicted from the image itself",
    **dict.fromkeys(
        ("siglip-base-patch16-224", "siglip2-base-patch16-naflex"), "a sigmoid for each pair of an image and a text"
    ),
}
#: Specs of the tutorial, which are about signals in networks, and need no loss.
TEACHING = {name: "" for name in catalogue() if name.startswith("tutorial")}
MODELS = [name for name in SMALL if name not in TEACHING]
#: Settings of a head, with the inputs of its loss.
HEADS = {
    "roberta-base": ({"masked_lm": True}, "lm_head", ["labels"]),
    "distilbert-base": ({"head": "token"}, "classifier", ["labels"]),
    "bert-base": ({"head": "sequence"}, "classifier", ["label"]),
}


def settings(name: str) -> dict[str, Any]:
    """Return settings that make a spec small; the loss of CLIP is of pairs of an image and a text."""
    return {**SMALL[name], "texts": SMALL[name]["images"]} if name.startswith("clip") else SMALL[name]


def test_the_specs_without_a_loss_are_known() -> None:
    assert [n for n in catalogue() if load_document(n).document.loss is None and n not in NO_LOSS | TEACHING] == []
    assert {name for name in MODELS if requested(name, **settings(name)).loss is None} == set(NO_LOSS) & set(MODELS)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in NO_LOSS])
def test_the_loss_is_one_number(name: str) -> None:
    program = requested(name, **settings(name)).program_with_loss
    check(program)
    assert program.output_names[-1] == "loss"
    assert str(program.main.outputs[-1].type) == "scalar"


@pytest.mark.parametrize("name", ["resnet18", "gpt2", "t5-small", "bert-base-mlm", "segformer-b0"])
def test_sizes_may_be_symbolic(name: str) -> None:
    document = load_document(name)
    request = Request(document, symbolic=tuple(document.document.dims))
    complete = request.program_with_loss
    check(complete)
    assert complete.assumptions == request.program.assumptions
    labels = next(spec for spec in complete.inputs if spec.name == "labels")
    assert all(not isinstance(size, int) for size in labels.type.shape)


@pytest.mark.parametrize("name", HEADS)
def test_heads_have_their_loss(name: str) -> None:
    head, value, inputs = HEADS[name]
    text = f"netcalc: 1\nextends: {name}\noutputs: {{logits: {value}}}\n"
    request = Request(load_text(text), {**SMALL[name], **head})
    complete = request.program_with_loss
    assert [spec.name for spec in complete.inputs[len(request.program.inputs) :]] == inputs


def test_counting_does_not_elaborate_the_loss() -> None:
    lines = "import sys, netcalc; netcalc.load('resnet18').macs; print('netcalc.ops.class_loss' in sys.modules)"
    assert run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout == "False\n"
