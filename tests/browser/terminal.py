"""A program in a terminal, and its screen as xterm.js draws it."""

from __future__ import annotations

import base64
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.browser.pictures import shrink

#: The terminal of the tests, with ``npm ci --prefix tests/web``.
XTERM = Path(__file__).parent.parent / "web/node_modules/@xterm/xterm"
#: Seconds for a program to answer; a machine that does other things takes long to start one.
PATIENCE = 90
#: What moves the cursor, and sets colours.
_CONTROLS = re.compile(r"\x1b(?:\[[0-9;?>=]*[ -/]*[@-~]|[()][A-Z0-9]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>])")
_SCREEN = """async ([data, rows, columns, theme]) => {
  const font = { fontSize: 13, lineHeight: 1.15, fontFamily: "'DejaVu Sans Mono', monospace" }
  const terminal = new Terminal({ rows, cols: columns, theme, ...font })
  terminal.open(document.querySelector('div'))
  await new Promise((done) => terminal.write(Uint8Array.from(atob(data), (each) => each.charCodeAt(0)), done))
  const { active } = terminal.buffer
  return Array.from({ length: rows }, (_, row) => active.getLine(row).translateToString(true)).join('\\n')
}"""


class Session:
    """A program that runs in a terminal, and all that it wrote there."""

    def __init__(
        self, command: Sequence[str], folder: Path, variables: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        self.size = size
        self.written = b""
        self._process, self._terminal = pty.fork()
        if not self._process:
            os.chdir(folder)
            os.execve(command[0], list(command), os.environ | {"TERM": "xterm-256color", **variables})
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def type(self, keys: str) -> None:
        """Write keys to the program."""
        os.write(self._terminal, keys.encode())

    def wait_for(self, text: str, rest: float = 0.7) -> None:
        """Wait until the program has written a text, and then nothing more for ``rest`` seconds."""
        end, quiet = time.monotonic() + PATIENCE, 0.0
        while text not in _CONTROLS.sub("", self.written.decode(errors="replace")) or quiet < rest:
            assert time.monotonic() < end, self.written[-2000:]
            if select.select([self._terminal], [], [], 0.1)[0]:
                self.written += os.read(self._terminal, 1 << 16)
                quiet = 0
            else:
                quiet += 0.1

    def close(self) -> None:
        """End the program."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._terminal)


def screen(browser: Any, session: Session, path: Path, theme: Mapping[str, str]) -> str:
    """Take a picture of the screen of a session, and return its text."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    style = f"display: inline-block; padding: 10px; background: {theme['background']}"
    page.set_content(f"<body style='margin: 0'><div style='{style}'></div>")
    page.add_style_tag(path=XTERM / "css/xterm.css")
    page.add_script_tag(path=XTERM / "lib/xterm.js")
    data = base64.b64encode(session.written).decode()
    text: str = page.evaluate(_SCREEN, [data, *session.size, dict(theme)])
    page.wait_for_timeout(300)
    path.parent.mkdir(exist_ok=True)
    page.locator("div").first.screenshot(path=path)
    shrink(path)
    context.close()
    return text
