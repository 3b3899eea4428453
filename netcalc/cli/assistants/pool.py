"""Child processes that compute answers: started when they are needed, ended where a call is cancelled or too long."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

import netcalc
from netcalc.diagnostics import Diagnostic, NetcalcError

_WORKER = "netcalc.cli.assistants.worker"
#: Processes at a time; further calls wait.
_MOST = 2
#: Calls after which a process makes room for a new one, so that what it keeps of specs does not grow.
_MOST_CALLS = 200
#: Bytes of an answer beside its record, of which a character may take twelve.
_MOST_ERRORS = 10_000_000


class Service(NamedTuple):
    """Bounds of what a server does for its client.

    Attributes:
        folder: folder whose files may be read.
        network: True to permit models on the Hub.
        seconds: time that a call may take.
        characters: length of a record.
    """

    folder: Path
    network: bool
    seconds: float
    characters: int


class Pool:
    """Processes that answer calls."""

    def __init__(self, service: Service) -> None:
        self._arguments = [str(service.folder), str(service.characters), *(["network"] if service.network else [])]
        self._seconds = service.seconds
        self._most_bytes = 12 * service.characters + _MOST_ERRORS
        self._limiter = anyio.Semaphore(_MOST)
        self._idle: list[_Worker] = []
        self._workers: set[_Worker] = set()

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a call of a tool, which :func:`netcalc.cli.assistants.worker.answer` gives.

        Raises:
            NetcalcError: E603 if the call takes too long, or its process ends, as for lack of memory.
        """
        async with self._limiter:
            try:
                with anyio.fail_after(self._seconds):
                    return await self._ask(json.dumps({"name": name, "arguments": arguments}).encode() + b"\n")
            except TimeoutError:
                hint = "ask for less, or start `netcalc mcp` with a larger --timeout"
                message = f"{name} took over {self._seconds:g} s"
                raise NetcalcError(Diagnostic("E603", message, hint=hint)) from None
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.DelimiterNotFound):
                raise NetcalcError(Diagnostic("E603", f"the process that computed {name} ended")) from None

    async def close(self) -> None:
        """End all processes."""
        for worker in tuple(self._workers):
            await self._end(worker)

    async def _ask(self, line: bytes) -> Mapping[str, Any]:
        worker = await self._waiting() or await self._start()
        try:
            answer = await worker.ask(line)
        except BaseException:
            await self._end(worker)
            raise
        if worker.calls < _MOST_CALLS:
            self._idle.append(worker)
        else:
            await self._end(worker)
        return answer

    async def _waiting(self) -> _Worker | None:
        """Return a process that waits for a call; None if there is none."""
        while self._idle:
            worker = self._idle.pop()
            if worker.is_running:
                return worker
            await self._end(worker)
        return None

    async def _start(self) -> _Worker:
        root = str(Path(netcalc.__file__).parents[1])
        paths = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), root]
        # -P: the current folder holds no module that is imported
        process = await anyio.open_process(
            [sys.executable, "-P", "-m", _WORKER, *self._arguments],
            stderr=None,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        worker = _Worker(process, self._most_bytes)
        self._workers.add(worker)
        return worker

    async def _end(self, worker: _Worker) -> None:
        self._workers.discard(worker)
        with anyio.CancelScope(shield=True):
            await worker.end()


class _Worker:
    """A process, and the number of calls that it has answered."""

    def __init__(self, process: Process, most_bytes: int) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.calls = 0
        self._most_bytes = most_bytes
        self._process = process
        self._requests, self._answers = process.stdin, BufferedByteReceiveStream(process.stdout)

    @property
    def is_running(self) -> bool:
        """True until the process has ended, for whatever reason."""
        return self._process.returncode is None

    async def ask(self, line: bytes) -> Mapping[str, Any]:
        """Return the answer to a call, which is a line."""
        await self._requests.send(line)
        answer: Mapping[str, Any] = json.loads(await self._answers.receive_until(b"\n", self._most_bytes))
        self.calls += 1
        return answer

    async def end(self) -> None:
        """End the process at once."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.aclose()
