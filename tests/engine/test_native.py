"""The compiled library: what is used, what is refused, and what happens without a compiler."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from netcalc.engine.native import library, sources

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.delenv("NETCALC_PURE", raising=False)
    monkeypatch.delenv("CC", raising=False)
    return _module(ROOT / "hatch_build.py")


@pytest.fixture
def native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A copy of the sources, one of the kernels, with a file in place of a library."""
    folder = shutil.copytree(ROOT / "netcalc/engine/native", tmp_path / "native")
    (folder / "kernels.so").write_bytes(b"an old one")
    module = _module(folder / "sources.py")
    monkeypatch.setattr(module, "KERNELS", module.KERNELS[:1])
    return module


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_library_of_other_sources_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "digest", lambda: "0" * 64)
    assert library._library.__wrapped__() is None


def test_a_file_that_is_no_library_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "kernels.so").write_bytes(b"no library")
    for name in ("kernels.so", "missing.so"):
        monkeypatch.setattr(library, "LIBRARY", tmp_path / name)
        assert library._library.__wrapped__() is None


@pytest.mark.skipif(shutil.which("cc") is None or sys.platform not in ("linux", "darwin"), reason="no C compiler")
def test_the_library_is_compiled_from_the_sources(
    hook: ModuleType, native: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hook.compiled(native) is None
    assert native.digest() == sources.digest()
    assert native.digest().encode() in native.LIBRARY.read_bytes()
    assert (
        sorted(path.suffix for path in native.LIBRARY.parent.iterdir() if path.is_dir() and path.name[0] != "_") == []
    )
    made = native.LIBRARY.stat()
    assert hook.compiled(native) is None
    assert native.LIBRARY.stat() == made, "a library of the same sources is kept"
    monkeypatch.setattr(hook, "_FLAGS", (*hook._FLAGS, "-DOTHER"))
    assert hook.compiled(native) is None
    assert native.LIBRARY.stat() != made


@pytest.mark.parametrize("name, value", [("NETCALC_PURE", "1"), ("CC", "no-such-compiler"), ("CC", "false")])
def test_without_a_compiler_no_library_is_left(
    hook: ModuleType, native: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    reason = hook.compiled(native)
    assert value in reason or name in reason
    assert not native.LIBRARY.exists()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_sources_compile_without_warnings() -> None:
    command = [
        "cc",
        "-fsyntax-only",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wno-psabi",
        "-Werror",
        "-DISA=any",
        '-DDIGEST=""',
        '-DBUILD=""',
    ]
    result = subprocess.run(
        [*command, *map(str, (sources.ONCE[0], *sources.KERNELS))], capture_output=True, text=True, check=False
    )
    assert result.stderr == ""


def _chosen(isa: str) -> subprocess.CompletedProcess[str]:
    """Return a run of a small network by the kernels of an instruction set."""
    command = [sys.executable, "-m", "netcalc", "run", "lenet5"]
    return subprocess.run(command, env={**os.environ, "NETCALC_ISA": isa}, capture_output=True, text=True, check=False)


def test_every_instruction_set_of_the_processor_runs() -> None:
    for isa in (*library.instruction_sets(), "numpy", ""):
        assert _chosen(isa).returncode == 0, isa


def test_an_instruction_set_that_is_not_there_is_an_error() -> None:
    result = _chosen("avx1024")
    assert result.returncode == 2
    assert "NETCALC_ISA=avx1024: there are no kernels for 'avx1024' that this processor can execute" in result.stderr
    assert "instruction sets here are " in result.stderr and result.stdout == ""
