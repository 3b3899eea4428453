"""Blocks in a row that pass several values on, alike or different, with other lines between."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netcalc.formats.graph.model import ModuleCall, Value
from tests.formats.graph.harness import Made
from tests.formats.graph.test_names import document_of

#: Ways to pass on the values x and s: the block makes h of both.
_PASSED = ("h, s", "s, h", "h, s * h", "h, s * m")


class Row(Made):
    """A row of blocks."""

    def layer(self, path: str, value: Value, width: int) -> Value:
        """Add a linear layer."""
        weight = self.stored(f"{path}.weight", width, int(value.type.shape[1]))
        return self.build.line("linear", [value], {"out": width, "bias": False}, {"weight": weight})

    def block(self, path: str, kind: str, width: int, values: list[Value], passed: str) -> list[Value]:
        """Add a block of a kind and width, and return the values that it passes on."""
        x, s, m = values
        self.build.scope = (ModuleCall(path, 0, kind.title()),)
        inner = self.line(kind, self.layer(f"{path}.a", x, width))
        made = {"s": s, "h": self.line("add", self.layer(f"{path}.b", inner, 4), s)}
        made |= {"s * h": self.line("mul", s, made["h"])} if passed == "h, s * h" else {}
        made |= {"s * m": self.line("mul", s, m)} if passed == "h, s * m" else {}
        self.build.scope = ()
        return [*(made[name] for name in passed.split(", ")), m]


@given(st.data())
def test_blocks_pass_values_on(data: st.DataObject) -> None:
    def choice(*options: Any) -> Any:
        return data.draw(st.sampled_from(options))

    row = Row()
    before = [row.input("x", 2, 4)]
    for _ in range(data.draw(st.integers(0, 2))):
        before.append(row.line(choice("relu", "tanh"), choice(*before)))
    values = [choice(*before) for _ in range(3)]
    stem, passed = choice("l.", "layer"), choice(*_PASSED)
    kinds, widths = choice(["relu"], ["relu", "tanh"], ["relu", "relu", "tanh"]), choice([8], [8, 16], [8, 8, 16])
    for index in range(data.draw(st.integers(2, 7))):
        kind, width = kinds[index % len(kinds)], widths[index % len(widths)]
        values = row.block(f"{stem}{index}", kind, width, values, passed)
        if data.draw(st.integers(0, 7)) == 7:
            values[1] = row.line("add", values[1], values[0])
    document_of(row.done(**dict(zip("xs", values, strict=False))))
