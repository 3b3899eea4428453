"""Single operations against figures computed with torch 2.13.0 (torch.nn modules in evaluation mode).

FLOPs are those of ``torch.utils.flop_counter``; each record is a module call and the equivalent line of a spec.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from tests.spec.harness import program


class Record(NamedTuple):
    """Module call in torch, the equivalent line, and the figures of torch."""

    call: str
    op: str
    attrs: dict[str, Any]
    inputs: list[list[int]]
    params: int
    buffers: int
    flops: int
    outputs: list[list[int]]
    dtype: str = "float32"


RECORDS = [
    Record(
        "nn.Conv2d(16,24,(3,5),stride=(3,2),padding=(1,3),dilation=(2,1),groups=4)",
        "conv2d",
        {"out": 24, "kernel": [3, 5], "stride": [3, 2], "padding": [1, 3], "dilation": [2, 1], "groups": 4},
        [[2, 16, 37, 41]],
        *(1464, 0, 1520640, [[2, 24, 12, 22]]),
    ),
    Record(
        "nn.Conv2d(4,6,3,padding=1,padding_mode='circular',stride=2)",
        "conv2d",
        {"out": 6, "kernel": 3, "padding": 1, "padding_mode": "circular", "stride": 2},
        [[1, 4, 11, 11]],
        *(222, 0, 15552, [[1, 6, 6, 6]]),
    ),
    Record(
        "nn.Conv3d(6,8,(3,1,5),stride=(1,2,2),padding=(1,0,2),groups=2)",
        "conv3d",
        {"out": 8, "kernel": [3, 1, 5], "stride": [1, 2, 2], "padding": [1, 0, 2], "groups": 2},
        [[1, 6, 9, 14, 15]],
        *(368, 0, 362880, [[1, 8, 9, 7, 8]]),
    ),
    Record(
        "nn.ConvTranspose1d(8,4,5,stride=3,padding=2,output_padding=1,bias=False)",
        "conv_transpose1d",
        {"out": 4, "kernel": 5, "stride": 3, "padding": 2, "output_padding": 1, "bias": False},
        [[2, 8, 13]],
        *(160, 0, 8320, [[2, 4, 38]]),
    ),
    Record(
        "nn.MaxPool2d(3,2,ceil_mode=True)",
        "max_pool2d",
        {"kernel": 3, "stride": 2, "ceil_mode": True},
        [[1, 4, 20, 21]],
        *(0, 0, 0, [[1, 4, 10, 10]]),
    ),
    Record(
        "nn.MaxPool2d((3,2),stride=(2,1),padding=(1,0),dilation=(2,3))",
        "max_pool2d",
        {"kernel": [3, 2], "stride": [2, 1], "padding": [1, 0], "dilation": [2, 3]},
        [[1, 4, 17, 18]],
        *(0, 0, 0, [[1, 4, 8, 15]]),
    ),
    Record(
        "nn.AdaptiveAvgPool2d((3,5))",
        "adaptive_avg_pool2d",
        {"output_size": [3, 5]},
        [[1, 4, 10, 13]],
        *(0, 0, 0, [[1, 4, 3, 5]]),
    ),
    Record("nn.Bilinear(10,12,7)", "bilinear", {"out": 7}, [[3, 10], [3, 12]], 847, 0, 0, [[3, 7]]),
    Record("nn.Linear(33,17)", "linear", {"out": 17}, [[2, 5, 33]], 578, 0, 11220, [[2, 5, 17]]),
    Record(
        "nn.MultiheadAttention(64,4,kdim=48,vdim=40,batch_first=True)",
        "multi_head_attention",
        {"heads": 4},
        [[2, 9, 64], [2, 13, 48], [2, 13, 40]],
        *(14080, 0, 647680, [[2, 9, 64]]),
    ),
    Record("nn.PixelShuffle(3)", "pixel_shuffle", {"upscale_factor": 3}, [[1, 18, 7, 5]], 0, 0, 0, [[1, 2, 21, 15]]),
    Record(
        "nn.BatchNorm2d(10,affine=False)",
        "batch_norm",
        {"affine": False},
        [[1, 10, 4, 4]],
        *(0, 21, 0, [[1, 10, 4, 4]]),
    ),
    Record("nn.GroupNorm(3,12)", "group_norm", {"groups": 3}, [[1, 12, 4, 4]], 24, 0, 0, [[1, 12, 4, 4]]),
    Record(
        "nn.EmbeddingBag(100,16,mode='mean')",
        "embedding_bag",
        {"num_embeddings": 100, "embedding_dim": 16, "mode": "mean"},
        [[4, 7]],
        *(1600, 0, 0, [[4, 16]], "int64"),
    ),
    Record("nn.LSTMCell(40, 72)", "lstm_cell", {"hidden": 72}, [[3, 40]], 32832, 0, 193536, [[3, 72], [3, 72]]),
]


@pytest.mark.parametrize("record", RECORDS, ids=[r.call for r in RECORDS])
def test_figures_equal_torch(record: Record) -> None:
    names = [f"x{i}" for i in range(len(record.inputs))]
    inputs = {n: {"shape": s, "dtype": record.dtype} for n, s in zip(names, record.inputs, strict=True)}
    line = {"name": "op", "from": names, record.op: record.attrs}
    found = program(f"inputs: {json.dumps(inputs)}\nlayers: [{json.dumps(line)}]\n")
    total = Analysis(found, CONVENTIONS["torch"]).total
    assert (total.params, total.buffers, total.flops) == (record.params, record.buffers, record.flops)
    outputs = [list(v.type.shape) for v in found.main.nodes[-1].outputs if v.type is not None]
    assert outputs[: len(record.outputs)] == record.outputs
