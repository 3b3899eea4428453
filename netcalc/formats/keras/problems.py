"""Everything in a model that cannot be translated, as one error with the names of layers."""

from __future__ import annotations

from netcalc.diagnostics import Diagnostic, NetcalcError

#: Most problems that an error lists, and most names in one of them.
_MOST, _NAMES = 20, 3
#: Characters of a text of a file that a message repeats.
_CLIPPED = 120


def clipped(text: object) -> str:
    """Return a text of a file as a message repeats it."""
    shown = repr(text)
    return shown if len(shown) <= _CLIPPED else f"{shown[:_CLIPPED]}…"


class Problems:
    """The problems of a model, in a file of this name."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._classes: dict[tuple[str, str], list[str]] = {}
        self._others: list[str] = []

    def class_of(self, kind: str, reason: str, layer: str) -> None:
        """Add a layer whose class cannot be translated."""
        self._classes.setdefault((kind, reason), []).append(layer)

    def layer(self, name: str, reason: str) -> None:
        """Add a layer that cannot be translated, with the reason."""
        self._others.append(f"layer {clipped(name)}: {reason}")

    def add(self, reason: str) -> None:
        """Add any other problem."""
        self._others.append(reason)

    def error(self, message: str) -> NetcalcError:
        """Return an error of the file."""
        return NetcalcError(Diagnostic("E007", f"{self.label}: {message}"))

    def check(self) -> None:
        """Raise NetcalcError (E007) with all problems, if there are any."""
        found = []
        for (kind, reason), layers in self._classes.items():
            named = ", ".join(map(clipped, layers[:_NAMES]))
            more = f" and {len(layers) - _NAMES} more" if len(layers) > _NAMES else ""
            found.append(f"{clipped(kind)[1:-1]} ({named}{more}): {reason}")
        found += self._others
        if found:
            rest = [f"{len(found) - _MOST} further problems"] if len(found) > _MOST else []
            raise NetcalcError(Diagnostic("E007", f"{self.label}: {problem}") for problem in [*found[:_MOST], *rest])
