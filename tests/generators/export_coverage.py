"""Pages of the operations that a format of export cannot express, with the reason for each."""

from __future__ import annotations

from collections.abc import Callable, Collection

from netcalc import ops


def coverage_page(title: str, text: str, missing: Collection[str], reason: Callable[[str], str]) -> str:
    """Return the page of a format.

    Args:
        title: heading of the page.
        text: what is said above the table, with ``{written}`` and ``{operations}`` in place of their numbers.
        missing: operations without a rule.
        reason: the reason why an operation has none.
    """
    names = ops.names()
    lines = [
        f"# {title}",
        "",
        text.format(written=len(names) - len(missing), operations=len(names)),
        "",
        "| family | operations without a rule | reason |",
        "| --- | --- | --- |",
    ]
    for family, members in ops.FAMILIES.items():
        reasons: dict[str, list[str]] = {}
        for name in members:
            if name in missing:
                reasons.setdefault(reason(name), []).append(f"`{name}`")
        lines += [f"| {family} | {', '.join(listed)} | {why} |" for why, listed in reasons.items()]
    return "\n".join(lines) + "\n"
