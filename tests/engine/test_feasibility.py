"""Runs that are refused before anything is planned, drawn or executed, and runs without /proc."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import psutil
import pytest

import netcalc
from netcalc import process_memory
from netcalc.diagnostics import NetcalcError
from netcalc.engine import preflight, run
from netcalc.engine.compiled import Compiled
from netcalc.engine.run import forward
from netcalc.ir import Program
from netcalc.limits import MAX_OPERATIONS, MAX_RUN_WORK
from netcalc.process_memory import MemoryBaseline, free_bytes
from netcalc.verification import verify as verification
from netcalc.verification.verify import verify
from tests.numerics.programs import program

RUNS: dict[str, Callable[..., Any]] = {
    "planned": forward,
    "reference": lambda net, **named: forward(net, plan="reference", **named),
    "trace": lambda net, **named: forward(net, trace=["*"], **named),
    "verify": verify,
}


@pytest.fixture
def nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run fail that plans, counts memory operation by operation, or draws."""
    for module, name in [(preflight, "Plan"), (run, "Parameters"), (run, "run_inputs")]:
        monkeypatch.setattr(module, name, None)
    for name in ("Parameters", "run_inputs"):
        monkeypatch.setattr(verification, name, None)


def refusal(kind: str, net: Program, **named: Any) -> str:
    with pytest.raises(NetcalcError) as caught:
        RUNS[kind](net, **named)
    (found,) = caught.value.diagnostics
    assert found.code == "E603"
    assert (found.span is not None) == ("is not possible" in found.message)
    return f"{found.message}; {found.hint}"


@pytest.mark.usefixtures("nothing_begins")
@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize(
    ("layers", "what"),
    [
        (f"[{{name: fc, linear: {10**30}}}]", "the output of 'fc' is larger than an array can be"),
        (f"[{{name: fc, linear: {2**63}}}]", "the output of 'fc' is larger than an array can be"),
        (
            f"[{{name: a, repeat: 2, sequence: [{{linear: {2**61}}}, {{linear: 1}}]}}]",
            "of 'a.0.0' is larger",
        ),
        ("[{name: fc, linear: 1000000000000}]", "the output of 'fc' alone takes 909 GiB, and 9.31 GiB is free"),
        (f"[{{name: r, reshape: [{', '.join('1' * 40)}]}}]", r"the output of 'r' has 40 axes \(at most 24\)"),
    ],
)
def test_tensors_that_arrays_or_memory_cannot_hold(
    kind: str, layers: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "free_bytes", lambda: 10**10)

    assert re.search(what.replace("909", r"[\d.]+"), refusal(kind, program(f"inputs: {{x: [1, 1]}}\nlayers: {layers}")))


@pytest.mark.usefixtures("nothing_begins")
@pytest.mark.parametrize("kind", RUNS)
def test_a_million_images_are_refused_before_they_are_planned(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "free_bytes", lambda: 10**10)
    net = netcalc.load("resnet18", set={"batch": 1_000_000}).program
    assert "the input 'image' alone takes 560.76 GiB, and 9.31 GiB is free" in refusal(kind, net)


@pytest.mark.usefixtures("nothing_begins")
@pytest.mark.parametrize("kind", RUNS)
def test_runs_of_too_many_operations(kind: str) -> None:
    deep = program(f"inputs: {{x: [1, 1]}}\nlayers: [{{repeat: {MAX_OPERATIONS + 1}, linear: 1}}]")
    found = refusal(kind, deep)
    assert "executes 1,000,001 operations (at most 1,000,000); --max-work 1.1e+12 allows it" in found
    assert "operations" in refusal(kind, deep, max_work=1e12)
    with pytest.raises(TypeError, match="NoneType"):  # begins
        RUNS[kind](deep, max_work=1.1e12)


@pytest.mark.usefixtures("nothing_begins")
@pytest.mark.parametrize("kind", RUNS)
def test_runs_of_too_much_work(kind: str) -> None:
    """A product of 1 × 4 × 5 takes 20 multiply-adds, 25 parameters with its bias, 5 additions and 5 results."""
    net = program("inputs: {x: [1, 4]}\nlayers: [{linear: 5}]")
    assert "takes 75 FLOPs and elements written (at most 74); --max-work 7.5e+01 allows it" in refusal(
        kind, net, max_work=74
    )
    with pytest.raises(TypeError, match="NoneType"):
        RUNS[kind](net, max_work=75)
    for wrong in (0, -1, float("nan")):
        with pytest.raises(NetcalcError, match=r"E502.*should be at least 1"):
            RUNS[kind](net, max_work=wrong)


def test_verify_has_a_limit_of_its_own() -> None:
    net = netcalc.load("gpt2-xl")
    with pytest.raises(NetcalcError, match=r"E603.*takes 3\.52e\+12 .*at most 2e\+12.*--max-work 3\.6e\+12"):
        net.verify()


def test_no_shipped_network_is_beyond_the_limit_of_a_run() -> None:
    """The largest, with 8.4 · 10¹⁴ multiply-adds."""
    net = netcalc.load("llama-3.1-405b")
    assert 2 * net.macs < net.flops + 1 < MAX_RUN_WORK / 4


def test_compiled_passes_have_the_limits_of_runs() -> None:
    net = netcalc.loads("netcalc: 1\ninputs: {x: [1, 4]}\nlayers: [{linear: 5}]")
    with pytest.raises(NetcalcError, match=r"E603.*takes 75 FLOPs and elements written \(at most 74\)"):
        net.compile(max_work=74)
    assert net.compile(max_work=75, threads=1)()["output"].shape == (1, 5)


@pytest.mark.parametrize("threads", [1_025, 10**9])
def test_threads_have_a_limit(threads: int) -> None:
    net = program("inputs: {x: [1, 4]}\nlayers: [{linear: 5}]")
    for call in (lambda: forward(net, threads=threads), lambda: Compiled(net, threads=threads)):
        with pytest.raises(NetcalcError, match=r"E502.*at most 1,024 threads, but threads is 1,0"):
            call()


def test_passes_of_a_profile_have_a_limit() -> None:
    session = Compiled(program("inputs: {x: [1, 4]}\nlayers: [{linear: 5}]"))
    with pytest.raises(NetcalcError, match=r"E502.*at most 10,000 passes, not 10,001"):
        session.profile(passes=10_001)


# -- no /proc -----------------------------------------------------------------------------------------


@pytest.mark.skipif(not psutil.LINUX, reason="only Linux has /proc")
@pytest.mark.parametrize("processes", [False, True])
def test_runs_without_proc(processes: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    monkeypatch.setattr(process_memory, "_MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(process_memory, "_PROCESS", tmp_path / "status")
    monkeypatch.setattr(process_memory, "_MEMBERSHIP", tmp_path / "cgroup")
    assert free_bytes() > 1 << 20
    assert MemoryBaseline.now().resident is None and MemoryBaseline.now().peak_increase() is None
    net = program("inputs: {x: [300, 400]}\nlayers: [{linear: 500}, {softmax: {}}]")
    result = forward(net, threads=2, processes=processes, profiled=True)
    assert result.profile is not None and result.profile.measured is None
    assert result.outputs["output"].shape == (300, 500)
