"""Names of models on the Hub: ``hf:org/name`` or ``hf:org/name@revision``."""

from __future__ import annotations

import re
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.formats.hub import PREFIX

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
_REPOSITORY = re.compile(rf"(?:{_PART}/)?{_PART}")
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*")
#: Most characters of a repository, and of a revision.
_LONGEST = 96, 250


class HubName(NamedTuple):
    """A repository on the Hub at a revision: a branch, a tag or a commit; None for the main branch."""

    repository: str
    revision: str | None

    @classmethod
    def of(cls, text: str) -> HubName:
        """Return the name that a text with the prefix gives.

        Raises:
            NetcalcError: E008 if the Hub has no such names.
        """
        repository, at, revision = text.removeprefix(PREFIX).partition("@")
        problem = _problem(repository, revision if at else None)
        if problem is not None:
            hint = "models are named hf:org/name, or hf:org/name@revision"
            raise NetcalcError(
                Diagnostic("E008", f"{written(text, quoted=True)} names no model on the Hub: {problem}", hint=hint)
            )
        return cls(repository, revision or None)

    @property
    def last(self) -> str:
        """The name without its owner's."""
        return self.repository.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{PREFIX}{self.repository}" + (f"@{self.revision}" if self.revision else "")


def _problem(repository: str, revision: str | None) -> str | None:
    """Return the reason why a repository and a revision are not possible, if they are not."""
    if not repository:
        return "the repository is missing"
    if repository.count("/") > 1:
        return "a repository has one owner and one name"
    forbidden = any(text in repository for text in ("--", "..")) or repository.endswith(".git")
    if forbidden or len(repository) > _LONGEST[0] or not _REPOSITORY.fullmatch(repository):
        return f"{written(repository, quoted=True)} is no name of a repository"
    if revision == "":
        return "the revision after @ is missing"
    if revision is None:
        return None
    if ".." in revision or "//" in revision or len(revision) > _LONGEST[1] or not _REVISION.fullmatch(revision):
        return f"{written(revision, quoted=True)} is no revision"
    return None
