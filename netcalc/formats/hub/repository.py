"""Repositories on the Hub: small files through the cache, and parts of large ones by range requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from netcalc.confinement import require_network
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.hub.errors import diagnosed
from netcalc.formats.hub.names import HubName
from netcalc.version import __version__

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_CONFIGURATIONS = ("config.json", "adapter_config.json", "model_index.json")
#: Repetitions of a request that fails by chance.
_RETRIES = 3


class Part(NamedTuple):
    """Bytes of a file, and the length of the whole file."""

    data: bytes
    length: int


class Repository:
    """A repository at a revision, or a folder in it, in which files are named.

    Every error is E008: the library is missing, the name unknown, the access denied, or there is no connection.
    """

    def __init__(self, name: HubName) -> None:
        self.name = name
        require_network(str(name))
        try:
            import huggingface_hub  # noqa: F401
        except ImportError:
            hint = 'pip install "huggingface_hub>=1.0"'
            raise NetcalcError(Diagnostic("E008", f"{name} needs the library huggingface_hub", hint=hint)) from None

    def file(self, filename: str, most: int) -> Path | None:
        """Return a small file in the cache, where it is stored unless it is there; None if there is none of the name.

        Without a connection the cache has the last word; a file that was never asked for counts as missing if the
        cache has others of the repository.

        Raises:
            NetcalcError: E008, also for a file of over ``most`` bytes.
        """
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
        from huggingface_hub.errors import EntryNotFoundError, RevisionNotFoundError

        path = self.name.file(filename)
        url = hf_hub_url(self.name.repository, path, revision=self.name.revision)
        with self._asking():
            try:
                size = get_hf_file_metadata(url).size
            except EntryNotFoundError:
                return None
            except RevisionNotFoundError:
                raise
            except Exception:
                if (cached := self.cached(filename)) is not None:
                    return cached
                if self._has_cache():
                    return None
                raise
            if size is not None and size > most:
                message = f"{self.name}/{filename} has {size:,} bytes, and the limit is {int(most):,}"
                raise NetcalcError(Diagnostic("E008", message))
            return Path(hf_hub_download(self.name.repository, path, revision=self.name.revision))

    def cached(self, filename: str) -> Path | None:
        """Return a file that the cache has; None if it has not."""
        from huggingface_hub import try_to_load_from_cache

        name = self.name
        path = try_to_load_from_cache(name.repository, name.file(filename), revision=name.revision)
        return Path(path) if isinstance(path, str) else None

    def download(self, filename: str) -> Path:
        """Return a file in the cache, with all its data."""
        from huggingface_hub import hf_hub_download

        with self._asking():
            name = self.name
            return Path(hf_hub_download(name.repository, name.file(filename), revision=name.revision))

    def part(self, filename: str, start: int, size: int) -> Part | None:
        """Return up to ``size`` bytes of a file from a position on; None if there is no file of the name."""
        from huggingface_hub import constants, hf_hub_url
        from huggingface_hub.errors import EntryNotFoundError
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, http_stream_backoff  # type: ignore[attr-defined]

        url = hf_hub_url(self.name.repository, self.name.file(filename), revision=self.name.revision)
        headers = build_hf_headers(library_name="netcalc", library_version=__version__)
        headers |= {"Range": f"bytes={start}-{start + size - 1}", "Accept-Encoding": "identity"}
        timeout = constants.HF_HUB_DOWNLOAD_TIMEOUT
        with (
            self._asking(),
            http_stream_backoff(
                "GET", url, headers=headers, timeout=timeout, follow_redirects=True, max_retries=_RETRIES
            ) as response,
        ):
            if response.status_code == 416:  # no bytes there: the file is shorter
                return Part(b"", start)
            try:
                hf_raise_for_status(response)
            except EntryNotFoundError:
                return None
            span = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if response.status_code != 206 or span is None or int(span[1]) != start:
                message = f"{self.name}: the server gives no parts of {filename}"
                hint = "the headers of weights are read by range requests, as the Hub answers them"
                raise NetcalcError(Diagnostic("E008", message, hint=hint))
            data = b""
            for chunk in response.iter_raw():
                data += chunk
                if len(data) >= size:
                    break
            return Part(data[:size], int(span[3]))

    def lacks(self, filename: str) -> NetcalcError:
        """Return the error for a file that should be there."""
        revision = f" at {self.name.revision!r}" if self.name.revision else ""
        hint = "netcalc reads the config.json of a model, and its safetensors files"
        message = f"{self.name.repository} has no {self.name.file(filename)}{revision}"
        return NetcalcError(Diagnostic("E008", message, hint=hint))

    def _has_cache(self) -> bool:
        """Return True if the cache has a configuration of the repository at the revision."""
        return any(self.cached(filename) is not None for filename in _CONFIGURATIONS)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turn errors of the library and of the connection into diagnostics."""
        try:
            yield
        except (NetcalcError, MemoryError):
            raise
        except Exception as error:  # errors of the transport have no class in common
            raise NetcalcError(diagnosed(error, self.name)) from error
