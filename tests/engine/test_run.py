"""Forward pass: values, repeats, inputs, traces, training, and errors."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from netcalc.analysis.cost import analyze
from netcalc.analysis.counting import operation_count
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance, instances
from netcalc.diagnostics import NetcalcError
from netcalc.engine import preflight
from netcalc.engine.run import PLANS, forward
from netcalc.numerics import kernels
from tests.numerics.programs import TIED, program

STACK = """
inputs: {x: [2, 4]}
blocks:
  layer:
    inputs: [x, side]
    layers:
      - {name: fc, linear: {out: 4, bias: false}}
      - {add: {}, from: [fc, side]}
layers:
  - {name: first, linear: {out: 4, bias: false}}
  - {name: layers, repeat: 3, layer: {}, from: {side: x}}
"""


def test_layer_normalization_by_hand() -> None:
    """Textbook example: mean 8, variance 124.5."""
    net = program("inputs: {x: [1, 4]}\nlayers: [{name: norm, layer_norm: {}}]")
    result = forward(net, {"x": np.array([[10, 2, -5, 25]], np.float32)})
    np.testing.assert_allclose(result.outputs["output"], [[0.18, -0.54, -1.16, 1.52]], atol=0.006)


def test_a_stack_is_a_loop_over_its_weights() -> None:
    net = program(STACK)
    rng = np.random.default_rng(0)
    weights = {f"{n}.weight": rng.normal(size=(4, 4)) for n in ("first", *(f"layers.{i}.fc" for i in range(3)))}
    weights = {name: w.astype(np.float32) for name, w in weights.items()}
    x = rng.normal(size=(2, 4)).astype(np.float32)
    y = x @ weights["first.weight"].T
    for i in range(3):
        y = y @ weights[f"layers.{i}.fc.weight"].T + x
    np.testing.assert_allclose(forward(net, {"x": x}, weights=weights).outputs["output"], y, rtol=1e-5)


def test_shared_repeats_use_one_tensor() -> None:
    net = program("inputs: {x: [1, 3]}\nlayers: [{name: a, repeat: 4, share: true, linear: {out: 3, bias: false}}]")
    w = np.diag([2, 3, 4]).astype(np.float32)
    result = forward(net, {"x": np.ones((1, 3), np.float32)}, weights={"a.weight": w})
    np.testing.assert_array_equal(result.outputs["output"], [[16, 81, 256]])


def test_a_run_visits_operations_in_the_order_of_the_walk() -> None:
    net = program(STACK)
    visited: list[str] = []
    forward(net, progress=lambda done, total, path: visited.append(f"{done}/{total} {path}"), plan="reference")
    paths = [i.path for i in instances(net)]
    assert operation_count(net) == len(paths)
    assert visited == [f"{n}/{len(paths)} {path}" for n, path in enumerate(paths, 1)]


def test_the_same_seed_gives_the_same_numbers() -> None:
    net = program(STACK)
    one, same, other = (forward(net, seed=seed).outputs["output"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_weights_do_not_depend_on_other_layers() -> None:
    small = program("inputs: {x: [2, 4]}\nlayers: [{name: a, linear: {out: 4}}]")
    large = program(
        "inputs: {y: [1], x: [2, 4]}\nlayers: [{linear: {out: 9}, from: y}, {name: a, linear: {out: 4}, from: x}]"
    )
    np.testing.assert_array_equal(forward(small).outputs["output"], forward(large).outputs["output"])


def test_a_million_layers_start_at_once() -> None:
    net = program("inputs: {x: [1, 1]}\nlayers: [{name: deep, repeat: 1000000, linear: {out: 1}}]")

    class StopRunError(Exception):
        pass

    def stop(done: int, total: int, path: str) -> None:
        assert total == 1_000_000
        if path == "deep.10":
            raise StopRunError

    with pytest.raises(StopRunError):
        forward(net, progress=stop)


def test_values_are_freed_after_their_last_use() -> None:
    """No more than two activations are alive while a chain runs, at any depth of blocks."""
    net = program(
        """
inputs: {x: [1, 8]}
blocks:
  inner: {layers: [{repeat: 3, linear: 8}]}
  outer: {layers: [{name: a, repeat: 2, inner: {}}, {name: b, inner: {}}]}
layers: [{linear: 8}, {name: o, outer: {}}, {name: p, repeat: 2, outer: {}}]
"""
    )
    alive: list[weakref.ref[Any]] = []

    def evaluate(instance: Instance, inputs: Sequence[np.ndarray | None]) -> list[np.ndarray]:
        assert sum(ref() is not None for ref in alive) <= 1
        output = np.zeros((1, 8), np.float32)
        alive.append(weakref.ref(output))
        return [output]

    unroll(net, [np.zeros((1, 8), np.float32)], evaluate)
    assert len(alive) == operation_count(net)


# -- inputs -----------------------------------------------------------------------------------------


def run_identity(declared: str, given: dict[str, Any] | None = None, seed: int = 0) -> np.ndarray:
    """Return the output of the identity on an input of this declaration."""
    net = program(f"inputs: {{x: {declared}}}\nlayers: [identity]")
    return forward(net, given, seed=seed).outputs["output"]


def test_drawn_inputs() -> None:
    ids = run_identity("{shape: [1000], dtype: int64, range: [3, 6]}")
    assert (ids.dtype, set(ids.tolist())) == (np.int64, {3, 4, 5})
    normal = run_identity("[5000]")
    assert abs(normal.mean()) < 0.06 and abs(normal.std() - 1) < 0.06
    uniform = run_identity("{shape: [5000], range: [2, 4]}")
    assert uniform.dtype == np.float32 and 2 <= uniform.min() < 2.01 and 3.99 < uniform.max() < 4
    coin = run_identity("{shape: [1000], dtype: bool}")
    assert 400 < coin.sum() < 600
    assert run_identity("{shape: [3], dtype: bool, default: true}").all()
    np.testing.assert_array_equal(run_identity("{shape: [2], default: 0.5}"), [0.5, 0.5])


def test_inputs_of_the_same_kind_are_widened() -> None:
    assert run_identity("{shape: [2], dtype: int64}", {"x": np.array([1, 2], np.int32)}).dtype == np.int64
    assert run_identity("[2]", {"x": np.array([1, 2], np.float16)}).dtype == np.float32
    np.testing.assert_array_equal(run_identity("[4]", {"x": [10, 2, -5, 2.5]}), np.array([10, 2, -5, 2.5], np.float32))


@pytest.mark.parametrize(
    ("declared", "given", "message"),
    [
        ("[2]", {"x": np.ones(2)}, "holds float64, and the spec has float32.*astype"),
        ("[2]", {"x": np.ones(2, np.int64)}, "holds int64, and the spec has float32"),
        ("{shape: [2], dtype: int64, range: [0, 9]}", {"x": [1.5, 2]}, "holds float64, and the spec has int64"),
        ("[2]", {"x": np.ones((2, 1), np.float32)}, "is 2×1, and the spec has 2.*--set"),
        ("{shape: [2], dtype: int64, range: [0, 9]}", {"x": [0, 9]}, r"holds 0 to 9, and its range is \[0, 9\)"),
        ("{shape: [2], dtype: int64, range: [0, 9]}", {"x": [-1, 1]}, "holds -1 to 1"),
        ("{shape: [2], dtype: int64}", {}, "integers, and has no range to draw them from.*--input x="),
        ("[2]", {"y": 1}, "no input 'y'.*known here: x"),
    ],
)
def test_mismatched_inputs_are_errors(declared: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(NetcalcError, match=message) as caught:
        run_identity(declared, given)
    assert caught.value.diagnostics[0].code == "E602"


def test_every_mismatched_input_is_reported() -> None:
    net = program("inputs: {a: [2], b: [3]}\nlayers: [{add: {}, from: [a, a]}]")
    with pytest.raises(NetcalcError) as caught:
        forward(net, {"a": np.ones(1, np.float32), "b": np.ones(3), "c": 0})
    assert len(caught.value.diagnostics) == 3


def test_ids_outside_a_table() -> None:
    net = program(
        "inputs: {x: {shape: [2], dtype: int64}}\n"
        "layers: [{add: {value: 1}}, {name: e, embedding: {num_embeddings: 5, embedding_dim: 2}}]"
    )
    with pytest.raises(NetcalcError, match="e: id 7 is out of range") as caught:
        forward(net, {"x": [1, 6]})
    assert caught.value.diagnostics[0].code == "E602"


def test_symbolic_sizes_cannot_be_run() -> None:
    from netcalc.spec import elaborate
    from netcalc.spec.library import load_text

    text = "netcalc: 1\ndims: {batch: 2}\ninputs: {x: [batch, 3]}\nlayers: [relu]"
    with pytest.raises(NetcalcError, match=r"E404.*batch.*--set batch=") as caught:
        forward(elaborate(load_text(text), symbolic=["batch"]))
    assert caught.value.diagnostics[0].code == "E404"


# -- traces -----------------------------------------------------------------------------------------


def test_traces_of_operations_and_blocks() -> None:
    net = program(STACK)
    result = forward(net, trace=["layers.*.fc", "layers.2", "first"], keep=True)
    assert [row.path for row in result.trace] == ["first", "layers.0.fc", "layers.1.fc", "layers.2.fc", "layers.2"]
    assert [row.op for row in result.trace] == ["linear"] * 4 + ["layer"]
    last = result.trace[-1]
    output = result.outputs["output"].astype(np.float64)
    np.testing.assert_array_equal(last.array, output)
    assert (last.shape, last.dtype) == ((2, 4), "float32")
    expected = (output.mean(), output.std(), output.min(), output.max(), np.abs(output).max())
    np.testing.assert_allclose((last.mean, last.std, last.min, last.max, last.absmax), expected, rtol=1e-12)
    assert forward(net, trace=["first"]).trace[0].array is None


GROUPS = """
inputs: {x: [2, 8]}
blocks:
  unit: {layers: [{name: head, sequence: [{linear: 8}, relu]}, tanh]}
layers:
  - {name: stem, sequence: [{linear: 8}, {linear: 8}]}
  - {name: deep, sequence: [{name: layer_, repeat: 2, unit: {}}, {name: a.b, relu: {}}]}
  - {name: stage, repeat: 12, unit: {}}
  - {name: fc, repeat: 3, linear: 8}
"""


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("stem", ["stem"]),
        ("deep", ["deep"]),
        ("deep.a", ["deep.a"]),
        ("stage", ["stage"]),
        ("fc", ["fc"]),
        ("stage.11", ["stage.11"]),
        ("stage.1.head", ["stage.1.head"]),
        ("deep.layer_*.head", ["deep.layer_0.head", "deep.layer_1.head"]),
        ("stage.9–11.tanh", ["stage.9.tanh", "stage.10.tanh", "stage.11.tanh"]),
        ("stage.10-11", ["stage.10", "stage.11"]),
        ("fc.0–2", ["fc.0", "fc.1", "fc.2"]),
        ("deep.layer_0–1.*.1", ["deep.layer_0.head.1", "deep.layer_1.head.1"]),
        ("st?m.0-1", ["stem.0", "stem.1"]),
        ("stage.0,2,…,4", ["stage.0", "stage.2", "stage.4"]),
        ("stage.0–1,4–5,…,8–9.tanh", [f"stage.{i}.tanh" for i in (0, 1, 4, 5, 8, 9)]),
        ("stage.3,10.tanh", ["stage.3.tanh", "stage.10.tanh"]),
    ],
)
def test_traces_of_the_rows_of_a_report(pattern: str, paths: list[str]) -> None:
    net = program(GROUPS)
    result = forward(net, trace=[pattern], keep=True)
    assert [row.path for row in result.trace] == paths
    all_rows = {row.path: row.array for row in forward(net, trace=["*"], keep=True).trace}
    ends = {"stem": "stem.1", "deep": "deep.a.b", "deep.a": "deep.a.b", "stage": "stage.11.tanh", "fc": "fc.2"}
    for row in result.trace:
        np.testing.assert_array_equal(row.array, all_rows[ends.get(row.path, row.path)])


def test_every_row_of_a_report_can_be_traced() -> None:
    net = program(GROUPS)
    for unrolled in (False, True):
        pending = [*analyze(net).tree(unroll=unrolled)]
        for row in pending:
            pending += row.children
            assert forward(net, trace=[row.title]).trace, row.title


def test_a_repeated_operation_is_traced_once() -> None:
    result = forward(program(TIED), trace=["stack.*"])
    assert [row.path for row in result.trace] == ["stack.0", "stack.1", "stack.2"]


def test_a_trace_pattern_must_match() -> None:
    with pytest.raises(NetcalcError) as caught:
        forward(program(TIED), trace=["stack.*", "stakc.1", "b.wieght"])
    assert [d.code for d in caught.value.diagnostics] == ["E503", "E503"]
    assert caught.value.diagnostics[0].hint == "did you mean 'stack.1'?"


# -- training ---------------------------------------------------------------------------------------


def test_training_updates_buffers_and_inference_does_not() -> None:
    text = "inputs: {x: [8, 3, 4, 4]}\nlayers: [{name: bn, batch_norm: {}}]"
    assert not forward(program(text)).buffers
    x = np.random.default_rng(0).normal(2, 3, (8, 3, 4, 4)).astype(np.float32)
    after = forward(program(text, training=True), {"x": x}).buffers
    np.testing.assert_allclose(after["bn.running_mean"], 0.1 * x.mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(after["bn.running_var"], 0.9 + 0.1 * x.var((0, 2, 3), ddof=1), rtol=1e-5)
    assert after["bn.num_batches_tracked"] == 1


def test_a_shared_norm_continues_from_its_own_statistics() -> None:
    text = "inputs: {x: [8, 3]}\nlayers: [{name: bn, repeat: 3, share: true, batch_norm: {}}]"
    assert forward(program(text, training=True)).buffers["bn.num_batches_tracked"] == 3


def test_dropout_follows_the_seed() -> None:
    text = "inputs: {x: {shape: [1000], default: 1}}\nlayers: [{dropout: 0.25}]"
    assert (forward(program(text)).outputs["output"] == 1).all()
    net = program(text, training=True)
    one, same, other = (forward(net, seed=s).outputs["output"] for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    assert 0.2 < (one == 0).mean() < 0.3


# -- planned or reference path ----------------------------------------------------------------------


def test_a_run_is_planned_unless_something_needs_the_reference_path(monkeypatch: pytest.MonkeyPatch) -> None:
    net = program(STACK)
    assert forward(net).plan == "fast"
    assert forward(net, keep=True).plan == "fast"  # of nothing
    assert forward(net, plan="reference").plan == "reference"
    assert forward(net, trace=["first"]).plan == "reference"
    assert forward(program(STACK, training=True)).plan == "reference"
    monkeypatch.setattr(preflight, "MAX_PLANNED_OPERATIONS", operation_count(net))
    assert forward(net).plan == "fast"
    monkeypatch.setattr(preflight, "MAX_PLANNED_OPERATIONS", operation_count(net) - 1)
    assert forward(net).plan == "reference"


def test_a_planned_run_reports_progress_of_weights_and_steps() -> None:
    visited: list[tuple[int, int, str]] = []
    forward(program(STACK), progress=lambda *progress: visited.append(progress), plan="fast")
    paths = list(dict.fromkeys(path for _, _, path in visited))
    assert paths == ["weights", "first", *(f"layers.{i}.fc" for i in range(3))]  # each with the sum that follows
    assert [(done, total) for done, total, _ in visited] == [(n, len(visited)) for n in range(1, len(visited) + 1)]


@pytest.mark.parametrize("threads", [0, -1])
def test_a_run_needs_at_least_one_thread(threads: int) -> None:
    for plan in PLANS:
        with pytest.raises(NetcalcError, match=f"E502.*at least 1 thread, but threads is {threads}"):
            forward(program(STACK), threads=threads, plan=plan)


def test_an_unknown_plan_is_an_error() -> None:
    plan: Any = "fats"
    with pytest.raises(NetcalcError, match=r"E502.*no plan 'fats'; plans are fast and reference.*did you mean 'fast'"):
        forward(program(STACK), plan=plan)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"plan": "reference"}, "the reference path was asked for"),
        ({"trace": ["*"]}, "a trace was asked for"),
        ({}, "is in training mode"),
    ],
)
def test_only_planned_runs_have_a_profile(options: dict[str, Any], why: str) -> None:
    net = program(STACK, training="training" in why)
    with pytest.raises(NetcalcError, match=f"E502.*only a planned run has a profile, and .*{why}"):
        forward(net, profiled=True, **options)


# -- errors -----------------------------------------------------------------------------------------


def test_operations_without_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    net = program(STACK)
    forward(net)
    monkeypatch.delitem(kernels.KERNELS._entries, "linear")
    with pytest.raises(NetcalcError, match="first: linear has no kernel, so it cannot be run") as caught:
        forward(net)
    assert caught.value.diagnostics[0].code == "E604"
    assert caught.value.diagnostics[0].span is not None
