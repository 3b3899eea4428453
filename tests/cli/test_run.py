"""Commands ``run`` and ``verify``: inputs, weights, outputs, traces, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import netcalc as package
from netcalc.analysis.memory import Memory
from netcalc.diagnostics import NetcalcError
from netcalc.engine import run
from netcalc.engine.plan import Plan
from netcalc.engine.preflight import build_plan
from netcalc.engine.run import RunResult
from netcalc.ir import Program
from netcalc.ops.rectifier import ReLU
from tests.conftest import CommandResult

FIXTURES = Path(__file__).parent.parent / "fixtures"
SMALL = str(FIXTURES / "small.yaml")


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_layer_normalization_example(
    netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]
) -> None:
    np.save("x.npy", np.array([[10, 2, -5, 25]], "float32"))
    spec = str(FIXTURES / "layer_norm.yaml")
    ran = netcalc("run", spec, "--input", "x=x.npy", "--plan", "reference")
    assert ran.code == 0
    golden("runs/layer-norm.txt", ran.out)
    outputs = json.loads(netcalc("run", spec, "--input", "x=x.npy", "--format", "json").out)["outputs"]
    assert outputs["mean"]["values"] == [8.0]
    assert outputs["variance"]["values"] == [124.5]
    assert np.round(outputs["normalized"]["values"], 2).tolist() == [[0.18, -0.54, -1.17, 1.52]]


def test_a_run_is_determined_by_its_seed(netcalc: Callable[..., CommandResult]) -> None:
    first, second, other = (netcalc("run", SMALL, "--seed", seed).out for seed in ("1", "1", "2"))
    assert first == second
    assert first != other


def test_the_command_uses_worker_processes(
    netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def spy(program: Program, threads: int | None, processes: bool) -> Plan:
        asked.append(processes)
        return build_plan(program, 1)

    monkeypatch.setattr(run, "build_plan", spy)
    assert netcalc("run", SMALL).code == 0
    assert asked == [True]


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_outputs_and_traced_tensors_are_written(suffix: str, netcalc: Callable[..., CommandResult]) -> None:
    file = f"out.{suffix}"
    assert netcalc("run", SMALL, "--trace", "stage.1.*", "--output", file).code == 0
    tensors = load_file(file) if suffix == "safetensors" else dict(np.load(file))
    assert {name: array.shape for name, array in tensors.items()} == {
        "logits": (1, 10),
        "features": (1, 8),
        "stage.1.conv": (1, 8, 16, 16),
        "stage.1.norm": (1, 8, 16, 16),
        "stage.1.relu": (1, 8, 16, 16),
        "stage.1.add": (1, 8, 16, 16),
    }
    result = package.load(SMALL).run(plan="reference")  # which a trace takes
    np.testing.assert_array_equal(tensors["logits"], result.outputs["logits"])


def test_traced_tensors_with_the_name_of_an_output_are_written(netcalc: Callable[..., CommandResult]) -> None:
    Path("spec.yaml").write_text(
        "netcalc: 1\ninputs: {x: [2, 8]}\nlayers:\n"
        "  - {name: output, linear: 4}\n  - {name: s, repeat: 3, share: true, sequence: [tanh]}\n"
    )
    assert netcalc("run", "spec.yaml", "--trace", "output", "--trace", "s.0", "-o", "out.safetensors").code == 0
    tensors = load_file("out.safetensors")
    assert set(tensors) == {"output", "trace.output", "s.0", "trace.s.0", "trace.s.0#1"}
    np.testing.assert_allclose(tensors["s.0"], np.tanh(tensors["trace.output"]), rtol=1e-6)
    np.testing.assert_array_equal(tensors["output"], tensors["trace.s.0#1"])


def test_trace_prints_statistics(netcalc: Callable[..., CommandResult]) -> None:
    record = json.loads(netcalc("run", SMALL, "--trace", "*.relu", "--format", "json").out)
    assert [row["path"] for row in record["trace"]] == ["stage.0.relu", "stage.1.relu", "stage.2.relu"]
    assert all(row["min"] == 0 < row["mean"] < row["max"] for row in record["trace"])
    assert "stage.1.relu" in netcalc("run", SMALL, "--trace", "*.relu").out


def test_a_matching_checkpoint(netcalc: Callable[..., CommandResult]) -> None:
    save_file({"weight": np.eye(3, dtype="float32"), "bias": np.ones(3, "float32")}, "w.safetensors")
    Path("net.yaml").write_text("netcalc: 1\nname: net\ninputs: {x: [1, 3]}\nlayers: [{name: fc, linear: 3}]\n")
    save_file({"fc.weight": 2 * np.eye(3, dtype="float32"), "fc.bias": np.ones(3, "float32")}, "fits.safetensors")
    np.save("x.npy", np.array([[1, 2, 3]], "float32"))
    ran = netcalc("run", "net.yaml", "-w", "fits.safetensors", "-i", "x=x.npy", "-f", "json")
    assert json.loads(ran.out)["outputs"]["output"]["values"] == [[3, 5, 7]]
    fits = netcalc("verify", "net.yaml", "--weights", "fits.safetensors")
    assert (fits.code, fits.err) == (0, "")
    assert "every name, shape and type fits" in fits.out


def test_a_mismatched_checkpoint_is_a_failed_check(netcalc: Callable[..., CommandResult]) -> None:
    np.savez("w.npz", **{"head.weight": np.zeros((9, 8), "float32"), "stranger": np.zeros(3, "float32")})
    ran = netcalc("verify", SMALL, "--weights", "w.npz")
    assert (ran.code, ran.err) == (1, "")
    assert "head.weight" in ran.out
    assert "stranger" in ran.out
    record = json.loads(netcalc("verify", SMALL, "--weights", "w.npz", "--format", "json").out)
    assert record["ok"] is False
    assert {m["name"] for m in record["mismatches"]} >= {"head.weight", "stranger"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("n" * 50_000, "is no parameter of the spec"),
        ("0." * 20_000 + "n", "is no parameter of the spec"),
        ("n" * 50_000 + ".", "the file's names begin with"),
    ],
)
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_names_of_any_length_in_a_checkpoint(
    netcalc: Callable[..., CommandResult], name: str, said: str, form: str
) -> None:
    Path("net.yaml").write_text("netcalc: 1\nname: net\ninputs: {x: [1, 3]}\nlayers: [{name: fc, linear: 3}]\n")
    save_file({f"{name}fc.{kind}": np.zeros(3, "float32") for kind in ("weight", "bias", "3")}, "w.safetensors")
    audit = netcalc("verify", "net.yaml", "--weights", "w.safetensors", "--format", form)
    assert (audit.code, audit.err) == (1, "")
    assert said in " ".join(audit.out.split())
    assert len(audit.out) < 10_000
    ran = netcalc("run", "net.yaml", "--weights", "w.safetensors")
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err) < 5_000


def test_verify_lists_its_checks(netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc("verify", SMALL)
    assert (ran.code, ran.err) == (0, "")
    golden("runs/verify.txt", ran.out)


def test_verify_compares_gradients(netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc("verify", SMALL, "--values", "--backward")
    assert (ran.code, ran.err) == (0, "")
    golden("runs/verify_gradients.txt", ran.out)


def test_verify_fails_if_a_prediction_is_wrong(
    netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = ReLU.cost
    monkeypatch.setattr(ReLU, "cost", lambda self, *args: [*right(self, *args)] * 2)
    ran = netcalc("verify", SMALL)
    assert (ran.code, ran.err) == (1, "")
    assert "stage.0.relu ×3  relu       compare  4,096      2,048" in ran.out
    assert "3 of 81 predictions were wrong" in ran.out
    record = json.loads(netcalc("verify", SMALL, "--format", "json").out)
    assert [check["path"] for check in record["checks"] if not check["ok"]] == ["stage.0.relu"]


def test_initializers_by_pattern(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("run", SMALL, "--init", "zeros", "--init", "*.bias=constant(2)", "--format", "json")
    assert json.loads(ran.out)["outputs"]["logits"]["values"] == [[2.0] * 10]


def test_training_mode(netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc("run", SMALL, "--set", "batch=4", "--train").out != netcalc("run", SMALL, "--set", "batch=4").out


# -- plans ------------------------------------------------------------------------------------------


def test_planned_and_reference_runs_agree(netcalc: Callable[..., CommandResult]) -> None:
    one, other = (json.loads(netcalc("run", SMALL, "--plan", plan, "-f", "json").out) for plan in ("fast", "reference"))
    assert (one["plan"], other["plan"]) == ("fast", "reference")
    assert set(one["memory"]) == set(other["memory"]) == {"weights", "activations", "peak"}
    assert "profile" not in one
    for mine, theirs in zip(one["outputs"].values(), other["outputs"].values(), strict=True):
        np.testing.assert_allclose(mine["values"], theirs["values"], rtol=1e-4, atol=1e-6)


def test_a_profile(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("run", SMALL, "--profile", "--threads", "1", "--wide")
    assert (ran.code, ran.err) == (0, "")
    assert "medians of 5 passes on 1 thread" in ran.out
    assert all(word in ran.out for word in ("logits", "stage.1.conv", "batch_norm, relu", "GFLOP/s", "measured"))


def test_a_profile_as_json(netcalc: Callable[..., CommandResult]) -> None:
    found = json.loads(netcalc("run", SMALL, "--profile", "--threads", "2", "-f", "json").out)["profile"]
    work = json.loads(netcalc("summary", SMALL, "-f", "json").out)["totals"]["flops"]
    assert (found["threads"], found["passes"], found["flops"]) == (2, 5, work)
    assert sum(layer["flops"] for layer in found["layers"]) == work
    memory = found["memory"]
    assert memory["predicted"] == sum(size for part, size in memory.items() if part not in ("predicted", "measured"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threads", "0"], "'--threads': should be greater than or equal to 1"),
        (["--threads", "two"], "'--threads'"),
        (["--plan", "quick"], "'--plan': 'quick' is not one of 'fast', 'reference'"),
        (
            ["--profile", "--plan", "reference"],
            "only a planned run has a profile, and the reference path was asked for",
        ),
        (["--profile", "--trace", "*"], "only a planned run has a profile, and a trace was asked for"),
        (["--profile", "--train"], "only a planned run has a profile, and 'small' is in training mode"),
    ],
)
def test_invalid_options(options: list[str], message: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("run", SMALL, *options)
    assert (ran.code, ran.out) == (2, "")
    assert "E502" in ran.err and message in ran.err


def test_several_files_of_weights_are_one_checkpoint(netcalc: Callable[..., CommandResult]) -> None:
    save_file({"fc.weight": 2 * np.eye(3, dtype="float16")}, "a.safetensors")
    save_file({"fc.bias": np.ones(3, "float16")}, "b.safetensors")
    Path("net.yaml").write_text("netcalc: 1\ninputs: {x: [1, 3]}\nlayers: [{name: fc, linear: 3}]\n")
    both = ["-w", "a.safetensors", "-w", "b.safetensors"]
    refused = netcalc("run", "net.yaml", *both)
    assert refused.code == 2
    assert "2 tensors are float16, and the spec has float32" in refused.err
    assert "add --cast, or --dtype float16" in refused.err
    result = netcalc("run", "net.yaml", *both, "--cast")
    assert result.code == 0
    assert "weights from a.safetensors, b.safetensors" in result.out
    assert netcalc("verify", "net.yaml", *both, "--cast").out.startswith("a.safetensors, b.safetensors: 2 tensors; ")
    assert netcalc("verify", "net.yaml", "-w", ".", "--cast").code == 0
    assert netcalc("verify", "net.yaml", "-w", ".").code == 1


def test_training_mode_writes_updated_buffers(netcalc: Callable[..., CommandResult]) -> None:
    text = "netcalc: 1\ninputs: {x: [4, 3, 2, 2]}\nlayers: [{name: bn, batch_norm: {}}]\n"
    Path("net.yaml").write_text(text)
    x = np.random.default_rng(0).normal(2, 3, (4, 3, 2, 2)).astype("float32")
    np.save("x.npy", x)
    trained = netcalc("run", "net.yaml", "-i", "x=x.npy", "--mode", "train", "-o", "out.safetensors")
    assert "training mode: a forward pass; no backward pass, no update" in trained.out
    written = load_file("out.safetensors")
    assert set(written) == {"output", "bn.running_mean", "bn.running_var", "bn.num_batches_tracked"}
    np.testing.assert_allclose(written["bn.running_mean"], 0.1 * x.mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(written["bn.running_var"], 0.9 + 0.1 * x.var((0, 2, 3), ddof=1), rtol=1e-5)
    assert written["bn.num_batches_tracked"] == 1
    netcalc("run", "net.yaml", "-i", "x=x.npy", "-o", "eval.npz")
    assert np.load("eval.npz").files == ["output"]


def test_buffers_do_not_replace_outputs_of_their_names() -> None:
    arrays = {"a.b": np.zeros(1)}
    result = RunResult("net", 0, arrays, (), {"a.b": np.ones(1), "c": np.ones(2)}, Memory(0, 0, 0, 0, ""), "reference")
    assert {name: array.sum() for name, array in result.tensors.items()} == {
        "a.b": 0,
        "buffers.a.b": 1,
        "c": 2,
    }


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_dtype_sets_the_type_of_inputs_weights_and_outputs(netcalc: Callable[..., CommandResult], dtype: str) -> None:
    record = json.loads(netcalc("run", SMALL, "--dtype", dtype, "-f", "json").out)
    assert {output["dtype"] for output in record["outputs"].values()} == {dtype}
    assert netcalc("verify", SMALL, "--dtype", dtype).code == 0
    for command in ("shapes", "params", "flops", "summary"):
        assert netcalc(command, SMALL, "--dtype", dtype).code == 0
    assert dtype in netcalc("explain", SMALL, "stem", "--dtype", dtype).out
    assert dtype in netcalc("compare", SMALL, SMALL, "--dtype", dtype, "-f", "json").out
    size = {"bfloat16": 2, "float16": 2, "float64": 8}[dtype]
    totals = [json.loads(netcalc("params", SMALL, *o, "-f", "json").out)["totals"] for o in ([], ["--dtype", dtype])]
    assert totals[1]["weight_bytes"] * 4 == totals[0]["weight_bytes"] * size


def test_weights_of_the_type_that_dtype_names(netcalc: Callable[..., CommandResult]) -> None:
    save_file({"fc.weight": np.eye(3, dtype="float16"), "fc.bias": np.ones(3, "float16")}, "w.safetensors")
    Path("net.yaml").write_text("netcalc: 1\ninputs: {x: [1, 3]}\nlayers: [{name: fc, linear: 3}]\n")
    assert netcalc("verify", "net.yaml", "-w", "w.safetensors").code == 1
    assert netcalc("verify", "net.yaml", "-w", "w.safetensors", "--dtype", "float16").code == 0


def test_dtype_is_a_floating_point_type() -> None:
    with pytest.raises(NetcalcError, match="E502: a network cannot have the element type 'int8'"):
        package.load("mlp", dtype="int8")
    assert package.load("mlp", dtype="float64").run().outputs["output"].dtype == np.float64
