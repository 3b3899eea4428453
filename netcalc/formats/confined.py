"""Confinement of a process to models below a folder, those that ship, and with ``network`` those on the Hub."""

from __future__ import annotations

from pathlib import Path

from netcalc.confinement import confine
from netcalc.spec.shipped import specs_dir


def confine_models(folder: str | Path, *, network: bool) -> None:
    """Confine the process (:mod:`netcalc.confinement`); models on the Hub are kept in its cache as otherwise.

    Args:
        folder: folder whose files may be read.
        network: True to permit models on the Hub.
    """
    confine(folder, shipped=(specs_dir(),), caches=_cache_folders() if network else (), network=network)


def _cache_folders() -> tuple[str, ...]:
    """Return the folders in which the library of the Hub keeps files; none without it."""
    try:
        from huggingface_hub import constants
    except ImportError:
        return ()
    return tuple(map(str, (constants.HF_HOME, constants.HF_HUB_CACHE, constants.HF_XET_CACHE)))
