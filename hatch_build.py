"""Build hook: compiles the optional kernels in C before netcalc is packed or installed.

Without a C compiler, or with NETCALC_PURE=1, netcalc is pure Python and uses NumPy in their place.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FLAGS = ("-shared", "-fPIC", "-O3", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi")


class KernelsBuildHook(BuildHookInterface):
    """Adds the shared library to a wheel, which is then for one platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the library, or warn."""
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
    """Compile the library; return the reason if that is not possible, and leave no library then."""
    native.LIBRARY.unlink(missing_ok=True)
    if os.environ.get("NETCALC_PURE") == "1":
        return "NETCALC_PURE is set"
    if sys.platform not in ("linux", "darwin"):
        return f"{sys.platform} is not supported"
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(compiler[0]) is None:
        return f"there is no {compiler[0]}"
    with tempfile.TemporaryDirectory(dir=native.LIBRARY.parent) as folder:
        made = Path(folder) / native.LIBRARY.name
        command = [
            *compiler,
            *_FLAGS,
            f'-DDIGEST="{native.digest()}"',
            *map(str, native.SOURCES),
            "-lm",
            "-o",
            str(made),
        ]
        for more in ([], ["-DSINGLE_VERSION"]):  # older compilers do not know all versions of processors
            result = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
            if result.returncode == 0:
                made.replace(native.LIBRARY)  # in one step: a process that has mapped the old one keeps it
                return None
    return result.stderr.strip() or f"{compiler[0]} failed"


def _module(path: Path) -> Any:
    """Return a module by its path, since the package is not installed yet."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
