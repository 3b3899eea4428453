"""Names of models on the Hub: ``hf:org/name``, ``hf:org/name/folder``, each with ``@revision`` or without."""

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
    """A repository on the Hub, or a folder in it, at a branch, a tag or a commit; None for the main branch."""

    repository: str
    revision: str | None
    folder: str = ""

    @classmethod
    def of(cls, text: str) -> HubName:
        """Return the name that a text with the prefix gives.

        Raises:
            NetcalcError: E008 if the Hub has no such names.
        """
        path, at, revision = text.removeprefix(PREFIX).partition("@")
        owner, slash, rest = path.partition("/")
        name, inner, folder = rest.partition("/")
        problem = _problem(owner + slash + name, revision if at else None)
        if problem is None and inner and not re.fullmatch(rf"{_PART}(?:/{_PART})*", folder):
            problem = f"{written(folder, quoted=True)} is no folder of a repository"
        if problem is not None:
            hint = "models are named hf:org/name, hf:org/name/folder, or with a revision hf:org/name@revision"
            raise NetcalcError(
                Diagnostic("E008", f"{written(text, quoted=True)} names no model on the Hub: {problem}", hint=hint)
            )
        return cls(owner + slash + name, revision or None, folder)

    def inside(self, folder: str) -> HubName:
        """Return the name of a folder within."""
        return self._replace(folder=f"{self.folder}/{folder}" if self.folder else folder)

    def file(self, name: str) -> str:
        """Return the path of a file in the repository."""
        return f"{self.folder}/{name}" if self.folder else name

    @property
    def last(self) -> str:
        """The name without what stands before it: an owner, or a repository and folders."""
        return (self.folder or self.repository).rpartition("/")[2]

    def __str__(self) -> str:
        path = f"{self.repository}/{self.folder}" if self.folder else self.repository
        return f"{PREFIX}{path}" + (f"@{self.revision}" if self.revision else "")


def _problem(repository: str, revision: str | None) -> str | None:
    """Return the reason why a repository and a revision are not possible, if they are not."""
    if not repository:
        return "the repository is missing"
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
