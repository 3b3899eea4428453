"""Networks of tests/specs/, and the recorded runs of small ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netcalc.ir import Program
from tests.zoo import harness

SPECS = Path(__file__).parent.parent / "specs"


def built(spec: str, **settings: Any) -> Program:
    """A spec of tests/specs/ at these settings."""
    return harness.built(str(SPECS / f"{spec}.yaml"), **settings)


def check_case(
    case: str,
    spec: str,
    settings: Mapping[str, Any],
    *,
    outputs: Mapping[str, str] | None = None,
    activations: Mapping[str, str] | None = None,
) -> None:
    """Runs a spec of tests/specs/ on a recorded case; see :func:`tests.zoo.harness.check_case`."""
    path = str(SPECS / f"{spec}.yaml")
    harness.check_case(case, path, settings, outputs=outputs or {"": "output"}, activations=activations)
