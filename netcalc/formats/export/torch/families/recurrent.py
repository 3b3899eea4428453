"""PyTorch code of the operations of :mod:`netcalc.ops.recurrent`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import MODULE, Call, Emitted, rule, unsupported

helper('''
def normalized(x: Tensor, groups: tuple[int, ...], gain: Tensor, eps: float) -> Tensor:
    """Return parts of the last axis normalized by themselves, times a gain."""
    parts = [
        F.layer_norm(part, part.shape[-1:], eps=eps) for part in x.split(groups, -1)
    ]
    return torch.cat(parts, dim=-1) * gain
''')
helper('''
class LayerNormRecurrent(nn.Module):
    """LSTM or GRU whose products are normalized (arXiv:1607.06450)."""

    def __init__(
        self,
        kind: str,
        features: int,
        hidden: int,
        layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.kind = kind
        self.hidden = hidden
        self.layers = layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.suffixes = ("", "_reverse") if bidirectional else ("",)
        self.eps = eps
        for layer in range(layers):
            columns = hidden * len(self.suffixes) if layer else features
            for suffix in self.suffixes:
                self.add_weights(f"l{layer}{suffix}", columns)

    def add_weights(self, name: str, columns: int) -> None:
        """Make the parameters of one layer in one direction."""
        gates = (4 if self.kind == "lstm" else 3) * self.hidden
        bound = self.hidden**-0.5
        rows = {"ih": gates, "hh": gates}
        for part, width in (("ih", columns), ("hh", self.hidden)):
            weight = torch.empty(gates, width).uniform_(-bound, bound)
            self.register_parameter(f"weight_{part}_{name}", nn.Parameter(weight))
        if self.kind == "lstm":
            rows["c"] = self.hidden
        for part, size in rows.items():
            gain = nn.Parameter(torch.ones(size))
            self.register_parameter(f"gain_{part}_{name}", gain)
            if self.bias:
                zeros = nn.Parameter(torch.zeros(size))
                self.register_parameter(f"bias_{part}_{name}", zeros)

    def affine(self, x: Tensor, groups: tuple[int, ...], name: str) -> Tensor:
        """Return parts of the last axis normalized, times the gain and with the bias."""
        gain = self.get_parameter(f"gain_{name}")
        y = normalized(x, groups, gain, self.eps)
        return y + self.get_parameter(f"bias_{name}") if self.bias else y

    def part(self, x: Tensor, name: str) -> Tensor:
        """Return what the input or the state adds to the gates."""
        parts = (4,) if self.kind == "lstm" else (2, 1)
        product = F.linear(x, self.get_parameter(f"weight_{name}"))
        return self.affine(product, tuple(part * self.hidden for part in parts), name)

    def step(self, x: Tensor, states: list[Tensor], name: str) -> list[Tensor]:
        """Return the states after one time step."""
        h = self.part(states[0], f"hh_{name}")
        if self.kind == "lstm":
            i, f, g, o = (x + h).chunk(4, dim=-1)
            c = torch.sigmoid(f) * states[1] + torch.sigmoid(i) * torch.tanh(g)
            inner = self.affine(c, (self.hidden,), f"c_{name}")
            return [torch.sigmoid(o) * torch.tanh(inner), c]
        reset_x, update_x, new_x = x.chunk(3, dim=-1)
        reset_h, update_h, new_h = h.chunk(3, dim=-1)
        update = torch.sigmoid(update_x + update_h)
        new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
        return [new + update * (states[0] - new)]

    def forward(self, x: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        if self.batch_first:
            x = x.transpose(0, 1)
        zeros = x.new_zeros(x.shape[1], self.hidden)
        count = 2 if self.kind == "lstm" else 1
        finals: list[list[Tensor]] = []
        for layer in range(self.layers):
            if layer:
                x = F.dropout(x, self.dropout, self.training)
            outputs = []
            for suffix in self.suffixes:
                name = f"l{layer}{suffix}"
                now = [state[len(finals)] for state in states] or [zeros] * count
                products = self.part(x, f"ih_{name}")
                result = []
                for product in products.flip(0) if suffix else products:
                    now = self.step(product, now, name)
                    result.append(now[0])
                outputs.append(torch.stack(result[::-1] if suffix else result))
                finals.append(now)
            x = torch.cat(outputs, dim=-1)
        ends = (torch.stack(parts) for parts in zip(*finals, strict=True))
        return (x.transpose(0, 1) if self.batch_first else x, *ends)
''')
helper('''
def run_padded(
    module: nn.RNNBase,
    x: Tensor,
    lengths: Tensor,
    state: Tensor | tuple[Tensor, Tensor] | None,
) -> tuple[Tensor, ...]:
    """Return outputs, zero behind the end of each sequence, and last states."""
    packed = nn.utils.rnn.pack_padded_sequence(
        x, lengths.cpu(), batch_first=module.batch_first, enforce_sorted=False
    )
    output, final = module(packed, state)
    total = x.shape[1 if module.batch_first else 0]
    padded, _ = nn.utils.rnn.pad_packed_sequence(
        output, batch_first=module.batch_first, total_length=total
    )
    return (padded, *(final if isinstance(final, tuple) else (final,)))
''')


@rule("rnn", "lstm", "gru")
def layers(call: Call) -> Emitted | str:
    """Write ``nn.RNN``, ``nn.LSTM`` or ``nn.GRU``."""
    op: Any = call.op
    states = 2 if op.name == "lstm" else 1
    features = call.start(call.type().shape[-1], "features")
    hidden = call.start(op.hidden, "hidden")
    given = [call.input(i) for i in range(1, 1 + states) if call.has(i)]
    if getattr(op, "layer_norm", False):
        return _with_norms(call, features, hidden, given)
    if given and len(given) < states:
        raise unsupported("takes one of its two states as an input")
    options = call.arguments(
        num_layers=(op.layers, 1),
        nonlinearity=(getattr(op, "nonlinearity", "tanh"), "tanh"),
        bias=(op.bias, True),
        batch_first=(op.batch_first, False),
        dropout=(op.dropout, 0.0),
        bidirectional=(op.bidirectional, False),
        proj_size=(getattr(op, "proj_size", None) or 0, 0),
    )
    made = f"nn.{op.name.upper()}({features}, {hidden}{options})"
    state = f"({', '.join(given)})" if len(given) > 1 else "".join(given)
    if call.has(1 + states):
        name = call.helper("run_padded")
        return Emitted(f"{name}({MODULE}, {call.x}, {call.input(1 + states)}, {state or None})", made)
    text = f"{MODULE}({', '.join(filter(None, [call.x, state]))})"
    return Emitted(text, made, pattern="{}, ({}, {})" if states == 2 else "")


def _with_norms(call: Call, features: str, hidden: str, given: list[str]) -> Emitted:
    op: Any = call.op
    if call.has(3 if op.name == "lstm" else 2):
        raise unsupported("has layer norms, and sequences of different lengths")
    name = call.helper("LayerNormRecurrent")
    call.helper("normalized")
    options = call.arguments(
        layers=(op.layers, 1),
        bias=(op.bias, True),
        batch_first=(op.batch_first, False),
        dropout=(op.dropout, 0.0),
        bidirectional=(op.bidirectional, False),
        eps=(op.eps, 1e-5),
    )
    return call.module(f'{name}("{op.name}", {features}, {hidden}{options})', *[call.x, *given])


@rule("rnn_cell", "lstm_cell", "gru_cell")
def cell(call: Call) -> Emitted | str:
    """Write ``nn.RNNCell``, ``nn.LSTMCell`` or ``nn.GRUCell``."""
    op: Any = call.op
    if getattr(op, "layer_norm", False):
        raise unsupported("has layer norms")
    kind = {"rnn_cell": "RNN", "lstm_cell": "LSTM", "gru_cell": "GRU"}[op.name]
    options = call.arguments(bias=(op.bias, True), nonlinearity=(getattr(op, "nonlinearity", "tanh"), "tanh"))
    features, hidden = call.start(call.type().shape[-1], "features"), call.start(op.hidden, "hidden")
    given = [call.input(i) for i in (1, 2) if call.has(i)]
    state = f"({', '.join(given)})" if kind == "LSTM" and given else "".join(given)
    return call.module(f"nn.{kind}Cell({features}, {hidden}{options})", *filter(None, [call.x, state]))
