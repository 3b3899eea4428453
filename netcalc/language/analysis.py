"""The figures of the lines of a text as it is typed, and what is wrong with it.

A text with errors has the figures of all lines that the errors leave as they are, and no totals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from netcalc.analysis.conventions import convention_named
from netcalc.analysis.cost import Analysis as Costs
from netcalc.analysis.figures import Cost
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.dims.formulas import superscript
from netcalc.expressions import ExpressionError, parse
from netcalc.ir import OpNode, Program, Value, join
from netcalc.language.mending import mended
from netcalc.language.positions import Lines
from netcalc.language.problems import Problem, problems_of
from netcalc.language.reading import Reading
from netcalc.language.remarks import remarks
from netcalc.language.repair import repaired_texts
from netcalc.language.watching import Seen, Watcher
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.body_cache import RecentBodies
from netcalc.spec.cursor import Cursor
from netcalc.spec.elaborate import elaborate, float_type
from netcalc.spec.library import Loaded, label_of, load_cursor, load_opened
from netcalc.spec.open_files import OpenFiles
from netcalc.spec.spec_files import checked_size
from netcalc.spec.yaml_document import parse_yaml

_POWER = re.compile(r"\*\*(\d+)")
#: A size or a number of something; text for one that depends on symbolic sizes.
Number: TypeAlias = int | str


@dataclass(frozen=True)
class Options:
    """Choices by which a text is analyzed, as the options of the command line are."""

    convention: str = "netcalc"
    """Counting convention of the work."""
    symbolic: tuple[str, ...] = ()
    """Dims and vars that stay symbolic, where the spec has them."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Values of dims and vars."""
    dtype: str | None = None
    """Element type of floating-point tensors."""
    max_size: int = MAX_SPEC_SIZE
    """Largest text in bytes."""


def checked_options(options: Options) -> Options:
    """Return options; NetcalcError (E701, E502) for a convention or an element type that there is none of."""
    convention_named(options.convention)
    if options.dtype is not None:
        float_type(options.dtype)
    return options


@dataclass(frozen=True, slots=True)
class Tensor:
    """Name, shape and element type of a tensor."""

    name: str
    shape: tuple[Number, ...]
    dtype: str

    def __str__(self) -> str:
        return "×".join(map(number_text, self.shape)) if self.shape else "scalar"


@dataclass(frozen=True, slots=True)
class LineHint:
    """The result of a line, or of the last line of a list in flow style, with the figures of all that it does.

    Figures of a line in a block are those of one call.
    """

    line: int
    """Line of the text, from 0."""
    path: str
    """Path of the layer, from the top of the block or spec."""
    operation: str
    outputs: tuple[Tensor, ...]
    params: Number
    macs: Number
    flops: Number | None
    """None if some of the work is not known."""
    others: int
    """Number of further results, of a line that is used several times with other inputs or arguments."""
    skipped: bool
    """True if a condition leaves the line out."""

    def text(self, figures: Iterable[str] = ("shapes", "params")) -> str:
        """Return the hint as it stands behind a line: ``→ 1×64×112×112 · 9,408``."""
        if self.skipped:
            return "→ left out"
        shapes = [f"→ {', '.join(map(str, self.outputs[:3]))}"] if "shapes" in figures and self.outputs else []
        given = {"params": "", "macs": " MACs", "flops": " FLOPs"}
        numbers = [(getattr(self, name), unit) for name, unit in given.items() if name in figures]
        shown = [f"{number_text(number, grouped=True)}{unit}" for number, unit in numbers if number not in (0, None)]
        more = [f"and {self.others} other{'s' if self.others > 1 else ''}"] if self.others else []
        return " · ".join((*shapes, *shown, *more))


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures of a network without errors."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    params: Number
    params_trainable: Number
    buffers: Number
    weight_bytes: Number
    macs: Number
    flops: Number | None
    """None if some of the work is not known."""
    convention: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that is known of a text: what is wrong, the results of its lines, and the totals if nothing is."""

    problems: tuple[Problem, ...]
    hints: tuple[LineHint, ...]
    totals: Totals | None


class State(NamedTuple):
    """The data and results behind an analysis, for questions about places of the text; parts may be missing."""

    lines: Lines
    label: str
    cursor: Cursor | None = None
    loaded: Loaded | None = None
    program: Program | None = None
    watcher: Watcher | None = None
    costs: Costs | None = None
    complete: bool = True  # False if the cursor is that of a text without some part
    diagnostics: tuple[Diagnostic, ...] = ()
    folder: Path | None = None  # of the files beside the text
    kept: RecentBodies | None = None  # bodies of blocks of earlier texts
    opened: OpenFiles = OpenFiles()  # texts of other files


def analyze(
    text: str,
    path: Path | None = None,
    folder: Path | None = None,
    options: Options | None = None,
    reading: Reading | None = None,
    *,
    opened: OpenFiles | None = None,
) -> State:
    """Return what is known of a text of a spec, which may be incomplete or wrong.

    Args:
        text: the text.
        path: the file that it is the text of, which need not exist.
        folder: where the files that it extends and imports are looked up; by default that of the file.
        options: choices; by default those of the command line.
        reading: what was read of an earlier text.
        opened: texts of other files, in place of those on disk.
    """
    options, reading = options or Options(), reading or Reading()
    label = "<text>" if path is None else label_of(path)
    beside = folder or (None if path is None else path.parent)
    state = State(Lines(text), label, folder=beside, kept=reading.bodies, opened=opened or OpenFiles())
    reading.bodies.begin()
    try:
        checked_size(text, label, options.max_size)
        cursor = reading.read(text, label)
    except NetcalcError as error:
        state = state._replace(diagnostics=error.diagnostics, complete=False)
        return _partial(state, reading, error, path, folder, options)
    return _loaded(state._replace(cursor=cursor), path, folder, options)


def _partial(
    state: State, reading: Reading, error: NetcalcError, path: Path | None, folder: Path | None, options: Options
) -> State:
    """Return what is known of a text that cannot be read, from what is left without the part with the error."""
    span = error.diagnostics[0].span
    if span is None or not span.line:
        return state
    texts = list(repaired_texts("\n".join(state.lines.lines), span.line - 1))
    read = (reading.plain,) if reading.is_plain else (reading.plain, _read_whole)
    for read_text, (repaired, before) in product(read, texts):
        cursor = read_text(repaired, state.label)
        if cursor is None:
            continue
        known = _loaded(state._replace(cursor=cursor, diagnostics=()), path, folder, options)
        earlier = (item for item in known.diagnostics if _is_before(item, state.label, before))
        return known._replace(diagnostics=(*error.diagnostics, *earlier), program=None, complete=False)
    return state


def _read_whole(text: str, label: str) -> Cursor | None:
    try:
        return parse_yaml(text, label)
    except NetcalcError:
        return None


def _is_before(item: Diagnostic, label: str, line: int) -> bool:
    """Return True for a diagnostic of lines before one, but not for a key that may be missing there alone."""
    if item.code == "E105":
        return False
    return item.span is not None and item.span.file == label and 0 < item.span.line <= line


def _loaded(state: State, path: Path | None, folder: Path | None, options: Options) -> State:
    document = state.cursor
    assert document is not None
    try:
        return _elaborated(state._replace(loaded=_load(state, document, path, folder, options)), options)
    except NetcalcError as error:
        state = state._replace(diagnostics=error.diagnostics)
    cursor = mended(document, state.diagnostics, state.label)
    if cursor is not None:
        try:
            known = _elaborated(state._replace(loaded=_load(state, cursor, path, folder, options)), options)
        except NetcalcError:
            return state
        return known._replace(diagnostics=state.diagnostics, program=None)
    return state


def _load(state: State, cursor: Cursor, path: Path | None, folder: Path | None, options: Options) -> Loaded:
    if path is None:
        return load_cursor(cursor, "<text>", folder, options.max_size, state.opened)
    return load_opened(cursor, path, folder, options.max_size, state.opened)


def _elaborated(state: State, options: Options) -> State:
    loaded = state.loaded
    assert loaded is not None
    if state.kept is not None:
        loaded.kept = state.kept
    watcher = Watcher(state.label)
    state = state._replace(watcher=watcher)
    program = None
    diagnostics: tuple[Diagnostic, ...] = ()
    dtype = options.dtype or loaded.document.checkpoint.dtype
    known = loaded.document.dims.keys() | loaded.document.vars.keys()
    symbolic = tuple(name for name in options.symbolic if name in known)
    try:
        program = elaborate(loaded, options.settings, symbolic=symbolic, dtype=dtype, watch=watcher)
        diagnostics = program.warnings
    except NetcalcError as error:
        diagnostics = error.diagnostics
    state = state._replace(program=program, diagnostics=diagnostics)
    return state._replace(costs=_costs(state, options))


def _costs(state: State, options: Options) -> Costs | None:
    """Return the costs of the program, or of the nodes that were made before an error."""
    program, watcher = state.program, state.watcher
    if program is None:
        if watcher is None or watcher.elaboration is None:
            return None
        elaboration = watcher.elaboration
        program = Program("", elaboration.main.finish(()), (), (), dtype=elaboration.ctx.dtype)
    return Costs(program, convention_named(options.convention))


def analysis_of(state: State) -> Analysis:
    """Return what is known of a text as plain data."""
    problems = list(problems_of(state.diagnostics, state.lines, state.label))
    totals = None
    if state.program is not None and state.costs is not None:
        try:
            totals = _totals(state.program, state.costs)
        except NetcalcError as error:
            problems += problems_of(error.diagnostics, state.lines, state.label)
        problems += remarks(state.program, state.watcher, state.lines)
    return Analysis(tuple(problems), hints_of(state), totals)


def hints_of(state: State) -> tuple[LineHint, ...]:
    """Return the results of lines, one for each line of the text that begins one."""
    if state.watcher is None or state.costs is None:
        return ()
    by_line: dict[int, list[Seen]] = {}
    for seen in state.watcher.lines.values():
        by_line.setdefault(seen.target.line, []).append(seen)
    hints: list[LineHint] = []
    for line in sorted(by_line):
        depth = min(seen.depth for seen in by_line[line])
        hint = _hint(line - 1, [seen for seen in by_line[line] if seen.depth == depth], state.costs)
        if hint is not None:
            hints.append(hint)
    return tuple(hints)


def _hint(line: int, together: list[Seen], costs: Costs) -> LineHint | None:
    """Return the hint of the lines of a spec that stand on one line of the text; None if one has no result."""
    if any(seen.value is not None and seen.value.type is None for seen in together):
        return None
    last = together[-1]
    cost = Cost()
    is_known = True
    for seen in together:
        try:
            cost += costs.nodes(seen.nodes)
        except NetcalcError:
            return None
        is_known = is_known and not any(isinstance(n, OpNode) and costs.unknown_of(n) for n in seen.nodes)
    outputs = _outputs(last)
    return LineHint(
        line,
        path_of(last),
        _operation(last),
        outputs,
        number(cost.params),
        number(cost.macs),
        number(cost.flops) if is_known else None,
        sum(seen.others for seen in together),
        not last.nodes and is_left_out(last),
    )


def is_left_out(seen: Seen) -> bool:
    """Return True for a line that its ``when`` leaves out, or whose number of iterations is 0."""
    data = seen.cursor.data
    return isinstance(data, dict) and ("when" in data or "repeat" in data) and not seen.nodes


def _operation(seen: Seen) -> str:
    text = seen.target.text[seen.target.column - 1 : seen.target.end - 1].strip("\"'")
    if "$" in text and len(seen.nodes) == 1:
        node = seen.nodes[0]
        return node.op.name if isinstance(node, OpNode) else node.body.block
    return text


def path_of(seen: Seen) -> str:
    """Return the path of a line from the top of its body."""
    data = seen.cursor.data
    name = data.get("name") if isinstance(data, dict) else None
    if isinstance(name, str) and "$" not in name:
        return join(seen.prefix, name)
    return seen.nodes[-1].name if len(seen.nodes) == 1 else seen.prefix


def _outputs(seen: Seen) -> tuple[Tensor, ...]:
    """Return the outputs of the operation or call of a line, or its value."""
    value = seen.value
    if value is None:
        return ()
    values: Iterable[Value] = (value,)
    if seen.nodes and value in (results := seen.nodes[-1].outputs) and all(item.type for item in results):
        values = seen.nodes[-1].outputs if isinstance(seen.nodes[-1], OpNode) else seen.nodes[-1].results
    return tuple(tensor(item) for item in values)


def tensor(value: Value, name: str | None = None) -> Tensor:
    """Return a value as plain data."""
    type_ = value.known_type
    return Tensor(value.name if name is None else name, tuple(map(number, type_.shape)), type_.dtype)


def number(value: Dim) -> Number:
    """Return a number as plain data: a text for one that depends on symbolic sizes."""
    return value if isinstance(value, int) else str(value)


def number_text(value: Number, *, grouped: bool = False) -> str:
    """Return a number as hints have it: ``9,408`` if ``grouped``, ``⌊(height + 31)/32⌋`` for a symbolic one."""
    if isinstance(value, int):
        return f"{value:,}" if grouped else str(value)
    try:
        text = parse(value).pretty()
    except ExpressionError:
        return value
    return _POWER.sub(lambda match: superscript(int(match[1])), text)


def _totals(program: Program, costs: Costs) -> Totals:
    total = costs.total
    inputs = zip(program.inputs, program.main.inputs, strict=True)
    outputs = zip(program.output_names, program.main.outputs, strict=True)
    return Totals(
        tuple(tensor(value, spec.name) for spec, value in inputs if value is not None),
        tuple(tensor(value, name) for name, value in outputs),
        number(total.params),
        number(total.params_trainable),
        number(total.buffers),
        number(total.weight_bytes),
        number(total.macs),
        None if costs.unknown else number(total.flops),
        costs.convention.name,
        program.dtype,
    )
