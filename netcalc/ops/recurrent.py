"""Recurrent layers over a sequence, and cells for a single time step."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from netcalc.dims import Dim, product
from netcalc.limits import MAX_STACKED
from netcalc.opdef import (
    ONES,
    ZEROS,
    Context,
    Domain,
    Example,
    Init,
    Operation,
    Param,
    RuleError,
    Size,
    Term,
    attr,
    ports,
    require_float,
    require_rank,
    same_shape,
)
from netcalc.ops import operation
from netcalc.ops._elementwise import SIGMOID, terms
from netcalc.ops._statistics import moments, reciprocal_root
from netcalc.ops.dropout import Dropout
from netcalc.tensor_type import TensorType


def normalization(values: Dim, **rows: Dim) -> Iterator[Term]:
    """Yield the work of a layer norm of ``values`` numbers in each row, with a gain and without a bias."""
    yield from moments(values, **rows)
    yield from reciprocal_root(**rows)
    yield Term.of("mul", "normalize", **rows, values=values)
    yield Term.of("mul", "gain", **rows, values=values)


class _Recurrent(Operation):
    """Base of layers and cells.  ``gates`` is the number of vectors of size ``hidden`` that a time step computes."""

    channel_axis = -1
    shorthand = "hidden"
    gates: ClassVar[int]
    #: The states that one time step passes to the next.
    states: ClassVar[tuple[str, ...]] = ("h",)

    hidden: Size = attr("size of the hidden state (torch: hidden_size)")
    bias: bool | Literal["input"] = attr(
        "add learned biases, one for the input and one for the state; input: the first alone, as Keras does",
        default=True,
    )

    @property
    def biases(self) -> int:
        """Number of learned biases of a layer in one direction."""
        return 1 if self.bias == "input" else 2 if self.bias else 0

    @property
    def handed_on(self) -> Dim:
        """Size of the state ``h``, which is the output of one direction."""
        size: Dim = self.hidden
        return size

    @property
    def norm_groups(self) -> tuple[int, ...]:
        """Numbers of gates whose sums are normalized together; empty without layer norm."""
        return ()

    def weights(self, features: Dim, suffix: str = "") -> Iterator[Param]:
        """Yield the parameters of one layer in one direction."""
        rows = self.gates * self.hidden
        init = Init.of("fan_in_uniform", fan_in=self.hidden)
        yield Param(f"weight_ih{suffix}", (rows, features), init)
        yield Param(f"weight_hh{suffix}", (rows, self.handed_on), init)
        if self.norm_groups:
            yield Param(f"gain_ih{suffix}", (rows,), ONES)
            yield Param(f"gain_hh{suffix}", (rows,), ONES)
        if self.bias:
            start = ZEROS if self.norm_groups else init
            yield Param(f"bias_ih{suffix}", (rows,), start)
            if self.bias != "input":
                yield Param(f"bias_hh{suffix}", (rows,), start)

    def input_product(self, features: Dim, **lead: Dim) -> Term:
        """Return the work of the product of the input with its weights."""
        return Term.of("mac", "input product", **lead, gates=self.gates, hidden=self.hidden, in_features=features)

    def step(self, **lead: Dim) -> Iterator[Term]:
        """Yield the work of a time step without the product with the input."""
        vectors = {**lead, "gates": self.gates, "hidden": self.hidden}
        yield Term.of("mac", "state product", **vectors, state_features=self.handed_on)
        for gates in self.norm_groups:  # of the products with the input and with the state
            yield from normalization(gates * self.hidden, **lead, each=2)
        if self.bias:
            yield Term.of("add", "bias", **vectors, each=self.biases)
        yield Term.of("add", "gates", **vectors)
        yield from self.gating(**lead, hidden=self.hidden)

    def gating(self, **units: Dim) -> Iterator[Term]:
        """Yield the elementwise work of a time step on the sums of the gates, for each unit."""
        raise NotImplementedError(self.name)

    def check_states(self, x: TensorType, inputs: dict[str, Any], **shapes: tuple[Dim, ...]) -> None:
        """Raise RuleError unless the initial states are all absent, or all have these shapes."""
        if not inputs.keys() & shapes.keys():
            return
        for port, shape in shapes.items():
            if port not in inputs:
                raise RuleError(f"{self.name} takes {' and '.join(shapes)} together, and {port} is missing")
            state = inputs[port]
            if not same_shape(state.shape, shape):
                raise RuleError(f"{port} should be {x.with_shape(*shape)}, and it is {state}")
            if state.dtype != x.dtype:
                raise RuleError(f"{port} should be {x.dtype} like the input, and it is {state.dtype}", code="E402")


class _Elman(_Recurrent):
    gates = 1

    nonlinearity: Literal["tanh", "relu"] = attr("function of the new state", default="tanh")

    def gating(self, **units: Dim) -> Iterator[Term]:
        yield Term.of("transcendental" if self.nonlinearity == "tanh" else "compare", self.nonlinearity, **units)


class _Normalized(_Recurrent):
    """Base of operations that may have layer norms."""

    layer_norm: bool = attr(
        "normalize the products with the input and with the state, each with a learned gain, before biases are added "
        "(arXiv:1607.06450); in an LSTM the cell state too, before its tanh",
        default=False,
    )
    eps: float = attr("added to the variance, with layer_norm", default=1e-5, ge=0)


class _Memory(_Normalized):
    gates = 4
    states = ("h", "c")

    @property
    def norm_groups(self) -> tuple[int, ...]:
        return (4,) if self.layer_norm else ()

    def weights(self, features: Dim, suffix: str = "") -> Iterator[Param]:
        yield from super().weights(features, suffix)
        if self.layer_norm:
            yield Param(f"gain_c{suffix}", (self.hidden,), ONES)
            if self.bias:
                yield Param(f"bias_c{suffix}", (self.hidden,), ZEROS)

    def gating(self, **units: Dim) -> Iterator[Term]:
        yield from terms(SIGMOID, "sigmoid", **units, gates=3)
        yield Term.of("transcendental", "candidate", **units)
        yield Term.of("mul", "cell state", **units, each=2)
        yield Term.of("add", "cell state", **units)
        if self.layer_norm:
            rows = {name: size for name, size in units.items() if name != "hidden"}
            yield from normalization(units["hidden"], **rows)
            if self.bias:
                yield Term.of("add", "bias of the cell state", **units)
        yield Term.of("transcendental", "output", **units)
        yield Term.of("mul", "output", **units)


class _Gated(_Normalized):
    gates = 3

    @property
    def norm_groups(self) -> tuple[int, ...]:
        return (2, 1) if self.layer_norm else ()

    def gating(self, **units: Dim) -> Iterator[Term]:
        yield from terms(SIGMOID, "sigmoid", **units, gates=2)
        yield Term.of("mul", "reset", **units)
        yield Term.of("transcendental", "candidate", **units)
        yield Term.of("add", "update", **units, each=2)
        yield Term.of("mul", "update", **units)


# -- layers -----------------------------------------------------------------------------------------


class _Layers(_Recurrent):
    """Base of stacks of layers over a sequence."""

    inputs = ports("input", "h_0?", "lengths?")
    outputs = ports("output", "h_n")
    shape_rule = (
        "(length, batch, in) → output (length, batch, directions·hidden), h_n (layers·directions, batch, hidden)"
    )
    usage = (
        "words: [16, 35, 100]",
        "- {$op: {hidden: 128, layers: 2, batch_first: true}, as: [states]}",
        "- linear: 10",
    )

    layers: int = attr("number of stacked layers (torch: num_layers)", default=1, ge=1, le=MAX_STACKED)
    bidirectional: bool = attr(
        "add a reverse direction with weights of its own, and concatenate the outputs", default=False
    )
    batch_first: bool = attr("input and output are (batch, length, features)", default=False)
    dropout: float = attr("probability of dropping elements between layers in training", default=0.0, ge=0, le=1)

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    def infer(self, ctx: Context, x: TensorType, *others: TensorType | None) -> tuple[TensorType, ...]:
        require_float(x, self.name)
        require_rank(x, (2, 3), self.name)
        _, batch = self._extent(x)
        types = self.named((x, *others))
        self._check_lengths(x, types.get("lengths"), batch)
        features = ctx.size("out features", "D*h", D=self.directions, h=self.handed_on)
        rows = ctx.size("states", "layers*D", layers=self.layers, D=self.directions)
        sizes = {"h": self.handed_on, "c": self.hidden}
        shapes = {state: (rows, *batch, sizes[state]) for state in self.states}
        self.check_states(x, types, **{f"{state}_0": shape for state, shape in shapes.items()})
        return x.with_shape(*x.shape[:-1], features), *(x.with_shape(*shape) for shape in shapes.values())

    def domains(self, x: TensorType, *others: TensorType | None) -> Sequence[Domain | None]:
        lengths = Domain(1, self._extent(x)[0] + 1)
        return [lengths if port.name == "lengths" else None for port in self.inputs]

    def steps(self, inputs: Sequence[Any]) -> Dim:
        return self._extent(inputs[0])[0] * self.layers

    def _extent(self, x: TensorType) -> tuple[Dim, tuple[Dim, ...]]:
        """Return the number of time steps, and the batch as a tuple of no size or one."""
        if x.rank == 2:
            return x.shape[0], ()
        return (x.shape[1], x.shape[:1]) if self.batch_first else (x.shape[0], x.shape[1:2])

    def _check_lengths(self, x: TensorType, lengths: TensorType | None, batch: tuple[Dim, ...]) -> None:
        if lengths is None:
            return
        if not batch:
            raise RuleError(f"{self.name} takes lengths with a batch, and its input {x} has no batch axis")
        if not same_shape(lengths.shape, batch):
            raise RuleError(f"lengths should be one for each of {batch[0]} sequences, and its shape is {lengths}")
        if lengths.dtype != "int64":
            raise RuleError(f"lengths should be int64, and it is {lengths.dtype}", code="E402")

    def params(self, ctx: Context, x: TensorType, *others: TensorType | None) -> Sequence[Param]:
        return tuple(
            param
            for layer in range(self.layers)
            for suffix in self.suffixes(layer)
            for param in self.weights(x.shape[-1] if layer == 0 else self.directions * self.handed_on, suffix)
        )

    def suffixes(self, layer: int) -> tuple[str, ...]:
        """Return the suffixes of the parameter names of a layer, one for each direction."""
        return (f"_l{layer}", f"_l{layer}_reverse")[: self.directions]

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        types = self.named(inputs)
        x = types["input"]
        steps, batch = self._extent(x)
        lead = {"batch": product(batch), "steps": steps, "directions": self.directions}
        work = [self.input_product(x.shape[-1], **lead)]
        if self.layers > 1:
            upper = self.directions * self.handed_on
            work.append(self.input_product(upper, **lead, upper_layers=self.layers - 1))
            if ctx.training and self.dropout:
                between = Dropout(p=self.dropout).cost(ctx, (x.with_shape(steps, *batch, upper),), ())
                work += [Term(t.kind, (("joints", self.layers - 1), *t.factors), "dropout") for t in between]
        work += self.step(**lead, layers=self.layers)
        if "lengths" in types:
            work.append(Term.of("compare", "lengths", batch=product(batch), steps=steps))
        return work


@operation
class RNN(_Layers, _Elman):
    """h = tanh(W_ih·x + b_ih + W_hh·h + b_hh) over a sequence; the output is h at every time step.

    The input is (length, batch, features) as in PyTorch, (batch, length, features) with ``batch_first``, or
    (length, features) without a batch.  ``h_0`` (zeros if absent) and ``h_n`` are always (layers·directions, batch,
    hidden).  ``lengths`` holds the length of each sequence of a padded batch: after its end the output is zero,
    ``h_n`` is the state at its end, and the reverse direction starts there.  Work is counted for all time steps,
    including padding.
    """

    name = "rnn"
    reference = "torch.nn.RNN; Elman 1990, doi:10.1207/s15516709cog1402_1"
    param_rule = "for each layer and direction: hidden·in + hidden² + 2·hidden"
    cost_rule = "per time step, layer and direction: one MAC per weight, 3·hidden adds, hidden tanh"
    example = Example(((5, 2, 8),), {"hidden": 4})


@operation
class LSTM(_Layers, _Memory):
    """Long short-term memory over a sequence: a cell state with input, forget and output gates.

    i, f, o = σ(W·x + U·h + b), g = tanh(W·x + U·h + b), c = f⊙c + i⊙g, h = o⊙tanh(c).  The weights stack the four in
    the order i, f, g, o.  With ``proj_size`` the state is W_hr·h, of that size.  With ``layer_norm`` W·x is
    LN(W·x)⊙gain_ih over all four together, U·h likewise, and h = o⊙tanh(LN(c)⊙gain_c + bias_c).  Axes, initial states
    and ``lengths`` are as for rnn.
    """

    name = "lstm"
    reference = (
        "torch.nn.LSTM; Hochreiter & Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735; "
        "projection: Sak et al. 2014, arXiv:1402.1128; layer norms: Ba et al. 2016, arXiv:1607.06450"
    )
    inputs = ports("input", "h_0?", "c_0?", "lengths?")
    outputs = ports("output", "h_n", "c_n")
    param_rule = "for each layer and direction: 4·(hidden·in + hidden² + 2·hidden); 10·hidden more with layer norms"
    cost_rule = (
        "per time step, layer and direction: one MAC per weight, 19·hidden adds, 5·hidden transcendental functions, "
        "3·hidden divs and 3·hidden muls"
    )
    example = Example(((5, 2, 8),), {"hidden": 4})

    proj_size: Size | None = attr("size of the projected state, smaller than hidden", default=None)

    @property
    def handed_on(self) -> Dim:
        projected: Dim | None = self.proj_size
        return self.hidden if projected is None else projected

    def infer(self, ctx: Context, x: TensorType, *others: TensorType | None) -> tuple[TensorType, ...]:
        if self.proj_size is not None and self.proj_size >= self.hidden:
            raise RuleError(f"proj_size should be below the hidden size {self.hidden}, and it is {self.proj_size}")
        return super().infer(ctx, x, *others)

    def weights(self, features: Dim, suffix: str = "") -> Iterator[Param]:
        yield from super().weights(features, suffix)
        if self.proj_size is not None:
            init = Init.of("fan_in_uniform", fan_in=self.hidden)
            yield Param(f"weight_hr{suffix}", (self.proj_size, self.hidden), init)

    def step(self, **lead: Dim) -> Iterator[Term]:
        yield from super().step(**lead)
        if self.proj_size is not None:
            yield Term.of("mac", "projection", **lead, proj_size=self.proj_size, hidden=self.hidden)


@operation
class GRU(_Layers, _Gated):
    """Gated recurrent unit over a sequence: a reset and an update gate, without a cell state.

    r, z = σ(W·x + b + U·h + b), n = tanh(W·x + b + r⊙(U·h + b)), h = n + z⊙(h − n).  The weights stack the three in the
    order r, z, n.  With ``layer_norm`` W·x is LN(W·x)⊙gain_ih, over r and z together and over n, and U·h likewise.
    Axes, the initial state and ``lengths`` are as for rnn.
    """

    name = "gru"
    reference = "torch.nn.GRU; Cho et al. 2014, arXiv:1406.1078; layer norms: Ba et al. 2016, arXiv:1607.06450"
    param_rule = "for each layer and direction: 3·(hidden·in + hidden² + 2·hidden); 6·hidden more with layer norms"
    cost_rule = (
        "per time step, layer and direction: one MAC per weight, 15·hidden adds, 3·hidden transcendental functions, "
        "2·hidden divs and 2·hidden muls"
    )
    example = Example(((5, 2, 8),), {"hidden": 4})


# -- cells ------------------------------------------------------------------------------------------


class _Cell(_Recurrent):
    """Base of single time steps of one layer in one direction."""

    kernel_suffices = "a single position: its products are calls of BLAS"
    inputs = ports("input", "h_0?")
    outputs = ports("h_1")
    shape_rule = "(batch, in), or (in) → (batch, hidden), or (hidden)"
    usage: ClassVar[tuple[str, ...]] = ("word: [16, 100]", "state: [16, 128]", "- {from: [word, state], $op: 128}")

    def infer(self, ctx: Context, x: TensorType, *others: TensorType | None) -> tuple[TensorType, ...]:
        require_float(x, self.name)
        require_rank(x, (1, 2), self.name)
        state = x.with_shape(*x.shape[:-1], self.hidden)
        self.check_states(x, self.named((x, *others)), **{f"{name}_0": state.shape for name in self.states})
        return (state,) * len(self.states)

    def params(self, ctx: Context, x: TensorType, *others: TensorType | None) -> Sequence[Param]:
        return tuple(self.weights(x.shape[-1]))

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        *batch, features = inputs[0].shape
        return self.input_product(features, batch=product(batch)), *self.step(batch=product(batch))


@operation
class RNNCell(_Cell, _Elman):
    """Single time step of an rnn: h_1 from the input and ``h_0`` (zeros if absent)."""

    name = "rnn_cell"
    reference = "torch.nn.RNNCell; Elman 1990, doi:10.1207/s15516709cog1402_1"
    param_rule = "hidden·in + hidden² + 2·hidden"
    cost_rule = "per sample: one MAC per weight, 3·hidden adds, hidden tanh"
    example = Example(((2, 8),), {"hidden": 4})


@operation
class LSTMCell(_Cell, _Memory):
    """Single time step of an lstm: h_1 and c_1 from the input, ``h_0`` and ``c_0`` (zeros if absent)."""

    name = "lstm_cell"
    reference = "torch.nn.LSTMCell; Hochreiter & Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735"
    inputs = ports("input", "h_0?", "c_0?")
    outputs = ports("h_1", "c_1")
    param_rule = "4·(hidden·in + hidden² + 2·hidden)"
    cost_rule = (
        "per sample: one MAC per weight, 19·hidden adds, 5·hidden transcendental functions, 3·hidden divs and "
        "3·hidden muls"
    )
    example = Example(((2, 8),), {"hidden": 4})
    usage = (
        "word: [16, 100]",
        "h: [16, 128]",
        "c: [16, 128]",
        "- {from: [word, h, c], lstm_cell: 128, as: [next_h, next_c]}",
    )


@operation
class GRUCell(_Cell, _Gated):
    """Single time step of a gru: h_1 from the input and ``h_0`` (zeros if absent)."""

    name = "gru_cell"
    reference = "torch.nn.GRUCell; Cho et al. 2014, arXiv:1406.1078"
    param_rule = "3·(hidden·in + hidden² + 2·hidden)"
    cost_rule = (
        "per sample: one MAC per weight, 15·hidden adds, 3·hidden transcendental functions, 2·hidden divs and "
        "2·hidden muls"
    )
    example = Example(((2, 8),), {"hidden": 4})
