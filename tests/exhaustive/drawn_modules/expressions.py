"""Expressions of tensors: functions of one, of several, and those that make some.

``{v}`` and ``{w}`` stand for tensors, ``{a}`` and ``{b}`` for axes, ``{s}`` for the sizes of ``v``, ``{n}`` for its
last one.
"""

from __future__ import annotations

from random import Random

from tests.exhaustive.drawn_modules.draft import Value

__all__ = ["COMPARED", "CREATED", "DRAWN", "INDEXED", "INDICES", "NOISE", "PAIRS", "SEVERAL", "SINGLE", "filled"]

#: Functions of one floating-point tensor that are continuous.
SINGLE = (
    *("torch.tanh({v})", "torch.sigmoid({v})", "F.gelu({v})", "F.silu({v})", "{v}.relu()", "torch.relu({v})"),
    *("F.relu({v})", "{v} * 0.5", "{v} + 1", "1 - {v}", "-{v}", "{v}.abs()", "{v} ** 2", "torch.exp(-{v}.abs())"),
    *("torch.log1p({v}.abs())", "torch.sqrt({v}.abs() + 0.1)", "{v} / ({v}.abs() + 1)", "{v}.clamp(-1, 1)"),
    *("F.softplus({v})", "F.leaky_relu({v}, 0.1)", "{v}.sin()", "{v}.cos()", "torch.erf({v})", "{v}.square()"),
    *("torch.reciprocal({v}.abs() + 1)", "{v}.clone()", "{v}.contiguous()", "{v}.detach()", "{v}.float()", "+{v}"),
    *(
        "{v}.to(torch.float32)",
        "F.dropout({v}, 0.5, self.training)",
        "F.hardtanh({v})",
        "F.elu({v})",
        "2 / (1 + {v} ** 2)",
    ),
    *("torch.where({v} > 0, {v}, {v} * 0.1)", "torch.nan_to_num({v})", "torch.softmax({v}, {a})", "{v}.softmax({a})"),
    *("{v}.sum({a})", "{v}.sum({a}, keepdim=True)", "{v}.mean({a})", "{v}.mean({a}, keepdim=True)", "{v}.amax({a})"),
    *("{v}.sum()", "{v}.mean()", "{v}.max()", "{v}.cumsum({a})", "{v}.norm(dim={a}, keepdim=True)", "{v}.var({a})"),
    *("torch.logsumexp({v}, {a})", "{v}.flip({a})", "{v}.roll(1, {a})", "F.normalize({v}, dim={a})", "{v}.std({a})"),
    *("{v}.unsqueeze({a})", "{v}.select({a}, 0)", "{v}.narrow({a}, 0, 1)", "{v}.max({a}).values", "{v}.prod({a})"),
    *("{v}.sort({a}).values", "{v}.topk(1, {a}).values", "{v}.chunk(2, {a})[0]", "{v}.transpose({a}, {b})"),
    *("{v}.flatten({a})", "{v}.reshape(-1)", "{v}.reshape({s}[::-1])", "{v}.view(-1, {n})", "{v}.view({s})"),
    *("{v}.movedim({a}, {b})", "{v}.repeat_interleave(2, {a})", "{v}[..., ::2]", "{v}[:, 1:]", "{v}[None]", "{v}[0]"),
    *("{v}[..., -1]", "{v}[..., None]", "F.pad({v}, (1, 0))", "{v}.squeeze()", "{v}.mT", "{v}.T", "{v}.diagonal()"),
    *("torch.stack([{v}, {v}], {a})", "torch.cat([{v}, {v} * 2], {a})", "{v}.expand(2, *{v}.shape)", "{v}.triu()"),
    *("{v}.unflatten({a}, (-1, 2))", "{v}.permute(*range({v}.dim())[::-1])", "torch.einsum('...i->...', {v})"),
    *("F.layer_norm({v}, {s}[-1:])", "F.adaptive_avg_pool1d({v}, 2)", "F.interpolate({v}, scale_factor=2)"),
    *("F.avg_pool2d({v}, 2)", "F.max_pool2d({v}, 2)", "F.unfold({v}, 2)", "F.pixel_unshuffle({v}, 2)", "{v}.tril()"),
    *("sum({v}.unbind({a}))", "torch.stack([t * 2 for t in {v}])", "torch.cat([t[None] for t in {v}.unbind()], 0)"),
    *(
        "{v} * {v}.shape[-1] ** -0.5",
        "{v}.reshape({v}.size(0), -1)",
        "{v}.view({v}.shape[0], -1)",
        "{v}.mul(0.1).add(2)",
    ),
    *(
        "F.linear({v}, {v}.reshape(-1, {n}))",
        "{v} + {v}.sum(-1, keepdim=True)",
        "{v} @ {v}.mT",
        "torch.clip({v}, max=1)",
    ),
)
#: Functions of two floating-point tensors.
PAIRS = (
    *("{v} + {w}", "{v} - {w}", "{v} * {w}", "torch.add({v}, {w}, alpha=2)", "torch.maximum({v}, {w})", "{v}.add({w})"),
    *("torch.cat([{v}, {w}], {a})", "torch.stack([{v}, {w}], {a})", "torch.lerp({v}, {w}, 0.3)", "{w}.mul({v})"),
    *(
        "torch.addcmul({v}, {w}, {w})",
        "{v} / ({w}.abs() + 1)",
        "{v} @ {w}",
        "{v} @ {w}.mT",
        "torch.matmul({w}, {v}.mT)",
    ),
    *("torch.einsum('...i,...i->...', {v}, {w})", "torch.bmm({v}, {w}.mT)", "F.cosine_similarity({v}, {w}, {a})"),
    *("F.scaled_dot_product_attention({v}, {w}, {w})", "torch.cdist({v}, {w})", "torch.outer({v}, {w})"),
    *(
        "F.mse_loss({v}, {w})",
        "{v} + {w}.mean()",
        "{v} * {w}.sigmoid().mean(-1, keepdim=True)",
        "({v} + 0 * {w}).mul(2)",
    ),
    *(
        "torch.where(({v} + {w}) > 1e9, {v}, {w})",
        "F.linear({v}, {w})",
        "F.bilinear({v}, {w}, {w}[None])",
        "{v}.dot({w})",
    ),
    *("torch.einsum('bi,bj->bij', {v}, {w})", "torch.baddbmm({v}, {v}, {w})", "F.smooth_l1_loss({v}, {w})"),
)
#: Statements that give several tensors.
SEVERAL = (
    *(
        "{p}, {q} = {v}.chunk(2, {a})",
        "{p}, {q} = torch.var_mean({v}, {a})",
        "{p}, {q} = {v}.split([1, {v}.shape[{a}] - 1], {a})",
    ),
    *("{p}, {q} = {v}, {v} * 2", "({p}, *{q}_) = {v}.unbind({a})\n{q} = sum({q}_)", "{p}, {q} = torch.aminmax({v})"),
    *(
        "{p}, {q} = (t * 2 for t in {v}.tensor_split(2, {a}))",
        "{p} = {q} = {v}.tanh()",
        "{p}, _ = {v}.max({a})\n{q} = {p} + 1",
    ),
    *(
        "{p} = {v}.sum()\n{q} = {p}.exp().log1p() if {p}.dim() == 0 else {p}",
        "{p}, {q} = torch.meshgrid({v}[0], {v}[0])",
    ),
)
#: Functions of one exact tensor that are not continuous.
COMPARED = (
    *("({v} > 0).float()", "torch.round({v})", "{v}.argmax(-1)", "torch.sign({v})", "{v}.floor()", "{v} > 0"),
    *(
        "{v}.long()",
        "{v}.masked_fill({v} > 0.5, 0)",
        "({v} + torch.linspace(0, 1, {v}.shape[-1])).topk(1).indices",  # of equal elements any may be the largest
        "{v}.ne(0)",
        "{v}.int()",
        "{v}.argsort(-1)",
    ),
    *("{v}.trunc()", "torch.where({v} < 0, 1.0, {v})", "{v}.ceil()", "{v}.bool()", "{v}.eq({v}.amax())"),
)
#: Functions of one tensor of indices or truth values.
INDICES = (
    *(
        "{v}.float()",
        "{v} + 1",
        "{v}.sum(-1)",
        "F.one_hot({v}, 20).float()",
        "{v}.to(torch.float32) * 0.1",
        "{v}.clamp(max=3)",
    ),
    *(
        "~{v}",
        "{v}.flatten()",
        "{v}[..., None].float()",
        "{v}.unsqueeze(0)",
        "{v} == 1",
        "{v}.any(-1)",
        "{v}.abs() % 3",
    ),
    *("{v}.long()", "{v}.cumsum(-1)", "{v}.logical_not()", "{v} * 2", "{v}.ne(1).sum(-1, keepdim=True)", "{v} // 2"),
)
#: Functions of a floating-point tensor ``v`` and another one.
INDEXED = (
    *(
        "{v}.masked_fill({w}, 0)",
        "torch.where({w}, {v}, -{v})",
        "{v}.index_select({a}, {w}.flatten() % {v}.shape[{a}])",
    ),
    *(
        "{v}[{w} % {v}.shape[0]]",
        "{v} * {w}",
        "{v}.gather({a}, {w} % {v}.shape[{a}])",
        "F.embedding({w} % {v}.shape[0], {v})",
    ),
    *("{v} + {w}[..., None]", "{v}.scatter({a}, {w} % {v}.shape[{a}], 0.5)", "{v}.masked_fill({w}.bool(), -9)"),
    *("{v}[:, {w}.flatten() % {v}.shape[1]]", "torch.where({w} > 0, {v}, {v} + 1)", "{v}.take({w} % {v}.numel())"),
)
#: Tensors that are made of sizes.
CREATED = (
    *("torch.ones_like({v})", "torch.zeros({s})", "torch.arange({n})", "torch.eye({n})", "torch.tensor([0.5, 1.5])"),
    *(
        "torch.full(({n},), 0.1)",
        "torch.linspace(0, 1, {n})",
        "torch.tril(torch.ones({n}, {n}))",
        "torch.arange({v}.shape[0])",
    ),
    *(
        "{v}.new_zeros({s})",
        "{v}.new_tensor([1.0, 2.0])",
        "torch.full_like({v}, 2.0)",
        "torch.ones({n}, dtype=torch.bool).triu()",
    ),
    *("torch.tensor(2.0)", "torch.arange({n}, dtype=torch.float32) / {n}", "torch.ones({v}.shape[0], 1)"),
)
#: Random numbers that are of the shape of a tensor.
DRAWN = (
    *("torch.randn_like({v})", "torch.rand_like({v})", "torch.rand({s})", "torch.randn({s})", "torch.rand(3, {n})"),
    *(
        "torch.randint(0, 5, {s})",
        "torch.bernoulli(torch.full({s}, 0.5))",
        "torch.normal(0.0, 1.0, {s})",
        "torch.randperm({n})",
    ),
    *(
        "torch.empty({s}).uniform_(-1, 1)",
        "{v}.new_empty({s}).normal_()",
        "torch.distributions.Normal(0.0, 1.0).sample({s})",
    ),
    *(
        "torch.multinomial(torch.ones({n}), 1)",
        "torch.randint_like({v}, 0, 4)",
        "torch.empty_like({v}).bernoulli_(0.3)",
    ),
)
#: Random numbers that are made of a tensor.
NOISE = (
    *("F.gumbel_softmax({v}, dim={a})", "torch.randn(()) + {v}", "torch.normal({v}, 0.1)"),
    *("{v} + 0.1 * torch.randn_like({v})", "{v} * torch.bernoulli(torch.full_like({v}, 0.7))"),
    *("torch.rand(1) * {v}.tanh()", "torch.distributions.Normal({v}, {v}.abs() + 0.1).rsample()"),
)


def filled(rng: Random, template: str, value: Value, other: Value | None = None, **names: str) -> str:
    """Return an expression with the tensors in place of their letters, and drawn axes."""
    rank = len(value.shape)
    axes = [rng.randrange(-rank, rank) if rank else 0 for _ in range(2)]
    given = {"v": value.text, "a": axes[0], "b": axes[1], "s": value.shape, "n": (value.shape or (2,))[-1], **names}
    if other is not None:
        given["w"] = other.text
    text = template
    for letter, filling in given.items():
        text = text.replace(f"{{{letter}}}", str(filling))
    return text
