"""Steps of ``forward``: each adds lines to a draft, or none where PyTorch refuses what is drawn."""

from __future__ import annotations

from collections.abc import Callable

from tests.exhaustive.drawn_modules import expressions
from tests.exhaustive.drawn_modules.draft import Called, Draft, Value
from tests.exhaustive.drawn_modules.expressions import filled
from tests.exhaustive.drawn_modules.layers import layer_for

__all__ = ["STEPS", "any_of", "called", "join", "same_type", "taken"]

#: A step; True if it added something.
Step = Callable[[Draft], bool]


def any_of(value: Value) -> bool:
    """Accept every value."""
    return True


def _is_whole(value: Value) -> bool:
    return not value.is_float


def same_type(value: Value) -> Callable[[Value], bool]:
    """Return the test for the shape and type of a value."""
    return lambda other: other.shape == value.shape and other.tensor.dtype == value.tensor.dtype


def taken(draft: Draft, result: Value | bool | None, *used: Value) -> bool:
    """Mark values as used if a step succeeded."""
    for value in used if result else ():
        value.used = True
    return bool(result)


# -- functions ----------------------------------------------------------------------------------------


def single(draft: Draft) -> bool:
    """Add a function of one tensor."""
    value = draft.pick()
    return value is not None and bool(
        draft.assign(filled(draft.rng, draft.rng.choice(expressions.SINGLE), value), value)
    )


def pair(draft: Draft) -> bool:
    """Add a function of two tensors, of the same shape more often."""
    value = draft.pick()
    if value is None:
        return False
    other = draft.pick(same_type(value)) if draft.rng.random() < 0.6 else draft.pick()
    other = other or value
    text = filled(draft.rng, draft.rng.choice(expressions.PAIRS), value, other)
    return _is_plain_pair(text, value, other) and bool(draft.assign(text, value, other))


def _is_plain_pair(text: str, value: Value, other: Value) -> bool:
    """Return False for differences of equal tensors, and for products of a vector that PyTorch runs as it likes."""
    ranks = sorted((len(value.shape), len(other.shape)))
    is_product = any(word in text for word in ("@", "matmul", "linear", "einsum", "bmm"))
    return not (value is other and ("-" in text or "cdist" in text)) and not (is_product and ranks[0] == 1 < ranks[1])


def several(draft: Draft) -> bool:
    """Add a function with two results."""
    value = draft.pick()
    if value is None:
        return False
    first, second = draft.local(), draft.local()
    text = filled(draft.rng, draft.rng.choice(expressions.SEVERAL), value, p=first, q=second)
    return draft.results(text, (first, second), value)


def compared(draft: Draft) -> bool:
    """Add a function that is not continuous, of a tensor without rounding."""
    value = draft.pick(lambda one: one.exact and one.is_float)
    if value is None:
        return False
    return bool(draft.assign(filled(draft.rng, draft.rng.choice(expressions.COMPARED), value), value, exact=True))


def whole(draft: Draft) -> bool:
    """Add a function of indices or truth values."""
    value = draft.pick(_is_whole)
    if value is None:
        return False
    return bool(draft.assign(filled(draft.rng, draft.rng.choice(expressions.INDICES), value), value, exact=True))


def indexed(draft: Draft) -> bool:
    """Add a function of a tensor and of indices."""
    value, other = draft.pick(), draft.pick(_is_whole)
    if value is None or other is None:
        return False
    return bool(draft.assign(filled(draft.rng, draft.rng.choice(expressions.INDEXED), value, other), value, other))


def created(draft: Draft) -> bool:
    """Add a tensor that is made of sizes, and use it."""
    value = draft.pick(any_of)
    if value is None:
        return False
    made = draft.assign(filled(draft.rng, draft.rng.choice(expressions.CREATED), value), exact=True)
    return made is not None and join(draft, made)


def random(draft: Draft) -> bool:
    """Add random numbers, and use them."""
    value = draft.pick()
    if value is None:
        return False
    if draft.rng.random() < 0.4:
        return bool(draft.assign(filled(draft.rng, draft.rng.choice(expressions.NOISE), value), value))
    made = draft.assign(filled(draft.rng, draft.rng.choice(expressions.DRAWN), value), exact=True)
    return made is not None and (draft.rng.random() < 0.3 or join(draft, made))


def join(draft: Draft, value: Value) -> bool:
    """Use a value together with another one, in one of several ways."""
    other = draft.pick()
    if other is None or other is value:
        return False
    for _ in range(3):
        template = draft.rng.choice(expressions.PAIRS if value.is_float else expressions.INDEXED)
        text = filled(draft.rng, template, other, value)
        if _is_plain_pair(text, other, value) and draft.assign(text, value, other):
            return True
    return False


# -- layers -------------------------------------------------------------------------------------------


def called(draft: Draft, text: str, *values: Value, more: str = "") -> Value | None:
    """Add a call that gives a tensor, and keep it, to be called again."""
    result = draft.assign(f"{text}({', '.join(value.text for value in values)}{more})", *values)
    if result is not None:
        draft.calls.append(Called(text, tuple(value.shape for value in values), more))
    return result


def layer(draft: Draft) -> bool:
    """Add a layer and call it."""
    value = draft.pick(any_of) if draft.rng.random() < 0.3 else draft.pick()
    if value is None:
        return False
    with draft.trial() as undo:
        text = draft.made(layer_for(draft.rng, value))
        if text is not None and called(draft, text, value):
            return True
        if draft.rng.random() < 0.95:  # the others are not used
            undo()
    return False


def recurrent(draft: Draft) -> bool:
    """Add a recurrent layer and call it."""
    rng, value = draft.rng, draft.pick(lambda one: one.is_float and len(one.shape) == 3)
    if value is None:
        return False
    size, hidden, kind = value.shape[-1], rng.choice((4, 6)), rng.choice(("GRU", "LSTM", "RNN"))
    more = rng.choice(("", ", num_layers=2", ", bidirectional=True", ", bias=False"))
    with draft.trial() as undo:
        text = draft.made(f"nn.{kind}({size}, {hidden}{more}{rng.choice((', batch_first=True', ''))})")
        first, second = draft.local(), draft.local()
        state = f"{second}_[0]" if kind == "LSTM" else f"{second}_"
        lines = f"{first}, {second}_ = {text}({value.text})\n{second} = {state}"
        if rng.random() < 0.5:
            lines, second = f"{first}, _ = {text}({value.text})", ""
        if text is not None and draft.results(lines, (first, second), value):
            return True
        undo()
    return False


def cell(draft: Draft) -> bool:
    """Add a recurrent cell that a loop calls."""
    rng, value = draft.rng, draft.pick(lambda one: one.is_float and len(one.shape) == 3)
    if value is None:
        return False
    kind, hidden = rng.choice(("GRUCell", "LSTMCell", "RNNCell", "Linear")), rng.choice((4, 6))
    with draft.trial() as undo:
        extra = hidden if kind == "Linear" else 0
        text = draft.made(f"nn.{kind}({value.shape[-1] + extra}, {hidden})")
        state, steps = draft.local(), draft.local()
        start = f"{value.text}.new_zeros({value.shape[0]}, {hidden})"
        step = {
            "LSTMCell": f"{state}, c = {text}(x, ({state}, c))",
            "Linear": f"{state} = torch.tanh({text}(torch.cat([x, {state}], -1)))",
        }.get(kind, f"{state} = {text}(x, {state})")
        lines = f"{state} = {start}\n{'c = ' + state if kind == 'LSTMCell' else ''}\n{steps} = []\n"
        lines += f"for x in {value.text}.unbind(1):\n    {step}\n    {steps}.append({state})\n"
        result = draft.local()
        lines += f"{result} = {rng.choice((state, f'torch.stack({steps}, 1)', f'torch.cat({steps}, -1)'))}"
        if text is not None and draft.results(lines, (result,), value):
            return True
        undo()
    return False


def attention(draft: Draft) -> bool:
    """Add multi-head attention, of a sequence to itself or to another one."""
    rng, value = draft.rng, draft.pick(lambda one: one.is_float and len(one.shape) == 3)
    if value is None:
        return False
    other = draft.pick(same_type(value)) or value
    heads = 2 if value.shape[-1] % 2 == 0 else 1
    with draft.trial() as undo:
        text = draft.made(f"nn.MultiheadAttention({value.shape[-1]}, {heads}, batch_first=True)")
        more = rng.choice((", need_weights=False", "", ", average_attn_weights=False"))
        out, weights = draft.local(), draft.local() if "need" not in more else ""
        lines = f"{out}, {weights or '_'} = {text}({value.text}, {other.text}, {other.text}{more})"
        if text is not None and draft.results(lines, (out, weights), value, other):
            return True
        undo()
    return False


# -- members used again -------------------------------------------------------------------------------


def again(draft: Draft) -> bool:
    """Call again what was called before, or any module below, by itself."""
    rng = draft.rng
    if draft.calls and rng.random() < 0.6:
        call = rng.choice(draft.calls)
        values = [draft.pick(lambda one, shape=shape: one.shape == shape) for shape in call.shapes]
        return all(values) and bool(
            draft.assign(f"{call.text}({', '.join(v.text for v in values)}{call.more})", *values)
        )
    paths = [path for path, _ in draft.instance.named_modules() if path]
    if not paths:
        return False
    for _ in range(6):
        value = draft.pick(any_of)
        assert value is not None
        if called(draft, draft.access(rng.choice(paths)), value):
            return True
    return False


#: Uses of a weight ``{w}`` besides the module's own.
_USES = (
    *("{v} * {w}.norm()", "F.linear({v}, {w})", "F.linear({v}, {w}.flatten(1).t())", "{v} + {w}.mean(0)", "{v} + {w}"),
    *("{v} * {w}.abs().mean()", "torch.cat([{v}, {w}])", "F.normalize({w}, dim=0)", "{w} * 2", "torch.cdist({v}, {w})"),
    *("F.embedding(torch.zeros(2, 3, dtype=torch.long), {w})", "{w}.sum(0)", "F.linear({v}, F.normalize({w}, dim=-1))"),
    *("F.conv2d({v}, {w}, padding=1)", "{w}.transpose(0, -1)", "{w}[0]", "{v} * {w}.view(-1, 1, 1)", "{w}"),
    *(
        "F.layer_norm({v}, {w}.shape, {w})",
        "torch.softmax({w}, -1)",
        "torch.matmul({w}, {v}.mT)",
        "F.linear({v}, {w} * 0.5)",
    ),
)


def weights(draft: Draft) -> bool:
    """Use a parameter or buffer of a module below directly."""
    rng, value = draft.rng, draft.pick()
    names = [name for name, _ in (*draft.instance.named_parameters(), *draft.instance.named_buffers())]
    names = [name for name in names if not name.endswith("num_batches_tracked")]
    if value is None or not names:
        return False
    for _ in range(6):
        text = draft.access(rng.choice(names))
        template = rng.choice(_USES).replace("{w}", text)
        if eval(text, draft.names).is_floating_point() and draft.assign(
            filled(rng, template, value), *([value] if "{v}" in template else [])
        ):
            return True
    return False


#: The function steps by weight.
STEPS: dict[Step, float] = {
    single: 5,
    pair: 5,
    several: 1,
    compared: 0.7,
    whole: 0.7,
    indexed: 0.7,
    created: 0.7,
    random: 0.6,
    layer: 7,
    recurrent: 0.7,
    cell: 0.5,
    attention: 0.7,
    again: 4,
    weights: 2.5,
}
