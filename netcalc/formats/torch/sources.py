"""Modules and exported programs that the command line names, as spec documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.torch.calls import Call, call_of
from netcalc.formats.torch.examples import read_examples
from netcalc.formats.torch.factories import PREFIX, made_module, program_of
from netcalc.formats.torch.importing import ModuleSpec, SpecOptions, module_spec


class Imported(NamedTuple):
    """A spec with the module, or exported program, that it was made of, and the call of it."""

    spec: ModuleSpec
    module: Any
    call: Call


def import_document(model: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec document of a module whose ``forward`` takes no arguments, or of an exported program.

    Raises:
        NetcalcError: as :func:`import_torch`.
    """
    return import_torch(model, (), settings).spec.document


def import_torch(
    model: str | Path, examples: Sequence[str], settings: Mapping[str, Any], **options: Unpack[SpecOptions]
) -> Imported:
    """Return the spec document of a module or of an exported program.

    Args:
        model: ``torch:package.module:factory``, whose code is run, or a ``.pt2`` file.
        examples: arguments of the module's ``forward``; see :mod:`~netcalc.formats.torch.examples`.
        settings: keyword arguments of the factory.
        options: as for :func:`~netcalc.formats.torch.importing.module_spec`.

    Raises:
        NetcalcError: E009 if the module cannot be made or imported; E502 for bad arguments.
    """
    if not str(model).startswith(PREFIX):
        if examples or settings:
            message = f"{model} is an exported program, which has its arguments already"
            raise NetcalcError(Diagnostic("E502", message, hint="leave out --example and --set"))
        program = program_of(model)
        spec = module_spec(program, (), {}, name=Path(model).stem, **options)
        return Imported(spec, program, Call())
    described = read_examples(examples)
    module = made_module(str(model), settings)
    call = call_of(module, described)
    name = str(model).rpartition(":")[2].rpartition(".")[2]
    dynamic, constants = call.dynamic or None, call.constants
    spec = module_spec(module, call.args, call.kwargs, dynamic=dynamic, constants=constants, name=name, **options)
    return Imported(spec, module, call)
