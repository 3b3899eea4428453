"""Rules by which the checkpoint of a model stores its parameters, the first that applies counting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from netcalc.diagnostics import Span
from netcalc.schemes.module_lists import ModuleList
from netcalc.schemes.scheme import PLAIN, Settings


class StorageRule(NamedTuple):
    """A scheme for modules and kinds of parameters.

    Attributes:
        scheme: name of the scheme, or PLAIN for the element type of the network.
        modules: the modules whose parameters are stored so; None for all.
        kinds: their kinds, see ``data/schemes/kinds.yaml``; None for all that have rows and columns.
        settings: settings in place of the scheme's.
        field: the field of the configuration that says so, for messages, with its place.
        list: the field of the list or mapping in which its modules are named.
        cause: the field from which the sizes in the name of the scheme follow, or the mapping around it.
        cause_place: its place.
    """

    scheme: str
    modules: ModuleList | None = None
    kinds: frozenset[str] | None = None
    settings: Settings = ()
    field: str = ""
    place: Span | None = None
    list: str = ""
    cause: tuple[str, ...] = ()
    cause_place: Span | None = None

    @property
    def tells_numbers_apart(self) -> bool:
        """True if the rule may apply to one of several numbered modules and not to another."""
        return self.modules is not None and self.modules.tells_numbers_apart

    def applies(self, modules: Iterable[str], kind: str) -> bool:
        """Return True if a parameter of a kind, in a module with several names, is stored so."""
        if self.kinds is not None and kind not in self.kinds:
            return False
        return self.modules is None or self.modules.matches_any(modules)


def first_rule(rules: Sequence[StorageRule], modules: Sequence[str], kind: str) -> StorageRule | None:
    """Return the rule that counts for a parameter; None if its checkpoint stores it in the network's element type."""
    rule = next((rule for rule in rules if rule.applies(modules, kind)), None)
    return None if rule is None or rule.scheme == PLAIN else rule
