"""PyTorch code of networks, as text: what a reader sees, its layout, and errors.  It runs in ``tests/oracle``."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import netcalc
from netcalc import ops
from netcalc.formats.export.torch import layout
from netcalc.formats.export.torch.expressions import literal
from netcalc.formats.export.torch.rules import rule_of
from netcalc.formats.export.torch.unwritten import REASONS, reason
from netcalc.ops import FAMILIES
from tests.conftest import CommandResult
from tests.generators.export_coverage import coverage_page
from tests.zoo.harness import SMALL

PAGE = Path(__file__).parents[3] / "docs" / "torch-export-coverage.md"
#: Specs with lists of stages, attention, masks, experts, recurrent layers and computed buffers.
SPECS = ("resnet18", "gpt2", "swin_t", "mixtral-8x7b", "lstm", "layer-norm-lstm", "levit-256")


@pytest.fixture
def written(tmp_path: Path) -> Callable[[netcalc.Network], str]:
    def write(network: netcalc.Network) -> str:
        file = tmp_path / "model.py"
        network.export(file)
        return file.read_text(encoding="utf-8")

    return write


@pytest.mark.parametrize("name", ["resnet18", "gpt2"])
def test_golden(name: str, written: Callable[[netcalc.Network], str], golden: Callable[[str, str], None]) -> None:
    golden(f"export/{name}.py.txt", written(netcalc.load(name)))


@pytest.mark.parametrize("name", SPECS)
def test_layout(name: str, written: Callable[[netcalc.Network], str], tmp_path: Path) -> None:
    text = written(netcalc.load(name, set=SMALL[name]))
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module) for node in imports if isinstance(node, ast.ImportFrom)}
    assert modules <= {"math", "torch", "torch.nn.functional"}
    for arguments in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--isolated", str(tmp_path / "model.py")]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


_TEXT = """[`netcalc export`](export.md#code-of-pytorch) writes an operation as the function or module of PyTorch with
the same definition, as an expression of several, or as a helper in front of the classes. {written} of {operations}
operations have a rule: all that shipped specs use, except for `identity`, which is left out. A network with others is
one error that names them all and their layers (E010), and so is an attribute that PyTorch does not take.
`pytest --update tests/formats/export` writes this page."""


def test_every_operation_without_a_rule_has_a_reason() -> None:
    unwritten = {name for names in FAMILIES.values() for name in names if rule_of(name) is None}
    assert all(reason(name) != "has no rule" for name in unwritten)
    assert (unwritten | {ops.family(name) for name in unwritten}).issuperset(REASONS)


def test_coverage_page(request: pytest.FixtureRequest) -> None:
    missing = {name for names in FAMILIES.values() for name in names if rule_of(name) is None}
    expected = coverage_page("Operations in PyTorch code", _TEXT, missing, reason)
    if request.config.getoption("--update"):
        PAGE.write_text(expected, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == expected


def test_one_error_names_every_layer(tmp_path: Path) -> None:
    spec = """
    netcalc: 1
    inputs: {x: [2, 4, 8, 8]}
    layers:
      - {name: first, blur_pool2d: {}}
      - {name: second, blur_pool2d: {}}
    """
    with pytest.raises(
        netcalc.NetcalcError, match=r"first \(blur_pool2d: PyTorch has no.*second \(blur_pool2d"
    ) as raised:
        netcalc.loads(spec).export(tmp_path / "model.py")
    assert raised.value.diagnostics[0].code == "E010"
    assert not [*tmp_path.iterdir()]


def test_no_weights(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    ran = netcalc("export", "mlp", "-o", str(file), "--draw")
    assert (ran.code, file.exists()) == (2, False)
    assert "--draw: a .py file has no use for it" in ran.err


def test_ruff_is_named_where_it_is_missing(
    netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "find_spec", lambda name: None)
    ran = netcalc("export", "mlp", "-o", str(tmp_path / "model.py"))
    assert (ran.code, [*tmp_path.iterdir()]) == (2, [])
    assert "ruff, which is not installed" in ran.err and 'pip install "ruff>=0.9"' in ran.err


def test_a_settings_value_is_a_default(written: Callable[[netcalc.Network], str]) -> None:
    assert "classes: int = 10" in written(netcalc.load("resnet18", set={"classes": 10}))


def test_negative_quotients() -> None:
    from netcalc.dims import symbol

    size = symbol("window", default=7)
    assert literal(-(size // 2)) == "-(window // 2)"
    assert eval(literal(3 * (size // 2) - size), {"window": 7}) == 2


@pytest.mark.parametrize(
    ("name", "classes", "arguments"),
    [
        ("resnet50", ["Bottleneck", "Resnet50"], ["stride: int = 1", "downsample: bool = False"]),
        (
            "mobilenet_v3_small",
            ["SqueezeAndExcite", "InvertedResidualV3", "MobilenetV3Small"],
            ["activation: type[nn.Module]", "with_squeeze_and_excite: bool = False", "residual: bool = False"],
        ),
    ],
)
def test_a_block_is_one_class(
    name: str, classes: list[str], arguments: list[str], written: Callable[[netcalc.Network], str]
) -> None:
    """Calls that differ in options, optional lines and members of sequences are calls of one class."""
    text = written(netcalc.load(name))
    assert [node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef)] == classes
    assert all(f"        {argument},\n" in text for argument in arguments)


def test_sizes_of_windows_follow_from_the_input(written: Callable[[netcalc.Network], str]) -> None:
    text = written(netcalc.load("swin_t"))
    assert "F.pad(x, (0, 0, 0, -width % self.window, 0, -height % self.window))" in text
    assert text.count("class WindowAttention(") == text.count("class WindowAttention") == 1


def test_the_constructor_checks_sizes(written: Callable[[netcalc.Network], str]) -> None:
    text = written(netcalc.load("llama-3-8b"))
    assert 'if heads % kv_heads != 0:\n            raise ValueError("heads must be a multiple of kv_heads")' in text
