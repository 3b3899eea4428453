"""Predicted memory against allocated memory."""

from __future__ import annotations

import sys
import tracemalloc
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import process_memory
from netcalc.analysis.memory import memory
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.diagnostics import NetcalcError
from netcalc.engine import preflight, run
from netcalc.engine.run import PlanName, forward
from netcalc.ir import Program
from netcalc.process_memory import format_bytes, free_bytes
from tests.numerics.programs import program

BLOCKS = """
blocks:
  chain: {layers: [relu, relu]}
  residual: {layers: [{add: {main: [relu, relu], skip: []}}]}
  mixed: {inputs: [x, side], layers: [{add: {}, from: [x, side]}, relu, {add: {}, from: [in, side]}]}
  early: {inputs: [x, side], layers: [{add: {}, from: [x, side]}, {residual: {}}]}
  nested: {layers: [{repeat: 2, residual: {}}, {name: end, chain: {}}]}
  other: {inputs: [x, side], layers: [{repeat: 3, mixed: {}, from: {side: side}}, relu]}
"""


def peak_alive_bytes(net: Program) -> int:
    """Return the peak bytes of inputs and values that are alive while an operation runs, by weak references."""
    alive: dict[int, weakref.ref[Any]] = {}
    most = 0
    given = [np.zeros(tuple(spec.type.shape), spec.type.dtype) for spec in net.inputs]
    held = sum(array.nbytes for array in given)

    def evaluate(instance: Instance, inputs: Sequence[np.ndarray | None]) -> list[np.ndarray]:
        nonlocal most
        outputs = []
        for value in instance.node.outputs:
            assert value.type is not None
            outputs.append(np.zeros(value.type.shape, value.type.dtype))
            alive[len(alive)] = weakref.ref(outputs[-1])
        arrays = (ref() for ref in alive.values())
        most = max(most, sum(array.nbytes for array in arrays if array is not None))
        return outputs

    unroll(net, given, evaluate)
    return held + most


@st.composite
def specs(draw: st.DrawFn) -> str:
    """Draw lines of operations and blocks that use each other's outputs, repeated and nested."""
    lines, names = [], ["x", "y"]
    for number in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["relu", "add", "chain", "residual", "nested", "mixed", "early", "other"]))
        one, two = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        repeat = f"repeat: {draw(st.integers(1, 3))}, " if kind not in ("relu", "add") else ""
        source = f"[{one}, {two}]" if kind == "add" else f"{{x: {one}, side: {two}}}"
        source = one if kind in ("relu", "chain", "residual", "nested") else source
        lines.append(f"  - {{name: n{number}, {repeat}{kind}: {{}}, from: {source}}}")
        names.append(f"n{number}")
    outputs = draw(st.lists(st.sampled_from(names[2:]), min_size=1, max_size=2, unique=True))
    return f"inputs: {{x: [100], y: [100]}}{BLOCKS}layers:\n" + "\n".join(lines) + f"\noutputs: [{', '.join(outputs)}]"


@settings(deadline=None, max_examples=60)
@given(specs())
def test_peak_activations_equal_the_prediction(text: str) -> None:
    net, one_input = program(text), "side:" not in text.partition("layers:\n")[2]
    predicted, alive = memory(net).activations, peak_alive_bytes(net)
    # a value passed to a block twice is held by the caller until the block returns
    assert alive <= predicted <= alive + (0 if one_input else 800)


@pytest.mark.parametrize(
    ("layers", "activations"),
    [
        ("[relu]", 2),  # the caller holds the input
        ("[relu, relu, relu, relu]", 3),
        ("[{repeat: 1000, relu: {}}]", 3),
        ("[{repeat: 1000, chain: {}}]", 3),
        ("[{repeat: 1000, residual: {}}]", 4),
        ("[{name: a, relu: {}}, {repeat: 9, early: {}, from: {x: x, side: a}}]", 5),
        ("[{name: a, relu: {}}, {repeat: 1, early: {}, from: {x: x, side: a}}]", 4),
        ("[{name: a, relu: {}}, {repeat: 9, relu: {}}, {add: {}, from: [in, a]}]", 4),
    ],
)
def test_activations_of_known_networks(layers: str, activations: int) -> None:
    net = program(f"inputs: {{x: [100]}}{BLOCKS}layers: {layers}")
    assert memory(net).activations == peak_alive_bytes(net) == activations * 400


NETS = {
    "mlp": "inputs: {x: [64, 1000]}\nlayers: [{linear: 2000}, relu, {linear: 1000}, {linear: 10}, softmax]",
    "conv": """
inputs: {x: [2, 16, 96, 96]}
layers:
  - {conv2d: {out: 32, kernel: 3, padding: 1}}
  - batch_norm
  - relu
  - {max_pool2d: {kernel: 3, stride: 2, padding: 1}}
  - {conv2d: {out: 32, kernel: 3, stride: 2, groups: 4}}
""",
    "attention": """
inputs: {q: [1, 8, 400, 32]}
layers: [{scaled_dot_product_attention: {}, from: [q, q, q]}]
""",
    "norms": "inputs: {x: [16, 400, 128]}\nlayers: [layer_norm, gelu, {linear: 128}, layer_norm, softmax]",
    "half": "dtype: float16\ninputs: {x: [64, 3, 64, 64]}\nlayers: [{conv2d: {out: 8, kernel: 3}}, batch_norm, gelu]",
    "recurrent": "inputs: {x: [50, 16, 64]}\nlayers: [{lstm: {hidden: 64}}]",
}


@pytest.mark.parametrize("name", NETS)
def test_a_run_allocates_no_more_than_predicted(name: str) -> None:
    """Measured by NumPy's allocations in tracemalloc."""
    net = program(NETS[name])
    forward(net, plan="reference")  # imports and caches of the first use
    tracemalloc.start()
    try:
        predicted = forward(net, plan="reference").memory.peak
        _, taken = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken <= predicted * 1.01 + 200_000
    assert predicted <= taken * 6 + 200_000


def test_a_deep_stack_has_the_activations_of_one_layer() -> None:
    layer = program("inputs: {x: [1, 64]}\nlayers: [{name: a, repeat: 2, linear: 64}]")
    stack = program("inputs: {x: [1, 64]}\nlayers: [{name: a, repeat: 50000000, linear: 64}]")
    assert memory(stack).peak == memory(layer).peak
    assert memory(stack).weights == 25_000_000 * memory(layer).weights


def test_weights_are_counted_once_and_the_largest_layer_is_named() -> None:
    net = program(
        "inputs: {x: [1, 100]}\n"
        "layers:\n"
        "  - {name: a, linear: {out: 100, bias: false}}\n"
        "  - {name: b, linear: {out: 100, bias: false}, tie: a}\n"
        "  - {name: c, repeat: 3, sequence: [{name: fc, linear: 1000}, {name: bn, batch_norm: {}}, {linear: 100}]}"
    )
    predicted = memory(net)
    assert predicted.weights == 4 * (100 * 100 + 3 * (101_000 + 2000 + 100_100))
    assert predicted.buffers == 3 * (2 * 1000 * 4 + 8)
    assert predicted.peak_at == "c.0.fc"


@pytest.mark.parametrize(("plan", "place"), [("fast", ""), ("reference", ", at 'fc1'")])
def test_too_large_a_network_is_an_error_before_allocation(
    plan: PlanName, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = program("inputs: {x: [1, 401408]}\nlayers: [{name: fc1, linear: 4096}]")
    monkeypatch.setattr(preflight, "free_bytes", lambda: 3 << 30)
    monkeypatch.setattr(run, "Parameters", None)  # not even asked for
    with pytest.raises(NetcalcError) as caught:
        forward(net, plan=plan)
    found = caught.value.diagnostics[0]
    assert found.code == "E603"
    assert (found.span is not None) == bool(place)
    assert f"needs 6.13 GiB of memory{place}, and 3.00 GiB is free (all weights 6.13 GiB" in found.message
    assert found.hint and "--plan" not in found.hint


def test_the_reference_path_is_suggested_if_it_needs_less_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    net = program("inputs: {x: [1, 1000]}\nlayers: [{name: a, repeat: 20, linear: {out: 1000, bias: false}}]")
    monkeypatch.setattr(preflight, "free_bytes", lambda: 10_000_000)
    with pytest.raises(
        NetcalcError, match=r"needs 76\.\d MiB of memory, and 9\.54 MiB is free.*--plan reference.*3\.8"
    ):
        forward(net)


def test_the_reference_path_holds_the_weights_of_one_layer_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    net = program("inputs: {x: [1, 1000]}\nlayers: [{name: a, repeat: 20, linear: {out: 1000, bias: false}}]")
    assert memory(net).weights == 80_000_000
    monkeypatch.setattr(preflight, "free_bytes", lambda: 10_000_000)
    tracemalloc.start()
    try:
        forward(net, plan="reference")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces RLIMIT_AS")
def test_free_memory_is_bounded_by_the_address_space_limit() -> None:
    import resource

    assert free_bytes() > 1 << 20
    import os
    import subprocess

    limit = 3 << 30
    code = "from netcalc.process_memory import free_bytes; print(free_bytes())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert 0 < int(done.stdout) < limit


@pytest.mark.parametrize(
    ("membership", "root", "limit", "used", "file_key"),
    [
        ("0::/job/step", ".", "memory.max", "memory.current", "inactive_file"),
        (
            "5:cpu:/\n4:memory:/job/step",
            "memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ],
)
def test_free_memory_is_bounded_by_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, membership: str, root: str, limit: str, used: str, file_key: str
) -> None:
    """The job is limited to 1000 bytes and uses 900, of which 50 are reclaimable file cache; its step has no limit."""
    for group, most in {"job": "1000", "job/step": "max"}.items():
        folder = tmp_path / root / group
        folder.mkdir(parents=True)
        (folder / limit).write_text(f"{most}\n")
        (folder / used).write_text("900\n")
        (folder / "memory.stat").write_text(f"anon 850\n{file_key} 50\n")
    (tmp_path / "membership").write_text(membership)
    monkeypatch.setattr(process_memory, "_CGROUPS", tmp_path)
    monkeypatch.setattr(process_memory, "_MEMBERSHIP", tmp_path / "membership")
    assert free_bytes() == 150


@pytest.mark.parametrize(("count", "text"), [(5, "5 B"), (2048, "2 KiB"), (6_576_000_000, "6.12 GiB")])
def test_byte_counts_are_printed_in_fitting_units(count: int, text: str) -> None:
    assert format_bytes(count) == text
