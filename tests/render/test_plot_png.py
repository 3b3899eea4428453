"""Line charts as PNG."""

from __future__ import annotations

import sys

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.render.plot import Chart, Series
from netcalc.render.plot_png import charts_png

CHART = Chart(
    "norm of gradients",
    "layer",
    "norm",
    [Series("measured", [(1, 1e-3), (2, 1.0), (3, 1e3)]), Series("predicted", [(1, 1e-2), (3, 1e2)], dashed=True)],
    log_y=True,
)


def test_a_chart_is_a_picture_of_both_lines() -> None:
    image = pytest.importorskip("PIL.Image")
    import io

    picture = image.open(io.BytesIO(charts_png([CHART, CHART._replace(series=[])])))
    picture.load()
    assert (picture.format, picture.mode, picture.width) == ("PNG", "RGB", 1440)
    colors = {color for _, color in picture.getcolors(100_000)}
    assert {(0, 0x72, 0xB2), (0xD5, 0x5E, 0), (255, 255, 255)} <= colors


def test_pillow_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(NetcalcError) as raised:
        charts_png([CHART])
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "E502" and 'pip install "Pillow>=10.1"' in str(diagnostic.hint)
