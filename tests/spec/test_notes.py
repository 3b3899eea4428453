"""Remarks of a spec on what is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

import netcalc

SPEC = """
netcalc: 1
name: noted
dims: {length: 4}
vars: {fast: true}
notes:
  - {text: "${length} positions"}
  - {when: fast, text: the fast way}
  - {when: not fast, text: the slow way}
inputs: {x: [1, length, 8]}
layers: [{name: fc, linear: 4}]
"""


def test_reports_of_what_is_counted_have_the_notes_that_hold() -> None:
    network = netcalc.loads(SPEC, set={"fast": False, "length": 6})
    notes = ("6 positions", "the slow way")
    for result in (network.summary(), network.summary(view="flops"), network.memory(), network.explain()):
        assert result.notes == notes
        assert "\n6 positions\nthe slow way\n" in str(result)
        assert netcalc.as_dict(result)["notes"] == [*notes]
    for view in ("params", "shapes"):
        assert not network.summary(view=view).notes
        assert "slow" not in str(network.summary(view=view))
        assert "notes" not in netcalc.as_dict(network.summary(view=view))
    assert "notes" not in netcalc.as_dict(netcalc.load("mlp").summary())


def test_notes_are_inherited_with_the_lines_that_they_describe(tmp_path: Path) -> None:
    (tmp_path / "noted.yaml").write_text(SPEC)

    def notes(text: str) -> tuple[str, ...]:
        (tmp_path / "child.yaml").write_text(f"netcalc: 1\nextends: noted.yaml\n{text}")
        return netcalc.load(tmp_path / "child.yaml").summary().notes

    assert notes("dims: {length: 5}") == ("5 positions", "the fast way")
    assert notes("notes: [{text: mine}]") == ("mine",)
    assert notes("layers: [relu]") == ()


def test_a_note_of_an_unknown_name_is_an_error() -> None:
    with pytest.raises(netcalc.NetcalcError, match="fst") as raised:
        netcalc.loads(SPEC.replace("when: fast", "when: fst"))
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.span is not None and diagnostic.span.line == 8
