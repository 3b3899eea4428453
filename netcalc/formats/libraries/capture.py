"""Spec documents of the models that libraries build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.formats.graph.constants import listed
from netcalc.formats.graph.document import with_note
from netcalc.formats.libraries.building import Built
from netcalc.formats.libraries.element_types import following_default
from netcalc.formats.libraries.last_logits import GENERATING, with_last_logits
from netcalc.formats.torch.calls import Call, call_of
from netcalc.formats.torch.capture import argument_names
from netcalc.formats.torch.diagnosis import refused
from netcalc.formats.torch.examples import Example, read_examples
from netcalc.formats.torch.importing import module_spec
from netcalc.formats.torch.library import torch_library
from netcalc.formats.torch.trial import error_of, is_refused

_HINT = "--example NAME=TYPE:SIZES gives them, as in --example pixel_values=float32:batch=1,3,224,224"


def captured_document(
    built: Built, texts: Sequence[str], sizes: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the spec document of a model.

    Sizes of its inputs with a name stay dims of the spec if ``torch.export`` allows it, but for those of images.

    Args:
        built: the model.
        texts: inputs in place of its own, or beside them, as ``--example`` writes them.
        sizes: sizes of its inputs by name, in place of its own.

    Raises:
        NetcalcError: E009 if the model cannot be captured; E501 for a size that no input has; E502 for an input that
            it does not take.
    """
    return captured(built, call_taken(built, read_examples(texts), sizes))


def captured(built: Built, call: Call) -> dict[str, Any]:
    """Return the spec document of a model for a call; NetcalcError as :func:`captured_document`."""
    document = _document(built, call)
    if built.dtype != document.get("dtype", "float32"):
        document["checkpoint"] = {**document.get("checkpoint", {}), "dtype": built.dtype}
        document |= {key: following_default(document[key]) for key in ("blocks", "layers") if key in document}
    document["about"] = built.about
    if built.name.endswith(GENERATING):
        document = with_last_logits(document)
    names = dict.fromkeys(str(example.name) for examples in built.calls for example in examples)
    if left_out := [name for name in names if name not in {*call.kwargs, *call.constants}]:
        document = with_note(document, f"called without {listed(left_out)}; --example gives more inputs")
    return document


def call_taken(built: Built, chosen: Sequence[Example], sizes: Mapping[str, Any] = MappingProxyType({})) -> Call:
    """Return the first call that the module takes, with chosen arguments in place of others.

    Raises:
        NetcalcError: E009 if it takes none.
    """
    if type(built.module).forward is torch_library().nn.Module.forward:
        raise NetcalcError(Diagnostic("E009", f"{built.name} has no forward, only methods of its own and parts"))
    first = None
    for examples in built.calls:
        given = {example.name: example for example in chosen}
        arguments = [given.pop(example.name, _sized(example, sizes)) for example in examples]
        named = {dim for example in arguments for dim in example.dims.values()}
        if unknown := sizes.keys() - named:
            hint = f"sizes of its inputs: {', '.join(sorted(named))}"
            raise NetcalcError(Diagnostic("E501", f"--set {min(unknown)}: {built.name} has no such size", hint=hint))
        call = call_of(built.module, [*arguments, *given.values()])
        error = error_of(built.module, call)
        if not is_refused(error):
            return call
        first = first or error
    if first is None:
        raise NetcalcError(Diagnostic("E009", f"the inputs of {built.name} are not known", hint=_HINT))
    failed = refused(f"{built.name} takes none of the inputs that its configuration suggests", first)
    raise NetcalcError(d._replace(hint=_HINT) for d in failed.diagnostics) from first


def _sized(example: Example, sizes: Mapping[str, Any]) -> Example:
    """Return an input with some of its sizes by name."""
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise NetcalcError(Diagnostic("E501", f"--set {name}: {written(size, quoted=True)} is no size"))
    return example._replace(
        sizes=tuple(sizes.get(example.dims.get(axis, ""), size) for axis, size in enumerate(example.sizes))
    )


def _document(built: Built, call: Call) -> dict[str, Any]:
    """Return the document with the dims that ``torch.export`` leaves free; with none if it leaves out the rest."""
    dims = dict.fromkeys(dim for axes in call.dynamic.values() for dim in axes.values() if dim not in built.numbers)
    ones = _dims_of_one(built, call)
    attempts = list(dict.fromkeys((tuple(dims), ("batch",) if "batch" in dims else (), ())))
    while attempts:
        free = attempts.pop(0)
        dynamic = {n: {axis: dim for axis, dim in axes.items() if dim in free} for n, axes in call.dynamic.items()}
        try:
            with built.exporting():
                document = module_spec(
                    built.module,
                    call.args,
                    call.kwargs,
                    dynamic=dynamic,
                    may_fix=True,
                    constants=call.constants,
                    by_values=not free,
                    name=built.name,
                ).document
        except NetcalcError:
            if not free:
                raise
            continue
        kept = tuple(dim for dim in free if dim in document.get("dims", {}))
        if not ones.intersection(free).difference(kept):
            return document
        attempts = [kept, ()] if kept else [()]  # a size of 1 is exported as another one, which would be the fixed one
    raise AssertionError("the last attempt has no dims")


def _dims_of_one(built: Built, call: Call) -> set[str]:
    """Return the dims of a call whose size is 1."""
    leaves, structure = torch_library().utils._pytree.tree_flatten((call.args, call.kwargs))
    named = dict(zip(argument_names(built.module, structure, len(leaves)), leaves, strict=True))
    return {dim for name, axes in call.dynamic.items() for axis, dim in axes.items() if named[name].shape[axis] == 1}
