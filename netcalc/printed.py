"""Results that print as the command of the same name does, and display themselves in notebooks."""

from __future__ import annotations

from netcalc.analysis.memory_report import MemoryReport

__all__ = ["PrintedMemory"]


class PrintedMemory(MemoryReport):
    """Memory of a network, in bytes, which prints as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        from netcalc.render.memory import memory_page
        from netcalc.render.page import page_text

        return "\n".join(page_text(memory_page(self)))

    def _repr_html_(self) -> str:
        from netcalc.render.memory import memory_page
        from netcalc.render.page import page_html

        return page_html(memory_page(self))
