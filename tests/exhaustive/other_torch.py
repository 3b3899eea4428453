"""The sample of ``imports`` in an environment of its own, with another version of torch than the pinned one."""

from __future__ import annotations

import json
import subprocess
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.exhaustive.record import read

_ROOT = Path(__file__).parent.parent.parent
_CONSTRAINTS = _ROOT / "tests" / "oracle" / "constraints.txt"
#: Packages whose versions follow from the version of torch.
_FREE = ("torch", "torchvision")
#: Prints versions and results as the last line.
_SAMPLE = """
import json
from importlib.metadata import version
from tests.exhaustive import imports, record
cases = imports.sample(record.read("imports")["result"])
print(json.dumps({"packages": {name: version(name) for name in imports.NEEDED}, "cases": cases}))
"""


def sample_with(torch: str) -> tuple[dict[str, Any], list[str]]:
    """Import the sample's models; return versions and results, and the results that differ from the record.

    Args:
        torch: a version, or ``"newest"`` for the newest that the extra ``torch`` admits.
    """
    with TemporaryDirectory() as folder:
        result = _run(Path(folder), torch)
    recorded = read("imports")["sample"]
    different = [
        f"{name}: {found}, recorded {recorded.get(name)}"
        for name, found in result["cases"].items()
        if found != recorded.get(name)
    ]
    return result, different


def _run(folder: Path, torch: str) -> dict[str, Any]:
    """Return what the sample prints in a new environment in this folder."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    pinned = _CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    constraints = [line for line in pinned if line.partition("==")[0] not in _FREE]
    constraints += [] if torch == "newest" else [f"torch=={torch}"]
    (folder / "constraints.txt").write_text("\n".join(constraints), encoding="utf-8")
    requirements = [f"{_ROOT}[torch,oracle,test]", "-c", str(folder / "constraints.txt")]
    subprocess.run([python, "-m", "pip", "install", "-q", *requirements], check=True)
    printed = subprocess.run([python, "-c", _SAMPLE], check=True, cwd=_ROOT, stdout=subprocess.PIPE, text=True).stdout
    result: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return result
