"""FLOPs of the forward and the backward pass of a network by torch's counter."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from netcalc.analysis.cost import analyze
from netcalc.ir import Program

torch = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

#: Networks that ``test_lecture_networks`` writes in torch, but for other sizes of them.
LECTURE_NETWORKS = {
    *("lenet5", "lenet5-modern", "resnet110-cifar", "preresnet1001-cifar", "bn-inception"),
    *("word2vec-skip-gram", "word2vec-cbow", "glove", "seq2seq-lstm", "layer-norm-lstm", "layer-norm-gru"),
}

#: Networks that ``test_faster_rcnn`` compares with the parts of their classes, which select proposals themselves.
DETECTORS = {
    *("fasterrcnn_resnet50_fpn", "fasterrcnn_resnet50_fpn_v2"),
    *("fasterrcnn_mobilenet_v3_large_fpn", "fasterrcnn_mobilenet_v3_large_320_fpn"),
}


def assert_same_flops(program: Program, outputs: Callable[[], dict[str, Any]]) -> None:
    """Assert that torch counts the same for the forward pass, and for both passes, from the sum of all outputs.

    Args:
        program: the network.
        outputs: its reference in torch, in evaluation mode: returns all outputs of the network, or one of them.
    """
    # the counter does not see the parts of fused recurrent layers and linear ones
    whole = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)
    with warnings.catch_warnings(), whole, sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        warnings.simplefilter("ignore")
        found = outputs()
        forward = counter.get_total_flops()
        sum(y.sum() for y in found.values() if y.requires_grad).backward()
    assert len(found) in (1, len(program.output_names))
    floats = [n for n, type_ in zip(program.output_names, program.main.output_types, strict=True) if type_.is_float]
    loss = None if found.keys() >= set(floats) else next(iter(found))
    total = analyze(program, "torch", backward=True, loss=loss).total
    assert (total.flops, total.flops_total) == (forward, counter.get_total_flops())
