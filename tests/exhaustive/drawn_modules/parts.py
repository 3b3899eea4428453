"""Steps that add modules of several parts: drawn classes, sequences, lists and mappings, shared parts, and regions."""

from __future__ import annotations

from tests.exhaustive.drawn_modules.draft import Called, Class, Draft, Value
from tests.exhaustive.drawn_modules.layers import FEWEST, activation, layer_for
from tests.exhaustive.drawn_modules.steps import any_of, called

__all__ = ["STEPS"]


def part(draft: Draft) -> bool:
    """Add a module of a class that is drawn for the tensors, or of an earlier one, and call it."""
    from tests.exhaustive.drawn_modules.program import drawn_class

    rng = draft.rng
    inputs = [value for value in (draft.pick(any_of) for _ in range(rng.choice((1, 1, 1, 2, 3)))) if value is not None]
    if not inputs or draft.depth <= 0:
        return False
    known = [one for one in draft.program.classes if one.shapes == tuple(v.shape for v in inputs) and not one.given]
    if known and rng.random() < 0.5:
        return _called_part(draft, rng.choice(known), "", inputs)
    shared = ""
    modules = [path for path, _ in draft.instance.named_modules() if path]
    if modules and rng.random() < 0.2:
        shared = draft.access(rng.choice(modules))
    drawn = drawn_class(draft.program, inputs, draft.depth - 1, given=eval(shared, draft.names) if shared else None)
    return _called_part(draft, drawn, shared, inputs)


def _called_part(draft: Draft, kind: Class, shared: str, inputs: list[Value]) -> bool:
    draft.names[kind.name] = draft.program.names[kind.name]
    with draft.trial() as undo:
        text = draft.made(f"{kind.name}({shared})")
        if text is not None and call_results(draft, text, kind.results, inputs):
            for value in inputs if kind.writes else ():
                draft.written(value)
            return True
        undo()
    return False


def call_results(draft: Draft, text: str, results: tuple[str, ...], inputs: list[Value]) -> bool:
    """Add a call and the tensors in what it returns."""
    name = draft.local()
    names = [f"{name}{way}" for way in results]
    if not draft.results(f"{name} = {text}({', '.join(value.text for value in inputs)})", names, *inputs):
        return False
    draft.calls.append(Called(text, tuple(value.shape for value in inputs), results=results))
    return True


# -- containers ---------------------------------------------------------------------------------------


def _layers_in_turn(draft: Draft, value: Value, count: int) -> list[str]:
    """Return constructors of layers, each of which takes the result of the one before."""
    texts: list[str] = []
    tensor = value.tensor
    for _ in range(4 * count):
        if len(texts) == count:
            break
        text = activation(draft.rng) if texts and draft.rng.random() < 0.3 else layer_for(draft.rng, Value("", tensor))
        try:
            made = eval(text, draft.names).to(getattr(draft.torch, draft.program.dtype)).eval()
            result = made(tensor.detach().clone())
        except Exception:
            continue
        if draft.is_moderate(result):
            texts.append(text)
            tensor = result
    return texts


def _kept(draft: Draft, value: Value) -> str | None:
    """Return the constructor of a module whose result has shape and type of its input; the class may be new."""
    from tests.exhaustive.drawn_modules.program import drawn_class

    if draft.depth <= 0 or draft.rng.random() < 0.5:
        size = (value.shape or (1,))[-1]
        return draft.rng.choice(
            (
                f"nn.Linear({size}, {size})",
                activation(draft.rng),
                *([f"nn.LayerNorm({size})"] * (size >= FEWEST)),
                f"nn.PReLU({size})",
            )
        )
    known = [one for one in draft.program.classes if one.keeps and not one.given and one.shapes == (value.shape,)]
    kind = draft.rng.choice(known) if known and draft.rng.random() < 0.6 else None
    kind = kind or drawn_class(draft.program, [value], draft.depth - 1, keeps=True)
    draft.names[kind.name] = draft.program.names[kind.name]
    return f"{kind.name}()"


def sequential(draft: Draft) -> bool:
    """Add a Sequential, by names too, and call it, its items, or a slice of it."""
    rng, value = draft.rng, draft.pick(any_of)
    if value is None:
        return False
    texts = _layers_in_turn(draft, value, rng.choice((1, 2, 3, 4)))
    if not texts:
        return False
    with draft.trial() as undo:
        if rng.random() < 0.3:
            keys: list[str] = []
            for _ in texts:
                keys.append(draft.program.palette.plain({*keys, *dir(draft.instance)}))
            items = ", ".join(f"({key!r}, {text})" for key, text in zip(keys, texts, strict=True))
            made = draft.made(f"nn.Sequential(OrderedDict([{items}]))")
        else:
            made = draft.made(f"nn.Sequential({', '.join(texts)})")
        if made is not None and _run_through(draft, made, value, len(texts)):
            return True
        undo()
    return False


def _run_through(draft: Draft, text: str, value: Value, count: int) -> bool:
    """Call a sequence as a whole, in two parts, or item by item; perhaps twice."""
    rng, done = draft.rng, False
    for _ in range(rng.choice((1, 1, 1, 2))):
        way, result = rng.random(), draft.local()
        if way < 0.5:
            done |= called(draft, text, value) is not None
        elif way < 0.7:
            cut = rng.randrange(count + 1)
            first = draft.assign(f"{text}[:{cut}]({value.text})", value)
            done |= first is not None
            if first is not None and rng.random() < 0.7:
                draft.assign(f"{text}[{cut}:]({first.text})", first)
        elif way < 0.85:
            done |= draft.results(
                f"{result} = {value.text}\nfor part in {text}:\n    {result} = part({result})", (result,), value
            )
        else:
            done |= called(draft, f"{text}[0]", value) is not None
    return done


def module_list(draft: Draft) -> bool:
    """Add a ModuleList, or a plain list, of equal or unequal modules, and loop over it."""
    rng, value = draft.rng, draft.pick()
    if value is None:
        return False
    result, name, index = draft.local(), draft.local(), draft.local()
    with draft.trial() as undo:
        texts = (
            [_kept(draft, value)] * rng.choice((2, 3, 4))
            if rng.random() < 0.7
            else [_kept(draft, value) for _ in range(3)]
        )
        kind = rng.choice(("nn.ModuleList([{}])", "nn.ModuleList([{}])", "nn.Sequential(*[{}])", "[{}]"))
        if kind == "[{}]":
            texts = [f"{text}.eval(){draft.cast}" for text in texts]
        items = ", ".join(map(str, texts))
        if len({*texts}) == 1 and rng.random() < 0.5:
            items = f"{texts[0]} for _ in range({len(texts)})"
        made = draft.made(kind.format(items))
        if made is None:
            undo()
            return False
        loops = (
            *(f"for {name} in {made}:\n    {result} = {name}({result})",) * 3,
            f"for {name} in {made}:\n    {result} = {result} + {name}({result})",
            f"for {name} in {made}:\n    {result} = torch.relu({name}({result})) + {result}.mean()",
            f"for {index}, {name} in enumerate({made}):\n    {result} = {name}({result}) * (1 + {index})",
            f"for {name} in reversed(list({made})):\n    {result} = {name}({result})",
            f"for {index} in range({len(texts)}):\n    {result} = {made}[{index}]({result})\n"
            f"    if {index} == 1:\n        {result} = {result} * 0.5",
            f"for {name} in {made}:\n    for _ in range(2):\n        {result} = {name}({result})",
            f"{index} = []\nfor {name} in {made}:\n    {result} = {name}({result})\n    {index}.append({result})\n"
            f"{result} = torch.stack({index})",
            f"{result} = sum({name}({result}) for {name} in {made})",
            f"{result} = torch.cat([{name}({result}) for {name} in {made}], -1)",
            f"{index} = [{result}]\nfor {name} in {made}:\n    {index}.append({name}(sum({index})))\n"
            f"{result} = {index}[-1]",
        )
        if draft.results(f"{result} = {value.text}\n{rng.choice(loops)}", (result,), value):
            return True
        undo()
    return False


def module_dict(draft: Draft) -> bool:
    """Add a ModuleDict under odd keys, and call its items by keys or in a loop."""
    rng, value = draft.rng, draft.pick()
    if value is None:
        return False
    keys: list[str] = []
    with draft.trial() as undo:
        for _ in range(rng.choice((1, 2, 3))):
            keys.append(draft.program.palette.key({*keys, *dir(draft.torch.nn.ModuleDict())}))
        items = ", ".join(f"{key!r}: {layer_for(rng, value)}" for key in keys)
        made = draft.made(f"nn.ModuleDict({{{items}}})")
        if made is None:
            undo()
            return False
        if rng.random() < 0.6:
            results = [called(draft, f"{made}[{key!r}]", value) for key in keys]
            done = any(results)
        else:
            name, result = draft.local(), draft.local()
            lines = (
                f"{name} = {{key: part({value.text}) for key, part in {made}.items()}}\n{result} = {name}[{keys[0]!r}]"
            )
            done = draft.results(lines, (result,), value)
            for key in keys[1:] if done else ():
                tensor = draft.names[name][key]
                if draft.is_moderate(tensor):
                    draft.add(Value(f"{name}[{key!r}]", tensor))
        if done:
            return True
        undo()
    return False


# -- shared parts -------------------------------------------------------------------------------------


def registered_again(draft: Draft) -> bool:
    """Register a module a second time, under another name or in a list, and call it by that."""
    rng = draft.rng
    paths = [path for path, _ in draft.instance.named_modules() if path]
    if not paths:
        return False
    for _ in range(4):
        path, value = rng.choice(paths), draft.pick(any_of)
        assert value is not None
        text = draft.access(path)
        constructor = rng.choice(
            (text, text, f"nn.ModuleList([{text}])", f"nn.Sequential({text}, nn.Tanh())", f"[{text}]")
        )
        with draft.trial() as undo:
            made = draft.made(constructor)
            made = made and made + (
                "[0]" if "[" in constructor[len(text) * (constructor == text) :] and "Seq" not in constructor else ""
            )
            if made is not None and called(draft, made, value):
                return True
            undo()
    return False


def held(draft: Draft) -> bool:
    """Let a module hold itself in a list, and call its parts by that."""
    paths = [path for path, _ in draft.instance.named_children()]
    value = draft.pick(any_of)
    if not paths or value is None:
        return False
    with draft.trial() as undo:
        made = draft.made("[self]")
        path = draft.rng.choice(paths)
        if made is not None and called(draft, draft.access(path).replace("self", f"{made}[0]", 1), value):
            return True
        undo()
    return False


_PARAMETRIZED = (
    "nn.utils.parametrizations.weight_norm({m})",
    "nn.utils.weight_norm({m})",
    "nn.utils.parametrizations.spectral_norm({m})",
    "nn.utils.parametrize.register_parametrization({m}, 'weight', nn.Tanh())",
    "nn.utils.parametrizations.orthogonal({m}, orthogonal_map='householder')",
)


def parametrized(draft: Draft) -> bool:
    """Add a layer with a parametrization and call it."""
    value = draft.pick()
    if value is None:
        return False
    with draft.trial() as undo:
        constructor = layer_for(draft.rng, value)
        if "Linear" in constructor or "Conv" in constructor:
            text = draft.made(draft.rng.choice(_PARAMETRIZED[:4]).replace("{m}", constructor))
            if text is not None and called(draft, text, value):
                return True
        undo()
    return False


def method(draft: Draft) -> bool:
    """Call the method of a class that calls a member."""
    rng, value = draft.rng, draft.pick()
    members = [path for path, _ in draft.instance.named_children()]
    if value is None or not members:
        return False
    member = draft.access(rng.choice(members))
    name = draft.program.palette.plain({*dir(draft.instance)}) + "_call"
    text = f"def {name}(self, x):\n    x = torch.tanh(x)\n    return {member}(x)"
    function = {**draft.names}
    exec(text, function)
    draft.instance.__dict__[name] = function[name].__get__(draft.instance)
    if called(draft, f"self.{name}", value):
        draft.methods.append(text)
        return True
    del draft.instance.__dict__[name]
    return False


# -- regions ------------------------------------------------------------------------------------------


def autocast(draft: Draft) -> bool:
    """Add steps in a region of ``torch.autocast``, perhaps with another one in it."""
    from tests.exhaustive.drawn_modules.program import step

    dtype = draft.rng.choice(("torch.bfloat16", "torch.bfloat16", "torch.float16"))
    text = draft.rng.choice((f"torch.autocast('cpu', dtype={dtype})", "torch.autocast('cpu', enabled=False)"))
    if not draft.torch.is_autocast_enabled("cpu"):
        text = f"torch.autocast('cpu', dtype={dtype})"
    with draft.inside(f"with {text}:"), eval(text, draft.names):
        for _ in range(draft.rng.choice((1, 2, 4))):
            step(draft)
    return True


def condition(draft: Draft) -> bool:
    """Add steps under a condition on Python values."""
    from tests.exhaustive.drawn_modules.program import step

    rng, value = draft.rng, draft.pick(lambda one: bool(one.shape))
    if value is None:
        return False
    name = draft.program.palette.plain({*dir(draft.instance)})
    conditions = (
        *("not self.training", f"{value.text}.shape[-1] == {value.shape[-1]}", f"{value.text}.dim() < 9"),
        *(
            f"{value.text}.dtype == {value.tensor.dtype}",
            f"getattr(self, 'x', None) is None or {value.text} is not None",
        ),
        *("torch.is_grad_enabled() or True", f"isinstance({value.text}, torch.Tensor)", f"self.{name}"),
    )
    chosen = rng.choice(conditions)
    if chosen == f"self.{name}":
        draft.member("True", name)
    with draft.inside(f"if {chosen}:"):
        step(draft)
    return True


def no_gradient(draft: Draft) -> bool:
    """Add steps without gradients."""
    from tests.exhaustive.drawn_modules.program import step

    with draft.inside("with torch.no_grad():"), draft.torch.no_grad():
        step(draft)
    return True


def checkpointed(draft: Draft) -> bool:
    """Call a module by ``torch.utils.checkpoint``."""
    value = draft.pick()
    calls = [one for one in draft.calls if len(one.shapes) == 1 and one.results == ("",) and not one.more]
    if value is None or not calls:
        return False
    call = draft.rng.choice(calls)
    return bool(draft.assign(f"checkpoint({call.text}, {value.text}, use_reentrant=False)", value))


#: The steps by weight.
STEPS = {
    part: 5,
    sequential: 2.5,
    module_list: 2.5,
    module_dict: 1,
    registered_again: 1.5,
    held: 0.3,
    parametrized: 0.6,
    method: 0.5,
    autocast: 0.4,
    condition: 0.6,
    no_gradient: 0.2,
    checkpointed: 0.15,
}
