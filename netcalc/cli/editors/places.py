"""Places as the client counts them, and as :mod:`netcalc.language` does; results in the types of the protocol."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path

from netcalc.language import Completion, Edit, Fix, Lines, Location, Part, Position, Problem, Range

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
}
_COMPLETIONS = {
    "operation": types.CompletionItemKind.Function,
    "block": types.CompletionItemKind.Module,
    "attribute": types.CompletionItemKind.Field,
    "modifier": types.CompletionItemKind.Keyword,
    "key": types.CompletionItemKind.Property,
    "name": types.CompletionItemKind.Variable,
    "value": types.CompletionItemKind.Value,
    "spec": types.CompletionItemKind.File,
    "file": types.CompletionItemKind.File,
}
_SYMBOLS = {
    "section": types.SymbolKind.Namespace,
    "dim": types.SymbolKind.Constant,
    "var": types.SymbolKind.Variable,
    "input": types.SymbolKind.Interface,
    "block": types.SymbolKind.Class,
    "line": types.SymbolKind.Function,
    "group": types.SymbolKind.Module,
}


class Places:
    """Places in a text, in the encoding that the client and the server agreed on."""

    def __init__(self, text: str, encoding: types.PositionEncodingKind) -> None:
        self.lines = Lines(text)
        self.encoding = encoding

    def own(self, place: types.Position) -> Position:
        """Return a place of the client as netcalc counts it."""
        line = min(place.line, len(self.lines) - 1)
        if self.encoding == types.PositionEncodingKind.Utf16:
            return Position(line, place.character)
        text = self.lines[line]
        if self.encoding == types.PositionEncodingKind.Utf8:
            column = len(text.encode()[: place.character].decode(errors="ignore"))
        else:
            column = place.character
        return Position(line, len(text[:column].encode("utf-16-le")) // 2)

    def position(self, place: Position) -> types.Position:
        """Return a place as the client counts it."""
        if self.encoding == types.PositionEncodingKind.Utf16:
            return types.Position(place.line, place.character)
        text = self.lines[place.line][: self.lines.column(place)]
        units = len(text.encode()) if self.encoding == types.PositionEncodingKind.Utf8 else len(text)
        return types.Position(place.line, units)

    def range(self, range_: Range) -> types.Range:
        """Return a range as the client counts it."""
        return types.Range(self.position(range_.start), self.position(range_.end))

    def own_range(self, range_: types.Range) -> Range:
        """Return a range of the client as netcalc counts it."""
        return Range(self.own(range_.start), self.own(range_.end))

    def edits(self, edits: Iterable[Edit]) -> list[types.TextEdit]:
        """Return edits as the client takes them."""
        return [types.TextEdit(self.range(edit.range), edit.text) for edit in edits]

    def diagnostic(self, problem: Problem, uri: str) -> types.Diagnostic:
        """Return a problem as the client shows it."""
        message = problem.message if problem.hint is None else f"{problem.message}\n{problem.hint}"
        related = [
            types.DiagnosticRelatedInformation(types.Location(uri, self.range(note.range)), note.message)
            for note in problem.notes
            if note.range is not None
        ]
        elsewhere = [f"{note.place}: {note.message}" for note in problem.notes if note.range is None and note.place]
        plain = [note.message for note in problem.notes if note.range is None and not note.place]
        return types.Diagnostic(
            self.range(problem.range),
            "\n".join((message, *elsewhere, *plain)),
            severity=_SEVERITIES[problem.severity],
            code=problem.code or None,
            source="netcalc",
            related_information=related or None,
        )

    def action(self, fix: Fix, problem: Problem, uri: str) -> types.CodeAction:
        """Return a change that a hint proposes."""
        return types.CodeAction(
            fix.title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self.diagnostic(problem, uri)],
            is_preferred=len(problem.fixes) == 1,
            edit=types.WorkspaceEdit(changes={uri: self.edits(fix.edits)}),
        )

    def completion(self, item: Completion, order: int, *, snippets: bool) -> types.CompletionItem:
        """Return a completion as the client offers it."""
        has_places = snippets and item.snippet is not None
        text = item.snippet if has_places and item.snippet is not None else item.edit.text
        return types.CompletionItem(
            item.label,
            kind=_COMPLETIONS[item.kind],
            detail=item.detail or None,
            documentation=markdown(item.documentation) if item.documentation else None,
            sort_text=f"{order:05}",
            filter_text=item.label,
            text_edit=types.TextEdit(self.range(item.edit.range), text),
            insert_text_format=types.InsertTextFormat.Snippet if has_places else types.InsertTextFormat.PlainText,
        )

    def location(self, place: Location, uri: str) -> types.Location:
        """Return a place in the text or in another file."""
        if place.path is None:
            return types.Location(uri, self.range(place.range))
        start, end = place.range.start, place.range.end
        range_ = types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))
        return types.Location(from_fs_path(str(Path(place.path).resolve())) or uri, range_)

    def symbol(self, part: Part) -> types.DocumentSymbol:
        """Return a part of the tree."""
        return types.DocumentSymbol(
            part.name,
            _SYMBOLS[part.kind],
            self.range(part.range),
            self.range(part.selection),
            detail=part.detail or None,
            children=[self.symbol(child) for child in part.children],
        )


def markdown(text: str) -> types.MarkupContent:
    """Return a text in Markdown."""
    return types.MarkupContent(types.MarkupKind.Markdown, text)
