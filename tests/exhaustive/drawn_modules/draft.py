"""The class of a module in the making: its lines, and a live instance that each line is executed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from random import Random
from typing import Any

from tests.exhaustive.drawn_modules.names import Palette, is_plain

__all__ = ["Called", "Class", "Draft", "Program", "Value"]

#: Most elements and axes of a tensor, and the largest element of one.
ELEMENTS, AXES, LARGEST = 3000, 5, 300.0
#: Part of the square root of a type's precision below which all that is left of a difference is rounding.
SMALLEST = 0.25


@dataclass(eq=False)
class Value:
    """A tensor that lines can use, by the expression that gives it.

    ``exact`` tells that nothing is rounded in it, so that its elements can be compared; ``used`` that a line reads it.
    """

    text: str
    tensor: Any
    exact: bool = False
    used: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def is_float(self) -> bool:
        return bool(self.tensor.is_floating_point())


@dataclass(frozen=True)
class Called:
    """A callable that was called, with the tensors that it took."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    more: str = ""
    results: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class Class:
    """A finished class: its name in the text, what it takes, and where its results are in what it returns.

    ``keeps`` tells that its result has shape and type of its first input, ``writes`` that it changes inputs in place,
    ``given`` that its constructor takes a module.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    results: tuple[str, ...]
    keeps: bool
    writes: bool
    given: bool = False


@dataclass
class Program:
    """The text of all classes, and what they share."""

    rng: Random
    palette: Palette
    dtype: str = "float32"
    texts: list[str] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    budget: int = 40

    def execute(self, text: str) -> None:
        """Add a text before the classes that follow, and execute it."""
        self.texts.append(text)
        exec(text, self.names)


class Draft:
    """A class in the making.

    Attributes:
        init, lines: the lines of ``__init__`` and of ``forward``.
        instance: the live module, ``self`` of all lines.
        values: the tensors so far.
        calls: what was called so far.
    """

    def __init__(self, program: Program, depth: int) -> None:
        self.torch: Any = import_module("torch")
        self.program, self.rng, self.depth = program, program.rng, depth
        self.instance: Any = self.torch.nn.Module()
        self.instance.eval()
        self.names = {**program.names, "self": self.instance}
        self.init: list[str] = []
        self.lines: list[str] = []
        self.methods: list[str] = []
        self.values: list[Value] = []
        self.calls: list[Called] = []
        self.inputs: list[str] = []
        self.indent = 0
        self.writes = False
        self._count = 0

    # -- lines ----------------------------------------------------------------------------------------

    def local(self) -> str:
        """Return a new name of a local variable."""
        self._count += 1
        return f"v{self._count}"

    def statement(self, text: str, *used: Value, check: Value | None = None) -> bool:
        """Execute lines of ``forward`` and add them; False if PyTorch refuses them, or a tensor is large then."""
        if not self._executed(text) or (check is not None and not self.is_moderate(self.names[check.text])):
            return False
        self._add(text, used)
        return True

    def results(self, text: str, names: Sequence[str], *used: Value) -> bool:
        """Add lines that give tensors; False if PyTorch refuses them, or one is not moderate.

        Args:
            text: the lines.
            names: expressions of the tensors, of which empty ones do not count.
            used: the values that the lines read.
        """
        names = [name for name in names if name]
        if not self._executed(text):
            return False
        tensors = [eval(name, self.names) for name in names]
        if not all(map(self.is_moderate, tensors)):
            return False
        self._add(text, used)
        for name, tensor in zip(names, tensors, strict=True):
            self.add(Value(name, tensor))
        return True

    def _executed(self, text: str) -> bool:
        try:
            exec(text, self.names)
        except SyntaxError:
            raise
        except Exception:
            return False
        return True

    def _add(self, text: str, used: tuple[Value, ...]) -> None:
        self.lines += ["    " * self.indent + line for line in text.splitlines()]
        for value in used:
            value.used = True

    def assign(self, expression: str, *used: Value, exact: bool = False) -> Value | None:
        """Add a line that gives a tensor a name; None if PyTorch refuses it, or the tensor is not moderate."""
        name = self.local()
        try:
            result = eval(expression, self.names)
        except SyntaxError:
            raise
        except Exception:
            return None
        if not self.is_moderate(result):
            return None
        self.names[name] = result
        self._add(f"{name} = {expression}", used)
        return self.add(Value(name, result, exact))

    def add(self, value: Value) -> Value:
        """Add a value."""
        self.values.append(value)
        return value

    def is_moderate(self, tensor: Any) -> bool:
        """Return True for a tensor of some elements that are finite, not large, and not rounding errors alone."""
        if not isinstance(tensor, self.torch.Tensor) or tensor.is_complex() or tensor.dim() > AXES:
            return False
        if not 0 < tensor.numel() <= ELEMENTS:
            return False
        largest = float(tensor.detach().abs().max()) if tensor.dtype != self.torch.bool else 0.0
        precision = self.torch.finfo(tensor.dtype).eps if tensor.is_floating_point() else 0.0
        return largest == 0 or SMALLEST * precision**0.5 < largest < LARGEST

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Indent lines below a head."""
        self.lines.append("    " * self.indent + head)
        self.indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.lines.append("    " * self.indent + "pass")
        self.indent -= 1

    # -- values ---------------------------------------------------------------------------------------

    def pick(self, accepts: Callable[[Value], bool] = lambda value: value.is_float) -> Value | None:
        """Return one of the values that are accepted, of the newest more often; None if there are none."""
        found = [value for value in self.values if accepts(value)]
        if not found:
            return None
        return self.rng.choice(found[-3:]) if self.rng.random() < 0.7 else self.rng.choice(found)

    def unused(self) -> list[Value]:
        """Return the values that nothing reads."""
        return [value for value in self.values if not value.used]

    def written(self, value: Value) -> None:
        """Note that a value was changed in place, and is read by nothing since."""
        value.used = False
        value.exact = False
        if value.text in self.inputs or not value.text.startswith("v"):
            self.writes = True

    # -- members --------------------------------------------------------------------------------------

    def member(self, constructor: str, name: str | None = None) -> str:
        """Add a member to the module, and return the expression for it; PyTorch takes the constructor."""
        name = name or self.program.palette.attribute({*dir(self.instance)})
        plain = is_plain(name) and not name.startswith("__")
        line = f"self.{name} = {constructor}" if plain else f'setattr(self, "{name}", {constructor})'
        exec(line, self.names)
        self.instance.to(getattr(self.torch, self.program.dtype)).eval()
        self._draw(self.instance._modules.get(name))
        self.init.append(line)
        return f"self.{name}" if plain else f'getattr(self, "{name}")'

    def _draw(self, part: Any) -> None:
        """Draw the parameters of a new submodule like those of comparisons, which make larger values than PyTorch's."""
        with self.torch.no_grad():
            for name, tensor in part.named_parameters() if part is not None else ():
                shape = tensor.shape
                if len(shape) < 2 and name.endswith("weight"):
                    tensor.copy_(self.torch.rand(shape) + 0.5)
                else:
                    inputs = tensor.numel() // shape[0] if len(shape) > 1 else 100
                    tensor.copy_(self.torch.randn(shape) / inputs**0.5)

    def made(self, constructor: str) -> str | None:
        """Add a member; None if PyTorch refuses the arguments of its constructor."""
        try:
            return self.member(constructor)
        except SyntaxError:
            raise
        except Exception:
            return None

    def buffer(self, name: str, data: str) -> str:
        """Add a buffer, and return the expression for it."""
        more = self.rng.choice(("", ", persistent=False"))
        line = f"self.register_buffer({name!r}, {data}{more})"
        exec(line, self.names)
        self.instance.to(getattr(self.torch, self.program.dtype))
        self.init.append(line)
        return f"self.{name}"

    @contextmanager
    def trial(self) -> Iterator[Callable[[], None]]:
        """Yield a function that takes back the members that were added since."""
        start, before = len(self.init), {*vars(self.instance)} | self._registered()

        def undo() -> None:
            del self.init[start:]
            for name in ({*vars(self.instance)} | self._registered()) - before:
                delattr(self.instance, name)

        yield undo

    def _registered(self) -> set[str]:
        part = self.instance
        return {*part._modules, *part._parameters, *part._buffers}

    def access(self, path: str) -> str:
        """Return the expression for a submodule, parameter or buffer by its path."""
        text, part = "self", self.instance
        for step in path.split(".") if path else ():
            container = type(part).__name__
            if container in ("Sequential", "ModuleList", "ParameterList") and step.isdigit():
                text += f"[{step}]"
            elif container == "ModuleDict":
                text += f"[{step!r}]"
            else:
                text = f"{text}.{step}" if is_plain(step) else f"getattr({text}, {step!r})"
            part = part._modules.get(step)
        return text

    # -- text -----------------------------------------------------------------------------------------

    @property
    def cast(self) -> str:
        """Cast of a module that is not registered to the type of the others."""
        return "" if self.program.dtype == "float32" else f".to(torch.{self.program.dtype})"

    def class_text(self, name: str, returned: str, base: str = "nn.Module", given: str = "") -> str:
        """Return the text of the class."""
        lines = [f"class {name}({base}):", f"    def __init__(self{given}):", "        super().__init__()"]
        lines += [f"        {line}" for line in self.init]
        lines += ["", f"    def forward(self{''.join(f', {one}' for one in self.inputs)}):"]
        lines += [f"        {line}" for line in [*self.lines, f"return {returned}"]]
        for method in self.methods:
            lines += ["", *(f"    {line}" for line in method.splitlines())]
        return "\n".join(lines) + "\n"
