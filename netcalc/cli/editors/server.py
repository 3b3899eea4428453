"""The server: texts that the client has open, and its questions about them.

An answer is of the text as it is when the question is answered.  Diagnostics are sent once no change has come for a
moment.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from netcalc.cli.editors.places import Places, markdown
from netcalc.cli.editors.settings import Settings, read_settings
from netcalc.diagnostics import NetcalcError
from netcalc.language import Document, OpenFiles, is_spec, warm
from netcalc.version import __version__

#: Seconds without a change after which diagnostics are sent.
_PAUSE = 0.05
_QUICK_FIX = types.CodeActionKind.QuickFix


class Server(LanguageServer):
    """The texts of one client."""

    def __init__(self) -> None:
        super().__init__("netcalc", __version__, max_workers=2)
        self.documents: dict[str, Document] = {}
        self.settings = Settings()
        self.opened = OpenFiles()
        self._due: dict[str, asyncio.TimerHandle] = {}
        self._stale: set[str] = set()  # files whose hints changed with another file

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write an error of a message to the log of the client, and go on."""
        logging.getLogger(__name__).error("netcalc lsp: %s: %s", source.__name__, str(error).partition("\n")[0][:500])

    # -- documents ----------------------------------------------------------------------------------

    def text(self, uri: str) -> str:
        """Return the text of an open file."""
        return self.workspace.get_text_document(uri).source

    def document(self, uri: str) -> Document | None:
        """Return an open spec with its present text; None for a file of another kind."""
        if uri not in self.workspace.text_documents:
            return None
        text = self.text(uri)
        document = self.documents.get(uri)
        if document is None:
            if not is_spec(text):
                return None
            options = self.settings.options
            document = self.documents[uri] = Document(text, _path(uri), options=options, opened=self.opened)
        document.update(text)
        return document

    def places(self, document: Document) -> Places:
        """Return the places of a text."""
        return Places(document.text, types.PositionEncodingKind(self.workspace.position_encoding))

    def changed(self, uri: str, pause: float = _PAUSE) -> None:
        """Send the diagnostics of a file and of those that extend or import it, unless another change comes before."""
        path = _path(uri)
        self._schedule(uri, pause)
        if path is not None and uri in self.workspace.text_documents and self.opened.open(path, self.text(uri)):
            self._reconsider_dependents(path)

    def _schedule(self, uri: str, pause: float = _PAUSE) -> None:
        if (handle := self._due.pop(uri, None)) is not None:
            handle.cancel()
        self._due[uri] = asyncio.get_running_loop().call_later(pause, self._publish, uri)

    def _reconsider_dependents(self, path: str) -> None:
        """Analyze the files anew that extend or import a file."""
        for uri, document in self.documents.items():
            if document.depends_on(path):
                document.forget()
                self._stale.add(uri)
                self._schedule(uri)

    def _publish(self, uri: str) -> None:
        self._due.pop(uri, None)
        document = self.document(uri)
        if document is None:
            return
        version = self.workspace.get_text_document(uri).version
        places = self.places(document)
        found = [places.diagnostic(problem, uri) for problem in document.analyze().problems]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))
        if uri in self._stale:  # the client asks for hints after changes of the file itself only
            self._stale.clear()
            self._refresh()

    def close(self, uri: str) -> None:
        """Forget a file, and its diagnostics in the client."""
        if (handle := self._due.pop(uri, None)) is not None:
            handle.cancel()
        if self.documents.pop(uri, None) is not None:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        path = _path(uri)
        if path is not None and self.opened.close(path):
            self._reconsider_dependents(path)

    def reconsider(self, saved: str | None = None) -> None:
        """Analyze all files anew but the one that was saved, as files that they extend may have changed."""
        for uri, document in self.documents.items():
            if uri != saved:
                document.forget()
                self._schedule(uri)
        self._refresh()

    def configure(self, given: Any) -> None:
        """Take the settings of the client, and tell it what is wrong with them."""
        self.settings, wrong = read_settings(given)
        for message in wrong:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))
        for uri, document in self.documents.items():
            document.configure(self.settings.options)
            self._schedule(uri)
        self._refresh()

    def _refresh(self) -> None:
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def is_in_workspace(self, uri: str) -> bool:
        """Return True for a file in a folder that the client has open."""
        path = to_fs_path(uri)
        folders = [to_fs_path(folder) for folder in self.workspace.folders]
        folders += [self.workspace.root_path] if self.workspace.root_path else []
        return path is not None and any(folder and Path(path).is_relative_to(folder) for folder in folders)


def make_server() -> Server:
    """Return a server with its answers."""
    server = Server()
    _follow(server)
    _answer_about_lines(server)
    _complete(server)
    _answer_about_names(server)
    return server


def serve() -> None:
    """Serve a client over standard input and output until it ends the connection."""
    logging.basicConfig(format="%(message)s", level=logging.ERROR)
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    threading.Thread(target=warm, daemon=True).start()
    # a copy, which the server closes at the end
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        make_server().start_io(stdout=answers)


def _follow(server: Server) -> None:
    """Follow the texts and settings of the client."""

    @server.feature(types.INITIALIZED)
    def _(params: types.InitializedParams) -> None:
        pass

    @server.feature(types.INITIALIZE)
    def _(params: types.InitializeParams) -> None:
        server.settings, _ = read_settings(params.initialization_options)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def _(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri, 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def _(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def _(params: types.DidSaveTextDocumentParams) -> None:
        server.reconsider(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def _(params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def _(params: types.DidChangeConfigurationParams) -> None:
        server.configure(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def _(params: types.DidChangeWatchedFilesParams) -> None:
        server.reconsider()


class Asked(NamedTuple):
    """An open spec that a client asks about."""

    document: Document
    places: Places
    uri: str


#: Function that answers a question with parameters about an open spec.
Answer: TypeAlias = Callable[[Asked, Any], Any]


def _about(server: Server, question: str, options: Any = None, *, nothing: Any) -> Callable[[Answer], Answer]:
    """Return a decorator of the function that answers a question about a file; ``nothing`` is that for no spec."""

    def decorate(answer: Answer) -> Answer:
        @server.feature(question, options)
        def _(params: Any) -> Any:
            uri = params.text_document.uri
            document = server.document(uri)
            return nothing if document is None else answer(Asked(document, server.places(document), uri), params)

        return answer

    return decorate


def _answer_about_lines(server: Server) -> None:
    """Answer questions about lines: their results, errors and form."""

    @_about(server, types.TEXT_DOCUMENT_INLAY_HINT, nothing=[])
    def _(asked: Asked, params: types.InlayHintParams) -> list[types.InlayHint]:
        places, first, last = asked.places, params.range.start.line, params.range.end.line
        hints = (hint for hint in asked.document.analyze().hints if first <= hint.line <= last)
        texts = ((hint.line, hint.text(server.settings.hints)) for hint in hints)
        return [
            types.InlayHint(places.position(places.lines.end(line)), text, padding_left=True)
            for line, text in texts
            if text
        ]

    @_about(server, types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([_QUICK_FIX]), nothing=[])
    def _(asked: Asked, params: types.CodeActionParams) -> list[types.CodeAction]:
        near = asked.document.problems_in(asked.places.own_range(params.range))
        return [asked.places.action(fix, problem, asked.uri) for problem in near for fix in problem.fixes]

    @_about(server, types.TEXT_DOCUMENT_FORMATTING, nothing=[])
    def _(asked: Asked, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        return asked.places.edits(asked.document.format())

    @_about(server, types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, nothing=[])
    def _(asked: Asked, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        return [asked.places.symbol(part) for part in asked.document.symbols()]

    @_about(server, types.TEXT_DOCUMENT_HOVER, nothing=None)
    def _(asked: Asked, params: types.HoverParams) -> types.Hover | None:
        found = asked.document.hover(asked.places.own(params.position))
        return None if found is None else types.Hover(markdown(found.markdown), asked.places.range(found.range))


def _complete(server: Server) -> None:
    """Answer what may stand at a place."""
    completion = types.CompletionOptions(trigger_characters=["{", " ", ".", "$"], resolve_provider=True)

    @_about(server, types.TEXT_DOCUMENT_COMPLETION, completion, nothing=[])
    def _(asked: Asked, params: types.CompletionParams) -> list[types.CompletionItem]:
        found = asked.document.complete(asked.places.own(params.position))
        offered = [item for item in found if item.kind != "file" or server.is_in_workspace(asked.uri)]
        items = [asked.places.completion(item, order, snippets=_snippets(server)) for order, item in enumerate(offered)]
        for item in items:
            item.data = {"uri": asked.uri}
        return items

    @server.feature(types.COMPLETION_ITEM_RESOLVE)
    def _(item: types.CompletionItem) -> types.CompletionItem:
        data: Any = item.data
        document = server.document(str(data.get("uri"))) if isinstance(data, dict) else None
        text = document.describe(item.label) if document is not None and item.documentation is None else ""
        item.documentation = markdown(text) if text else item.documentation
        return item


def _answer_about_names(server: Server) -> None:
    """Answer questions about names: their places, and other names for them."""

    @_about(server, types.TEXT_DOCUMENT_DEFINITION, nothing=[])
    def _(asked: Asked, params: types.DefinitionParams) -> list[types.Location]:
        found = asked.document.definitions(asked.places.own(params.position))
        return [asked.places.location(place, asked.uri) for place in found]

    @_about(server, types.TEXT_DOCUMENT_REFERENCES, nothing=[])
    def _(asked: Asked, params: types.ReferenceParams) -> list[types.Location]:
        position, with_definitions = asked.places.own(params.position), params.context.include_declaration
        found = asked.document.references(position, with_definitions=with_definitions)
        return [asked.places.location(place, asked.uri) for place in found]

    @_about(server, types.TEXT_DOCUMENT_PREPARE_RENAME, nothing=None)
    def _(asked: Asked, params: types.PrepareRenameParams) -> types.Range | None:
        found = asked.document.renamed_range(asked.places.own(params.position))
        return None if found is None else asked.places.range(found)

    @_about(server, types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True), nothing=None)
    def _(asked: Asked, params: types.RenameParams) -> types.WorkspaceEdit | None:
        try:
            edits = asked.document.rename(asked.places.own(params.position), params.new_name)
        except NetcalcError as error:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, _first(error.diagnostics)))
            return None
        return types.WorkspaceEdit(changes={asked.uri: asked.places.edits(edits)})


def _path(uri: str) -> str | None:
    """Return the path of a file by its address; None for a text that is no file."""
    return to_fs_path(uri) if uri.startswith("file:") else None


def _first(diagnostics: Sequence[Any]) -> str:
    return str(diagnostics[0].message)


def _snippets(server: Server) -> bool:
    """Return True if the client fills in the places of a completion."""
    documents = server.client_capabilities.text_document
    items = None if documents is None or documents.completion is None else documents.completion.completion_item
    return items is not None and bool(items.snippet_support)
