"""PyTorch code of a request."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Poly
from netcalc.dims.atoms import UndecidedError
from netcalc.dims.reals import RealFormula
from netcalc.formats.export.torch.classes import ClassCode, Classes, stored_name
from netcalc.formats.export.torch.conditions import checks
from netcalc.formats.export.torch.expressions import annotation, identifier, literal, numbered
from netcalc.formats.export.torch.forward import Forward
from netcalc.formats.export.torch.grouping import grouped
from netcalc.formats.export.torch.helpers import helper_texts
from netcalc.formats.export.torch.layout import formatted
from netcalc.formats.export.torch.rules import HOLES, with_options
from netcalc.formats.export.torch.symbolic import counts, symbolic_program
from netcalc.formats.export.torch.units import Builder, Unit, drops_samples
from netcalc.ir import Program, Value
from netcalc.request import Request


def torch_code(request: Request) -> str:
    """Return a module of Python with the network of a request as a class of PyTorch.

    Sizes stay arguments of the class where the network permits it; everything else has the values of the request.

    Raises:
        NetcalcError: E010 for operations that have no form in PyTorch, all of them with their paths; E502 without the
            extra ``code``; an error in the spec or in the settings.
    """
    program = symbolic_program(request)
    try:
        return _Module(program).text()
    except (UndecidedError, NetcalcError):  # such as a number of modules with names of their own
        pass
    try:
        return _Module(symbolic_program(request, without=counts(program))).text()
    except (UndecidedError, NetcalcError):
        return _Module(request.executed.program).text()


class _Module:
    """Text of the module of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        unit = Builder(grouped, varied=drops_samples(program.main)).unit(program.main, program.name)
        unit.is_function = False
        dims = frozenset(program.dims)
        self._classes = Classes(unit, program.name, dims)
        _refuse(self._classes)

    def text(self) -> str:
        classes = [*self._classes.all, self._classes.main]
        reachable = _reachable(self._classes)
        bodies = [self._definition(made) for made in classes if made in reachable]
        helpers = [name for made in classes if made in reachable for code in made.codes[:1] for name in code.helpers]
        parts = [*helper_texts(dict.fromkeys(helpers)), *("\n".join(lines) for lines in bodies)]
        code = "\n\n\n".join(parts)
        return formatted(f'"""{self._title()}"""\n\n{_imports(code)}\n\n\n{code}\n')

    def _title(self) -> str:
        about = self._program.about or "network"
        lines = [f"{about[:1].upper()}{about[1:]}: PyTorch code of the spec {self._program.name}."]
        text = lines[0].replace("\\", "\\\\").replace('"""', "'''")
        return text if len(text) <= 82 else _wrapped(text)

    # -- definitions

    def _definition(self, made: ClassCode) -> list[str]:
        return self._function(made) if made.is_function else self._class(made)

    def _function(self, made: ClassCode) -> list[str]:
        inputs, names = _inputs(made, self._program, main=False)
        arguments = [*inputs, *(f"{name}: {annotation(values)}" for name, values in made.arguments.items())]
        lines = [f"def {made.name}({', '.join(arguments)}) -> {_result(made)}:"]
        lines += [f"    {statement}" for statement in Forward(made, 4, names).written()]
        return lines

    def _class(self, made: ClassCode) -> list[str]:
        is_main = made is self._classes.main
        base = "nn.ModuleDict" if made.code.is_dict else "nn.Module"
        lines = [f"class {made.name}({base}):"]
        if is_main:
            lines += [f"    {line}".rstrip() for line in self._docstring(made)]
            lines.append("")
        start = self._constructor(made, is_main)
        lines += start
        inputs, names = _inputs(made, self._program, main=is_main)
        if start:
            lines.append("")
        inputs += [f"{name}: {annotation(values)}" for name, values in made.passed.items()]
        lines.append(f"    def forward({', '.join(['self', *inputs])}) -> {_result(made)}:")
        if is_main:
            lines += self._defaults(names)
        lines += [f"        {statement}" for statement in Forward(made, 8, names).written()]
        return lines

    def _docstring(self, made: ClassCode) -> Iterator[str]:
        program = self._program
        yield f'"""The spec {program.name} of netcalc, with the names of its checkpoint.'
        if program.source:
            yield ""
            yield from _wrapped(f"Source: {program.source}".replace("\\", "\\\\").replace('"', "'"), 80).splitlines()
        if len(program.output_names) > 1:
            yield ""
            yield from _wrapped(f"Returns {', '.join(program.output_names)}.", 80).splitlines()
        yield '"""'

    def _constructor(self, made: ClassCode, is_main: bool) -> list[str]:
        arguments = []
        for name, values in sorted(made.arguments.items(), key=lambda item: item[0] in made.defaults and not is_main):
            default = f" = {literal(_default(values[0]))}" if is_main else ""
            if not is_main and name in made.defaults:
                default = f" = {made.defaults[name]}"
            kinds = [*values, ast.literal_eval(made.defaults[name])] if name in made.defaults else values
            arguments.append(f"{name}: {annotation(kinds)}{default}")
        body: list[str] = []
        for name in made.attributes:
            body.append(f"self.{stored_name(made, name)} = {name}")
        code = made.code
        fill = _Filler(made)
        if code.is_dict:
            entries = ", ".join(f'"{name}": {fill.text(text)}' for name, text in code.entries.items())
            body.insert(0, f"super().__init__({{{entries}}})")
        else:
            body.insert(0, "super().__init__()")
            if is_main:
                self._check(body, made)
            body += [_registered(name, fill.text(text)) for name, text in _with_parents(code.entries, code.own)]
        body += [
            fill.text(text).replace("{name}", name)
            for name, text in code.own
            if "." not in name or ": Tensor" not in text
        ]
        if body == ["super().__init__()"] and not arguments:
            return []
        lines = [f"    def __init__({', '.join(['self', *arguments])}) -> None:"]
        lines += [f"        {statement}" for statement in body]
        return lines

    def _check(self, body: list[str], made: ClassCode) -> None:
        """Add checks of the sizes to the statements of the constructor."""
        for condition, message in checks(self._program.assumptions, {*made.symbols}):
            body += [f"if {condition}:", f'    raise ValueError("{message}")']

    def _defaults(self, names: dict[Value, str]) -> list[str]:
        lines: list[str] = []
        for spec, value in zip(self._program.inputs, self._program.main.inputs, strict=True):
            if spec.default is None or value is None or value not in names:
                continue
            lines.append(f"        if {names[value]} is None:")
            lines.append(f"            {names[value]} = {self._filled(spec, value, names)}")
        return lines

    def _filled(self, spec: Any, value: Value, names: dict[Value, str]) -> str:
        others = [(name, other) for other, name in names.items() if other is not value and other.known_type.shape]
        required = {s.name for s in self._program.inputs if s.default is None}
        sizes = []
        for size in value.known_type.shape:
            text = literal(size) if not isinstance(size, Poly) else ""
            for name, other in others if not text else ():
                if other.name in required and size in other.known_type.shape:
                    text = f"{name}.shape[{other.known_type.shape.index(size)}]"
                    break
            sizes.append(text or literal(_default(size)))
        device = next((name for name, other in others if other.name in required), None)
        where = f", device={device}.device" if device else ""
        shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        number = bool(spec.default) if spec.type.dtype == "bool" else spec.default
        if spec.type.dtype.startswith(("int", "uint")):
            number = int(spec.default)
        return f"torch.full({shape}, {literal(number)}, dtype=torch.{spec.type.dtype}{where})"


def _registered(path: str, made: str) -> str:
    """Return the statement that makes a module at a path."""
    parent, _, last = path.rpartition(".")
    if not parent:
        return f"self.{path} = {made}"
    return f'self.get_submodule("{parent}").register_module("{last}", {made})'


def _with_parents(entries: Mapping[str, str], own: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the modules of a class, with empty ones for the parents of nested paths that are none."""
    made: set[str] = set()
    every = [*entries.items(), *((f"{name.rpartition('.')[0]}.", "") for name, _ in own if "." in name)]
    for path, text in sorted(every, key=lambda item: item[0].rstrip(".").count(".")):
        parts = path.rstrip(".").split(".")
        for count in range(1, len(parts) + (path.endswith("."))):
            parent = ".".join(parts[:count])
            inside = any(parent.startswith(f"{entry}.") and _has_parts(text) for entry, text in entries.items())
            if parent not in made and parent not in entries and not inside:
                yield parent, "nn.Module()"
            made.add(parent)
        if text:
            made.add(path)
            yield path, text


def _has_parts(made: str) -> bool:
    """Return True for an expression of a module that has modules of its own."""
    return not made.startswith("nn.") or made.startswith(("nn.ModuleList", "nn.ModuleDict", "nn.Sequential"))


class _Filler:
    """Text of a class with values in place of marks."""

    def __init__(self, made: ClassCode) -> None:
        self._texts = made.texts
        self._holes = made.code.holes

    def text(self, text: str) -> str:
        """Return a text with the expressions behind its marks."""
        from netcalc.formats.export.torch.expressions import is_atomic

        def filled(match: Any) -> str:
            its = self._texts[int(match[1])]
            before, after = text[: match.start()], text[match.end() :]
            alone = before.endswith(("(", ", ", "=", "[")) and (not after or after[0] in "),]")
            return its if alone or is_atomic(its) else f"({its})"

        text = with_options(text, self._holes, self._texts)
        return HOLES.sub(filled, text)


def _inputs(made: ClassCode, program: Program, *, main: bool) -> tuple[list[str], dict[Value, str]]:
    """Return the inputs of ``forward`` as they are declared, and their names."""
    declared: list[tuple[str, bool]] = []
    names: dict[Value, str] = {}
    taken = {*made.sizes, *made.passed} | ({*made.arguments} if made.is_function else set())
    for place, value in enumerate(made.code.unit.inputs):
        if value is None:
            continue
        last = value.name.rpartition(".")[2]
        name = identifier(value.name if main else last)
        if not main and (last in ("in", "input") or last.isdigit() or (place == 0 and not _is_meaningful(made, last))):
            name = "x"
        base, number = name, 2
        while name in taken:
            name = numbered(base, number)
            number += 1
        taken.add(name)
        names[value] = name
        optional = main and program.inputs[place].default is not None
        declared.append((name, optional))
    declared.sort(key=lambda item: item[1])
    return [f"{name}: Tensor | None = None" if optional else f"{name}: Tensor" for name, optional in declared], names


def _is_meaningful(made: ClassCode, name: str) -> bool:
    """Return True for the name of an input that a block declares."""
    return name in ("query", "key", "value", "x", "image", "mask") or name.endswith(("ids", "mask"))


def _result(made: ClassCode) -> str:
    count = len(made.code.unit.outputs)
    return "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"


def _default(value: Any) -> Any:
    """Return the value of a size at the defaults of its symbols."""
    return value.at({}) if isinstance(value, (Poly, RealFormula)) else value


def _imports(code: str) -> str:
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    lines = ["import math", ""] if "math" in used else []
    lines += ["import torch"] * ("torch" in used)
    lines += ["import torch.nn.functional as F"] * ("F" in used)
    names = [name for name in ("Tensor", "nn") if name in used]
    return "\n".join([*lines, f"from torch import {', '.join(names)}"])


def _wrapped(text: str, width: int = 85) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))


def _reachable(classes: Classes) -> set[ClassCode]:
    """Return the classes and functions that the network needs."""
    by_name = {made.name: made for made in classes.all}
    found: set[ClassCode] = set()
    stack = [classes.main]
    while stack:
        made = stack.pop()
        if made not in found:
            found.add(made)
            stack += [by_name[inner.name] for inner in made.code.classes]
    return found


def _refuse(classes: Classes) -> None:
    problems = dict.fromkeys(classes.coder.problems)
    if problems:
        listed = ", ".join(f"{path} ({name}: {reason})" for path, name, reason in problems)
        message = f"{len(problems)} operation{'s' * (len(problems) > 1)} cannot be written as PyTorch code: {listed}"
        raise NetcalcError(Diagnostic("E010", message))


__all__ = ["Unit", "torch_code"]
