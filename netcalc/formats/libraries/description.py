"""Descriptions of models that libraries build."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, with_hint, written
from netcalc.dtypes import FLOATS
from netcalc.formats.documents import Description
from netcalc.formats.huggingface.common_fields import NUMBERS_OF_LAYERS
from netcalc.formats.huggingface.quantization import storage_of
from netcalc.formats.huggingface.tables import read_table, unnamed_fields
from netcalc.formats.libraries.door import made_document
from netcalc.formats.libraries.packages import installation, missing
from netcalc.formats.reading import Reading
from netcalc.formats.sources import Source
from netcalc.formats.table import Format
from netcalc.ir.storage import OwnStorage
from netcalc.limits import MAX_BUILT_LAYERS
from netcalc.schemes.configuration import DTYPE_FIELDS
from netcalc.spec.cursor import Cursor
from netcalc.spec.plain_data import read_data

#: Sizes of every model of transformers that has them.
_SIZES = ("d_model", "hidden_size", "n_embd", "n_head", "n_layer", "num_attention_heads", "num_hidden_layers")


def describe(source: Source, row: Format, reading: Reading, refusal: NetcalcError | None) -> Description:
    """Return the spec document of a model as its library builds it.

    Args:
        source: the model.
        row: its format.
        reading: settings, examples of inputs, and the time that the library may take.
        refusal: the error of the table, if there was one.

    Raises:
        NetcalcError: E009 if the library cannot build the model; then with the errors of the table, too.
    """
    library = str(row.library)
    why = "by --via library" if reading.via == "library" else "no table describes it"
    config = source.parsed(reading.max_size)
    model = config.data
    if library == "transformers" and (problems := [*_degenerate(config)]):
        raise NetcalcError(problems)
    try:
        strict = unnamed_fields(model) if refusal is not None and library == "transformers" else []
        document, used = made_document(library, model, source.label, why, reading, strict=strict)
    except NetcalcError as error:
        if refusal is None:
            raise
        refusal = with_hint(refusal)
        if missing(library):
            raise NetcalcError(_hinted(refusal, library)) from None
        raise NetcalcError(_joined(refusal, error, library, model)) from None
    document["name"] = source.name
    storage = OwnStorage()
    if library == "transformers":
        dtype = document.get("checkpoint", {}).get("dtype", "float32")
        storage = storage_of(config, dtype, source.label)
    return Description(read_data(document, source.label), set(), storage=storage, used=frozenset(used))


def _degenerate(config: Cursor) -> Iterator[Diagnostic]:
    """Yield an error for each size and element type that no model has, of which libraries would make one."""
    for name, place in config.items():
        if name in DTYPE_FIELDS and place.data is not None and str(place.data).removeprefix("torch.") not in FLOATS:
            message = f"{name} = {written(place.data, quoted=True)} is not known"
            yield Diagnostic("E007", message, place.span, hint=f"--ignore {name} goes on without it")
        if not isinstance(place.data, int):
            continue
        if name in _SIZES and place.data < 1:
            yield Diagnostic("E104", f"{name!r} should be at least 1, not {written(place.data)}", place.span)
        elif name in NUMBERS_OF_LAYERS and place.data > MAX_BUILT_LAYERS:
            yield Diagnostic("E009", f"a model of over {MAX_BUILT_LAYERS:,} layers is not built", place.span)


def _joined(refusal: NetcalcError, error: NetcalcError, library: str, model: Any) -> list[Diagnostic]:
    """Return the errors of a table with the reason why the library does not build the model either.

    Where there is no table the reasons of the library count, at the place of the type that no table has.
    """
    *others, last = refusal.diagnostics
    if library != "transformers" or read_table(str(model.get("model_type"))) is not None:
        reason, *_ = error.diagnostics
        hint = "; ".join(filter(None, (last.hint, f"{library} does not take it: {reason.message}")))
        return [*others, last._replace(hint=hint)]
    return [problem._replace(span=last.span, hint=problem.hint or last.hint) for problem in error.diagnostics]


def _hinted(refusal: NetcalcError, library: str) -> list[Diagnostic]:
    """Return the errors of a table, the last with a hint at the library."""
    *others, last = refusal.diagnostics
    hint = f"`{installation(library)}` lets {library} build it"
    return [*others, last._replace(hint=f"{last.hint}; {hint}" if last.hint else hint)]
