"""Packs the installed packages and the standard library with compiled modules; runs in Pyodide when the page is built.

The archive of packages begins with the length of a list in JSON, which has the path and the size of each file; their
bytes follow.
"""

from __future__ import annotations

import importlib.util
import io
import json
import marshal
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

#: Parts of netcalc that execute networks, which need NumPy, and the parts that the page does not ask for.
_LEFT_OUT = (
    *("netcalc/cli", "netcalc/engine", "netcalc/numerics", "netcalc/training", "netcalc/verification"),
    *("netcalc/data/schemas", "netcalc/formats/torch", "netcalc/report/built", "pydantic/v1/", "pydantic/mypy"),
)
#: Modules of the standard library for terminals, debuggers, tests and servers of mail.
_LEFT_OUT_OF_LIBRARY = (
    *("_pyrepl/", "doctest.py", "imaplib.py", "multiprocessing/", "pdb.py", "pickletools.py", "pydoc.py"),
    *("pydoc_data/", "smtplib.py", "turtle", "unittest/", "wsgiref/", "xmlrpc/"),
)
#: Flags of a module that is loaded without a look at its source.
_UNCHECKED = (1).to_bytes(4, "little")


def pack(archive: str, licences: str) -> None:
    """Write the archive, and the licences of the packages, to files."""
    site = Path(sysconfig.get_paths()["purelib"])
    page = _compiled("netcalc_page.py", Path("/netcalc_page.py").read_bytes())
    files = [*_files(site), ("netcalc_page.pyc", page)]
    head = json.dumps([[name, len(content)] for name, content in files], separators=(",", ":")).encode()
    Path(archive).write_bytes(b"".join([len(head).to_bytes(4, "little"), head, *(content for _, content in files)]))
    Path(licences).write_text("".join(_licences(site)))


def pack_library(path: str) -> None:
    """Replace the archive of the standard library by one with compiled modules, which starts sooner."""
    packed = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for name in sorted(source.namelist()):
            if name.startswith(_LEFT_OUT_OF_LIBRARY) or name.endswith("/"):
                continue
            content = source.read(name)
            entry = (name[:-3] + ".pyc", _compiled(name, content)) if name.endswith(".py") else (name, content)
            target.writestr(zipfile.ZipInfo(entry[0]), entry[1], zipfile.ZIP_DEFLATED, 9)
    Path(path).write_bytes(packed.getvalue())


def _files(site: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(path for path in site.rglob("*") if path.is_file()):
        name = path.relative_to(site).as_posix()
        if name.startswith(_LEFT_OUT) or name.endswith((".pyi", ".c", ".h", "RECORD")) or "__pycache__" in name:
            continue
        if ".dist-info/" in name and not name.endswith("METADATA"):
            continue
        content = path.read_bytes()
        yield (name[:-3] + ".pyc", _compiled(name, content)) if name.endswith(".py") else (name, content)


def _compiled(name: str, source: bytes) -> bytes:
    # docstrings of netcalc are its documentation of operations
    code = compile(source, name, "exec", dont_inherit=True, optimize=0 if name.startswith("netcalc") else 2)
    return importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source) + marshal.dumps(code)


def _licences(site: Path) -> Iterator[str]:
    for folder in sorted(site.glob("*.dist-info")):
        for path in sorted(path for path in folder.rglob("*") if "licen" in path.name.lower() and path.is_file()):
            title = folder.name.removesuffix(".dist-info").replace("-", " ")
            yield f"{title}\n\n{path.read_text().strip()}\n\n{'-' * 80}\n\n"
