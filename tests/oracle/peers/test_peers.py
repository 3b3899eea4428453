"""Small modules of all kinds against PyTorch: parameters, FLOPs of both passes and outputs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.oracle.peers.expected import EXPECTED
from tests.oracle.peers.measures import differences
from tests.oracle.peers.registry import CASES

for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
    if not path.stem.startswith("test_"):
        import_module(f"tests.oracle.peers.{path.stem}")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_module(name: str) -> None:
    found = differences(CASES[name])
    expected = EXPECTED.get(name)
    assert set(found) == (expected.parts if expected else set()), found


def test_most_modules_agree() -> None:
    assert len(CASES) >= 600
    assert EXPECTED.keys() <= CASES.keys()
    assert len(EXPECTED) <= 0.03 * len(CASES)
