"""The formats that networks are written in, by the suffix of the file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from netcalc.analysis.exported import Exported
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.export.job import Job


class Format(NamedTuple):
    """A format: its title, the module that has ``write(job)``, and the options of ``export`` that it has no use for."""

    title: str
    module: str
    without: frozenset[str] = frozenset()


#: The formats by suffix.
FORMATS: dict[str, Format] = {
    ".onnx": Format("a graph in ONNX", "netcalc.formats.export.onnx.model"),
    ".py": Format(
        "code of PyTorch",
        "netcalc.formats.export.torch.model",
        frozenset({"draw", "opset", "external", "init", "cast"}),
    ),
}
SUFFIXES = tuple(FORMATS)


def exported(job: Job) -> Exported:
    """Write a network in the format of the suffix of its path, and return what was written.

    Raises:
        NetcalcError: E502 for an unknown suffix, for options that contradict each other or that the format has no use
            for, and for a file that cannot be written; E010 with everything that the format cannot express.
    """
    suffix = Path(job.path).suffix.lower()
    if suffix not in FORMATS:
        hint = f"the suffix chooses what is written: {', '.join(SUFFIXES)}"
        message = f"{suffix} files are not written" if suffix else "the name has no suffix"
        raise NetcalcError(Diagnostic("E502", f"{job.path}: {message}", hint=hint))
    format_ = FORMATS[suffix]
    _check(job, format_, suffix)
    written: Exported = import_module(format_.module).write(job)
    return written


def _check(job: Job, format_: Format, suffix: str) -> None:
    """Check the options of an export; NetcalcError (E502) if they contradict each other or the format."""
    options = job.options
    unused = sorted(name for name in format_.without if options[name] not in (None, False, "default", 0))
    if unused:
        names = " and ".join(f"--{name}" for name in unused)
        raise NetcalcError(Diagnostic("E502", f"{names}: a {suffix} file has no use for it"))
    if job.weights is not None and options["draw"]:
        raise NetcalcError(Diagnostic("E502", "--draw and --weights contradict each other"))
    if not options["draw"] and options["init"] != "default":
        raise NetcalcError(Diagnostic("E502", "--init is for drawn weights", hint="add --draw"))
    if job.program.training:
        raise NetcalcError(
            Diagnostic("E502", "a network is exported as it is in inference", hint="leave out --mode train")
        )
