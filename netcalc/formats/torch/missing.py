"""Operators that cannot be translated, reported all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from netcalc.diagnostics import Diagnostic

#: Modules that an error names.
_SHOWN = 4
_HINT = (
    "--allow-unknown, in Python allow_unknown=True, makes lines of unknown work of them; "
    "netcalc.register_torch declares the work of your own"
)
#: Words of a reason for which there is no such line, as the shape of its result is not known.
OPEN = "depends on values"


class Missing:
    """The calls of operators that have no rule, or whose rule refuses the call, by reason and module."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], Counter[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, operator: str, path: str, reason: str = "") -> None:
        """Add a call of an operator in the module at a path; without a reason the operator has no rule."""
        self._calls.setdefault((operator, reason), Counter())[path] += 1

    def errors(self, *, hint: str | None = _HINT) -> Iterator[Diagnostic]:
        """Yield an error (E009) for each operator and reason, with the modules and the number of calls."""
        for (operator, reason), paths in self._calls.items():
            count = paths.total()
            times = "once" if count == 1 else f"{count} times"
            places = [path or "the module itself" for path in list(paths)[:_SHOWN]]
            more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
            message = f"{operator}: {reason}" if reason else f"there is no rule for the operator {operator}"
            helps = hint is not None and OPEN not in reason
            yield Diagnostic(
                "E009", f"{message}; called {times}, in {', '.join(places)}{more}", hint=hint if helps else None
            )
            hint = None if helps else hint  # once for all
