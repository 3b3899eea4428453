"""PyTorch code of the operations of :mod:`netcalc.ops.embed`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.rules import Call, Emitted, rule, unsupported


@rule("embedding")
def embedding(call: Call) -> Emitted | str:
    """Write ``nn.Embedding``, or ``F.embedding`` for a weight that is an input."""
    op: Any = call.op
    scale = "" if op.scale is None else f" * {call.value(op.scale, 'scale')}"
    if call.has(1):
        if op.max_norm is not None:
            raise unsupported("limits the norms of rows that are an input")
        return f"F.embedding({call.x}, {call.input(1)}){scale}"
    options = call.arguments(
        padding_idx=(op.padding_idx, None), max_norm=(op.max_norm, None), norm_type=(op.norm_type, 2.0)
    )
    rows, features = call.start(op.num_embeddings, "num_embeddings"), call.start(op.embedding_dim, "features")
    emitted = call.module(f"nn.Embedding({rows}, {features}{options})")
    return Emitted(emitted.text + scale, emitted.module, "" if scale else emitted.layer)


@rule("embedding_bag")
def embedding_bag(call: Call) -> Emitted | str:
    """Write ``nn.EmbeddingBag``."""
    op: Any = call.op
    options = call.arguments(
        max_norm=(op.max_norm, None),
        norm_type=(op.norm_type, 2.0),
        mode=(op.mode, "mean"),
        include_last_offset=(op.include_last_offset, False),
        padding_idx=(op.padding_idx, None),
    )
    rows, features = call.start(op.num_embeddings, "num_embeddings"), call.start(op.embedding_dim, "features")
    inputs = [call.x]
    if call.has(1) or call.has(2):
        inputs.append(call.input(1) if call.has(1) else "None")
    if call.has(2):
        inputs.append(call.input(2))
    return call.module(f"nn.EmbeddingBag({rows}, {features}{options})", *inputs)


@rule("one_hot")
def one_hot(call: Call) -> Emitted | str:
    """Write ``F.one_hot``."""
    text = f"F.one_hot({call.x}, {call.value(call.op.num_classes, 'num_classes')})"
    return text if call.op.dtype == "int64" else f"{text}.to(torch.{call.op.dtype})"
