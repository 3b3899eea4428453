"""The server of ``netcalc lsp``, by a client over standard input and output, and by raw messages."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pytest_lsp")
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

COMMAND = [sys.executable, "-m", "netcalc", "lsp", "--stdio"]
SPEC = """\
netcalc: 1
dims: {batch: 1}
vars: {width: 8}
inputs: {image: [batch, 3, 32, 32]}
layers:
  - {name: stem, conv2d: {out: "${width}", kernel: 3}}  # 🎉
  - relu
  - flatten
  - {name: fc, linear: 10}
"""
pytestmark = pytest.mark.asyncio


@pytest_lsp.fixture(config=ClientServerConfig(server_command=COMMAND))
async def client(lsp_client: LanguageClient, tmp_path: Path) -> AsyncIterator[None]:
    """A client with the capabilities of VS Code, in an empty folder."""
    capabilities = client_capabilities("visual-studio-code")
    folder = types.WorkspaceFolder(tmp_path.as_uri(), "folder")
    await lsp_client.initialize_session(
        types.InitializeParams(capabilities, root_uri=folder.uri, workspace_folders=[folder])
    )
    yield
    await lsp_client.shutdown_session()


@pytest_lsp.fixture(config=ClientServerConfig(server_command=COMMAND))
async def neovim(lsp_client: LanguageClient) -> AsyncIterator[None]:
    """A client that counts bytes, with settings from the start."""
    capabilities = client_capabilities("neovim")
    capabilities.general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf8])
    settings = {"netcalc": {"symbolic": ["batch"], "hints": ["shapes", "macs"], "convention": 3}}
    await lsp_client.initialize_session(types.InitializeParams(capabilities, initialization_options=settings))
    yield
    await lsp_client.shutdown_session()


class Open:
    """A file that a client has open."""

    def __init__(self, client: LanguageClient, uri: str, text: str) -> None:
        self.client, self.uri, self.text, self.version = client, uri, text, 1
        item = types.TextDocumentItem(uri, "yaml", 1, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    @property
    def identifier(self) -> types.TextDocumentIdentifier:
        """The file in questions."""
        return types.TextDocumentIdentifier(self.uri)

    def replace(self, old: str, new: str) -> None:
        """Replace a text that stands on one line of ASCII before it."""
        before = self.text.partition(old)[0]
        line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
        self.text = self.text.replace(old, new, 1)
        self.version += 1
        range_ = types.Range(types.Position(line, column), types.Position(line, column + len(old)))
        change = types.TextDocumentContentChangePartial(text=new, range=range_)
        identifier = types.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    async def diagnostics(self) -> list[types.Diagnostic]:
        """The diagnostics of the present text."""
        for _ in range(300):
            known = self.client.diagnostics.get(self.uri)
            if known is not None and self.client.published.get(self.uri) == self.version:  # type: ignore[attr-defined]
                return list(known)
            await asyncio.sleep(0.1)
        raise AssertionError("no diagnostics within 30 s")

    async def hints(self) -> dict[int, str]:
        """The inlay hints by line."""
        everything = types.Range(types.Position(0, 0), types.Position(100_000, 0))
        found = await self.client.text_document_inlay_hint_async(types.InlayHintParams(self.identifier, everything))
        return {hint.position.line: str(hint.label) for hint in found or []}

    def at(self, target: str) -> types.Position:
        """The place of a text on its line."""
        before = self.text.partition(target)[0]
        return types.Position(before.count("\n"), len(before) - (before.rfind("\n") + 1))


def opened(client: LanguageClient, uri: str, text: str = SPEC) -> Open:
    """A file that is opened, with the version of the diagnostics that come for it."""
    client.published = {}  # type: ignore[attr-defined]

    def note(params: types.PublishDiagnosticsParams) -> None:
        client.diagnostics[params.uri] = params.diagnostics
        client.published[params.uri] = params.version  # type: ignore[attr-defined]

    client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = note
    return Open(client, uri, text)


async def test_hints_and_errors_follow_the_text(client: LanguageClient, tmp_path: Path) -> None:
    file = opened(client, (tmp_path / "net.yaml").as_uri())
    assert await file.diagnostics() == []
    assert await file.hints() == {
        5: "→ 1×8×30×30 · 224",
        6: "→ 1×8×30×30",
        7: "→ 1×7200",
        8: "→ 1×10 · 72,010",
    }
    file.replace("- relu", "- relo")
    assert list(await file.hints()) == [5]
    (problem,) = await file.diagnostics()
    assert problem.message == "unknown operation or block 'relo'\ndid you mean 'relu'?"
    assert (problem.range.start, problem.range.end) == (types.Position(6, 4), types.Position(6, 8))
    context = types.CodeActionContext([problem])
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(file.identifier, problem.range, context)
    )
    (action,) = actions or []
    assert isinstance(action, types.CodeAction) and action.edit is not None and action.edit.changes is not None
    (edit,) = action.edit.changes[file.uri]
    file.replace("relo", edit.new_text)
    assert await file.diagnostics() == []
    for number in range(2, 30):  # quick typing
        file.replace(f"linear: 1{'0' * (number > 2)}" if number == 2 else f"linear: {number - 1}", f"linear: {number}")
    assert (await file.hints())[8].startswith("→ 1×")


async def test_a_line_that_is_typed_hides_no_other(client: LanguageClient, tmp_path: Path) -> None:
    file = opened(client, (tmp_path / "net.yaml").as_uri())
    file.replace("- flatten", "- {flat")
    assert list(await file.hints()) == [5, 6]
    assert [problem.code for problem in await file.diagnostics()] == ["E001"]
    completions = await client.text_document_completion_async(
        types.CompletionParams(file.identifier, types.Position(7, len("  - {flat")))
    )
    assert isinstance(completions, list)
    flatten = next(item for item in completions if item.label == "flatten")
    assert isinstance(flatten.text_edit, types.TextEdit) and flatten.text_edit.new_text == "flatten: {}"
    resolved = await client.completion_item_resolve_async(flatten)
    assert isinstance(resolved.documentation, types.MarkupContent)
    assert "**flatten**" in resolved.documentation.value


async def test_names_hovers_tree_and_form(client: LanguageClient, tmp_path: Path) -> None:
    file = opened(client, (tmp_path / "net.yaml").as_uri())
    hover = await client.text_document_hover_async(types.HoverParams(file.identifier, file.at("conv2d")))
    assert hover is not None and isinstance(hover.contents, types.MarkupContent)
    assert "⌊(32 + 2·0 − 3)/1⌋ + 1" in hover.contents.value
    width = file.at("width}")
    definition = await client.text_document_definition_async(types.DefinitionParams(file.identifier, width))
    assert isinstance(definition, list) and isinstance(definition[0], types.Location)
    assert definition[0].range.start == types.Position(2, 7)
    references = await client.text_document_references_async(
        types.ReferenceParams(types.ReferenceContext(True), file.identifier, width)
    )
    assert [place.range.start.line for place in references or []] == [2, 5]
    renamed = await client.text_document_rename_async(types.RenameParams(file.identifier, width, "channels"))
    assert renamed is not None and renamed.changes is not None
    assert [edit.new_text for edit in renamed.changes[file.uri]] == ["channels", "channels"]
    refused = await client.text_document_rename_async(types.RenameParams(file.identifier, width, "batch"))
    assert refused is None
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(file.identifier))
    assert [symbol.name for symbol in symbols or []] == ["dims", "vars", "inputs", "layers"]
    file.replace("- relu", "-   relu")
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    edits = await client.text_document_formatting_async(types.DocumentFormattingParams(file.identifier, options))
    assert [edit.new_text for edit in edits or []] == [SPEC]


async def test_settings(client: LanguageClient, tmp_path: Path) -> None:
    file = opened(client, (tmp_path / "net.yaml").as_uri())
    settings: dict[str, Any] = {"symbolic": ["batch"], "hints": ["shapes", "flops"], "convention": "fvcore"}
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"netcalc": settings}))
    # fvcore counts 1 FLOP for a multiply-add: 30·30·8·27, and none for the bias
    assert (await file.hints())[5] == "→ batch×8×30×30 · 194,400·batch FLOPs"
    client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"netcalc": {"convention": "none-such", "settings": {"width": 4}}})
    )
    assert (await file.hints())[5] == "→ 1×4×30×30 · 112"
    assert any("none-such" in message.message for message in client.messages)


async def test_bytes_of_utf_8_and_settings_from_the_start(neovim: LanguageClient) -> None:
    file = opened(neovim, "untitled:net", SPEC.replace("width", "宽度").replace("- relu", "- {name: 𝒜, relo: {}}"))
    (problem,) = await file.diagnostics()
    line = file.text.split("\n")[6].encode()
    assert line[problem.range.start.character : problem.range.end.character].decode() == "relo"
    assert (await file.hints())[5] == "→ batch×8×30×30 · 194,400·batch MACs"


async def test_files_that_extend_others(client: LanguageClient, tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(SPEC, encoding="utf-8")
    text = "netcalc: 1\nextends: base\nvars: {width: 16}\npatch:\n  - {after: stem, insert: [{name: act, gelu: {}}]}\n"
    file = opened(client, (tmp_path / "child.yaml").as_uri(), text)
    assert await file.diagnostics() == []
    assert await file.hints() == {4: "→ 1×16×30×30"}
    base.write_text(SPEC.replace("kernel: 3", "kernel: 5"), encoding="utf-8")
    event = types.FileEvent(base.as_uri(), types.FileChangeType.Changed)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    assert await file.hints() == {4: "→ 1×16×28×28"}
    completions = await client.text_document_completion_async(
        types.CompletionParams(file.identifier, types.Position(1, len("extends: ba")))
    )
    assert isinstance(completions, list) and {"base", "resnet18"} <= {item.label for item in completions}
    place = await client.text_document_definition_async(
        types.DefinitionParams(file.identifier, types.Position(1, len("extends: b")))
    )
    assert isinstance(place, list) and isinstance(place[0], types.Location) and place[0].uri == base.as_uri()
    file.replace("extends: base", "extends: /etc/passwd")
    assert [(problem.code, "root" in problem.message) for problem in await file.diagnostics()] == [("E005", False)]


async def test_a_file_that_is_extended_is_read_as_it_is_in_the_editor(client: LanguageClient, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "middle.yaml").write_text("netcalc: 1\nextends: base\nvars: {width: 16}\n", encoding="utf-8")
    added = "netcalc: 1\nextends: middle\npatch:\n  - {after: stem, insert: [{name: act, gelu: {}}]}\n"
    child = opened(client, (tmp_path / "child.yaml").as_uri(), added)
    assert await child.hints() == {3: "→ 1×16×30×30"}
    base = opened(client, (tmp_path / "base.yaml").as_uri(), SPEC)
    base.replace("kernel: 3", "kernel: 5")  # and not saved
    assert await child.hints() == {3: "→ 1×16×28×28"}
    base.replace("name: stem", "name: [stem")
    assert await child.hints() == {}
    await asyncio.sleep(0.5)
    (problem,) = await child.diagnostics()
    assert (problem.code, problem.range.start.line) == ("E001", 1)
    client.text_document_did_close(types.DidCloseTextDocumentParams(base.identifier))
    assert await child.hints() == {3: "→ 1×16×30×30"}
    base = opened(client, (tmp_path / "new.yaml").as_uri(), SPEC)  # a file that is not saved yet
    child.replace("extends: middle", "extends: new")
    assert await child.hints() == {3: "→ 1×8×30×30"}


async def test_a_file_of_a_thousand_lines(client: LanguageClient, tmp_path: Path) -> None:
    lines = "".join(f"  - {{name: fc{number}, linear: 16}}\n" for number in range(1000))
    file = opened(client, (tmp_path / "deep.yaml").as_uri(), f"netcalc: 1\ninputs: {{x: [1, 16]}}\nlayers:\n{lines}")
    assert await file.diagnostics() == []
    assert len(await file.hints()) == 1000
    file.replace("{name: fc500, linear: 16}", "{name: fc500, linear: [16}")
    assert len(await file.hints()) == 500
    assert [problem.range.start.line for problem in await file.diagnostics()] == [503]


async def test_other_files_are_left_alone(client: LanguageClient, tmp_path: Path) -> None:
    file = opened(client, (tmp_path / "other.yaml").as_uri(), "a: [1\n")
    assert await file.hints() == {}
    hover = await client.text_document_hover_async(types.HoverParams(file.identifier, types.Position(0, 0)))
    assert hover is None
    assert file.uri not in client.diagnostics


def _message(content: bytes, length: int | None = None) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(content) if length is None else length, content)


def _request(number: int, method: str, params: object) -> bytes:
    return _message(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())


async def test_malformed_messages_are_survived_and_the_end_is_clean() -> None:
    start = _request(1, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    bad = [
        _message(b"{"),
        _message(b"\xff\xfe"),
        _message(b"[]"),
        _message(b"null"),
        _message(b'{"jsonrpc": "2.0", "id": 7, "method": "none/such", "params": []}'),
        _request(8, "textDocument/hover", {"textDocument": 3}),
        _request(
            9, "textDocument/hover", {"textDocument": {"uri": "file:///x"}, "position": {"line": -1, "character": 9}}
        ),
        b"Nonsense: 1\r\n",
    ]
    end = _request(2, "shutdown", None) + _message(b'{"jsonrpc": "2.0", "method": "exit"}')
    done = subprocess.run(COMMAND, input=b"".join([start, *bad, end]), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    answers = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in done.stdout.split(b"Content-Length: ")[1:]]
    assert {1, 2} <= {answer.get("id") for answer in answers}
    assert b"Traceback" not in done.stderr
    for ending in (b"", start, start + b"Content-Length: 100\r\n\r\n{"):
        closed = subprocess.run(COMMAND, input=ending, capture_output=True, timeout=60, check=False)
        assert (closed.returncode, b"Traceback" in closed.stderr) == (0, False)
