"""Models built by their libraries in a child process, which hands back the spec document."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from netcalc.confinement import require_processes
from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.formats.libraries.packages import installation, missing, versions
from netcalc.formats.libraries.spec_cache import cached, keep, key_of
from netcalc.formats.reading import Reading
from netcalc.notices import notify
from netcalc.version import __version__

#: Dims of the specs that libraries make, which are settings of the spec; all other settings are the library's.
DIMS = frozenset(("batch", "frames", "height", "images", "length", "source", "target", "tokens", "width"))
#: Settings of the spec, which a configuration has no field for.
_OF_SPEC = DIMS | {"logits"}
_WORKER = "netcalc.formats.libraries.worker"
#: No network, no messages in place of a result, no check of values that a capture does not have.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_DISABLE_TORCH_CHECK": "1",
    "CUDA_VISIBLE_DEVICES": "",
}


def made_document(
    library: str, model: Any, label: str, why: str, reading: Reading, *, strict: Sequence[str] = ()
) -> tuple[dict[str, Any], set[str]]:
    """Return the spec document of a model as its library builds it, and the settings that went into it.

    Args:
        library: the library, a key of :data:`~netcalc.formats.libraries.packages.LIBRARIES`.
        model: the content of a configuration, or a name that the library knows.
        label: name of the model, in messages.
        why: reason for which the library builds it, in the notice.
        reading: settings, examples of inputs, and the time that the library may take.
        strict: fields which are an error if the class of the model does not have them.

    Raises:
        NetcalcError: E007 if the library is not installed; E009 if it does not take the model, or needs more time.
    """
    if absent := missing(library):
        message = f"{label} needs {_listed(absent)}, by which {library} builds it"
        raise NetcalcError(Diagnostic("E007", message, hint=installation(library)))
    found = versions(library)
    used = {name: value for name, value in reading.settings.items() if name not in _OF_SPEC}
    by = f"{library} {found[library]} with torch {found['torch']}"
    # transformers builds some models of diffusers' pipelines, too
    facts = {"versions": found | versions("diffusers"), "netcalc": __version__, "python": sys.version_info[:2]}
    request = {"library": library, "model": model, "strict": [*strict], "settings": used}
    request |= {"examples": list(reading.examples), "sizes": {}}

    def document() -> dict[str, Any]:
        key = key_of({**request, **facts})
        kept = cached(key)
        if isinstance(kept, dict):
            notify(f"{label}: {why}; {by} built it earlier")
            return kept
        notify(f"{label}: {why}; {by} builds it, which takes seconds")
        made = _document(_answer(request, label, reading.timeout), label)
        keep(key, made)
        return made

    made = document()
    fixed = {n: v for n, v in reading.settings.items() if n in DIMS and n not in made.get("dims", {})}
    if fixed:  # sizes that are numbers in the spec
        request["sizes"] = fixed
        made = document()
    return made, {*used, *fixed}


def _document(answer: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return the document in an answer; NetcalcError with the problems that it has in its place."""
    if (problems := answer.get("problems")) is not None:
        raise NetcalcError(Diagnostic(code, message, Span(label), hint=hint) for code, message, hint in problems)
    document: dict[str, Any] = answer["document"]
    return document


def _answer(request: Mapping[str, Any], label: str, timeout: int) -> dict[str, Any]:
    """Return what the child process answers to a request.

    Raises:
        NetcalcError: E009 if it takes too long, ends without an answer, or may not be started.
    """
    require_processes(label)
    root = str(Path(__file__).parents[3])
    paths = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), root]
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)}
    # -P: the current folder, which may be a repository of others, holds no module that is imported
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", _WORKER, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    try:
        written, errors = process.communicate(json.dumps(request).encode(), timeout)
    except subprocess.TimeoutExpired:
        hint = "--timeout SECONDS gives it more, in Python timeout=…"
        message = f"{request['library']} did not build {label} within {timeout} s"
        raise NetcalcError(Diagnostic("E009", message, Span(label), hint=hint)) from None
    finally:
        _end(process)
    try:
        answer: dict[str, Any] = json.loads(written)
        return answer
    except ValueError:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2][:400]
        message = f"{request['library']} ended while it built {label}" + (f": {last}" if last else "")
        raise NetcalcError(Diagnostic("E009", message, Span(label))) from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started."""
    if process.poll() is not None:
        return
    with suppress(OSError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
