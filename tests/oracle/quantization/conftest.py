"""Warnings of the libraries that quantize, which are not errors here."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings in the tests of this folder."""
    for item in items:
        if "oracle/quantization" in item.path.as_posix():
            item.add_marker(pytest.mark.filterwarnings("ignore"))
