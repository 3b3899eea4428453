"""The blocks of pages that need a library, which are skipped where it is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("transformers")

from tests import test_docs as docs


@pytest.mark.parametrize("page", [docs.ROOT / "docs" / name for name in docs.LIBRARIES], ids=lambda page: page.name)
def test_python_blocks(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs.test_python_blocks_run_in_order(page, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("info", "text", "files"), [b for b in docs.blocks("console") if any(page in str(b.id) for page in docs.LIBRARIES)]
)
def test_console_blocks(
    info: str,
    text: str,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    docs.test_console_blocks_print_what_they_show(info, text, files, tmp_path, monkeypatch, capsys)
