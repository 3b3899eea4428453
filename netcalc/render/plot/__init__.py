"""Charts: declared once, and drawn in characters of a terminal, as SVG and as PNG.

A drawing is a :class:`Chart` of lines, areas and points, :class:`Bars`, or a :class:`HeatMap`.  It is a part of a
page, as a table is: ``yield Chart("loss", "step", "loss", [Series("loss", points)])`` in a page prints it in
characters, and a page in HTML holds its SVG.  Apart from pages, ``plot.svg.chart_svg`` returns the SVG as a document,
``plot.text.chart_text`` the lines of a terminal, and ``plot.files.write_charts`` writes files.  Presentations yield
their drawings in ``charts``, which ``Result.plot`` and ``-o FILE.svg`` write.
"""

from netcalc.render.plot.charts import COUNT, Bars, Chart, Drawing, HeatMap, Mark, Point, Series, Values

__all__ = ["COUNT", "Bars", "Chart", "Drawing", "HeatMap", "Mark", "Point", "Series", "Values"]
