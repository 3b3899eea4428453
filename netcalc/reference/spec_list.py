"""Lists of shipped specs."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from netcalc.analysis.conventions import FIRST, convention_named
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim
from netcalc.files import exists
from netcalc.results import Result, recorded
from netcalc.spec.shipped import CatalogueEntry, catalogue, respelled, spec_hint, unaliased

#: Words of a text, and the least number of letters of initials.
_PART, _INITIALS = re.compile(r"[^\W\d_]+"), 3
#: Place before a capital inside a name, as in ``Glm4Moe``.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class ListedSpec(NamedTuple):
    """A spec with its figures at the default sizes."""

    name: str
    family: str
    params: Dim
    """Elements of parameters."""
    macs: Dim
    """Multiply-adds of one forward pass."""
    about: str
    source: str
    aliases: tuple[str, ...]
    """Other names under which the spec is found."""
    tags: tuple[str, ...]
    """Words such as `moe`, `cnn` and `detection`, which follow from the network or which the spec states."""

    @classmethod
    def of(cls, entry: CatalogueEntry, convention: str) -> ListedSpec:
        """Return an entry of the catalogue with the multiply-adds under a convention."""
        texts = (entry.about, entry.source, entry.aliases, entry.tags)
        return cls(entry.name, entry.family, entry.params, entry.macs[convention], *texts)


@recorded("convention", "specs", name="specs")
@dataclass(frozen=True, slots=True)
class SpecList(Result):
    """All shipped specs, or those that were selected."""

    convention: str
    """Counting convention of the MACs."""
    entries: tuple[CatalogueEntry, ...]

    @property
    def specs(self) -> tuple[ListedSpec, ...]:
        """The specs, by family and name."""
        return tuple(ListedSpec.of(entry, self.convention) for entry in self.entries)

    def __iter__(self) -> Iterator[ListedSpec]:
        """Yield the specs."""
        return iter(self.specs)

    def __len__(self) -> int:
        """Return the number of specs."""
        return len(self.entries)


def is_spec(name: str) -> bool:
    """Return True for a shipped spec, an alias, a name of a YAML file, or a path with a suffix or a separator."""
    if name in catalogue() or unaliased(name) is not None or respelled(name) is not None or name == "-":
        return True
    suffix = Path(name).suffix
    return suffix in (".yaml", ".yml") or ((suffix != "" or "/" in name or os.sep in name) and exists(name))


def listed_specs(words: Sequence[str] = (), family: str | None = None, convention: str = "netcalc") -> SpecList:
    """Return the shipped specs of a family that mention all words, by family and name.

    A word that is the tag of some specs selects these. Otherwise words at the beginning of a word count, and initials
    of several (``vlm`` of a vision-language model); inside of words they do where no spec has them otherwise.

    Raises:
        NetcalcError: E502 if there are none, or no such family; E701 for an unknown convention, or one that the list
            has no figures by.
    """
    if convention_named(convention).name not in FIRST:
        hint = f"{', '.join(FIRST)}; `netcalc flops NAME --convention {convention}` counts one of them"
        raise NetcalcError(Diagnostic("E701", f"the list has no figures by {convention}", hint=hint))
    entries = sorted(catalogue().values(), key=lambda spec: (spec.family, spec.name))
    families = {spec.family for spec in entries}
    if family is not None and family not in families:
        hint = did_you_mean(family, families) or f"the families are {', '.join(sorted(families))}"
        raise NetcalcError(Diagnostic("E502", f"there is no family {family!r}", hint=hint))
    entries = [spec for spec in entries if family in (None, spec.family)]
    tags = {tag for spec in catalogue().values() for tag in spec.tags}
    matching = [spec for spec in entries if all(_mentions(spec, text.lower(), tags) for text in words)]
    matching = matching or [spec for spec in entries if all(text.lower() in _text(spec).lower() for text in words)]
    if not matching:
        within = f" in the family {family!r}" if family else ""
        near = spec_hint(words[0]) or did_you_mean(words[0], families)
        raise NetcalcError(Diagnostic("E502", f"no spec{within} mentions {' and '.join(map(repr, words))}", hint=near))
    return SpecList(convention, tuple(matching))


def _mentions(spec: CatalogueEntry, word: str, tags: Collection[str]) -> bool:
    """Return True if a spec has a word as its tag, or in its text if it is a tag of none."""
    return word in spec.tags if word in tags else _begins(word, _text(spec))


def _text(spec: CatalogueEntry) -> str:
    return "; ".join((spec.name, spec.family, spec.about, spec.source, *spec.aliases))


def _begins(word: str, text: str) -> bool:
    """Return True if a word stands at the beginning of a word of a text, or for the initials of some in a row.

    >>> _begins("lenet", "LeNet-5"), _begins("lenet", "MobileNet"), _begins("moe", "a mixture of experts, Glm4MoE")
    (True, False, True)
    """
    pattern, parted = re.compile(rf"(?<![^\W_]){re.escape(word)}"), _HUMP.sub(" ", text).lower()
    if pattern.search(text.lower()) or pattern.search(parted):
        return True
    if len(word) < _INITIALS or not word.isalpha():
        return False
    clauses = (_PART.findall(clause) for clause in re.split(r"[,.;:()/]", text.lower()))
    return any(word in "".join(part[0] for part in parts) for parts in clauses)


def spec_lines(path: Path | None) -> list[str]:
    """Return the lines of the file of a spec; NetcalcError (E502) if it has none."""
    if path is None:
        raise NetcalcError(Diagnostic("E502", "--yaml prints a file, and a pipe is none"))
    return path.read_text(encoding="utf-8").splitlines()
