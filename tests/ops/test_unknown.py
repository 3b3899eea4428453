"""Operators without a rule: figures that a user declares, and names for all that is not known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from netcalc import NetcalcError, Network, as_dict, compare, loads
from netcalc.analysis.conventions import FIRST
from tests.conftest import CommandResult
from tests.generators.record_schema import record_schema

#: The layer before the operator has 2·16·64 outputs, of 64 inputs each, and a bias.
_MACS = 2 * 16 * 64 * 64
_LINEAR = {"netcalc": 2 * _MACS + 2 * 16 * 64, "torch": 2 * _MACS, "torchvision": _MACS, "fvcore": _MACS}


def spec(figures: str = "") -> str:
    return (
        "netcalc: 1\n"
        "name: mixer\n"
        "dims: {batch: 2, length: 16}\n"
        "inputs: {x: [batch, length, 64]}\n"
        "layers:\n"
        "  - linear: 64\n"
        f'  - {{name: mix, unknown: {{operator: mylib.mix, shapes: [["${{batch}}", "${{length}}", 64]]{figures}}}}}\n'
    )


def counted(net: Network, convention: str) -> tuple[Any, Any, tuple[str, ...]]:
    """Return what a convention counts of the operator: MACs, FLOPs, and the names of what is not known."""
    found = net.analysis(convention)
    return found.total.macs - _MACS, found.total.flops - _LINEAR[convention], found.unknown


@pytest.mark.parametrize("convention", FIRST)
def test_work_that_is_not_declared_is_never_zero(convention: str) -> None:
    net = loads(spec())
    assert counted(net, convention) == (0, 0, ("mylib.mix",))
    assert net.analysis(convention).declared == {}
    assert "at least" in str(net.summary(convention))
    explained = str(net.explain("mix", convention=convention))
    assert "work  not known" in explained
    assert "MACs   not known\n  FLOPs  not known" in explained
    assert "work that is not known: mylib.mix" in str(net.explain(convention=convention))


@pytest.mark.parametrize(
    ("figures", "flops"),
    [
        ("macs: 1000", {"netcalc": 2000, "torch": 2000, "torchvision": 1000, "fvcore": 1000}),
        ("macs: 1000, flops: 2600", {"netcalc": 2600, "torch": 2000, "torchvision": 1000, "fvcore": 1000}),
    ],
)
def test_conventions_count_declared_work_as_that_of_other_operations(figures: str, flops: dict[str, int]) -> None:
    net = loads(spec(f", {figures}"))
    assert {name: counted(net, name) for name in FIRST} == {name: (1000, count, ()) for name, count in flops.items()}
    assert "at least" not in str(net)


def test_work_without_multiply_adds_is_left_out_by_name() -> None:
    net = loads(spec(", macs: 0, flops: 600"))
    assert counted(net, "netcalc") == (0, 600, ())
    assert net.analysis("torch").uncounted == ("unknown",)


def test_flops_alone_leave_the_multiply_adds_unknown() -> None:
    net = loads(spec(", flops: 2600"))
    for name in ("netcalc", "torch"):
        assert counted(net, name) == (0, 2600, ("MACs of mylib.mix",))
    for name in ("torchvision", "fvcore"):
        assert counted(net, name) == (0, 0, ("mylib.mix",))
    page = str(net)
    assert "at least 131.1 kMAC" in page
    assert "work that is not known: MACs of mylib.mix" in page
    (row,) = (line for line in page.splitlines() if line.startswith("mix "))
    assert row.split()[-4:-2] == ["–", "2,600"]
    assert "MACs   not known\n  FLOPs  2,600" in str(net.explain("mix"))


def test_figures_are_exact_and_symbolic() -> None:
    figures = ', macs: "${batch * length * 4096}", flops: "${2 * batch * length * 4096 + length // 3}"'
    symbolic = loads(spec(figures), symbolic=["batch", "length"])
    for batch, length in ((1, 1), (3, 100), (7, 2**40 + 1)):
        net = loads(spec(figures), set={"batch": batch, "length": length})
        assert net.macs == 2 * 4096 * batch * length
        assert net.flops == 4 * 4096 * batch * length + 64 * batch * length + length // 3
        assert symbolic.specialize(batch=batch, length=length).flops == net.flops


def test_figures_count_in_every_iteration_of_a_repeat() -> None:
    text = spec(", macs: 1000").replace("name: mix,", "name: mix, repeat: 3,")
    net = loads(text)
    assert net.macs == _MACS + 3000
    assert net.analysis().declared_cost.macs == 3000
    assert "3·2,000 = 6,000" in str(net.explain("mix"))


def test_parameters_count_with_their_bytes_and_not_as_work() -> None:
    net = loads(spec(", parameters: 500, source: the manual"))
    assert net.params == 64 * 64 + 64 + 500
    assert net.analysis().total.weight_bytes == 4 * net.params
    assert counted(net, "netcalc") == (0, 0, ("mylib.mix",))
    for view in ("params", "summary"):
        assert "declared, not computed: 500 parameters by mylib.mix (the manual)" in str(net.summary(view=view))
    assert "declared" not in str(net.summary(view="flops"))


def test_a_backward_pass_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = loads(spec(", macs: 1000")).summary(backward=True)
    assert summary.unknown == ("backward pass of mylib.mix",)
    monkeypatch.setenv("COLUMNS", "120")
    page = str(summary)
    assert "at least backward 0 MAC, 0 FLOP; total at least 266.2 kFLOP" in page
    (row,) = (line for line in page.splitlines() if line.startswith("mix "))
    assert "–" in row


@pytest.mark.parametrize("view", ["summary", "flops", "params", "shapes"])
def test_records_have_the_declared_figures_by_operator(view: Any) -> None:
    for figures in ("", ", macs: 1000, source: its authors", ", flops: 7, parameters: 3"):
        summary = loads(spec(figures)).summary(view=view)
        record = as_dict(summary)
        jsonschema.validate(record, record_schema(view))
        named = figures and view != "shapes" and (view != "params" or "parameters" in figures)
        assert record.get("declared") == (
            {"mylib.mix": "its authors" if "source" in figures else ""} if named else None
        )


def test_comparisons_name_what_is_not_known_and_what_is_declared() -> None:
    names = {"one": "", "two": ", macs: 1000, source: its authors"}
    networks = [loads(spec(figures).replace("name: mixer", f"name: {name}")) for name, figures in names.items()]
    compared = compare(*networks)
    unknown, declared = compared.notes
    assert "work that is not known: mylib.mix" in unknown[-1]
    assert declared == ("declared, not computed: the figures of mylib.mix (its authors)",)
    assert "one: sums are at least what they are" in str(compared)
    assert as_dict(compared)["notes"] == [list(unknown), list(declared)]


def test_commands_say_whose_word_the_figures_are(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    path = tmp_path / "mixer.yaml"
    path.write_text(spec(", macs: 1000, flops: 2600, source: its authors"))
    flops = netcalc("flops", str(path)).out
    assert "declared, not computed: 1.000 kMAC, 2.600 kFLOP by mylib.mix (its authors)" in " ".join(flops.split())
    assert "at least" not in flops
    explained = netcalc("explain", str(path), "mix").out
    assert "work: its authors" in explained
    assert "multiply-adds                   1,000" in explained
    assert "the figures of mylib.mix (its authors)" in " ".join(netcalc("explain", str(path)).out.split())


@pytest.mark.parametrize(
    ("figures", "code", "message"),
    [
        ("macs: -1", "E104", "at least 0"),
        ("macs: 1.5", "E104", "whole number"),
        ("flops: .nan", "E104", "whole number"),
        ("macs: true", "E104", "whole number"),
        ('macs: "${batch / 3}"', "E104", "whole number"),
        ("macs: 1000, flops: 1999", "E401", "1999 flops are fewer than those of 1000 macs"),
        ("mac: 1000", "E103", "mac"),
    ],
)
def test_bad_figures_are_one_diagnostic(figures: str, code: str, message: str) -> None:
    with pytest.raises(NetcalcError, match=message) as caught:
        loads(spec(f", {figures}"))
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.span is not None) == (code, True)


def test_figures_do_not_let_a_network_run() -> None:
    with pytest.raises(NetcalcError, match=r"mylib\.mix has no kernel, so it cannot be run"):
        loads(spec(", macs: 1000")).run()
