"""A small server that answers as the Hub does: files with etags and commits, redirections of large ones, ranges."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

from tests.conftest import CommandResult

TOKEN = "hf_granted"
_RESOLVE = re.compile(r"/(?P<repository>[^/]+(?:/[^/]+)?)/resolve/(?P<revision>[^/]+)/(?P<file>.+)")
_BYTES = re.compile(r"bytes=(\d+)-(\d+)")


#: Settings of the library that another environment may have.
FOREIGN = ("HF_", "HUGGINGFACE_", "XDG_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy")


@dataclass
class Repository:
    """Files of a repository, by revision; those in the main branch are also at its commit."""

    files: dict[str, bytes]
    revisions: dict[str, dict[str, bytes]] = field(default_factory=dict)
    gated: bool = False
    moved_to: str | None = None
    status: int | None = None  # of every answer

    def at(self, revision: str) -> dict[str, bytes] | None:
        """Return the files at a revision; None if there is no such revision."""
        return self.files if revision in ("main", commit(self.files)) else self.revisions.get(revision)


def commit(files: dict[str, bytes]) -> str:
    """Return a name for the state of a repository."""
    return hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()


@dataclass
class Hub:
    """The repositories of a server, and the requests that it has answered: method, path and range."""

    repositories: dict[str, Repository]
    url: str = ""
    requests: list[tuple[str, str, tuple[int, int] | None]] = field(default_factory=list)
    ranges: bool = True

    def ranges_of(self, file: str) -> list[tuple[int, int] | None]:
        """Return the ranges of the data of a file that were sent; None for the whole file."""
        return [given for method, path, given in self.requests if method == "GET" and path.endswith(f"cdn/{file}")]


def ran_with(hub: Hub, cache: Path, *arguments: str, **settings: str) -> CommandResult:
    """Run a command line in a process of its own, as the library reads its settings once."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    own = {"HF_ENDPOINT": hub.url, "HF_HOME": str(cache), "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "netcalc", *arguments],
        env=kept | own | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


@contextmanager
def serving(repositories: dict[str, Repository]) -> Iterator[Hub]:
    """Give a server for the time of a block."""
    hub = Hub(repositories)

    class Handler(_Handler):
        pass

    Handler.hub = hub
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        wanted = _BYTES.fullmatch(self.headers.get("Range", ""))
        given = (int(wanted[1]), int(wanted[2])) if wanted and self.hub.ranges else None
        path = unquote(self.path)
        self.hub.requests.append((self.command, path, given))
        if path.startswith("/cdn/"):
            assert "Authorization" not in self.headers  # no token leaves the Hub
            repository, _, rest = path.removeprefix("/cdn/").partition("@")
            revision, _, file = rest.partition("/cdn/")
            files = self.hub.repositories[repository].at(revision)
            assert files is not None
            return self._send(files[file], given)
        match = _RESOLVE.fullmatch(self.path)
        assert match, path
        return self._resolve(unquote(match["repository"]), unquote(match["revision"]), unquote(match["file"]), given)

    def _resolve(self, name: str, revision: str, file: str, given: tuple[int, int] | None) -> None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            return self._error(401, "RepoNotFound", "Invalid username or password.")
        if repository.status is not None:
            return self._error(repository.status, "", "")
        if repository.moved_to is not None:
            return self._redirect(307, f"/{repository.moved_to}/resolve/{revision}/{file}", {})
        if repository.gated and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._error(401, "GatedRepo", f"Access to model {name} is restricted.")
        files = repository.at(revision)
        if files is None:
            return self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        headers = {"X-Repo-Commit": commit(files)}
        if file not in files:
            return self._error(404, "EntryNotFound", "Entry not found", headers)
        data = files[file]
        etag = f'"{hashlib.sha256(data).hexdigest()}"'
        if not file.endswith(".safetensors"):
            return self._send(data, given, headers | {"ETag": etag})
        headers |= {"X-Linked-Etag": etag, "X-Linked-Size": str(len(data))}
        url = self.hub.url.replace("127.0.0.1", "localhost")  # another host, as that of the storage is
        return self._redirect(302, f"{url}/cdn/{name}@{revision}/cdn/{file}", headers)

    def _send(self, data: bytes, given: tuple[int, int] | None, headers: dict[str, str] | None = None) -> None:
        length = len(data)
        extra = dict(headers or {})
        if given is not None and given[0] >= length:
            return self._error(416, "", "", {"Content-Range": f"bytes */{length}"})
        if given is not None:
            data = data[given[0] : given[1] + 1]
            extra["Content-Range"] = f"bytes {given[0]}-{given[0] + len(data) - 1}/{length}"
        self._reply(206 if given else 200, data, extra)
        return None

    def _redirect(self, status: int, location: str, headers: dict[str, str]) -> None:
        self._reply(status, b"", headers | {"Location": location})

    def _error(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        self._reply(status, b"", (headers or {}) | {"X-Error-Code": code, "X-Error-Message": message})

    def _reply(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)
