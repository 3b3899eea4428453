"""Build hook: compiles the optional kernels in C before netcalc is packed or installed, and writes the manual pages.

Without a C compiler, or with NETCALC_PURE=1, netcalc is pure Python and uses NumPy in their place.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FLAGS = ("-fPIC", "-O3", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi")


#: Program that writes the manual pages, by the package in the folder of its first argument.
_MANUALS = """import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from netcalc.cli.manual import manuals
for name, page in manuals():
    Path(sys.argv[2], name).write_text(page, encoding="utf-8")"""


class KernelsBuildHook(BuildHookInterface):
    """Adds manual pages and the shared library to a wheel, which is then for one platform."""

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the manual pages, and compile the library; warn about what fails."""
        self._add_manuals(build_data)
        self._add_library(build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete what was packed from a temporary folder."""
        if self._folder is not None:
            self._folder.cleanup()

    def _add_manuals(self, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        # in a process of its own, since the package is not installed yet and stays as it is
        program = [sys.executable, "-I", "-B", "-c", _MANUALS, self.root, self._folder.name]
        written = subprocess.run(program, capture_output=True, text=True, check=False)
        if written.returncode != 0:
            self.app.display_warning(f"The manual pages were not written: {written.stderr.strip()}")
            return
        for page in sorted(Path(self._folder.name).iterdir()):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"

    def _add_library(self, build_data: dict[str, Any]) -> None:
        native = _module(Path(self.root) / "netcalc/engine/native/sources.py")
        try:
            reason = compiled(native)
        except OSError as error:  # a folder that cannot be written
            reason = str(error)
        if reason is not None:
            self.app.display_warning(f"The kernels in C were not compiled, NumPy takes their place: {reason}")
            return
        build_data["artifacts"].append(native.LIBRARY.relative_to(self.root).as_posix())
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"


def compiled(native: Any) -> str | None:
    """Compile the library; return the reason if that is not possible, and leave no library then.

    A library that the same compiler made of the same sources is kept: a build calls this for its metadata too.
    """
    reason = _unavailable()
    if reason is not None:
        native.LIBRARY.unlink(missing_ok=True)
        return reason
    command = [*_compiler(), "-c", *_FLAGS]
    build = _build(native.digest(), command)
    if native.LIBRARY.is_file() and build.encode() in native.LIBRARY.read_bytes():
        return None
    native.LIBRARY.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=native.LIBRARY.parent) as folder:
        once = [*command, f'-DDIGEST="{native.digest()}"', f'-DBUILD="{build}"', *map(str, native.ONCE)]
        reason = _run(once, folder) or _compile_kernels(command, native, folder)
        if reason is None:
            objects = sorted(map(str, Path(folder).rglob("*.o")))
            made = Path(folder) / native.LIBRARY.name
            reason = _run([*_compiler(), "-shared", *objects, "-lm", "-o", str(made)], folder)
        if reason is None:
            made.replace(native.LIBRARY)  # in one step: a process that has mapped the old one keeps it
    return reason


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def _unavailable() -> str | None:
    """Return the reason why nothing is compiled here, if there is one."""
    if os.environ.get("NETCALC_PURE") == "1":
        return "NETCALC_PURE is set"
    if sys.platform not in ("linux", "darwin"):
        return f"{sys.platform} is not supported"
    (program, *_) = _compiler()
    return f"there is no {program}" if shutil.which(program) is None else None


def _build(digest: str, command: list[str]) -> str:
    """Return the digest of the sources, of the command that compiles them, and of the version of the compiler."""
    version = subprocess.run([*_compiler(), "--version"], capture_output=True, text=True, check=False).stdout
    return hashlib.sha256("\0".join((digest, *command, version)).encode()).hexdigest()


def _compile_kernels(command: list[str], native: Any, folder: str) -> str | None:
    """Compile the kernels for the instruction sets that the compiler knows; return the reason if the first fails."""
    sets = native.instruction_sets()
    for name in sets:
        Path(folder, name).mkdir()
    jobs = [
        (name, [*command, *options, f"-DISA={name}", str(source)])
        for name, options in sets.items()
        for source in native.KERNELS
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reasons = list(pool.map(lambda job: _run(job[1], str(Path(folder, job[0]))), jobs))
    failed = {name: reason for (name, _), reason in zip(jobs, reasons, strict=True) if reason is not None}
    for name in failed:
        shutil.rmtree(Path(folder, name))
    return failed.get(next(iter(sets)))


def _run(command: list[str], folder: str) -> str | None:
    """Run a compiler in a folder; return the reason if it fails."""
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return None if result.returncode == 0 else result.stderr.strip() or f"{command[0]} failed"


def _module(path: Path) -> Any:
    """Return a module by its path, since the package is not installed yet."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
