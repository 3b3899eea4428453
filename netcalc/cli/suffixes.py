"""Suffixes of files, which choose what is written to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import is_folder

#: Formats of a report by the suffix of its file.
FORMATS = {".txt": "table", ".md": "markdown", ".csv": "csv", ".json": "json", ".html": "html"}
#: Formats of findings alone.
FINDINGS = {".sarif": "sarif"}
#: Files of a report; without a suffix, it has the format of ``--format``.
REPORTS = ("", *FORMATS)
PICTURES = (".svg", ".png")
#: Files of a graph: pictures, and texts that other programs draw.
GRAPHS = (*PICTURES, ".dot", ".gv", ".mmd")
TENSORS = (".safetensors", ".npz", ".npy")
#: Files of the rows of a sweep alone; .csv is another one. The page is printed besides.
ROWS = (".parquet", ".jsonl")
SPECS = ("", ".yaml", ".yml")


def suffix_of(path: str | None) -> str:
    """Return the suffix of a path in lower case; an empty text if there is none."""
    return Path(path or "").suffix.lower()


def require_file(option: str, path: str, suffixes: Sequence[str]) -> None:
    """Check the name of a file before anything is computed for it.

    Args:
        option: the option that names the file.
        path: the file.
        suffixes: suffixes that the command writes; among them an empty text if the file may have none.

    Raises:
        NetcalcError: E502 for another suffix, for a folder that does not exist, and for a .png without the library
            that writes it.
    """
    suffix = suffix_of(path)
    if suffix not in suffixes:
        hint = f"the suffix chooses what is written: {', '.join(filter(None, suffixes))}"
        message = f"{suffix} files are not written here" if suffix else "the name has no suffix"
        raise NetcalcError(Diagnostic("E502", f"{option} {path}: {message}", hint=hint))
    if not is_folder(Path(path).parent):
        raise NetcalcError(Diagnostic("E502", f"{option} {path}: there is no folder {str(Path(path).parent)!r}"))
    if suffix == ".png":
        from netcalc.render.rasterizer import require_rasterizer

        require_rasterizer()


def require_format(path: str, format_: str | None) -> None:
    """Check that ``--format`` does not contradict the suffix of ``--output``; tensors and specs have no format.

    Raises:
        NetcalcError: E502 for two formats.
    """
    suffix = suffix_of(path)
    chosen = (FORMATS | FINDINGS).get(suffix)
    if format_ is not None and (suffix in GRAPHS or chosen not in (None, "table" if format_ == "text" else format_)):
        hint = "leave out --format: the suffix chooses the format"
        raise NetcalcError(
            Diagnostic("E502", f"--format {format_} and --output {path} contradict each other", hint=hint)
        )
