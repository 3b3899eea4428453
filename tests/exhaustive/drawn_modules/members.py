"""Steps that add parameters, buffers and other tensors to a module, and that change tensors in place."""

from __future__ import annotations

from tests.exhaustive.drawn_modules.draft import Draft, Value
from tests.exhaustive.drawn_modules.names import is_plain
from tests.exhaustive.drawn_modules.steps import join, same_type

__all__ = ["STEPS"]


def _broadcast(draft: Draft, shape: tuple[int, ...]) -> list[int]:
    """Return a shape that broadcasts to another one."""
    kept = list(shape[draft.rng.randint(0, len(shape)) :])
    return [size if draft.rng.random() < 0.7 else 1 for size in kept]


def tensor(draft: Draft) -> bool:
    """Add a parameter, a buffer or a tensor that is not registered, and use it."""
    rng, value = draft.rng, draft.pick()
    if value is None:
        return False
    shape = _broadcast(draft, value.shape)
    data = rng.choice(
        (f"torch.randn({shape})", f"torch.randn({shape})", f"torch.ones({shape})", f"torch.full({shape}, 0.3)")
    )
    kind = rng.choice(("parameter", "parameter", "buffer", "buffer", "plain", "list", "frozen", "held"))
    name = draft.program.palette.plain({*dir(draft.instance)})
    with draft.trial() as undo:
        if kind in ("parameter", "frozen"):
            text = draft.member(f"nn.Parameter({data}{', requires_grad=False' * (kind == 'frozen')})", name)
        elif kind == "buffer":
            text = draft.buffer(name, data)
        elif kind == "plain":
            text = draft.member(data, name)
        elif kind == "held":
            text = draft.member(rng.choice((f"[{data}]", f"[1, {data}][1:]")), name) + "[0]"
        else:
            text = draft.member(f"nn.ParameterList([{data}, {data}])", name) + "[0]"
        made = draft.add(Value(text, eval(text, draft.names), exact=kind != "parameter"))
        if join(draft, made):
            return True
        draft.values.remove(made)
        undo()
    return False


def tied(draft: Draft) -> bool:
    """Give a module another parameter of the same shape, of its own or of another module, for one of its own."""
    found = [
        (name, one)
        for name, one in draft.instance.named_parameters(remove_duplicate=False)
        if is_plain(name.rpartition(".")[2])
    ]
    pairs = [(a, b) for a, x in found for b, y in found if a < b and x is not y and x.shape == y.shape]
    pairs = [(a, b) for a, b in pairs if "parametrizations" not in a + b]
    if not pairs:
        return False
    first, second = draft.rng.choice(pairs)
    texts = []
    for path in (first, second):
        if type(draft.instance.get_submodule(path.rpartition(".")[0])).__name__ == "ParameterList":
            return False
        texts.append(draft.access(path))
    line = f"{texts[1]} = {texts[0]}"
    exec(line, draft.names)
    draft.init.append(line)
    return True


#: Changes of ``{v}`` in place, by another tensor ``{w}`` too.
_CHANGES = (
    *("{v}.add_(1)", "{v}.mul_(0.5)", "{v} += {w}", "{v} *= 0.5", "{v}[..., 0] = 0", "{v}[:, :1] = {w}[:, :1]"),
    *(
        "{v}[..., ::2].mul_(2)",
        "{v}.relu_()",
        "F.relu({v}, inplace=True)",
        "{v}.clamp_(-1, 1)",
        "{v}.transpose(0, -1).add_(1)",
    ),
    *(
        "{v}.add_({w}, alpha=0.5)",
        "{v}[0] += {w}[0]",
        "{v}.tanh_()",
        "{v}.flatten()[1:].mul_(0.3)",
        "{v}.view(-1).add_(0.1)",
    ),
    *(
        "{v}.unsqueeze(0).sub_(0.2)",
        "{v}[:, 0], {v}[:, 1] = {v}[:, 1].clone(), {v}[:, 0].clone()",
        "{v}[0].copy_({w}[0])",
    ),
    *(
        "torch.sigmoid_({v})",
        "{v}.div_(2).add_(1)",
        "{v}[-1:].fill_(0.5)",
        "{v}.sub_({w}.mean())",
        "{v}.lerp_({w}, 0.5)",
    ),
    *(
        "{v}[1:] = {v}[:-1].clone()",
        "{v}.mT.mul_(2)",
        "for t in {v}:\n    t.add_(1)",
        "{v}.index_add_(0, torch.tensor([0]), {w}[:1])",
    ),
    *("{v}.narrow(-1, 0, 1).zero_()", "{v}.unsqueeze_(0)", "{v}.squeeze_()", "{v}.t_()", "{v}.exp_().clamp_(max=3)"),
    *(
        "{v}.diagonal().add_(1)",
        "{v}[..., None].mul_(1.5)",
        "{v}.normal_()",
        "{v}[0].uniform_()",
        "{v}.addcmul_({w}, {w})",
    ),
)


def change(draft: Draft) -> bool:
    """Change a tensor in place."""
    rng, value = draft.rng, draft.pick()
    if value is None or not is_plain(value.text):
        return False
    other = draft.pick(same_type(value)) or value
    template = rng.choice(_CHANGES)
    text = template.replace("{v}", value.text).replace("{w}", other.text)
    if not draft.statement(text, *([other] if "{w}" in template else []), check=value):
        draft.names[value.text] = value.tensor
        return False
    value.tensor = draft.names[value.text]
    draft.written(value)
    return True


def view(draft: Draft) -> bool:
    """Take a view, change it or what it is of, and use the other one."""
    rng, value = draft.rng, draft.pick()
    if value is None or not is_plain(value.text) or not value.shape:
        return False
    texts = (
        "{v}.view({s})",
        "{v}[..., 0]",
        "{v}.transpose(0, -1)",
        "{v}.flatten()",
        "{v}[1:]",
        "{v}.unsqueeze(1)",
        "{v}.chunk(2)[0]",
    )
    made = draft.assign(rng.choice(texts).replace("{v}", value.text).replace("{s}", str(value.shape)), value)
    if made is None:
        return False
    changed, read = (made, value) if rng.random() < 0.5 else (value, made)
    if not draft.statement(
        f"{changed.text}.{rng.choice(('add_(1)', 'mul_(2)', 'relu_()', 'clamp_(max=1)'))}", check=changed
    ):
        return True
    draft.written(changed)
    draft.written(value)
    read.used = False
    return True


def buffer_change(draft: Draft) -> bool:
    """Change a buffer in place, and read it."""
    rng, value = draft.rng, draft.pick()
    if value is None:
        return False
    shape = [] if rng.random() < 0.5 else list(value.shape[-1:])
    with draft.trial() as undo:
        whole = rng.random() < 0.3
        text = draft.buffer(
            draft.program.palette.plain({*dir(draft.instance)}), f"torch.zeros({shape}{', dtype=torch.long' * whole})"
        )
        source = value.text + (
            f".mean({list(range(len(value.shape) - 1))})" if shape and len(value.shape) > 1 else ".mean()"
        )
        lines = (
            ("{b}.add_(1)", "{b} += 1")
            if whole
            else (
                "{b}.mul_(0.9).add_({s}, alpha=0.1)",
                "{b}.copy_({s})",
                "{b} += 1",
                "{b}.lerp_({s}, 0.1)",
                "{b}.fill_(0.5)",
            )
        )
        line = rng.choice(lines)
        if rng.random() < 0.5:
            line = f"with torch.no_grad():\n    {line}"
        if draft.statement(line.replace("{b}", text).replace("{s}", source), *([value] if "{s}" in line else [])):
            made = draft.add(Value(text, eval(text, draft.names)))
            return join(draft, made) or True
        undo()
    return False


#: The steps by weight.
STEPS = {tensor: 2.5, tied: 0.4, change: 1.2, view: 0.8, buffer_change: 0.5}
