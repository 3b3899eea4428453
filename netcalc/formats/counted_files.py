"""Bytes of weights that the headers of a model's own files give, where they count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from netcalc.analysis.walk import parameters
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Poly
from netcalc.formats import HUB_PREFIX, weights_of
from netcalc.formats.sources import find_source
from netcalc.request import Request

if TYPE_CHECKING:
    from netcalc.analysis.file_weights import FileWeights
    from netcalc.ir import Program
    from netcalc.weights.checkpoint_files import Weights

_WITHOUT = "--bytes-from configuration counts without the files"


class CountedFiles(NamedTuple):
    """Weights by headers, None if these do not count, and remarks on where bytes come from."""

    weights: FileWeights | None = None
    notes: tuple[str, ...] = ()


def counted_files(request: Request, *, configuration: bool) -> CountedFiles:
    """Return the bytes of a model's weights by the headers of its files; nothing for a model without such files.

    Headers do not count if ``configuration`` is True, if options replace the form in which weights are stored, and if
    settings change the weights themselves.

    Raises:
        NetcalcError: E605 if files are damaged or pickles, E008 if the Hub cannot be read; E007 with everything by
            which the headers contradict the model.
    """
    if request.model is None:
        return CountedFiles()
    options = ["the configuration"] if configuration else list(_replacing(request))
    remote = str(request.model).startswith(HUB_PREFIX)
    if options and remote:  # nothing more is asked of the Hub
        return CountedFiles(None, (_left_out(options),))
    with _with_hint():
        source = find_source(str(request.model))
        if source is not None and source.format is not None and not source.format.counts_headers:
            return CountedFiles()
        weights = None if source is None else weights_of(source)
        if weights is None:
            lacking = f"bytes of weights by the configuration, as {request.model} has no weights in safetensors files"
            return CountedFiles(None, (lacking,) if remote else ())
        if configuration and request.source.storage.of_file:  # the headers are the configuration
            return CountedFiles()
        if options or _is_symbolic(request.with_open_storage().program):
            return CountedFiles(None, (_left_out(options or ["symbolic sizes"]),))
        return _by_headers(request, weights)


def _by_headers(request: Request, weights: Weights) -> CountedFiles:
    try:
        counted = _counted(request, weights)
    except NetcalcError as error:
        if not request.settings or any(problem.code != "E007" for problem in error.diagnostics):
            raise
        try:
            _counted(replace(request, settings={}, sizes={}), weights)
        except NetcalcError:
            raise error from None
        return CountedFiles(None, (_left_out(["--set"]),))
    return CountedFiles(counted, tuple(counted.notes))


def _counted(request: Request, weights: Weights) -> FileWeights:
    from netcalc.numerics.parameters import counted_weights

    storage = request.source.storage
    program = request.with_open_storage().program
    return counted_weights(program, weights, configured=not storage.of_file and not storage.unsettled)


def _replacing(request: Request) -> Iterator[str]:
    """Yield the options that replace the form in which the files store weights."""
    if request.dtype and not request.source.storage.of_file:
        yield "--dtype"
    yield from (option for option, value in (("--quantize", request.quantize), ("--prune", request.prune)) if value)


def _left_out(options: Iterable[str]) -> str:
    return f"bytes of weights by {', '.join(options)}, not by the headers of the files"


def _is_symbolic(program: Program) -> bool:
    return any(isinstance(size, Poly) for parameter in parameters(program) for size in parameter.param.shape)


@contextmanager
def _with_hint() -> Iterator[None]:
    """Name the option that counts without the files in errors of reading them."""
    try:
        yield
    except NetcalcError as error:
        raise NetcalcError(
            problem._replace(hint=f"{problem.hint}; {_WITHOUT}" if problem.hint else _WITHOUT)
            if problem.code in ("E605", "E008")
            else problem
            for problem in error.diagnostics
        ) from None
