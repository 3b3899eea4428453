"""Encoders and decoders of the schemes in ``data/schemes``, one file for each family."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from netcalc.codecs.codec import Codec
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.schemes.scheme import scheme_named


@cache
def codec_named(scheme: str) -> Codec:
    """Return the codec of a scheme.

    Raises:
        NetcalcError: E502 for a scheme whose codes netcalc does not choose.
    """
    codec = scheme_named(scheme).codec
    if codec is not None:
        module, _, name = codec.place.rpartition(".")
        made: Codec = getattr(import_module(f"{__name__}.{module}"), name)(**codec.arguments)
        return made
    hint = "its sizes are known: `netcalc params --quantize` counts them"
    raise NetcalcError(Diagnostic("E502", f"netcalc does not round to {scheme}", hint=hint))
