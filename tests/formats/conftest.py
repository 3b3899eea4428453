"""Formats are read by tables, whatever libraries are installed that could build a model in their place."""

from __future__ import annotations

import pytest

from netcalc.formats.libraries import packages


@pytest.fixture(autouse=True)
def _no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_version", lambda package: None)
