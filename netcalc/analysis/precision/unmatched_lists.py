"""Entries in lists of modules of a configuration that no module of the model matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netcalc.analysis.precision.module_names import Names
from netcalc.diagnostics import Diagnostic, NetcalcError, clipped
from netcalc.schemes.module_lists import ModuleList
from netcalc.schemes.rules import StorageRule

#: Entries that a message names, and characters of one.
_SHOWN, _CHARACTERS = 3, 60


def unmatched_lists(rules: Iterable[StorageRule], names: Names | None) -> tuple[str, ...]:
    """Return remarks on the entries of lists that match no module; published lists may name modules of other models.

    Args:
        rules: the rules of the configuration, whose lists are matched.
        names: the names of the modules of the model.

    Raises:
        NetcalcError: E007 for every list of which no entry matches a module, unless all name parts that the model
            leaves in the checkpoint.
    """
    lists: dict[str, list[StorageRule]] = {}
    for rule in rules:
        if rule.modules is not None:
            lists.setdefault(rule.list, []).append(rule)
    if names is None:
        return ()
    waiting = [modules for listed in lists.values() for modules in _modules(listed) if not modules.is_used_up]
    for module in names.all if waiting else ():
        for modules in waiting:
            modules.matches_any(module)
    errors, remarks = [], []
    for field, listed in lists.items():
        entries = dict.fromkeys(entry for modules in _modules(listed) for entry in modules.entries)
        used = {entry for modules in _modules(listed) for entry in (*modules.used, *modules.classes)}
        unused = [entry for entry in entries if entry not in used]
        if len(unused) == len(entries) and not all(map(names.is_left_out, unused)):
            errors.append(
                Diagnostic("E007", f"{field}: no module has a name that {_shown(unused)} matches", listed[0].place)
            )
        elif unused:
            remarks.append(f"{field}: no module has a name that {_shown(unused)} matches")
    if errors:
        raise NetcalcError(errors)
    return tuple(remarks)


def _modules(rules: Iterable[StorageRule]) -> Iterator[ModuleList]:
    yield from (rule.modules for rule in rules if rule.modules is not None)


def _shown(entries: list[str]) -> str:
    texts = [repr(clipped(entry, _CHARACTERS)) for entry in entries[:_SHOWN]]
    rest = len(entries) - len(texts)
    return f"{', '.join(texts)}{f' or {rest} more' if rest else ''}"
