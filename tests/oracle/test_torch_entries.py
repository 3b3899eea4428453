"""Arguments of modules that are dicts and tuples, given by their entries."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.formats.torch.calls import call_of
from netcalc.formats.torch.examples import read_examples
from netcalc.formats.torch.importing import module_spec

torch = pytest.importorskip("torch")


class Joined(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any, added: Any, rotary: Any = None) -> Any:
        return torch.cat([x, added["ids"], added["texts"]["pooled"]], dim=1) * rotary[0] + rotary[1]


GIVEN = (
    *("x=float32:batch=1,4", "added.ids=float32:batch=1,2", "added.texts.pooled=float32:batch=1,3"),
    *("rotary.0=float32:9", "rotary.1=float32:9"),
)


def test_entries_are_inputs_with_dims() -> None:
    module = Joined()
    call = call_of(module, read_examples(GIVEN))
    spec = module_spec(module, *call[:2], dynamic=call.dynamic)
    network = netcalc.load_data(spec.document, set={"batch": 5})
    shapes = {name: value.shape for name, value in network.inputs.items()}
    assert shapes == {
        "x": (5, 4),
        "added_ids": (5, 2),
        "added_texts_pooled": (5, 3),
        "rotary_0": (9,),
        "rotary_1": (9,),
    }
    assert [value.shape for value in network.outputs.values()] == [(5, 9)]


@pytest.mark.parametrize("others", [["added=3", "added.ids=3"], ["added.ids=3", "added=3"], ["added=3", "added.a.b=3"]])
def test_an_argument_and_its_entry(others: list[str]) -> None:
    with pytest.raises(netcalc.NetcalcError, match="'added' and an entry of it cannot both be given"):
        call_of(Joined(), read_examples(["x=float32:1,4", *others]))
