"""Typed tables: output formats, and fitting to a width."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.dims import symbol
from netcalc.render.shorten import shorten_middle, shorten_path, shorten_shapes
from netcalc.render.table import Column, Elements, Row, Share, Sides, Table, Tied, Uncounted
from netcalc.render.table_csv import table_csv
from netcalc.render.table_html import table_html
from netcalc.render.table_markdown import table_markdown
from netcalc.render.table_text import table_text
from netcalc.render.text import Terminal, width_of
from netcalc.tensor_type import TensorType

COLUMNS = [
    Column("layer", "path", key="path"),
    Column("empty"),
    Column("output", "shapes", 20),
    Column("parameters", "count", key="params"),
    Column("MACs", "work", 50),
    Column("share", "share", 10),
]


def row(path: str, shape: tuple[int, ...], params: object, macs: object, share: Share, repeat: int = 1) -> Row:
    return Row([path, None, [TensorType(shape)], params, macs, share], repeat)


TABLE = Table(
    COLUMNS,
    [
        row("stem", (1, 8, 16, 16), 224, 55296, Share(1, 4)),
        Row(
            ["stage", None, None, 1776, 442368, Share(3, 4)],
            3,
            [
                row("conv", (1, 8, 16, 16), Tied(576), 147456, Share(3, 4)),
                row("relu", (1, 8), 0, Uncounted(), Share(0, 4)),
            ],
        ),
    ],
    [Row(["total", None, None, 2000, 1_000_000, Share(4, 4)])],
)


def test_text() -> None:
    assert table_text(TABLE).splitlines() == [
        "layer     output     parameters       MACs    share",
        "───────────────────────────────────────────────────",
        "stem      1×8×16×16         224     55,296   25.0 %",
        "stage ×3                  1,776    442,368   75.0 %",
        "├─ conv   1×8×16×16    576 tied    147,456   75.0 %",
        "└─ relu   1×8                            –",
        "───────────────────────────────────────────────────",
        "total                     2,000  1,000,000  100.0 %",
    ]


def test_markdown() -> None:
    assert list(table_markdown(TABLE._replace(title="a | b", about="c"))) == [
        "**a | b**: c",
        "",
        "| layer | output | parameters | MACs | share |",
        "|:--|:--|--:|--:|--:|",
        "| stem | 1×8×16×16 | 224 | 55,296 | 25.0 % |",
        "| stage ×3 |  | 1,776 | 442,368 | 75.0 % |",
        "| conv | 1×8×16×16 | 576 tied | 147,456 | 75.0 % |",
        "| relu | 1×8 |  | – |  |",
        "| total |  | 2,000 | 1,000,000 | 100.0 % |",
    ]
    assert list(table_markdown(Table([Column("a")], [Row(["x | \x1b[2J"])]))) == [
        "| a |",
        "|:--|",
        "| x \\| \\x1b[2J |",
    ]


def test_csv_has_plain_values_and_every_column() -> None:
    rows = list(csv.reader(io.StringIO("\n".join(table_csv(TABLE)))))
    assert rows == [
        ["path", "empty", "output", "params", "MACs", "share"],
        ["stem", "", "1x8x16x16", "224", "55296", "0.25"],
        ["stage", "", "", "1776", "442368", "0.75"],
    ]
    values = [symbol("n") * 2, Tied(3), Uncounted(), Sides([1, 2]), 'x, "y"']
    columns = [Column(str(i), "count") for i in range(len(values))]
    assert list(table_csv(Table(columns, [Row(values)])))[1] == '2*n,3,0,1 → 2,"x, ""y"""'


def test_html_is_escaped_and_indented() -> None:
    html = table_html(TABLE._replace(rows=[Row(["<b>", None, None, 1, 2, Share(0, 1)]), *TABLE.rows]))
    assert "&lt;b&gt;" in html and "<b>" not in html
    assert "├─ conv</td>" in html
    assert html.count("<tr>") == 1 + 5 + 1


def test_columns_of_low_priority_are_dropped_first_and_named() -> None:
    narrow = [table_text(TABLE, Terminal(width=width)) for width in (50, 46, 38, 24)]
    assert narrow[0].splitlines()[-1] == "numbers rounded (--wide shows all)"
    assert "numbers rounded; columns not shown: share (--wide" in narrow[1].replace("\n", " ")
    assert "columns not shown: output, share" in narrow[2].replace("\n", " ")
    assert "columns not shown: output, MACs, share" in narrow[3].replace("\n", " ")
    assert all("1,776" in text or "1.776 k" in text for text in narrow)


def test_digits_shorten_before_columns_are_dropped() -> None:
    columns = [
        Column("layer", "path"),
        Column("output", "shapes", 20),
        Column("params", "count"),
        Column("MACs", "work"),
        Column("Δ", "difference", 10),
        Column("share", "share", 30),
    ]
    cells = ["head", [TensorType((1, 2048, 128256))], 70_553_706_496, 16_465_123_456_789, -1_050_673_152, Share(1, 3)]
    few = ["norm", [TensorType((1, 2048, 8192))], 8192, 12, Elements(-1_050_673_152), Share(0, 3)]
    lines = table_text(Table(columns, [Row(cells), Row(few)]), Terminal(width=60)).splitlines()
    assert lines == [
        "layer  output          params     MACs         Δ   share",
        "────────────────────────────────────────────────────────",
        "head   1×2048×128256  70.55 B  16.47 T  −1.051 G  33.3 %",
        "norm   1×2048×8192    8.192 k     12    −1.051 B",
        "numbers rounded (--wide shows all)",
    ]
    for width in (None, 90):
        full = table_text(Table(columns, [Row(cells)]), Terminal(width=width))
        assert "70,553,706,496  16,465,123,456,789  −1,050,673,152" in full
        assert "rounded" not in full


def test_rows_of_zeros_are_folded_in_a_terminal() -> None:
    zeros = [Row(["split", 0], 1, [Row(["transpose", 0], zero=True)], zero=True), Row(["flatten", 0], zero=True)]
    block = Row(["attention", 7], 2, [Row(["query", 7]), *zeros])
    table = Table([Column("layer", "path"), Column("MACs", "work")], [block, Row(["dropout", 0], zero=True)])
    assert table_text(table, Terminal(width=80)).splitlines()[2:] == [
        "attention ×2     7",
        "├─ query         7",
        "└─ … 2 more      0",
        "dropout          0",
        "rows of zeros folded (--wide shows all)",
    ]
    full = table_text(table)
    assert all(name in full for name in ("split", "transpose", "flatten"))
    assert "folded" not in full


def test_names_are_not_truncated_at_any_width() -> None:
    table = Table([Column("name", "name"), Column("count", "count")], [Row(["scaled_dot_product", 123_456_789])])
    assert "scaled_dot_product  123.5 M" in table_text(table, Terminal(width=10))


def test_paths_are_shortened_in_the_middle_next() -> None:
    table = Table([Column("layer", "path"), Column("n", "total")], [Row(["encoder.layers.0.attention.query", 7], 12)])
    text = table_text(table, Terminal(width=30))
    assert "encoder.…query ×12" in text
    assert "shortened: layer" in text
    assert "encoder.…attention.query ×12" in table_text(table, Terminal(width=31))


def test_tree_branches_are_narrower_at_small_widths() -> None:
    tree = leaf = Row(["leaf", 10**9])
    for name in "edcba":
        tree = Row([name, 10**9], 1, [tree, leaf])
    table = Table([Column("layer", "path"), Column("n", "count")], [tree])
    assert "│  │  │  ├─ leaf  1,000,000,000" in table_text(table)
    assert "│ │ │ ├ leaf  1,000,000,000" in table_text(table, Terminal(width=30))


def test_prose_is_wrapped_and_never_cut() -> None:
    sentence = "every word of this sentence is shown however narrow the terminal is"
    table = Table([Column("name", "name"), Column("description", "prose")], [Row(["relu", sentence])])
    text = table_text(table, Terminal(width=40))
    assert " ".join(text.split()).endswith(f"relu {sentence}")
    assert all(line.startswith("      ") for line in text.splitlines()[3:])


@given(st.lists(st.tuples(st.text(max_size=40), st.integers(0, 10**12)), min_size=1, max_size=4), st.integers(60, 100))
def test_text_fits_the_width(rows: list[tuple[str, int]], width: int) -> None:
    columns = [Column("path", "path"), Column("text"), Column("description", "prose"), Column("count", "count")]
    table = Table(columns, [Row([path, path, path, count]) for path, count in rows])
    assert all(width_of(line) <= width for line in table_text(table, Terminal(width=width)).splitlines())


def test_wide_characters_keep_columns_aligned() -> None:
    table = Table([Column("a"), Column("b")], [Row(["層", "1"]), Row(["ab", "2"])])
    assert table_text(table).splitlines()[2:] == ["層  1", "ab  2"]


def test_titles_and_totals_are_colored() -> None:
    text = table_text(TABLE, Terminal(color=True))
    assert text.startswith("\x1b[1mlayer")
    assert "\x1b" not in table_text(Table([Column("a")], [Row(["\x1b[2J"])]))


@pytest.mark.parametrize(
    ("path", "width", "shorter"),
    [
        ("layer1.0.conv2", 14, "layer1.0.conv2"),
        ("layer1.0.conv2", 13, "layer1.…conv2"),
        ("a.b.c.d", 6, "a.…c.d"),
        ("encoder.layer.11.dense ×12", 22, "encoder.…11.dense ×12"),
        ("single_part_name", 9, "sing…name"),
    ],
)
def test_shorter_paths(path: str, width: int, shorter: str) -> None:
    assert shorten_path(path, width) == shorter


@given(st.text(max_size=30), st.integers(1, 30))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert width_of(shorten_middle(text, width)) <= width


def test_shapes_are_omitted_whole() -> None:
    assert shorten_shapes("1×2×3, 1×2, 3 of 4×5", 12) == "1×2×3 + 4 more"
    assert shorten_shapes("1×2×3, 1×2, 3 of 4×5", 20) == "1×2×3, 1×2, 3 of 4×5"
    assert shorten_shapes("123456789×123456789", 3) == "123456789×123456789"


def test_very_long_texts_are_shortened_in_linear_time() -> None:
    """Trying every number of parts would take minutes."""
    assert shorten_path("a." * 1_000_000 + "end", 20) == "a.…a.a.a.a.a.a.a.end"
    assert shorten_shapes(", ".join(["1×2"] * 1_000_000), 20) == "1×2 + 999999 more"
