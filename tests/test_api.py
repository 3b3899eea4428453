"""Public Python API."""

from __future__ import annotations

import ast
import builtins
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import netcalc
from netcalc import NetcalcError, Network
from netcalc.analysis.figures import FIGURES
from netcalc.records.writing import entries

PAGE = (Path(__file__).parent.parent / "docs" / "python-api.md").read_text(encoding="utf-8")
SMALL = Path(__file__).parent / "fixtures" / "small.yaml"


#: The public names.
NAMES = [name for name in dir(netcalc) if name != "__version__"]


def test_exports() -> None:
    for name in NAMES:
        assert not name.startswith("_") and getattr(netcalc, name) is not None
    declared = ast.parse(inspect.getsource(netcalc))
    imported = [node for node in ast.walk(declared) if isinstance(node, ast.ImportFrom) and node.col_offset == 4]
    reexported = {alias.asname: node.module for node in imported for alias in node.names}
    assert reexported == {name: module for module, names in netcalc._EXPORTS.items() for name in names}
    assert sorted(reexported) == NAMES
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        netcalc.laod  # noqa: B018


def test_help_is_short() -> None:
    page = pydoc.plain(pydoc.render_doc(netcalc))
    assert len(page.splitlines()) <= 200
    functions = [name for name in NAMES if inspect.isfunction(getattr(netcalc, name))]
    assert all(re.search(rf"\b{name}\(", page) for name in functions)


def test_functions_name_each_other() -> None:
    class Module:
        def state_dict(self) -> None: ...

    with pytest.raises(NetcalcError, match="from_torch"):
        netcalc.load(Module())  # type: ignore[arg-type]
    for function in (netcalc.summary, netcalc.from_torch):
        with pytest.raises(NetcalcError, match=r"netcalc\.load\('resnet34'\)"):
            function("resnet34")


def test_importing_is_quick() -> None:
    """No exported name is imported before it is used."""
    code = "import sys, netcalc; print(*sorted(name for name in sys.modules if name.startswith('netcalc')))"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == ["netcalc", "netcalc.version"]


@pytest.mark.parametrize("name", [*NAMES, *FIGURES])
def test_every_public_name_is_documented(name: str) -> None:
    assert re.search(rf"`(netcalc\.)?{name}\b", PAGE), name


def public_members(declared: type) -> set[str]:
    """Names of the fields, properties and methods that a class declares for its users.

    Declarations of the JSON record are left out, with the properties that it has in place of other ones.
    """
    fields = set(getattr(declared, "__annotations__", {})) | set(getattr(declared, "_fields", ()))
    names = {name for name in fields | set(vars(declared)) if not name.startswith("_")}
    replacing = {entry.attribute for entry in entries(declared) or () if hasattr(declared, entry.name)}
    return names - replacing - {"record_fields", "record_layers", "record_name", "record_values"}


#: Types of which the page describes only a part: the rest serves reports.
PARTLY = {"Analysis", "Comparison", "Cost", "Layer", "TensorType", "Totals"}
TYPES = [name for name in NAMES if isinstance(getattr(netcalc, name), type) and name not in PARTLY]


@pytest.mark.parametrize("name", TYPES)
def test_every_public_member_is_documented(name: str) -> None:
    sections = [text for text in re.split(r"\n(?=##)", PAGE) if f"`{name}" in text]
    members = public_members(getattr(netcalc, name))
    missing = {member for member in members if not any(re.search(rf"\b{member}\b", text) for text in sections)}
    assert not missing


def test_results_of_methods_are_public() -> None:
    methods = [
        method for name in dir(Network) if callable(method := getattr(Network, name)) and not name.startswith("_")
    ]
    results = {str(inspect.signature(method).return_annotation) for method in methods}
    assert {name for name in results if name.isidentifier() and name not in dir(builtins)} <= set(NAMES)
    assert {"GradientResult", "TrainingResult", "SignalReport"} <= results


def test_numbers() -> None:
    net = netcalc.load("resnet34")
    assert (net.name, net.params, net.macs) == ("resnet34", 21_797_672, 3_663_761_408)
    assert net.cost("torch").flops == 2 * net.macs
    assert net.summary("torch").totals.flops == 2 * net.macs
    assert net.shapes["layer4.2.conv2"].outputs == ((1, 512, 7, 7),)
    assert list(net.shapes)[:2] == ["conv1", "bn1"]
    assert repr(net) == "<Network 'resnet34': 21,797,672 parameters>"


def test_settings() -> None:
    assert netcalc.load(SMALL, set={"classes": 3}).summary().outputs["logits"].shape == (1, 3)
    symbolic = netcalc.load(SMALL, symbolic=["batch"])
    assert str(symbolic.macs) == "497872*batch"
    assert "parameters" in repr(symbolic)
    assert netcalc.load(SMALL, mode="train").flops != netcalc.load(SMALL).flops
    with pytest.raises(NetcalcError, match="did you mean 'classes'"):
        netcalc.load(SMALL, set={"clases": 3})


def test_a_spec_in_a_string(tmp_path: Path) -> None:
    net = netcalc.loads("netcalc: 1\ninputs: {x: [2, 3]}\nlayers: [{linear: 4}]\n")
    assert net.params == 16
    (tmp_path / "base.yaml").write_text(
        "netcalc: 1\nvars: {out: 4}\ninputs: {x: [2, 3]}\nlayers: [{linear: '${out}'}]\n"
    )
    assert netcalc.loads("netcalc: 1\nextends: base\nvars: {out: 5}\n", folder=tmp_path).params == 20
    with pytest.raises(NetcalcError) as caught:
        netcalc.loads("netcalc: 1\ninputs: {x: [2, 3]}\nlayers: [lineer, {linear: 0}]\n")
    assert [d.code for d in caught.value.diagnostics] == ["E102", "E104"]


def test_explain_run_and_verify() -> None:
    net = netcalc.load(SMALL)
    assert net.explain("stem").op == "conv2d"
    assert net.run(seed=3).outputs["logits"].shape == (1, 10)
    assert [row.path for row in net.run(trace=["*.relu"]).trace] == [f"stage.{i}.relu" for i in range(3)]
    assert net.verify().ok


def test_notebooks_show_a_table() -> None:
    net = netcalc.loads("netcalc: 1\nname: <b>\nabout: 1 < 2\ninputs: {x: [2, 3]}\nlayers: [{linear: 4}]\n")
    shown = net._repr_mimebundle_()
    assert shown["text/plain"] == str(net)
    assert "<table>" in shown["text/html"]
    assert "&lt;b&gt;: 1 &lt; 2" in shown["text/html"]
    assert "<b>" not in shown["text/html"]


def test_loading_gives_a_network() -> None:
    assert isinstance(netcalc.load("mlp"), Network)
