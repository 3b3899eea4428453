"""Places where chunks are evaluated: this process, others of this machine, a cluster of Dask or of Ray."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.sweep.recipe import Evaluation, Recipe, other_version
from netcalc.version import __version__

#: Seconds within which a cluster must answer.
_SECONDS = 10
#: Seconds that processes need to start, and to make the closed forms that this one has made.
_START = 2.0
#: Seconds after which processes end that have nothing to do.
_IDLE = 300
_ADDRESS = re.compile(r"(dask|ray)://(\[[^\]]+\]|[^\[\]/:@]+):([0-9]{1,5})")
_EXAMPLE = "as in dask://127.0.0.1:8786 or ray://127.0.0.1:10001"


class Address(NamedTuple):
    """Address of a cluster: the library, and where its scheduler or server listens."""

    library: str
    host: str
    port: int


@dataclass(frozen=True)
class Pool:
    """Workers that evaluate chunks.

    Attributes:
        workers: number of chunks that are evaluated at a time.
        backend: function that gives a backend of joblib, or its name; None for this process.
        losses: errors that say that a worker has ended.
        start: seconds that workers need to start.
    """

    workers: int = 1
    backend: Callable[[], Any] | None = None
    losses: tuple[type[Exception], ...] = ()
    start: float = 0.0

    def evaluated(self, recipe: Recipe, chunks: Iterable[range]) -> Iterator[Evaluation]:
        """Yield the evaluations of chunks as they end, in any order; chunks are taken when a worker is free for them.

        Raises:
            NetcalcError: those of :meth:`~netcalc.sweep.recipe.Recipe.evaluated`.
        """
        if self.backend is None:
            yield from (recipe.evaluated(places.start, places.stop) for places in chunks)
            return
        import joblib

        with joblib.parallel_config(self.backend()):
            # a chunk waits at each worker, so that it goes on at once
            parallel = joblib.Parallel(
                self.workers, batch_size=1, pre_dispatch=2 * self.workers, return_as="generator_unordered"
            )
        results = parallel(joblib.delayed(recipe.evaluated)(places.start, places.stop) for places in chunks)
        try:
            for evaluation in results:  # noqa: UP028 - which would close the results first
                yield evaluation
        finally:
            with warnings.catch_warnings():  # that chunks on their way are lost
                warnings.simplefilter("ignore", UserWarning)
                results.close()


@dataclass(frozen=True)
class Processes(Pool):
    """This process and others of this machine: it counts as well, from the moment at which they are started."""

    def evaluated(self, recipe: Recipe, chunks: Iterable[range]) -> Iterator[Evaluation]:
        """Yield the evaluations of chunks as they end, in any order; chunks are taken when a process is free for them.

        Raises:
            NetcalcError: those of :meth:`~netcalc.sweep.recipe.Recipe.evaluated`.
        """
        from joblib.externals.loky import get_reusable_executor

        executor = get_reusable_executor(self.workers - 1, timeout=_IDLE)
        remaining, waiting = iter(chunks), set[Future[Evaluation]]()
        try:
            while True:
                # a chunk waits at each process, so that it goes on at once
                for places in islice(remaining, 2 * (self.workers - 1) - len(waiting)):
                    waiting.add(executor.submit(recipe.evaluated, places.start, places.stop))
                done, waiting = wait(waiting, 0)
                for future in done:
                    yield future.result()
                if done:
                    continue
                own = next(remaining, None)
                if own is not None:
                    yield recipe.evaluated(own.start, own.stop)
                elif waiting:
                    wait(waiting, return_when=FIRST_COMPLETED)
                else:
                    return
        finally:
            for future in waiting:
                future.cancel()


def address_of(text: str) -> Address:
    """Return the address of a cluster; NetcalcError (E502) for any other text."""
    match = _ADDRESS.fullmatch(text)
    if match is None or not 0 < int(match[3]) < 1 << 16:
        raise NetcalcError(Diagnostic("E502", f"--on {text}: not an address of a cluster", hint=_EXAMPLE))
    return Address(match[1], match[2], int(match[3]))


def opened(workers: int | None, on: str | None) -> AbstractContextManager[Pool]:
    """Return the workers of a sweep, which are let go at the end of the context.

    Args:
        workers: number of processes, or chunks at a time on a cluster; None for one process, or for all of a cluster.
        on: address of a cluster; None for processes of this machine.

    Raises:
        NetcalcError: E502 for a malformed address, and in the context for a cluster that does not answer, has no worker
            or another version of netcalc, and for a package that is not installed.
    """
    if on is not None:
        address = address_of(on)
        return (_dask if address.library == "dask" else _ray)(address, on, workers)
    return nullcontext(Pool() if workers in (None, 1) else _loky(workers))


def _loky(workers: int) -> Pool:
    from joblib.externals.loky import BrokenProcessPool

    return Processes(workers, losses=(BrokenProcessPool,), start=_START)


@contextmanager
def _dask(address: Address, text: str, workers: int | None) -> Iterator[Pool]:
    try:
        import distributed
        from distributed.client import FutureCancelledError
    except ImportError:
        raise _not_installed(text, "Dask", 'pip install "netcalc-nn[dask]"') from None
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        """Backend of Dask that uses a single worker, too, where joblib takes this process instead."""

        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, int(super().effective_n_jobs(n_jobs)))

    with _reaching(address, text):
        place = f"tcp://{address.host}:{address.port}"
        with ThreadPoolExecutor(1) as executor:  # the caller may be in a loop of events
            executor.submit(asyncio.run, _greet(place)).result()
        client = distributed.Client(place, timeout=_SECONDS, set_as_default=False)
    try:
        with _reaching(address, text):
            count = _waited_for(client)
            _require_version(client.run(_version).values())
        count = count if workers is None else min(workers, count)
        with _quiet("distributed", "tornado"):  # of tracebacks of lost workers
            losses = (distributed.KilledWorker, FutureCancelledError, OSError)
            yield Pool(count, lambda: Backend(client=client), losses)
    finally:
        client.close(timeout=_SECONDS)


@contextmanager
def _quiet(*loggers: str) -> Iterator[None]:
    """Leave errors of libraries out of their logs, as they are raised too."""
    levels = {name: logging.getLogger(name).level for name in loggers}
    try:
        for name in loggers:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


async def _greet(place: str) -> None:
    """Connect with a scheduler of Dask once; TimeoutError if another program listens, which a client waits for."""
    from distributed.comm import connect

    async with asyncio.timeout(_SECONDS):
        communication = await connect(place, timeout=_SECONDS)
        await communication.close()


def _waited_for(client: Any) -> int:
    """Return the number of threads of a cluster's workers, which may be about to come; ConnectionError if none does."""
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError:
        raise ConnectionError("it has no worker") from None
    return sum(client.ncores().values())


@contextmanager
def _ray(address: Address, text: str, workers: int | None) -> Iterator[Pool]:
    try:
        import ray
        from ray.util.joblib.ray_backend import RayBackend
    except ImportError:
        raise _not_installed(text, "Ray", 'pip install "ray[client]>=2.40"') from None

    class Backend(RayBackend):  # type: ignore[misc]
        """Backend of Ray that gives results as they end, which that of multiprocessing, its base, does not."""

        supports_return_generator = True

    with _reaching(address, text):
        context = ray.init(text, logging_level="ERROR", log_to_driver=False)
    try:
        with _reaching(address, text):
            count = int(ray.cluster_resources().get("CPU", 0))
            _require_version(ray.get([ray.remote(_version).remote()], timeout=_SECONDS))
        count = count if workers is None else min(workers, count)
        if count < 2:  # joblib takes this process instead
            raise NetcalcError(Diagnostic("E502", f"--on {text}: Ray needs two workers or more, not {count}"))
        yield Pool(count, Backend, (ray.exceptions.RayError,))
    finally:
        context.disconnect()


@contextmanager
def _reaching(address: Address, text: str) -> Iterator[None]:
    """Turn whatever goes wrong with a cluster into one error; a port where nothing listens is found at once."""
    try:
        socket.create_connection((address.host.strip("[]"), address.port), _SECONDS).close()
        yield
    except NetcalcError:
        raise
    except ModuleNotFoundError as error:
        message = f"--on {text}: its workers have no module {error.name or error}"
        raise NetcalcError(Diagnostic("E502", message, hint=f"install netcalc {__version__} on all workers")) from None
    except Exception as error:  # of sockets, protocols and pickles: whatever else may listen there
        reason = str(error).strip().partition("\n")[0] or f"no answer in {_SECONDS} s"
        message = f"--on {text}: the cluster cannot be reached: {reason}"
        raise NetcalcError(Diagnostic("E502", message, hint="docs/sweeps.md shows how to start one")) from None


def _version() -> str:
    return __version__


def _require_version(versions: Iterable[str]) -> None:
    others = sorted({version for version in versions if version != __version__})
    if others:
        raise other_version(__version__, others)


def _not_installed(text: str, title: str, hint: str) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", f"--on {text}: {title} is not installed", hint=hint))
