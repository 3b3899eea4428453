"""Files that a text extends or imports, as they are in an editor or on disk."""

from __future__ import annotations

from pathlib import Path

from netcalc.language import Document, OpenFiles

BASE = """\
netcalc: 1
inputs: {x: [2, 8]}
blocks:
  wide: {args: {out: int}, layers: [{linear: "${out}"}]}
layers:
  - {name: fc, linear: 4}
"""
CHILD = "netcalc: 1\nextends: middle\nimport: [base]\npatch:\n  - append: [wide: {out: 3}]\n"


def test_files_are_read_as_they_are_in_the_editor(tmp_path: Path) -> None:
    base, middle, child = (tmp_path / f"{name}.yaml" for name in ("base", "middle", "child"))
    base.write_text(BASE, encoding="utf-8")
    middle.write_text("netcalc: 1\nextends: base\n", encoding="utf-8")
    opened = OpenFiles()
    document = Document(CHILD, child, opened=opened)

    def params() -> int | str | None:
        document.forget()
        totals = document.analyze().totals
        return None if totals is None else totals.params

    assert params() == 51  # 8·4 + 4 and 4·3 + 3
    assert opened.open(base, BASE.replace("linear: 4", "linear: 5"))
    assert document.depends_on(base) and not document.depends_on(tmp_path / "other.yaml")
    assert params() == 63  # 8·5 + 5 and 5·3 + 3
    assert opened.open(base, BASE.replace('"${out}"', '"${out + 1}"'))
    assert params() == 56  # 8·4 + 4 and 4·4 + 4
    assert opened.open(middle, "netcalc: 1\nextends: bas")
    assert params() is None
    assert document.depends_on(middle)
    assert [problem.range.start.line for problem in document.analyze().problems] == [1]
    opened.close(middle)
    opened.close(base)
    assert params() == 51
    base.write_text(BASE.replace("linear: 4", "linear: 16"), encoding="utf-8")  # extended by a file that did not change
    assert params() == 195  # 8·16 + 16 and 16·3 + 3
