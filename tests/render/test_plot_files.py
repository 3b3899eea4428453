"""Files of charts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.render.plot import Bars, Chart, Drawing, Mark, Series, Values
from netcalc.render.plot.files import write_charts
from netcalc.render.plot.svg import COLORS, charts_svg
from tests.png import decoded, require_png

CHART = Chart(
    "norm of gradients",
    "layer",
    "norm",
    [Series("measured", [(1, 1e-3), (2, 1.0), (3, 1e3)]), Series("predicted", [(1, 1e-2), (3, 1e2)], dashed=True)],
    log_y=True,
    marks=[Mark(3, 1e3, "greatest")],
)
DRAWINGS: list[Drawing] = [CHART, CHART._replace(series=[]), Bars("sizes", "bytes", ["a", "b"], [Values("", [1, 2])])]


def test_a_png_has_the_colors_of_the_series_at_twice_the_size(tmp_path: Path) -> None:
    require_png()
    write_charts(str(tmp_path / "chart.png"), DRAWINGS)
    picture = decoded((tmp_path / "chart.png").read_bytes())
    svg = charts_svg(DRAWINGS)
    assert f'viewBox="0 0 {picture.width // 2} {picture.height // 2}"' in svg
    series = {tuple(bytes.fromhex(color[1:])) for color in COLORS[:2]}
    assert picture.colors() >= {*series, (255, 255, 255)}


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    for name, reason in (("chart.gif", ".gif files are not written here"), ("chart", "the name has no suffix")):
        with pytest.raises(NetcalcError) as raised:
            write_charts(str(tmp_path / name), DRAWINGS)
        (diagnostic,) = raised.value.diagnostics
        assert diagnostic.code == "E502" and reason in diagnostic.message
        assert diagnostic.hint == "the suffix chooses what is written: .svg or .png"
    assert not list(tmp_path.iterdir())


def test_resvg_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(NetcalcError) as raised:
        write_charts(str(tmp_path / "chart.png"), DRAWINGS)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "E502" and 'pip install "resvg-py>=0.5"' in str(diagnostic.hint)
