"""Predicted memory of plans against NumPy's allocations, and the size of processes against the prediction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from netcalc.analysis.memory import memory
from netcalc.engine.arena import ALIGNMENT
from netcalc.engine.plan import Plan
from netcalc.engine.run import forward
from netcalc.engine.runtime.session import Session
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from netcalc.weights.writing import write_tensors
from tests.numerics.programs import program

#: Bytes of Python's objects that a pass may make.
NOISE = 60_000

NETS = {
    "dense": "inputs: {x: [64, 500]}\nlayers: [{linear: 900}, gelu, {linear: 300}, layer_norm, softmax]",
    "images": """
inputs: {x: [2, 16, 48, 48]}
layers:
  - {conv2d: {out: 32, kernel: 3, padding: 1, bias: false}}
  - batch_norm
  - relu
  - {conv2d: {out: 32, kernel: 3, padding: 1, groups: 32}}
  - {max_pool2d: {kernel: 3, stride: 2, padding: 1}}
  - {conv2d: {out: 64, kernel: 3, stride: 2, groups: 4}}
  - {interpolate: {size: [40, 40], mode: bilinear}}
""",
    "tokens": """
inputs: {ids: {shape: [4, 96], dtype: int64, range: [0, 500]}}
layers:
  - {name: table, embedding: {num_embeddings: 500, embedding_dim: 128}}
  - {learned_positions: 128}
  - {name: heads, unflatten: {axis: -1, sizes: [4, 32]}}
  - {name: q, permute: [0, 2, 1, 3]}
  - {name: turned, rotary_embedding: {}}
  - {scaled_dot_product_attention: {causal: true}, from: [turned, turned, q]}
  - {permute: [0, 2, 1, 3]}
  - {flatten: {start_axis: 2}}
  - {linear: {out: 500, bias: false}, tie: table}
""",
    "recurrent": "inputs: {x: [40, 16, 64]}\nlayers: [{name: rnn, lstm: {hidden: 128}}]\noutputs: [rnn]",
    "integers": """
inputs: {x: {shape: [300, 400], dtype: int32, range: [0, 9]}, y: {shape: [300, 400], dtype: int64, range: [0, 9]}}
layers: [{name: sum, add: {}, from: [x, y]}, {name: order, sort: {}, from: sum}]
outputs: [sum, order]
""",
}


def _numpy_bytes() -> int:
    """Return the bytes of all arrays that NumPy has allocated since tracemalloc started."""
    domain = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([domain]).traces)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_arrays_of_a_session_are_those_of_the_prediction(name: str, dtype: str, threads: int) -> None:
    net = program(f"dtype: {dtype}\n{NETS[name]}")
    Session(Plan(net, threads), Parameters(net))(run_inputs(net, None, 0))  # imports and caches of the first use
    plan = Plan(net, threads)
    predicted = plan.memory
    tracemalloc.start()
    try:
        before = _numpy_bytes()
        inputs = run_inputs(net, None, 0)
        assert _numpy_bytes() - before == predicted.inputs
        session = Session(plan, Parameters(net), alone=True)
        session(inputs)
        held = _numpy_bytes() - before - predicted.inputs
        buffers = len(plan.constants) + len(plan.persistent_stores) + threads + 1
        # each buffer may be moved to a multiple of the alignment; besides them there are numbers such as a scale
        exact = predicted.weights + predicted.arena + predicted.scratch
        assert exact <= held <= exact + predicted.patterns + ALIGNMENT * buffers + 1000
        tracemalloc.reset_peak()
        start = tracemalloc.get_traced_memory()[0]
        outputs = session(inputs)
        assert sum(array.nbytes for array in outputs) == predicted.outputs
        peak = tracemalloc.get_traced_memory()[1] - start
        assert predicted.outputs <= peak <= predicted.outputs + predicted.temporary + NOISE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", NETS)
def test_the_reference_path_allocates_no_more_than_predicted(name: str, dtype: str) -> None:
    net = program(f"dtype: {dtype}\n{NETS[name]}")
    forward(net, plan="reference")
    tracemalloc.start()
    try:
        forward(net, plan="reference")
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken - 2 * NOISE <= memory(net).peak <= 4 * taken


#: Two linear layers, the first of which has nearly all weights, and an embedding that the last layer shares.
LARGE = {
    "dense": """
netcalc: 1
name: dense
inputs: {x: [4, 5000]}
layers: [{name: a, linear: 5000}, relu, {name: b, linear: 10}]
""",
    "tied": """
netcalc: 1
name: tied
inputs: {ids: {shape: [1, 64], dtype: int64, range: [0, 50000]}}
layers:
  - {name: table, embedding: {num_embeddings: 50000, embedding_dim: 512}}
  - {name: a, linear: 512}
  - {name: head, linear: {out: 50000, bias: false}, tie: table}
""",
}
TENSORS = {
    "dense": {"a.weight": (5000, 5000), "a.bias": (5000,), "b.weight": (10, 5000), "b.bias": (10,)},
    "tied": {"table.weight": (50_000, 512), "a.weight": (512, 512), "a.bias": (512,)},
}
CHILD = """
import json, sys
from netcalc.cli import main
code = main(json.loads(sys.argv[1]))
peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")][0].split()[1]
print("\\n" + str(int(peak) * 1024 if code == 0 else -1))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("plan", ["fast", "reference"])
@pytest.mark.parametrize("source", ["drawn", "safetensors", "npz", "cast"])
@pytest.mark.parametrize("name", LARGE)
def test_a_process_holds_the_prediction_and_sixty_mebibytes(name: str, source: str, plan: str, tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(LARGE[name])
    arguments = ["run", str(tmp_path / "net.yaml"), "--plan", plan, "--threads", "1", "--format", "json"]
    if source != "drawn":
        dtype = np.float16 if source == "cast" else np.float32
        path = tmp_path / ("w.npz" if source == "npz" else "w.safetensors")
        write_tensors(path, {tensor: np.zeros(shape, dtype) for tensor, shape in TENSORS[name].items()})
        arguments += ["--weights", str(path), *(["--cast"] if source == "cast" else [])]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **threads},
    )
    record, _, peak = done.stdout.strip().rpartition("\n")
    predicted = json.loads(record)["memory"]["peak"]
    assert predicted > 90_000_000
    assert 0 < int(peak) <= 1.1 * predicted + (60 << 20)


def test_half_precision_is_held_in_half_the_memory() -> None:
    table = """
inputs: {ids: {shape: [1, 8], dtype: int64, range: [0, 9]}}
layers: [{embedding: {num_embeddings: 9, embedding_dim: 64}}]
"""
    sizes = {dtype: Plan(program(f"dtype: {dtype}\n{table}")).memory.weights for dtype in ("float16", "float32")}
    assert sizes == {"float16": 9 * 64 * 2, "float32": 9 * 64 * 4}
