"""Rules of signals are found by the families of their operations."""

from __future__ import annotations

from pathlib import Path

from netcalc import ops
from netcalc.analysis.signal import rules


def test_every_module_is_found_and_has_a_rule() -> None:
    modules = {path.stem for path in Path(str(rules.__file__)).parent.glob("*.py") if not path.stem.startswith("_")}
    assert {ops.family(name) for name in rules.RULES.names()} == modules
    assert {ops.family(name) for name in rules.RULES.names() if rules.RULES.get(name) is not None} == modules
