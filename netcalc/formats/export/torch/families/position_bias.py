"""PyTorch code of the operations of :mod:`netcalc.ops.position_bias`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import MODULE, Call, Emitted, rule

helper('''
def relative_position_index(window: tuple[int, ...], class_token: bool) -> Tensor:
    """Return the row of a table for each pair of positions in a window, flattened."""
    axes = [torch.arange(side) for side in window]
    places = torch.stack(torch.meshgrid(*axes, indexing="ij")).flatten(1)
    index = torch.zeros(places.shape[1], places.shape[1], dtype=torch.int64)
    for place, side in zip(places, window, strict=True):
        offsets = place[:, None] - place[None, :] + side - 1
        index = index * (2 * side - 1) + offsets
    if class_token:
        rows = math.prod(2 * side - 1 for side in window)
        index = F.pad(index, (1, 0, 1, 0))
        index[0, :] = rows
        index[:, 0] = rows + 1
        index[0, 0] = rows + 2
    return index.flatten()
''')
helper('''
class RelativePositionLookup(nn.Module):
    """Biases of all pairs of positions in a window, heads first, from a table."""

    def __init__(
        self,
        window: tuple[int, ...],
        class_token: bool = False,
        persistent: bool = True,
    ) -> None:
        super().__init__()
        index = relative_position_index(window, class_token)
        self.relative_position_index: Tensor
        self.register_buffer("relative_position_index", index, persistent=persistent)

    def forward(self, table: Tensor) -> Tensor:
        places = math.isqrt(self.relative_position_index.numel())
        rows = table[self.relative_position_index]
        return rows.reshape(places, places, -1).permute(2, 0, 1)
''')
helper('''
class RelativePositionBias(RelativePositionLookup):
    """Learned biases of all pairs of positions in a window, heads first."""

    def __init__(
        self,
        window: tuple[int, ...],
        heads: int,
        class_token: bool = False,
        persistent: bool = True,
    ) -> None:
        super().__init__(window, class_token, persistent)
        rows = math.prod(2 * side - 1 for side in window) + (3 if class_token else 0)
        table = nn.init.trunc_normal_(torch.empty(rows, heads), std=0.02)
        self.relative_position_bias_table = nn.Parameter(table)

    def forward(self, table: Tensor | None = None) -> Tensor:
        return super().forward(self.relative_position_bias_table)
''')
helper('''
class RelativeCoordinates(nn.Module):
    """Logarithmic offsets of positions in a window (arXiv:2111.09883)."""

    def __init__(
        self, window: tuple[int, ...], scales: tuple[int, ...], persistent: bool = True
    ) -> None:
        super().__init__()
        steps = [
            torch.arange(1 - side, side, dtype=torch.float32) / max(scale - 1, 1)
            for side, scale in zip(window, scales, strict=True)
        ]
        offsets = torch.stack(torch.meshgrid(*steps, indexing="ij"), dim=-1)[None] * 8
        table = torch.sign(offsets) * torch.log2(torch.abs(offsets) + 1) / 3
        self.relative_coords_table: Tensor
        self.register_buffer("relative_coords_table", table, persistent=persistent)

    def forward(self) -> Tensor:
        return self.relative_coords_table
''')
helper('''
class T5PositionBias(nn.Module):
    """Learned biases by bucket of the distance between query and key."""

    def __init__(
        self,
        heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
    ) -> None:
        super().__init__()
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.bidirectional = bidirectional
        self.weight = nn.Parameter(torch.randn(num_buckets, heads))

    def forward(self, queries: int, keys: int, first: int = 0) -> Tensor:
        device = self.weight.device
        place = torch.arange(first, first + queries, device=device)[:, None]
        offsets = torch.arange(keys, device=device) - place
        return self.weight[self.buckets(offsets)].permute(2, 0, 1)[None]

    def buckets(self, offsets: Tensor) -> Tensor:
        """Return the bucket of each offset: exact for near keys, else logarithmic."""
        buckets = self.num_buckets // 2 if self.bidirectional else self.num_buckets
        exact = buckets // 2
        later = torch.zeros_like(offsets)
        if self.bidirectional:
            later = torch.where(offsets > 0, buckets, 0)
            distance = offsets.abs()
        else:
            distance = (-offsets).clamp(min=0)
        ratio = distance.clamp(min=exact).float() / exact
        steps = torch.log(ratio) / math.log(self.max_distance / exact)
        far = exact + (steps * (buckets - exact)).long()
        near = torch.where(distance < exact, distance, far.clamp(max=buckets - 1))
        return near + later
''')
helper('''
def alibi_bias(
    queries: int,
    keys: int,
    heads: int,
    first: int = 0,
    max_bias: float = 8.0,
    per_query: bool = True,
) -> Tensor:
    """Return biases that fall with the distance, by a slope for each head."""
    power = 2 ** int(math.log2(heads))
    slopes = [2 ** (-max_bias * (h + 1) / power) for h in range(power)]
    more = range(heads - power)
    slopes += [2 ** (-max_bias * (2 * h + 1) / (2 * power)) for h in more]
    factors = torch.tensor(slopes)[:, None, None]
    if not per_query:
        return factors * torch.arange(keys)
    place = torch.arange(first, first + queries)[:, None]
    return -factors * torch.abs(place - torch.arange(keys))
''')


def _persistent(call: Call) -> str:
    return "" if call.op.persistent else ", persistent=False"


@rule("relative_position_bias")
def relative_position_bias(call: Call) -> Emitted | str:
    """Write a helper with a table and an index."""
    op: Any = call.op
    for name in ("relative_position_index", "RelativePositionLookup"):
        call.helper(name)
    window = call.start(tuple(op.window_size), "window")
    token = ", class_token=True" if op.class_token else ""
    name = call.helper("RelativePositionBias")
    module = f"{name}({window}, {call.start(op.num_heads, 'heads')}{token}{_persistent(call)})"
    return Emitted(f"{MODULE}()", module)


@rule("relative_position_lookup")
def relative_position_lookup(call: Call) -> Emitted | str:
    """Write a helper with an index."""
    op: Any = call.op
    call.helper("relative_position_index")
    name = call.helper("RelativePositionLookup")
    token = ", class_token=True" if op.class_token else ""
    return call.module(f"{name}({call.start(tuple(op.window_size), 'window')}{token}{_persistent(call)})")


@rule("relative_coordinates")
def relative_coordinates(call: Call) -> Emitted | str:
    """Write a buffer."""
    op: Any = call.op
    scales = op.window_size if op.pretrained_window_size is None else op.pretrained_window_size
    window, scale = (call.start(tuple(sizes), "window") for sizes in (op.window_size, scales))
    name = call.helper("RelativeCoordinates")
    return Emitted(f"{MODULE}()", f"{name}({window}, {scale}{_persistent(call)})")


def lengths(call: Call) -> tuple[str, str, str]:
    """Return the numbers of queries and keys, and the first position of the queries."""
    op: Any = call.op
    queries = f"{call.x}.shape[{call.type().rank - 2}]"
    no_offset = isinstance(op.offset, int) and op.offset == 0
    offset = call.value(op.offset, "offset")
    if call.has(1):
        keys = f"{call.input(1)}.shape[{call.type(1).rank - 2}]"
    else:
        keys = queries if no_offset else f"{offset} + {queries}"
    if op.alignment == "lower_right":
        return queries, keys, "" if keys == queries else f"{keys} - {queries}"
    return queries, keys, "" if no_offset else offset


@rule("t5_position_bias")
def t5_position_bias(call: Call) -> Emitted | str:
    """Write a helper with a table of buckets."""
    op: Any = call.op
    name = call.helper("T5PositionBias")
    options = call.arguments(
        num_buckets=(op.num_buckets, 32),
        max_distance=(op.max_distance, 128),
        bidirectional=(op.bidirectional, True),
    )
    queries, keys, first = lengths(call)
    return call.module(f"{name}({call.start(op.num_heads, 'heads')}{options})", *filter(None, [queries, keys, first]))


@rule("alibi_bias")
def alibi_bias(call: Call) -> Emitted | str:
    """Write a helper."""
    op: Any = call.op
    queries, keys, first = lengths(call)
    options = f", first={first}" if first else ""
    options += "" if op.max_bias == 8.0 else f", max_bias={op.max_bias}"
    options += "" if op.per_query else ", per_query=False"
    heads = call.value(op.num_heads, "heads")
    return f"{call.helper('alibi_bias')}({queries}, {keys}, {heads}{options}).to({call.x})"
