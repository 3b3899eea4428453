"""Modules that an adapter of PEFT changes, as patches of the lines of a spec."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from netcalc.adapters import grouped, paths_of_lines
from netcalc.analysis.walk import ParameterInstance, parameters
from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.formats.peft.settings import LoraSettings
from netcalc.ir import Program
from netcalc.spec.adapters import ADAPTED
from netcalc.spec.cursor import Cursor

_WEIGHT = ".weight"


class _Module(NamedTuple):
    """A module of the reference that has a weight, and the path of the line that has it."""

    name: str
    path: str
    op: str
    whole: bool  # False if the line's weight consists of the weights of several modules


def lora_patches(program: Program, settings: LoraSettings, config: Cursor) -> Iterator[tuple[dict[str, Any], Cursor]]:
    """Yield a patch for each group of equal lines that have an adapter, with its place in the configuration.

    Modules are matched by their names in the reference as PEFT matches them.

    Raises:
        NetcalcError: E007 if no module is matched, or one that is no linear line of the same path.
    """
    place = config.at(("target_modules",))
    modules = list(_modules(program))
    chosen = _named(modules, settings)
    if not chosen:
        message = f"no module of the base model is one of target_modules = {written(settings.targets, quoted=True)}"
        raise NetcalcError(Diagnostic("E007", message, place.span))
    for module in chosen:
        if (reason := _obstacle(module)) is not None:
            message = f"an adapter of {module.name} is not known: it is {reason} in the spec"
            raise NetcalcError(Diagnostic("E007", message, place.span))
    sizes = {module.path: _sizes(module.name, settings) for module in chosen}
    for path, (rank, alpha) in grouped(sizes, paths_of_lines(program)):
        lora: dict[str, Any] = {"rank": rank, "alpha": alpha}
        if settings.rank_stabilized:
            lora["rank_stabilized"] = True
        if settings.dropout:
            lora["dropout"] = settings.dropout
        yield {"at": path, "set": {"lora": lora}}, place


def _obstacle(module: _Module) -> str | None:
    """Return what a module is in the spec, if it is no linear line of its own with the same path."""
    if module.op not in ADAPTED:
        return module.op
    if not module.whole:
        return f"a part of {module.path}"
    return None if module.name == module.path else f"called {module.path}"


def _modules(program: Program) -> Iterator[_Module]:
    """Yield the modules of the reference with a weight, by the names in its checkpoint."""
    for parameter in parameters(program):
        if not parameter.path.endswith(_WEIGHT) or parameter.param.is_buffer:
            continue
        path = parameter.path.removesuffix(_WEIGHT)
        names = _names(parameter)
        for name in names:
            yield _Module(name.removesuffix(_WEIGHT), path, parameter.op, len(names) == 1)


def _names(parameter: ParameterInstance) -> Sequence[str]:
    """Return the names of a parameter in the checkpoint of the reference."""
    entries = parameter.entries
    return list(entries[0].alternatives[0].names) if entries and entries[0].alternatives else [parameter.path]


def _named(modules: Sequence[_Module], settings: LoraSettings) -> list[_Module]:
    """Return the modules that are targets by name, as PEFT's check_target_module_exists decides."""
    return [
        module
        for module in modules
        if _matches(module.name, settings.targets)
        and not _matches(module.name, settings.excluded)
        and _in_layers(module.name, settings)
    ]


def _matches(name: str, targets: Sequence[str] | str) -> bool:
    if isinstance(targets, str):
        return re.fullmatch(targets, name) is not None
    return any(name == target or name.endswith("." + target) for target in targets)


def _in_layers(name: str, settings: LoraSettings) -> bool:
    """Return True if a module is in one of the layers that are to be transformed."""
    if settings.layers is None or isinstance(settings.targets, str):
        return True
    stems = settings.layers_pattern or (r"[^.]*",)
    patterns = [rf".*\.(?:{stem})\.(?P<layer>\d+)\." for stem in stems]
    layer_match = next((match for match in (re.match(pattern, name) for pattern in patterns) if match), None)
    return layer_match is not None and int(layer_match["layer"]) in settings.layers


def _sizes(name: str, settings: LoraSettings) -> tuple[int, float]:
    """Return the rank and alpha of a module, by the first pattern that matches its name."""
    rank = next((value for key, value in settings.ranks.items() if _ends(name, key)), settings.rank)
    alpha = next((value for key, value in settings.alphas.items() if _ends(name, key)), settings.alpha)
    return rank, alpha


def _ends(name: str, pattern: str) -> bool:
    return re.match(rf"(.*\.)?({pattern})$", name) is not None
