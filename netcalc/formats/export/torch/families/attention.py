"""PyTorch code of the operations of :mod:`netcalc.ops.attention`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule

helper('''
def attention_mask(
    query: Tensor,
    key: Tensor,
    causal: bool = False,
    window: tuple[int | None, int | None] = (None, None),
    global_tokens: int = 0,
    lower_right: bool = False,
    padding: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the mask of the keys that queries may see, or the sum of biases.

    Args:
        query: queries (…, queries, features).
        key: keys (…, keys, features).
        causal: hide later keys.
        window: visible keys before and after the query; all of them for None.
        global_tokens: positions that see everything and are seen by all.
        lower_right: the last query has the position of the last key.
        padding: True for keys to hide (batch, keys).
        mask: further mask of visible keys, or bias of the scores.
    """
    queries, keys = query.shape[-2], key.shape[-2]
    place = torch.arange(queries, device=query.device)[:, None]
    place = place + (keys - queries if lower_right else 0)
    column = torch.arange(keys, device=query.device)
    visible = torch.ones(queries, keys, dtype=torch.bool, device=query.device)
    left, right = window
    if left is not None:
        visible = visible & (column >= place - left)
    if right is not None:
        visible = visible & (column <= place + right)
    if global_tokens:
        visible = visible | (place < global_tokens) | (column < global_tokens)
    if causal:
        visible = visible & (column <= place)
    if padding is not None:
        visible = visible & ~padding[..., None, None, :]
    if mask is None:
        return visible
    if mask.dtype == torch.bool:
        return visible & mask
    return torch.where(visible, mask, -math.inf)
''')
helper('''
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Return attended values and weights; keys that a query may not see weigh nothing.

    Args:
        query: queries (batch, heads, queries, features).
        key: keys of as many heads, or of fewer that several heads share.
        value: values of the keys.
        mask: mask of visible keys, or bias of the scores.
        scale: factor of the scores; 1/√features by default.
        softcap: greatest magnitude of the scores, by a hyperbolic tangent.
        sinks: a logit for each head that takes part in the softmax without a value.
        dropout: share of the weights that are dropped.
    """
    if query.ndim > 2 and key.shape[-3] != query.shape[-3]:
        groups = query.shape[-3] // key.shape[-3]
        key = key.repeat_interleave(groups, dim=-3)
        value = value.repeat_interleave(groups, dim=-3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * factor
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        scores = scores + mask
    if sinks is not None:
        column = sinks[:, None, None].expand(*scores.shape[:-1], 1)
        scores = torch.cat((scores, column.to(scores.dtype)), dim=-1)
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    if sinks is not None:
        weights = weights[..., :-1]
    weights = F.dropout(weights, dropout, dropout > 0.0)
    return weights @ value, weights
''')
helper('''
def block_mask(pairs: tuple[tuple[int, int], ...], size: int, like: Tensor) -> Tensor:
    """Return the mask of visible keys from the visible pairs of blocks."""
    count = like.shape[-2] // size
    mask = torch.zeros(count, count, dtype=torch.bool, device=like.device)
    rows, columns = torch.tensor(pairs, device=like.device).unbind(1)
    mask[rows, columns] = True
    return mask.repeat_interleave(size, 0).repeat_interleave(size, 1)
''')


@rule("scaled_dot_product_attention")
def scaled_dot_product_attention(call: Call) -> Emitted | str:
    """Write ``F.scaled_dot_product_attention``, with helpers for masks, and for what it does not have."""
    op: Any = call.op
    key = call.input(1) if call.has(1) else call.x
    value = call.input(2) if call.has(2) else key
    mask = _mask(call, key)
    dropout = f"{call.value(op.dropout, 'dropout')} if self.training else 0.0" if op.dropout else ""
    if op.softcap is not None or call.has(5) or op.return_weights:
        return _explicit(call, key, value, mask, dropout)
    options = []
    if mask is not None:
        options.append(f"attn_mask={mask}")
    if dropout:
        options.append(f"dropout_p={dropout}")
    if op.causal and mask is None:
        options.append("is_causal=True")
    if op.scale is not None:
        options.append(f"scale={call.value(op.scale, 'scale')}")
    if op.enable_gqa and not _same_heads(call):
        options.append("enable_gqa=True")
    return f"F.scaled_dot_product_attention({', '.join([call.x, key, value, *options])})"


def _same_heads(call: Call) -> bool:
    if not call.has(1):
        return True
    first, second = (call.type(i).shape[-3] for i in (0, 1))
    return type(first) is type(second) and first == second


def _explicit(call: Call, key: str, value: str, mask: str | None, dropout: str) -> Emitted:
    op: Any = call.op
    options = [] if mask is None else [f"mask={mask}"]
    if op.causal and mask is None:
        call.helper("attention_mask")
        options.append(f"mask=attention_mask({call.x}, {key}, causal=True)")
    for name, number in (("scale", op.scale), ("softcap", op.softcap)):
        if number is not None:
            options.append(f"{name}={call.value(number, name)}")
    if call.has(5):
        options.append(f"sinks={call.input(5)}")
    if dropout:
        options.append(f"dropout={dropout}")
    text = f"{call.helper('attention')}({', '.join([call.x, key, value, *options])})"
    return Emitted(text) if op.return_weights else Emitted(text, pattern="{}, _")


def _mask(call: Call, key: str) -> str | None:
    """Return the mask of the scores; None if there is none, or causality alone."""
    op: Any = call.op
    mask = call.input(3) if call.has(3) else None
    if op.blocks is not None:
        size = op.blocks.size
        rows, columns = (call.type(i).shape[-2] // size for i in (0, 1 if call.has(1) else 0))
        pairs = tuple(op.blocks.chosen(rows, columns, lower_right=op.alignment == "lower_right"))
        mask = f"{call.helper('block_mask')}({pairs}, {size}, {call.x})"
    lower_right = op.alignment == "lower_right" and op.causal
    if not call.has(4) and op.window is None and not (op.causal and (mask is not None or lower_right)):
        if call.has(3) and call.type(3).rank < 2:
            return f"torch.atleast_2d({mask})"
        return mask
    options = ["causal=True"] if op.causal else []
    if op.window is not None:
        options.append(f"window={call.value(tuple(op.window), 'window')}")
        if op.global_tokens:
            options.append(f"global_tokens={call.value(op.global_tokens, 'global_tokens')}")
    if op.alignment == "lower_right":
        options.append("lower_right=True")
    if call.has(4):
        options.append(f"padding={call.input(4)}")
    if mask is not None:
        options.append(f"mask={mask}")
    return f"{call.helper('attention_mask')}({', '.join([call.x, key, *options])})"
