"""The blocks of the page "From PyTorch", which are skipped where PyTorch is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests import test_docs as docs

PAGE = docs.ROOT / "docs" / "from-pytorch.md"


def test_python_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs.test_python_blocks_run_in_order(PAGE, tmp_path, monkeypatch)


@pytest.mark.parametrize(("info", "text", "files"), [b for b in docs.blocks("console") if "from-pytorch" in str(b.id)])
def test_console_blocks(
    info: str,
    text: str,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    docs.test_console_blocks_print_what_they_show(info, text, files, tmp_path, monkeypatch, capsys)
