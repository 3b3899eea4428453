"""Every operator in the exports of the recorded models has a rule."""

from __future__ import annotations

import json
import re

from netcalc.formats.torch.operators import rule_of
from tests.formats.torch.record_operators import OPERATORS

RECORDED = json.loads(OPERATORS.read_text(encoding="utf-8"))

#: Targets of calls that the translation treats itself: sizes, parts of results, and graphs that are called once.
TREATED = re.compile(r"<built-in function .*>|aten\.sym_.*|wrap_with_.*|<function sym_.*")


def test_every_operator_has_a_rule() -> None:
    names = [name for name in RECORDED["operators"] if not TREATED.fullmatch(name)]
    assert [name for name in names if rule_of(name) is None] == []
