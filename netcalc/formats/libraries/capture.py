"""Spec documents of the models that libraries build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.libraries.building import Built
from netcalc.formats.torch.calls import Call, call_of, with_constants
from netcalc.formats.torch.diagnosis import refused
from netcalc.formats.torch.examples import Example, read_examples
from netcalc.formats.torch.importing import module_spec
from netcalc.formats.torch.trial import error_of

_HINT = "--example NAME=TYPE:SIZES gives them, as in --example pixel_values=float32:batch=1,3,224,224"


def captured_document(built: Built, texts: Sequence[str]) -> dict[str, Any]:
    """Return the spec document of a model.

    Sizes of its inputs with a name stay dims of the spec if ``torch.export`` allows it.

    Args:
        built: the model.
        texts: inputs in place of its own, or beside them, as ``--example`` writes them.

    Raises:
        NetcalcError: E009 if the model cannot be captured; E502 for an input that it does not take.
    """
    document = _document(built, _call(built, read_examples(texts)))
    if built.dtype != document.get("dtype", "float32"):
        document["checkpoint"] = {**document.get("checkpoint", {}), "dtype": built.dtype}
    document["about"] = built.about
    return document


def _call(built: Built, chosen: Sequence[Example]) -> Call:
    """Return the first call that the module takes, with chosen arguments in place of others."""
    first = None
    for examples in built.calls:
        given = {example.name: example for example in chosen}
        arguments = [given.pop(example.name, example) for example in examples]
        call = call_of(built.module, [*arguments, *given.values()])
        error = error_of(built.module, call)
        if error is None:
            return call
        first = first or error
    if first is None:
        raise NetcalcError(Diagnostic("E009", f"the inputs of {built.name} are not known", hint=_HINT))
    failed = refused(f"{built.name} takes none of the inputs that its configuration suggests", first)
    raise NetcalcError(d._replace(hint=_HINT) for d in failed.diagnostics) from first


def _document(built: Built, call: Call) -> dict[str, Any]:
    """Return the document with the dims that ``torch.export`` leaves free; with none if it leaves out the rest."""
    dims = dict.fromkeys(dim for axes in call.dynamic.values() for dim in axes.values())
    attempts = list(dict.fromkeys((tuple(dims), ("batch",) if "batch" in dims else (), ())))
    while attempts:
        free = attempts.pop(0)
        dynamic = {n: {axis: dim for axis, dim in axes.items() if dim in free} for n, axes in call.dynamic.items()}
        try:
            with with_constants(built.module, call):
                document = module_spec(built.module, *call[:2], dynamic=dynamic, may_fix=True, name=built.name).document
        except NetcalcError:
            if not free:
                raise
            continue
        kept = tuple(dim for dim in free if dim in document.get("dims", {}))
        if kept == free or "batch" not in free or "batch" in kept:
            return document
        attempts = [kept, ()] if kept else [()]  # a size of 1 is exported as another one, which would be the fixed one
    raise AssertionError("the last attempt has no dims")
