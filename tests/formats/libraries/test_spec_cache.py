"""The cache of spec documents in the user's folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netcalc.formats.libraries import spec_cache
from netcalc.formats.libraries.spec_cache import cache_folder, cached, keep, key_of


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NETCALC_CACHE", str(tmp_path))
    return cache_folder()


def test_what_is_kept_is_found_under_its_key() -> None:
    key = key_of({"library": "timm", "model": {"architecture": "resnet18"}})
    assert cached(key) is None
    keep(key, {"layers": [1, "é"]})
    assert cached(key) == {"layers": [1, "é"]}
    assert cached(key_of({"library": "timm", "model": {"architecture": "resnet34"}})) is None


def test_files_belong_to_their_user(folder: Path) -> None:
    keep("a", [1])
    (file,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"\n", b"{}", b"0" * 64 + b"\n{}", b"\xff\n\xff"], ids=repr)
def test_a_file_that_was_changed_is_removed(folder: Path, content: bytes) -> None:
    keep("a", [1])
    (file,) = folder.iterdir()
    file.write_bytes(content)
    assert cached("a") is None
    assert not file.exists()


def test_a_file_that_others_can_write_to_is_not_read(folder: Path) -> None:
    keep("a", [1])
    (file,) = folder.iterdir()
    file.chmod(0o666)
    assert cached("a") is None


def test_a_link_is_not_read(folder: Path, tmp_path: Path) -> None:
    keep("a", [1])
    (file,) = folder.iterdir()
    other = file.rename(tmp_path / "other")
    file.symlink_to(other)
    other.chmod(0o666)
    (tmp_path / "specs").chmod(0o700)
    assert cached("a") is None


def test_a_folder_of_others_keeps_nothing(folder: Path) -> None:
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    keep("a", [1])
    assert not [*folder.iterdir()]


def test_the_folder_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_cache, "MAX_SPEC_CACHE", 3 * 1_100)
    for number, key in enumerate("abcd"):
        keep(key, "x" * 1_000)
        os.utime(folder / f"{key}.spec.json", (number, number))
    keep("e", "x" * 1_000)
    assert [key for key in "abcde" if cached(key) is not None] == ["d", "e"] or len([*folder.iterdir()]) == 3
    assert cached("a") is None
    assert cached("e") is not None


def test_what_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_cache, "MAX_CACHED_SPEC", 100)
    keep("a", "x" * 101)
    assert cached("a") is None
