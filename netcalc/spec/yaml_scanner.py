"""ruamel's YAML parser with bounded work and less of it for each character and token."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scanner import Scanner, ScannerError

from netcalc.limits import MAX_TEXT
from netcalc.spec.yaml_nodes import Mark

_BLANKS = re.compile(r"[ \n]*+")
_BLANKS_IN_FLOW = re.compile(r"[ \t\n]*+")
_COMMENT = re.compile("[^\\n\\0\\r\\x85\\u2028\\u2029]*+")
_VERSION = re.compile(r" *+([0-9]{1,3})\.([0-9]{1,3})(?=[ \n\0])")
_UNBOUNDED = float("inf")


class LimitError(MarkedYAMLError):
    """Error for a document that exceeds a limit; its problem is the message."""


class YamlParser(Reader, Scanner, Parser, VersionedResolver):
    """Events of a text without carriage returns, by YAML 1.2 whatever version its directive names.

    ruamel links its stages by properties of a loader; here they are one object, and each stage finds the next at once.
    """

    processing_version = scanner_processing_version = (1, 2)
    loader = reader = scanner = parser = resolver = None  # properties of the stages, which become the object itself

    def __init__(self, text: str) -> None:
        self.comment_handling = None
        self.loader = self.reader = self.scanner = self.parser = self.resolver = self
        self._stop: float = _UNBOUNDED  # index at which the scalar being read is too long
        Reader.__init__(self, text, loader=self)
        Scanner.__init__(self, loader=self)
        Parser.__init__(self, loader=self)
        VersionedResolver.__init__(self, None, loader=self)

    def check_printable(self, data: Any) -> None:
        """Refuse characters that YAML forbids.

        YAML allows every character that Unicode calls printable, and ruamel's regular expression takes longer to
        compile than most specs take to read.
        """
        if not data.replace("\n", "").isprintable():
            super().check_printable(data)

    def get_mark(self) -> Mark:
        """Return the current position."""
        return Mark(self.line, self.column)

    def forward(self, length: int = 1) -> None:
        """Move on by some characters; LimitError where the text of a scalar is too long."""
        pointer = self.pointer
        self.pointer = self.index = end = pointer + length
        if length == 1:
            if self.buffer[pointer] == "\n":
                self.line += 1
                self.column = 0
            else:
                self.column += 1
        else:
            breaks = self.buffer.count("\n", pointer, end)
            self.line += breaks
            self.column = end - self.buffer.rindex("\n", pointer, end) - 1 if breaks else self.column + length
        if end > self._stop:
            raise LimitError(problem=f"a text of over {MAX_TEXT:,} characters", problem_mark=self.get_mark())

    def need_more_tokens(self) -> bool:
        """Return True if the next token is not known, or may turn out to be a key."""
        if self.done:
            return False
        if not self.tokens:
            return True
        if not self.possible_simple_keys:
            return False
        self.stale_possible_simple_keys()
        return bool(self.next_possible_simple_key() == self.tokens_taken)

    def next_possible_simple_key(self) -> Any:
        """Return the number of the first token that may be a key; the keys are in the order of their tokens."""
        for key in self.possible_simple_keys.values():
            return key.token_number
        return None

    def stale_possible_simple_keys(self) -> None:
        """Forget tokens that are no keys, since no colon follows on the line within 1,024 characters."""
        keys = self.possible_simple_keys
        while keys:
            level, key = next(iter(keys.items()))
            if key.line == self.line and self.index - key.index <= 1024:
                return
            if key.required:
                raise ScannerError(
                    "while scanning a simple key", key.mark, "could not find expected ':'", self.get_mark()
                )
            del keys[level]

    def scan_to_next_token(self) -> None:
        """Skip spaces, line breaks and comments, and a byte order mark at the start."""
        blanks = _BLANKS_IN_FLOW if self.flow_level else _BLANKS
        if self.index == 0 and self.buffer[0] == "\ufeff":
            self.forward()
        while True:
            line = self.line
            self._skip(blanks)
            if self.line != line and not self.flow_level:
                self.allow_simple_key = True
            if self.buffer[self.pointer] == "#":
                self._skip(_COMMENT)
            elif self.scan_line_break():  # one that YAML 1.1 knows
                self.allow_simple_key = self.allow_simple_key or not self.flow_level
            elif self.buffer[self.pointer] != "\n":
                return

    def scan_yaml_directive_value(self, start_mark: Any) -> Any:
        """Read the version in a directive."""
        version = _VERSION.match(self.buffer, self.pointer)
        if version is None:
            raise ScannerError("while scanning a directive", start_mark, "expected a version", self.get_mark())
        self.forward(version.end() - self.pointer)
        return int(version[1]), int(version[2])

    def scan_directive(self) -> Any:
        """Read the directive of the version; others concern tags, which specs lack."""
        token = self._bounded(super().scan_directive)
        if token.name != "YAML":
            message = f"the directive %{token.name} is not allowed: a spec is plain data"
            raise LimitError(problem=message, problem_mark=token.start_mark)
        return token

    def scan_anchor(self, token_class: Any) -> Any:
        """Read an anchor or an alias."""
        return self._bounded(super().scan_anchor, token_class)

    def scan_tag(self) -> Any:
        """Read a tag."""
        return self._bounded(super().scan_tag)

    def scan_plain(self) -> Any:
        """Read a plain scalar."""
        return self._bounded(super().scan_plain)

    def scan_flow_scalar(self, style: Any) -> Any:
        """Read a scalar in quotes."""
        return self._bounded(super().scan_flow_scalar, style)

    def scan_block_scalar(self, style: Any, rt: bool | None = False) -> Any:
        """Read a scalar in lines of its own."""
        return self._bounded(super().scan_block_scalar, style, rt)

    def _bounded(self, scan: Callable[..., Any], *args: Any) -> Any:
        self._stop = self.index + MAX_TEXT
        token = scan(*args)
        self._stop = _UNBOUNDED
        return token

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.buffer, self.pointer)
        if match is not None and match.end() > self.pointer:
            self.forward(match.end() - self.pointer)
