"""Low-rank adapters that options add to a network: patches that freeze its lines and set the modifier ``lora``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeVar

from netcalc.analysis.walk import instances, parameters
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.ir import OpNode, Program
from netcalc.options import LoraArgument
from netcalc.spec import elaborate
from netcalc.spec.adapters import ADAPTED, adapter_settings
from netcalc.spec.cursor import Cursor
from netcalc.spec.library import Loaded
from netcalc.spec.plain_data import read_data
from netcalc.spec.yaml_document import parse_yaml

S = TypeVar("S", bound=Hashable)


class _Option(NamedTuple):
    """An adapter as it is given; ``pattern`` is None for all linear lines but the last ones."""

    text: str
    pattern: str | None
    value: Cursor  # a rank, or settings of the modifier


class _Linear(NamedTuple):
    path: str
    is_last: bool  # it computes an output of the network, by itself or before elementwise operations
    is_repeat: bool  # the line is repeated by itself


def with_adapters(loaded: Loaded, lora: LoraArgument, settings: Mapping[str, Any]) -> Loaded:
    """Return a spec with low-rank adapters beside linear lines, whose other parameters are frozen.

    Of the options whose pattern matches the path of a line the first counts.  Weights of the network need not have
    the matrices of the adapters, which start from their initializers.

    Args:
        loaded: the spec.
        lora: the options.
        settings: values of dims and vars by name.

    Raises:
        NetcalcError: as :func:`~netcalc.spec.elaborate.elaborate`; E103 or E104 for settings, and E502 for an option
            that is malformed, matches no line, or one that takes no adapter.
    """
    options = _options(lora)
    program = elaborate(loaded, settings)
    chosen, problems = _chosen(program, options)
    if problems:
        raise NetcalcError(problems)
    patches: list[Any] = [*loaded.cursor.data.get("patch", ()), *freezing_patches(program)]
    spans = dict(loaded.cursor.spans)
    for path, number in grouped(chosen, paths_of_lines(program)):
        value = options[number].value
        spans |= {("patch", len(patches), "set", "lora", *place): span for place, span in value.spans.items()}
        patches.append({"at": path, "set": {"lora": value.data}})
    added = loaded.added | {f"{path}.lora_{part}.weight" for path in chosen for part in "AB"}
    cursor = Cursor({**loaded.cursor.data, "patch": patches}, (), spans)
    adapted = replace(loaded, cursor=cursor, added=added, blocks={})
    adapted.blocks |= {
        name: block._replace(home=adapted) if block.home is loaded else block for name, block in loaded.blocks.items()
    }
    return adapted


def freezing_patches(program: Program) -> Iterator[dict[str, Any]]:
    """Yield the patches that freeze the lines of a network's own body that have parameters."""
    paths = [instance.path for instance in parameters(program)]
    for name in dict.fromkeys(node.name for node in program.main.nodes):  # iterations that differ have one name
        if any(path.startswith(f"{name}.") for path in paths):
            yield {"at": name, "set": {"freeze": True}}


def paths_of_lines(program: Program) -> Iterator[str]:
    """Yield the paths of all operations and of what they are in, each once."""
    seen: dict[str, None] = {}
    for instance in instances(program):
        path = instance.path
        while path and path not in seen:
            seen[path] = None
            path = path.rpartition(".")[0]
    yield from seen


def grouped(chosen: Mapping[str, S], everywhere: Iterable[str]) -> Iterator[tuple[str, S]]:
    """Yield the chosen paths with their values; ``*`` stands for numbers where that gives the same paths."""
    groups: dict[str, dict[str, S]] = {}
    for path, value in chosen.items():
        groups.setdefault(_starred(path), {})[path] = value
    counts = Counter(map(_starred, everywhere))
    for pattern, members in groups.items():
        values = {*members.values()}
        yield from (
            ((pattern, values.pop()),) if len(members) == counts[pattern] and len(values) == 1 else members.items()
        )


def _starred(path: str) -> str:
    """Return a path with ``*`` in place of numbers."""
    return ".".join("*" if part.isdecimal() else part for part in path.split("."))


def _options(lora: LoraArgument) -> list[_Option]:
    """Return the adapters that are given; NetcalcError (E502) with every malformed one."""
    if isinstance(lora, Mapping):
        options = [_Option(f"{pattern}={value}", pattern, _as_cursor(value)) for pattern, value in lora.items()]
    elif isinstance(lora, int):
        options = [_Option(str(lora), None, _as_cursor(lora))]
    else:
        options = [_parsed(text) for text in ([lora] if isinstance(lora, str) else lora)]
    problems = [
        Diagnostic("E502", f"--lora {option.text}: should be a rank, or PATTERN=RANK", hint=_EXAMPLES)
        for option in options
        if option.pattern == ""
        or isinstance(option.value.data, bool)
        or not isinstance(option.value.data, (int, Mapping))
    ]
    if problems:
        raise NetcalcError(problems)
    for option in options:
        adapter_settings(option.value.data, option.value)
    return options


#: Most ends of paths that a hint lists.
_MOST_NAMED = 12
_EXAMPLES = "for example --lora '*.q_proj=16', or --lora '*.q_proj={rank: 16, alpha: 32}'"


def _parsed(text: str) -> _Option:
    pattern, equals, value = text.partition("=")
    if not equals:
        pattern, value = "", text
    return _Option(text, pattern.strip() if equals else None, parse_yaml(value if value.strip() else "''", "--lora"))


def _as_cursor(value: Any) -> Cursor:
    return read_data(value, "lora")


def _chosen(program: Program, options: list[_Option]) -> tuple[dict[str, int], list[Diagnostic]]:
    """Return the number of the option of each linear line that has one, and what is wrong with the options."""
    linear, others = _linear_lines(program)
    chosen: dict[str, int] = {}
    problems, matched = [], [False] * len(options)
    for number, (text, pattern, _) in enumerate(options):
        for line in linear:
            if line.is_last if pattern is None else not fnmatchcase(line.path, pattern):
                continue
            matched[number] = True
            if chosen.setdefault(line.path, number) == number and line.is_repeat:
                message = f"--lora {text}: {line.path} is a line repeated by itself, which takes no adapter"
                problems.append(Diagnostic("E502", message, hint="repeat a sequence that has the line"))
                break
    unmatched = (option for option, is_matched in zip(options, matched, strict=True) if not is_matched)
    return chosen, [*problems, *(_unmatched(option, linear, others) for option in unmatched)]


def _unmatched(option: _Option, linear: list[_Linear], others: Mapping[str, str]) -> Diagnostic:
    """Return the error of an option that matches no linear line."""
    text, pattern, _ = option
    if pattern is None:
        reason = "the network has no linear line" + (" but the last" if linear else "")
        return Diagnostic("E502", f"--lora {text}: {reason}")
    other = next((path for path in others if fnmatchcase(path, pattern)), None)
    if other is not None:
        message = f"--lora {text}: linear lines take an adapter, and {other} is {others[other]}"
        return Diagnostic("E502", message)
    paths = dict.fromkeys(_starred(line.path) for line in linear)
    ends = dict.fromkeys("*." + path.rpartition(".")[2] for path in paths if "." in path)
    hint = did_you_mean(pattern, [*ends, *(line.path for line in linear), *paths])
    if hint is None and len(ends) <= _MOST_NAMED:
        hint = f"linear lines: {', '.join(ends or paths)}"
    return Diagnostic("E502", f"--lora {text}: no linear line matches {pattern!r}", hint=hint)


def _linear_lines(program: Program) -> tuple[list[_Linear], dict[str, str]]:
    """Return the linear lines, and the other operations with a weight by path."""
    last = _last_lines(program)
    linear, others = [], {}
    for path, node, *_ in instances(program):
        if node.op.name in ADAPTED:
            linear.append(_Linear(path, path in last, not node.name))
        elif any(not param.is_buffer and len(param.shape) > 1 for param in node.params):
            others[path] = node.op.name
    return list({line.path: line for line in linear}.values()), others


def _last_lines(program: Program) -> set[str]:
    """Return the paths of the operations of the main body that compute an output, up to elementwise operations."""
    by_output = {id(value): node for node in program.main.nodes for value in node.outputs}
    paths = set()
    for value in program.main.outputs:
        node = by_output.get(id(value))
        while isinstance(node, OpNode) and node.op.elementwise and sum(v is not None for v in node.inputs) == 1:
            node = by_output.get(id(node.inputs[0]))
        if isinstance(node, OpNode):
            paths.add(node.name)
    return paths
