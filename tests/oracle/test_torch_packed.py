"""Packed sequences of constant lengths, imported: outputs, and the FLOPs of the steps that are no padding."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from tests.oracle.module_outputs import Case, assert_agrees, by_name

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn.utils.rnn import (  # noqa: E402
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
)

X = torch.zeros(4, 6, 5)
SORTED = [6, 4, 4, 1]
MIXED = [3, 6, 1, 3]


class Tagger(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A recurrent layer on packed sequences; the lengths are a list, or made of what the module holds."""

    def __init__(
        self, layer: Any = nn.LSTM, lengths: Any = tuple(SORTED), batch_first: bool = True, **settings: Any
    ) -> None:
        super().__init__()
        self.layer = layer(5, 3, batch_first=batch_first, **settings)
        self.batch_first, self.lengths = batch_first, lengths
        self.attribute = torch.tensor(MIXED)
        self.register_buffer("buffer", torch.tensor(MIXED))

    def forward(self, x: Any, lengths: Any = None) -> Any:
        lengths = self.lengths(self) if callable(self.lengths) else list(self.lengths) if lengths is None else lengths
        is_sorted = list(lengths) == SORTED if isinstance(lengths, list) else False
        packed = pack_padded_sequence(x, lengths, batch_first=self.batch_first, enforce_sorted=is_sorted)
        output, state = self.layer(packed)
        return *pad_packed_sequence(output, batch_first=self.batch_first), state


def called(function: Any, **parts: Any) -> Any:
    """Return the class of a module whose ``forward`` is a function of the module and its inputs."""

    class Called(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            for name, make in parts.items():
                setattr(self, name, make())

        def forward(self, *args: Any) -> Any:
            return function(self, *args)

    return Called


def packed(x: Any) -> Any:
    return pack_padded_sequence(x, SORTED, batch_first=True)


def of_elements(self: Any, x: Any) -> Any:
    sequences = packed(x)
    changed = PackedSequence(self.fc(sequences.data), sequences.batch_sizes)
    return pad_packed_sequence(self.rnn(changed)[0], batch_first=True, padding_value=-1.0, total_length=8)[0]


CASES = [
    Case("lstm", Tagger, (X,)),
    Case("mixed", lambda: Tagger(lengths=MIXED), (X,)),
    Case("time first", lambda: Tagger(nn.GRU, MIXED, batch_first=False), (X.transpose(0, 1),)),
    Case("layers", lambda: Tagger(nn.GRU, MIXED, num_layers=2, bidirectional=True), (X,)),
    Case("relu", lambda: Tagger(nn.RNN, nonlinearity="relu", bias=False), (X,)),
    Case("projection", lambda: Tagger(proj_size=2, bidirectional=True), (X,)),
    Case("equal", lambda: Tagger(lengths=[6, 6, 6, 6]), (X,)),
    Case("argument", Tagger, (X, [5, 4, 2, 2])),
    Case("tensor", lambda: Tagger(lengths=lambda self: torch.tensor(MIXED) + 0), (X,)),
    Case("buffer", lambda: Tagger(lengths=lambda self: self.buffer), (X,)),
    Case("attribute", lambda: Tagger(lengths=lambda self: self.attribute.clamp(max=4)), (X,)),
    Case("elements", called(of_elements, fc=lambda: nn.Linear(5, 7), rnn=lambda: nn.GRU(7, 3)), (X,)),
    Case("elements as output", called(lambda self, x: self.rnn(packed(x))[0].data, rnn=lambda: nn.RNN(5, 3)), (X,)),
    Case(
        "stacked",
        called(
            lambda self, x: pad_packed_sequence(self.second(self.first(packed(x))[0])[0])[0],
            first=lambda: nn.LSTM(5, 3, bidirectional=True),
            second=lambda: nn.GRU(6, 2),
        ),
        (X,),
    ),
    Case(
        "states",
        called(
            lambda self, x, h: self.rnn(pack_padded_sequence(x, MIXED, True, False), h)[1], rnn=lambda: nn.GRU(5, 3)
        ),
        (X, torch.zeros(1, 4, 3)),
    ),
    Case(
        "pack_sequence",
        called(lambda self, x: self.rnn(pack_sequence([x[0], x[1, :4], x[2, :1]]))[1], rnn=lambda: nn.LSTM(5, 3)),
        (X,),
    ),
    Case("pad_sequence", called(lambda self, x: pad_sequence([x[0], x[1, :4]], padding_value=2.0)), (X,)),
    Case(
        "pad_sequence left",
        called(lambda self, x: pad_sequence([x[0, 0], x[1, 0, :4]], batch_first=True, padding_side="left")),
        (X,),
    ),
]


@by_name(CASES)
def test_outputs_and_flops(case: Case) -> None:
    assert_agrees(case)


def test_padding_takes_no_work() -> None:
    """Work of 15 steps of 24: 4·3 sums of 5 and of 3 products for each."""
    net = netcalc.from_torch(Tagger(), X)
    assert net.macs == 15 * 12 * (5 + 3)
    assert netcalc.loads(net.to_yaml()).macs == net.macs


def of_lengths(lengths: Any) -> Any:
    """Return a module that packs its input with lengths, or a function of the input that computes them."""

    def run(self: Any, x: Any) -> Any:
        given = lengths(x) if callable(lengths) else lengths
        return self.rnn(pack_padded_sequence(x, given, batch_first=True))

    return called(run, rnn=lambda: nn.GRU(5, 3))()


@pytest.mark.parametrize(
    "module,args,reason",
    [
        (Tagger(), (X, torch.tensor(SORTED)), "the lengths of packed sequences are computed, or an input"),
        (of_lengths(lambda x: (x > 0).sum((1, 2))), (X,), "the lengths of packed sequences are computed, or an input"),
        (of_lengths([7, 1, 1, 1]), (X,), r"lengths \[7, 1, 1, 1\] for 4 sequences of 6 steps"),
        (of_lengths([3, 1]), (X,), r"lengths \[3, 1\] for 4 sequences of 6 steps"),
        (of_lengths(MIXED), (X,), "enforce_sorted"),
    ],
)
def test_lengths_that_are_not_known_or_do_not_fit(module: Any, args: Any, reason: str) -> None:
    with pytest.raises(netcalc.NetcalcError, match=reason) as caught:
        netcalc.from_torch(module, *args)
    (found,) = caught.value.diagnostics
    assert found.code == "E009" and found.hint
