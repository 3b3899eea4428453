"""Families of fonts of pictures in PNG."""

from __future__ import annotations

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.render import rasterizer


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ({"sans-serif", "DejaVu Sans"}, None),
        ({"DejaVu Sans", "Arial"}, "DejaVu Sans"),
        ({"Arial"}, "Arial"),
    ],
)
def test_sans_serif_is_a_family_that_is_installed(
    installed: set[str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rasterizer, "_draws", installed.__contains__)
    assert rasterizer.sans_serif.__wrapped__() == expected


def test_a_system_without_fonts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rasterizer, "_draws", lambda family: False)
    with pytest.raises(NetcalcError, match="needs a font, and none is installed"):
        rasterizer.sans_serif.__wrapped__()
