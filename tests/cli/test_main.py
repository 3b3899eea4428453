"""Command line as a whole: imports, exit codes, streams, help."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

import netcalc as package
from netcalc import ops
from netcalc.cli.commands import COMMANDS
from netcalc.cli.welcome import COMMANDS as WELCOME
from netcalc.loading import load
from netcalc.spec.line_syntax import MODIFIERS
from netcalc.spec.shipped import shipped, shipped_blocks, specs_dir
from netcalc.spec.yaml_document import parse_yaml
from tests.conftest import CommandResult
from tests.generators.record_schema import record_schema
from tests.generators.spec_schema import spec_schema

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SMALL = str(ROOT / "tests" / "fixtures" / "small.yaml")


def python(code: str) -> str:
    """Return the output of a fresh interpreter."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout


IMPORTED = """
import sys, io, contextlib
with contextlib.redirect_stdout(io.StringIO()):
    {work}
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


#: Counting commands, and modules that none of them needs: dependencies, and slow ones of the standard library.
COUNTING = [
    *(f"{command} resnet34" for command in ("shapes", "params", "flops", "summary", "explain", "memory", "specs")),
    *("compare resnet18 resnet34", "shapes mlp --set hidden=[8]", "summary llama-3.1-405b", "memory deepseek-v3"),
    *("summary mlp --format json", "specs", "schema", "schema memory"),
]
UNNEEDED = {
    *("numpy", "ml_dtypes", "psutil", "threadpoolctl", "torch"),
    *("typer", "click", "rich", "pydantic", "pydantic_core", "ruamel", "huggingface_hub"),
    *("anyio", "mcp", "pygls", "sysconfig"),
    *("asyncio", "concurrent", "email", "http", "logging", "multiprocessing", "ssl", "subprocess", "unittest"),
}


@pytest.mark.parametrize("command", COUNTING)
def test_counting_commands_import_what_they_need(command: str) -> None:
    code = IMPORTED.format(work=f"from netcalc.cli import main; assert main({command.split()}) == 0")
    # -S: without what packages of an environment import at the start of every process
    ran = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[1:1] = {sys.path[1:]}{code}"],
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
        text=True,
    )
    loaded = set(ran.stdout.split())
    assert {"netcalc", "json"} <= loaded  # the test detects imports
    assert loaded & UNNEEDED == set()


def test_importing_netcalc_imports_no_dependency() -> None:
    loaded = set(python(IMPORTED.format(work="import netcalc; netcalc.__version__; netcalc.NetcalcError")).split())
    assert loaded.isdisjoint({"pydantic", "typer", "rich", "ruamel", "numpy"})


def test_a_run_imports_numpy() -> None:
    assert (
        "numpy"
        in python(IMPORTED.format(work="from netcalc.cli import main; assert main(['run', 'mlp']) == 0")).split()
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_closed_output_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m netcalc summary resnet34 --unroll | head -c 100 >/dev/null; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], env=ENVIRONMENT, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_output_is_utf8_if_the_encoding_of_the_stream_lacks_a_character() -> None:
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "netcalc", "shapes", "mlp"]
    assert "1×784" in subprocess.run(command, env=environment, check=True, capture_output=True).stdout.decode()


def test_a_spec_on_standard_input() -> None:
    command = [sys.executable, "-m", "netcalc", "params", "-", "--format", "json"]
    text = "netcalc: 1\ninputs: {x: [2, 3]}\nlayers: [{linear: 4}]\n"
    ran = subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True, input=text)
    assert json.loads(ran.stdout)["totals"]["params"] == 16


def test_an_interrupt_exits_with_130(netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("netcalc.loading.load", interrupt)
    ran = netcalc("shapes", "mlp")
    assert (ran.code, ran.out) == (130, "")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("debug", [False, True])
def test_a_bug_is_reported(debug: bool, netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("the bug")

    monkeypatch.setattr("netcalc.loading.load", fail)
    ran = netcalc(*(["--debug"] if debug else []), "shapes", "mlp")
    assert (ran.code, ran.out) == (70, "")
    assert "ZeroDivisionError: the bug" in ran.err
    assert "This is a bug in netcalc" in ran.err
    assert ("Traceback" in ran.err) is debug


def test_version_and_help(netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc("--version") == CommandResult(0, f"netcalc {package.__version__}\n", "")
    ran = netcalc("--help")
    assert (ran.code, ran.err) == (0, "")
    assert all(command in ran.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert COMMANDS[command].split(";")[0] in " ".join(ran.out.split())


def test_colors_follow_the_environment_and_the_stream(
    netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b[" not in netcalc("shapes", SMALL).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" not in netcalc("shapes", SMALL).out  # NO_COLOR overrides FORCE_COLOR
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b[1m" in netcalc("shapes", SMALL).out
    monkeypatch.delenv("FORCE_COLOR")
    assert "\x1b[" not in netcalc("shapes", SMALL).out  # captured output is no terminal


# -- reference commands -----------------------------------------------------------------------------


def test_specs_lists_the_shipped_specs(netcalc: Callable[..., CommandResult]) -> None:
    found = {item["name"]: item for item in json.loads(netcalc("specs", "--format", "json").out)["specs"]}
    assert set(found) == set(shipped())
    assert all(item["about"] and item["source"] and item["family"] for item in found.values())
    table = netcalc("specs").out
    assert all(name in table for name in found)


def test_ops_lists_and_searches_operations(netcalc: Callable[..., CommandResult]) -> None:
    rows = [line.split() for line in netcalc("ops", "--wide").out.splitlines()[2:]]
    listed = [row[1] for row in rows if len(row) > 1]  # behind the branch of its family
    assert listed[: len(ops.names())] == list(ops.names())
    found = netcalc("ops", "--search", "pool").out
    assert "max_pool2d" in found
    assert not [line for line in found.splitlines() if line.startswith("linear ")]


@pytest.mark.parametrize("name", shipped_blocks())
def test_every_block_has_a_page(name: str, netcalc: Callable[..., CommandResult]) -> None:
    page = single_spaced(netcalc("ops", name, "--wide").out)
    record = json.loads(netcalc("ops", name, "--format", "json").out)
    jsonschema.validate(record, record_schema("block"))
    markdown = netcalc("ops", name, "--format", "markdown").out
    for text in (record["about"], record["source"], *(port["name"] for port in record["inputs"])):
        assert single_spaced(text) in page
        assert text in markdown
    declared = YAML(typ="safe").load(specs_dir() / "blocks" / f"{name}.yaml")["blocks"][name].get("args") or {}
    assert [argument["name"] for argument in record["arguments"]] == list(declared)
    for argument in record["arguments"]:
        assert argument["description"] in page


def test_ops_lists_and_searches_blocks(
    netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]
) -> None:
    golden("ops/decoder_layer.txt", netcalc("ops", "decoder_layer").out)
    found = json.loads(netcalc("ops", "--search", "sandwich", "--format", "json").out)
    assert [block["name"] for block in found["blocks"]] == ["decoder_layer"]
    assert found["operations"] == []
    ran = netcalc("ops", "decoder_layr")
    assert ran.code == 2
    assert "did you mean 'decoder_layer'?" in ran.err


@pytest.mark.parametrize("name", ops.names())
def test_every_operation_has_a_page(name: str, netcalc: Callable[..., CommandResult]) -> None:
    page = single_spaced(netcalc("ops", name, "--wide").out)
    record = json.loads(netcalc("ops", name, "--format", "json").out)
    markdown = netcalc("ops", name, "--format", "markdown").out
    for text in (record["about"], record["shape_rule"], record["cost_rule"], record["source"]):
        assert single_spaced(text) in page
        assert text in markdown
    for attribute in record["attributes"]:
        assert attribute["description"], attribute["name"]
        assert attribute["description"] in page


def single_spaced(text: str) -> str:
    """Return the text with single spaces between its words."""
    return " ".join(text.split())


def test_the_page_of_conv2d(netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    golden("ops/conv2d.txt", netcalc("ops", "conv2d").out)
    golden("ops/conv2d.md", netcalc("ops", "conv2d", "--format", "markdown").out)


@pytest.mark.parametrize("command", [command for command, _ in WELCOME], ids=lambda command: command.split()[0])
def test_the_first_page_has_commands_that_run(
    command: str, netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = netcalc()
    assert page.code == 0
    assert f"  netcalc {command}  " in page.out
    assert max(map(len, page.out.splitlines())) <= 80
    assert netcalc(*command.split()).code == 0


# -- the schema and the starter ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = spec_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


TABLES = {"gguf", "huggingface", "timm"}
SPEC_FILES = [
    *(path for path in sorted(specs_dir().rglob("*.yaml")) if not TABLES & {*path.relative_to(specs_dir()).parts}),
    Path(SMALL),
]


@pytest.mark.parametrize("path", SPEC_FILES, ids=lambda path: path.stem)
def test_shipped_specs_fit_the_schema(path: Path, validator: jsonschema.Draft202012Validator) -> None:
    validator.validate(parse_yaml(path.read_text(encoding="utf-8"), path.name).data)


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("conv2d: {out: 8, kernel: 3}", True),
        ("conv2d: {out: 8, kernel: [3, 3], padding: same}", True),
        ('conv2d: {out: "${2 * width}", kernel: ["${k}", 3]}', True),
        ("conv2d: {out: 8}", False),  # no kernel
        ("conv2d: {out: 8, kernal: 3, kernel: 3}", False),
        ("conv2d: {out: many, kernel: 3}", False),
        ("conv2d: {out: 8, kernel: [1, 2, 3]}", False),
        ("linear: 4", True),
        ("relu", True),
        ("relu: 4", False),
        ("add: [[relu], []]", True),
        ("add: {residual: [relu], shortcut: []}", True),
        ("mine: {anything: goes}", True),  # a block of the file
        ("{repeat: 3, name: a, relu: {}}", True),
        ("{repeat: {times: 3, each: [1]}, relu: {}}", False),
        ("{freeze: [1], relu: {}}", False),
    ],
)
def test_the_schema_rejects_invalid_layer_lines(
    line: str, fits: bool, validator: jsonschema.Draft202012Validator
) -> None:
    data = YAML(typ="safe", pure=True).load(f"netcalc: 1\nlayers:\n  - {line}\n")
    assert validator.is_valid(data) is fits


def test_the_schema_command_prints_the_schema(netcalc: Callable[..., CommandResult]) -> None:
    printed = json.loads(netcalc("schema").out)
    assert printed == spec_schema()
    (line,) = [form for form in printed["$defs"]["line"]["anyOf"] if "properties" in form]
    assert {*MODIFIERS, *ops.names(), "sequence", "basic_block"} <= set(line["properties"])


def test_the_starter_spec_runs(
    netcalc: Callable[..., CommandResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    validator: jsonschema.Draft202012Validator,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = netcalc("init")
    assert (ran.code, ran.out) == (0, "")
    assert "net.yaml" in ran.err
    text = Path("net.yaml").read_text()
    validator.validate(YAML(typ="safe", pure=True).load(text))
    assert netcalc("init", "-").out == text
    for command in ("summary net.yaml", "explain net.yaml classifier", "run net.yaml --set batch=4", "verify net.yaml"):
        assert netcalc(*command.split()).code == 0, command
    assert load("net.yaml", set={"classes": 100}).program.main.outputs[0].type.shape == (1, 100)  # type: ignore[union-attr]


def test_init_overwrites_only_on_request(
    netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.yaml").write_text("mine")
    assert netcalc("init", "net.yaml").code == 2
    assert Path("net.yaml").read_text() == "mine"
    assert netcalc("init", "net.yaml", "--force").code == 0
    assert Path("net.yaml").read_text() != "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_closed_pipe_does_not_hide_the_exit_of_an_error() -> None:
    command = f"{sys.executable} -m netcalc shapes nothing --format json | true"
    ran = subprocess.run(["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
    assert (ran.returncode in (0, 2), ran.stderr) == (True, "")
