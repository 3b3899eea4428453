"""A server of files on the loopback interface, below a subpath, which keeps a list of what it was asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

#: Path at which the folder is served.
SUBPATH = "/docs/try/"


class Served:
    """A folder at an address, and the paths that were asked for."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.address = origin + SUBPATH
        self.asked: list[str] = []


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Serve a folder at a free port."""

    class Handler(SimpleHTTPRequestHandler):
        extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(folder))

        def do_GET(self) -> None:
            served.asked.append(self.path)
            if not self.path.startswith(SUBPATH):
                self.send_error(404)
                return
            self.path = "/" + self.path.removeprefix(SUBPATH)
            try:
                super().do_GET()
            except ConnectionError:  # the page was closed meanwhile
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Served(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
