"""The server of ``netcalc mcp``, by the client of the protocol's own SDK, and by raw messages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import psutil
import pytest

import netcalc
from netcalc import NetcalcError
from netcalc.cli import main
from netcalc.cli.assistants.tools import RECORDS
from netcalc.cli.commands import command_module
from netcalc.cli.plain_arguments import plain_arguments
from tests.formats.hub.server import Repository
from tests.formats.hub.server import serving as serving_hub

pytest.importorskip("mcp")
import anyio
from anyio.from_thread import start_blocking_portal
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from netcalc.cli.assistants import pool as pool_module
from netcalc.cli.assistants import worker
from netcalc.cli.assistants.pool import Pool, Service
from netcalc.cli.assistants.server import server_of

ROOT = Path(netcalc.__file__).parents[1]
SPEC = "netcalc: 1\ndims: {batch: 1}\ninputs: {x: [batch, 8]}\nlayers: [{name: fc, linear: 4}, relu]\n"
GPT2 = {
    "model_type": "gpt2",
    "architectures": ["GPT2Model"],
    "vocab_size": 100,
    "n_layer": 2,
    "n_embd": 64,
    "n_head": 2,
}
PAGE = Path(netcalc.__file__).parents[1] / "docs" / "assistants.md"
SECRET = "hunter2"
OUTSIDE = "is outside the folder whose files may be read"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="makes links, and names files of POSIX")


class Server:
    """A server with a connected client, called from tests that are not asynchronous."""

    def __init__(self, portal: Any, client: Client) -> None:
        self._portal = portal
        self.client = client
        self.tools = {tool.name: tool for tool in portal.call(client.list_tools).tools}

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Return the result of a call; the client has held it against the schema of outputs."""
        return self._portal.call(self.client.call_tool, name, arguments)

    def record(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the record of a call that succeeds, after a check of both sides' schemas."""
        tool = self.tools[name]
        jsonschema.Draft202012Validator(tool.input_schema).validate(arguments)
        result = self.call(name, **arguments)
        assert not result.is_error, result.content
        record: dict[str, Any] = result.structured_content
        jsonschema.Draft202012Validator(tool.output_schema).validate(record)
        assert json.loads(result.content[0].text) == record
        return record

    def errors(self, name: str, /, **arguments: Any) -> list[dict[str, Any]]:
        """Return the errors of a call that is refused."""
        result = self.call(name, **arguments)
        assert result.is_error and len(result.content) == 2, result.content
        assert SECRET not in str(result)
        listed: list[dict[str, Any]] = json.loads(result.content[1].text)["errors"]
        assert all(error["code"] in result.content[0].text for error in listed)
        return listed


@contextmanager
def serving(folder: Path, *options: str, **environment: str) -> Iterator[Server]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "netcalc", "mcp", *options],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), **environment},
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(command))) as client,
    ):
        yield Server(portal, client)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to serve, beside files that are not to be read."""
    outside = tmp_path_factory.mktemp("place")
    (outside / "secret.yaml").write_text(f"{SPEC}about: {SECRET}\n{SECRET}: 1\n")
    (outside / "spec.yaml").write_text(SPEC)
    (outside / "token").write_text(SECRET)
    (outside / "device.yaml").write_text(f"{SECRET}: {{}}\n")
    np.save(outside / "x.npy", np.ones((1, 8), np.float32))
    (outside / "base").mkdir()
    llama = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "_name_or_path": "/etc/passwd"}
    (outside / "base" / "config.json").write_text(json.dumps(llama))
    folder = outside / "served"
    folder.mkdir()
    (folder / "net.yaml").write_text(SPEC)
    (folder / "tall.yaml").write_text("netcalc: 1\nextends: net\ndims: {batch: 2}\n")
    (folder / "up.yaml").write_text("netcalc: 1\nextends: ../secret\n")
    (folder / "absolute.yaml").write_text(f"netcalc: 1\nextends: {outside}/secret.yaml\n")
    (folder / "imports.yaml").write_text(f"{SPEC}import: [../secret.yaml]\n")
    (folder / "link.yaml").symlink_to(outside / "secret.yaml")
    (folder / "linked").symlink_to(outside)
    (folder / "through.yaml").write_text("netcalc: 1\nextends: linked/secret\n")
    (folder / "config.json").write_text(json.dumps(llama))
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "../base", "r": 8, "target_modules": ["q_proj"]}
    for name, base in {"adapter": "../base", "absolute": str(outside / "base"), "hub": "org/base"}.items():
        (folder / name).mkdir()
        (folder / name / "adapter_config.json").write_text(json.dumps({**adapter, "base_model_name_or_path": base}))
    index = {"metadata": {}, "weight_map": {"fc.weight": "../token", "fc.bias": "../token"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    with serving(place) as running:
        yield running


#: A call of every tool, and a figure of its record that is known from elsewhere.
CALLS: list[tuple[str, dict[str, Any], str, Any]] = [
    ("summary", {"model": "resnet34"}, "totals.params", 21_797_672),
    ("summary", {"model": "resnet34", "set": {"classes": 10}, "depth": 1}, "totals.params", 21_289_802),
    ("shapes", {"model": "net.yaml", "symbolic": ["batch"]}, "inputs.x.shape", ["batch", 8]),
    ("params", {"model": SPEC}, "totals.params", 36),
    ("flops", {"model": "resnet18", "convention": "torch"}, "totals.flops", 3_628_146_688),
    ("explain", {"model": "resnet34", "path": "conv1"}, "path", "conv1"),
    ("explain", {"model": "net.yaml", "path": "fc", "values": True}, "path", "fc"),
    ("memory", {"model": "gpt2", "dtype": "float16", "tokens_in": "1GiB"}, "tokens_in.tokens.ideal", 1024),
    ("memory", {"model": "gpt2", "over": {"length": [8, 16]}}, "schema", "netcalc/memory-table/1"),
    ("fit", {"model": "llama-3.1-8b", "device": "80GiB"}, "schema", "netcalc/fit/1"),
    ("solve", {"model": SPEC, "unknowns": ["batch"], "under": ["macs <= 1000"]}, "unknowns.0.value", 31),
    ("solve", {"law": ["chinchilla"], "compute": ["5.76e23"]}, "schema", "netcalc/compute-optimal/1"),
    ("sweep", {"model": SPEC, "over": {"batch": [1, 3]}, "figures": "macs"}, "points.1.figures.macs", 96),
    ("scaling", {"model": "resnet34", "over": ["classes"]}, "schema", "netcalc/scaling/1"),
    ("compare", {"models": ["resnet18", "resnet34"], "top": 2}, "schema", "netcalc/compare/2"),
    ("compare", {"models": [SPEC, "tall.yaml"]}, "schema", "netcalc/compare/2"),
    ("specs", {"search": "wide", "family": "resnet"}, "specs.0.name", "wide_resnet101_2"),
    ("specs", {"name": "mlp"}, "params", 535_818),
    ("ops", {"search": "shuffle"}, "operations.0.name", "pixel_shuffle"),
    ("ops", {"name": "conv2d"}, "schema", "netcalc/operation/2"),
    ("ops", {"name": "basic_block"}, "schema", "netcalc/block/1"),
]


@pytest.mark.parametrize(("name", "arguments", "path", "expected"), CALLS)
def test_a_tool_returns_the_record_of_its_verb(
    server: Server, name: str, arguments: dict[str, Any], path: str, expected: Any
) -> None:
    value: Any = server.record(name, **arguments)
    for key in path.split("."):
        value = value[int(key)] if key.isdecimal() else value[key]
    assert value == expected


def test_every_tool_is_called() -> None:
    assert {name for name, *_ in CALLS} == {*RECORDS}


def test_records_are_those_of_the_command_line(server: Server, place: Path) -> None:
    words = ["memory", "gpt2", "--over", "length=8,16", "--dtype", "float16", "--format", "json"]
    printed = subprocess.run(
        [sys.executable, "-m", "netcalc", *words], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    assert server.record("memory", model="gpt2", over=["length=8,16"], dtype="float16") == json.loads(printed)


def test_warnings_come_with_the_record(server: Server, place: Path) -> None:
    (place / "mlp").write_text(SPEC)
    result = server.call("params", model="mlp")
    assert not result.is_error and "W103" in result.content[1].text


def test_inputs_are_those_that_commands_declare(server: Server) -> None:
    properties = server.tools["memory"].input_schema["properties"]
    assert properties["phase"]["enum"] == ["prefill", "decode", "training"]
    assert properties["depth"] == {
        "type": "integer",
        "minimum": 1,
        "description": "Sum up layers deeper than N parts of a path.",
    }
    assert properties["set"]["anyOf"] == [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]
    left_out = {
        "format",
        "output",
        "wide",
        "charts",
        "columns",
        "layout",
        "train",
        "max_spec_size",
        "max_work",
        "via",
        "timeout",
        "example",
        "workers",
        "on",
        "resume",
    }
    for tool in server.tools.values():
        assert not left_out.intersection(tool.input_schema["properties"])
        assert tool.annotations is not None and tool.annotations.read_only_hint
        texts = [tool.description, *(value["description"] for value in tool.input_schema["properties"].values())]
        assert not [text for text in texts if "--" in text or "-o " in text]
    assert "`cache_dtype` gives their element type, such as fp8 or q8_0." in server.tools["memory"].description
    assert server.tools["summary"].title == "Shapes, parameters and work together."


def test_the_text_of_a_configuration_is_a_model(server: Server) -> None:
    assert server.record("params", model=json.dumps(GPT2, indent=1))["totals"]["params"] == 172_032


def test_a_model_on_the_hub_is_read_where_the_network_is_permitted(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    repository = Repository({"config.json": json.dumps(GPT2).encode()})
    with (
        serving_hub({"acme/tiny": repository}) as hub,
        serving(place, "--network", HF_ENDPOINT=hub.url, HF_HOME=str(tmp_path)) as server,
    ):
        assert server.record("params", model="hf:acme/tiny")["totals"]["params"] == 172_032
        (error,) = server.errors("params", model="../secret.yaml")
        assert error["code"] == "E004"


@pytest.mark.parametrize("block", re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
def test_the_page_starts_servers_by_options_that_there_are(block: str) -> None:
    (servers,) = json.loads(block).values()
    assert servers["netcalc"]["command"] == "netcalc"
    verb, *words = servers["netcalc"]["args"]
    assert verb == "mcp" and plain_arguments(command_module("mcp").command.parameters, words) is not None


@pytest.mark.parametrize(
    ("name", "arguments", "code", "words"),
    [
        ("summary", {"model": "../secret.yaml"}, "E004", OUTSIDE),
        ("summary", {"model": "../nothing.yaml"}, "E004", OUTSIDE),
        ("summary", {"model": "/etc/passwd"}, "E004", OUTSIDE),
        ("summary", {"model": "/proc/meminfo"}, "E004", OUTSIDE),
        ("summary", {"model": "link.yaml"}, "E004", OUTSIDE),
        ("summary", {"model": "linked/secret.yaml"}, "E004", OUTSIDE),
        ("summary", {"model": "linked/base"}, "E004", OUTSIDE),
        ("summary", {"model": "up.yaml"}, "E004", OUTSIDE),
        ("summary", {"model": "absolute.yaml"}, "E004", OUTSIDE),
        ("summary", {"model": "imports.yaml"}, "E004", OUTSIDE),
        ("summary", {"model": "through.yaml"}, "E004", OUTSIDE),
        ("summary", {"model": "netcalc: 1\nextends: ../secret\n"}, "E004", OUTSIDE),
        ("summary", {"model": "adapter"}, "E004", OUTSIDE),
        ("summary", {"model": "absolute"}, "E004", OUTSIDE),
        ("summary", {"model": "hub"}, "", ""),
        ("params", {"model": "../x.npy"}, "E004", OUTSIDE),
        ("params", {"model": "model.safetensors.index.json"}, "E605", "file in the same folder"),
        ("compare", {"models": ["net.yaml", "../spec.yaml"]}, "E004", OUTSIDE),
        ("flops", {"model": "mlp", "convention": "../secret.yaml"}, "E004", OUTSIDE),
        ("fit", {"model": "mlp", "device": "../device.yaml"}, "E004", OUTSIDE),
        ("memory", {"model": "gpt2", "draft": "../spec.yaml"}, "E004", OUTSIDE),
        ("memory", {"model": "gpt2", "companion": ["../spec.yaml"]}, "E004", OUTSIDE),
        ("explain", {"model": "net.yaml", "path": "fc", "inputs": ["x=../x.npy"]}, "E004", OUTSIDE),
        ("explain", {"model": "net.yaml", "path": "fc", "weights": ["../token"]}, "E004", OUTSIDE),
        ("sweep", {"model": "mlp", "over": ["batch=1:2"], "join": "../spec.yaml"}, "E004", OUTSIDE),
        ("sweep", {"model": "mlp", "over": ["batch=1:1001"]}, "E502", "1,001"),
        ("sweep", {"model": "mlp", "over": ["batch=1:9999"], "random": 1001}, "E502", "at most 1,000 points"),
        ("sweep", {"model": "mlp", "over": ["batch=1:2"], "workers": 2}, "E502", "no argument 'workers'"),
        ("summary", {"model": "-"}, "E502", "standard input belongs to the protocol"),
        ("summary", {"model": "hf:org/name"}, "E008", "not permitted here"),
        ("summary", {"model": "timm:no_such_net"}, "E007", "cannot be imported"),
        ("summary", {"model": "torch:os:getcwd"}, "E502", "only `import` takes"),
        ("summary", {"model": "net.yaml\0"}, "E005", ""),
        ("summary", {"model": "a/" * 5_000}, "E004", ""),
        ("summary", {"model": ""}, "E005", ""),
        ("summary", {"model": "resnet35"}, "E005", ""),
        ("summary", {}, "E502", "needs the argument 'model'"),
        ("summary", {"model": ["resnet34"]}, "E502", "should be a string"),
        ("summary", {"model": "mlp", "modle": 1}, "E502", "no argument 'modle'"),
        ("summary", {"model": "mlp", "output": "x.json"}, "E502", "no argument 'output'"),
        ("summary", {"model": "mlp", "depth": 0}, "E502", "at least 1"),
        ("summary", {"model": "mlp", "set": {"nothing": 1}}, "E501", "nothing"),
        ("summary", {"model": "mlp", "mode": "trian"}, "E502", "mode cannot be 'trian'"),
        ("memory", {"model": "gpt2", "over": {"length": [-1]}}, "E501", ""),
        ("summary", {"model": "netcalc: 1\nlayers: [" + "[" * 5_000}, "E003", "nested deeper"),
        ("summary", {"model": "{" * 5_000}, "E003", "nested deeper"),
        ("summary", {"model": SPEC + "about: " + "x" * 5_000_000}, "E003", "bytes"),
        ("ops", {}, "E603", "characters"),
        ("summary", {"model": SPEC.replace("relu", "{repeat: 1000000000, unroll: 1}")}, "", ""),
    ],
)
def test_hostile_calls_are_errors_of_the_tool(
    server: Server, name: str, arguments: dict[str, Any], code: str, words: str
) -> None:
    listed = server.errors(name, **arguments)
    assert not code or listed[0]["code"] == code, listed
    assert words in " ".join(error["message"] for error in listed)


def test_an_error_has_its_place_and_a_hint(server: Server) -> None:
    (error,) = server.errors("shapes", model=SPEC.replace("linear: 4", "liner: 4"))
    assert error["at"] == {"file": "<text>", "line": 4, "column": 21, "end": 26}
    assert error["hint"] == "did you mean 'linear'?"
    (error,) = server.errors("shapes", model="up.yaml")
    assert error["at"]["line"] == 2


def test_an_unknown_tool_is_an_error_of_the_protocol(server: Server) -> None:
    with pytest.raises(MCPError, match="there is no tool 'run'"):
        server.call("run", model="mlp")


def test_folder_and_time_are_options(place: Path, tmp_path: Path) -> None:
    with serving(tmp_path, "--folder", str(place), "--timeout", "2") as server:
        (error,) = server.errors("memory", model="gpt2", over=["length=1:1000"], training="adamw")
        assert (error["code"], error["message"]) == ("E603", "memory took over 2 s")
        assert server.client.server_capabilities.tools is not None
        assert {*server.tools} == {*RECORDS}


def test_the_root_of_a_file_system_is_not_read_by_default() -> None:
    with serving(Path("/")) as server:
        assert server.record("params", model="mlp")["totals"]["params"] == 535_818
        (error,) = server.errors("params", model="/etc/passwd")
        assert OUTSIDE in error["message"]


class Raw:
    """A server by its bytes."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "netcalc", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"},
        )

    def send(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for message in messages:
            data = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def greet(self) -> None:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        self.send({"id": 0, "method": "initialize", "params": hello}, {"method": "notifications/initialized"})

    def answer(self, number: int) -> Any:
        """Return the answer to a request; other messages before it are passed over."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if (message := json.loads(line)).get("id") == number:
                return message
        raise AssertionError("no answer")

    def end(self) -> None:
        """Close the input and wait for the end, which is clean: exit code 0, only messages, no trace of an error."""
        output, errors = self.process.communicate(timeout=20)
        for line in output.splitlines():
            assert json.loads(line)["jsonrpc"] == "2.0"
        assert self.process.returncode == 0, errors
        assert b"Traceback" not in errors


def _call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def test_malformed_messages_are_survived(place: Path) -> None:
    raw = Raw(place)
    raw.send(b"not json", b"\xff\xfe\x00", b"[]", b"{}", b"[" * 10_000, b"1e999", b"", b'{"jsonrpc": "1.0"}')
    raw.greet()
    assert raw.answer(0)["result"]["serverInfo"]["name"] == "netcalc"
    raw.send(
        {"id": 1, "method": "no/such"},
        {"id": 2, "method": "tools/call", "params": {"name": 7}},
        {"id": 3, "method": "tools/call", "params": {"name": "summary", "arguments": "resnet34"}},
        {"method": "notifications/cancelled", "params": {"requestId": 99}},
        _call(4, "params", model="mlp"),
    )
    answers = {number: raw.answer(number) for number in (1, 2, 3, 4)}
    assert [answers[number]["error"]["code"] for number in (1, 2, 3)] == [-32601, -32602, -32602]
    assert answers[4]["result"]["structuredContent"]["totals"]["params"] == 535_818
    raw.end()


def test_a_message_that_is_too_long_is_passed_over(place: Path) -> None:
    raw = Raw(place)
    raw.greet()
    raw.answer(0)
    before = psutil.Process(raw.process.pid).memory_info().rss
    long = json.dumps({"jsonrpc": "2.0", **_call(1, "params", model="x" * (100 << 20))}).encode()
    raw.send(long, _call(2, "params", model=SPEC))
    assert raw.answer(2)["result"]["structuredContent"]["totals"]["params"] == 36
    assert psutil.Process(raw.process.pid).memory_info().rss < before + (120 << 20)
    raw.end()


def test_bad_options_are_errors_of_the_command(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["mcp", "--folder", str(place / "nowhere")]) == 2
    assert "nowhere: there is no such folder" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 2
    assert 'pip install "netcalc-nn[mcp]"' in capsys.readouterr().err


def test_a_cancelled_call_ends_its_process_and_the_end_of_input_ends_all(place: Path) -> None:
    raw, slow = Raw(place), {"model": "gpt2", "over": ["length=1:1000"], "training": "adamw"}
    raw.greet()
    raw.answer(0)
    server = psutil.Process(raw.process.pid)
    raw.send(_call(1, "memory", **slow))
    (worker,) = _children(server)
    raw.send({"method": "notifications/cancelled", "params": {"requestId": 1}}, _call(2, "params", model="mlp"))
    assert "result" in raw.answer(2)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    raw.send(_call(3, "memory", **slow))
    others = _children(server)
    raw.end()
    psutil.wait_procs(others, timeout=5)
    assert not any(process.is_running() for process in others)


def test_calls_at_a_time_share_two_processes(place: Path) -> None:
    raw, numbers = Raw(place), range(1, 7)
    raw.greet()
    raw.answer(0)
    raw.send(*(_call(number, "params", model="mlp", set={"classes": number}) for number in numbers))
    assert raw.process.stdout is not None
    answers = [json.loads(raw.process.stdout.readline()) for _ in numbers]
    assert {answer["id"] for answer in answers} == {*numbers}
    for answer in answers:  # 407,050 parameters before the last layer, and 257 for each class
        assert answer["result"]["structuredContent"]["totals"]["params"] == 533_248 + 257 * answer["id"]
    assert len(psutil.Process(raw.process.pid).children()) == 2
    raw.end()


def _pool(place: Path) -> Pool:
    return Pool(Service(place, network=False, seconds=60, characters=100_000))


class _Here(Pool):
    """Pool whose answers this process computes, without confinement."""

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answered: Mapping[str, Any] = json.loads(json.dumps(worker.answer(name, arguments, 100_000)))
        return answered


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (RecursionError(), "error[E003]: nested too deeply"),
        (MemoryError(), "error[E603]: not enough memory"),
        (PermissionError(1, "it is outside the folder", "x.yaml"), "x.yaml cannot be read: it is outside the folder"),
        (KeyError("lost"), "this is a bug in netcalc, please report it with the call: KeyError: 'lost'"),
    ],
)
def test_every_failure_is_an_answer(
    place: Path, raised: Exception, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    server = server_of(_Here(Service(place, network=False, seconds=60, characters=100_000)), network=True)

    async def asked(fails: bool) -> Any:
        async with Client(server) as client:
            assert all(tool.annotations.open_world_hint for tool in (await client.list_tools()).tools)
            with pytest.MonkeyPatch.context() as patch:
                if fails:
                    patch.setattr(worker, "command_of", lambda name: (_ for _ in ()).throw(raised))
                return await client.call_tool("params", {"model": SPEC, "depth": 1})

    assert anyio.run(asked, False).structured_content["totals"]["params"] == 36
    failed = anyio.run(asked, True)
    assert failed.is_error and words in failed.content[0].text
    assert ("Traceback" in capfd.readouterr().err) == isinstance(raised, KeyError)


def test_processes_make_room_for_others(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def used(most: int) -> set[int]:
        monkeypatch.setattr(pool_module, "_MOST_CALLS", most)
        pool = _pool(place)
        before = {child.pid for child in psutil.Process().children()}
        answers = [await pool.answer("params", {"model": "mlp"}) for _ in range(3)]
        after = {child.pid for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE}
        await pool.close()
        assert len({answer["record"] for answer in answers}) == 1
        return after - before

    assert len(anyio.run(used, 3)) == 0  # the last call was its last
    assert len(anyio.run(used, 4)) == 1


def test_a_process_that_has_ended_is_replaced_and_one_that_ends_is_an_error(place: Path) -> None:
    async def used() -> None:
        pool = _pool(place)
        await pool.answer("params", {"model": "mlp"})
        (worker,) = pool._workers
        worker._process.kill()
        await worker._process.wait()
        assert "record" in await pool.answer("params", {"model": "mlp"})

        async def kill() -> None:
            await anyio.sleep(0.5)
            for each in pool._workers:
                each._process.kill()

        async with anyio.create_task_group() as group:
            group.start_soon(kill)
            with pytest.raises(NetcalcError, match="E603: the process that computed memory ended"):
                await pool.answer("memory", {"model": "gpt2", "over": ["length=1:1000"], "training": "adamw"})
        await pool.close()

    anyio.run(used)


def _children(server: psutil.Process) -> list[psutil.Process]:
    end = time.monotonic() + 10
    while not (children := server.children()) and time.monotonic() < end:
        time.sleep(0.02)
    return children
