"""Seed and records of the live oracles, and import of torchvision, which transformers and timm import too."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from netcalc.formats.libraries.torchvision_import import import_torchvision

import_torchvision()

if "PYTEST_XDIST_WORKER" in os.environ:  # the threads of several workers would wait for each other
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Draw the same numbers in each test, whichever ran before it."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(scope="module")
def measured(request: pytest.FixtureRequest) -> Iterator[dict[str, dict[str, Any]]]:
    """Collect the figures of a module by name, and write them to its ``RECORD`` with ``--update``."""
    figures: dict[str, dict[str, Any]] = {}
    yield figures
    if request.config.getoption("--update"):
        lines = (f"{json.dumps(name)}: {json.dumps(figure)}" for name, figure in figures.items())
        request.module.RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
