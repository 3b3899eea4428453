"""The working behind the figures: formula, substitution, result and source, for a layer or a whole network.

The shapes of an operation are explained by the formulas that its rule evaluated, and its work by the terms that were
counted, so that an explanation always agrees with the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netcalc.analysis.conventions import Convention
from netcalc.analysis.cost import Analysis, Row
from netcalc.analysis.explain_declared import declared_sections, declared_steps
from netcalc.analysis.figures import FIGURES, Figure, shown_totals
from netcalc.analysis.masked_attention import PAIRS, is_masked, pair_steps
from netcalc.analysis.notes import not_computed_below
from netcalc.analysis.own_figures import figure_sections, layer_sections
from netcalc.analysis.precision.report import bits_of
from netcalc.analysis.rows import present
from netcalc.analysis.sizes import activation_bytes, sizes_of
from netcalc.analysis.working import Section, counted_steps, number_text, product_text, shape_product, term_steps
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim, UndecidedError, value_at
from netcalc.dtypes import DType
from netcalc.expressions import parse
from netcalc.ir import OpNode, Program, Tie, Value
from netcalc.ir.build import infer
from netcalc.opdef import Context, Operation, Param, StoredTensor, WorkingLine
from netcalc.results import Entry, Result, recorded

if TYPE_CHECKING:
    from netcalc.analysis.backward_work import BackwardWork
    from netcalc.analysis.exclusion import ExcludedPart

#: Rule of the bytes of activations.
_ACTIVATIONS = "elements·bytes of the results of all operations; a view of another tensor has none of its own"

#: Steps of truncated backpropagation through time, as the option of ``explain`` has by default.
_WINDOW = 32

__all__ = ["Explanation", "Section", "explain"]


@recorded(
    *("spec", "dtype", "checkpoint_dtype", "stored_as", "convention", "path", "op", "about", "source"),
    *(Entry("inputs", "input_shapes"), Entry("outputs", "output_shapes"), "repeat", "attributes", "sections"),
    "notes",
    name="explain",
)
@dataclass(frozen=True, slots=True)
class Explanation(Result):
    """The working behind the figures of a layer, or of a block or network, whose figures are sums over its layers."""

    spec: str
    """Name of the spec."""
    dtype: DType
    """Element type of floating-point tensors, in which bytes are counted."""
    checkpoint_dtype: DType | None
    """Element type of the published checkpoint; null if the spec names none."""
    stored_as: str
    """Schemes in which the checkpoint of the model stores parameters, in words; empty for the type alone."""
    path: str
    """Path of the layer or block; empty for the whole network."""
    op: str
    about: str
    source: str
    """Source of the rules, or of the network."""
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    repeat: int
    """Number of instances."""
    attributes: dict[str, Any]
    """Values as in a spec; an operation is its name, or a mapping from its name to the attributes that are set."""
    sections: tuple[Section, ...]
    convention: str
    """Counting convention of the work."""
    notes: tuple[str, ...] = ()
    """Remarks on what is counted."""
    weight_bytes: Dim | None = None
    """Bytes of the parameters of the whole network; None in the working of a part."""

    @property
    def input_shapes(self) -> tuple[tuple[Dim, ...], ...]:
        """Shapes of the inputs."""
        return tuple(value.known_type.shape for value in self.inputs)

    @property
    def output_shapes(self) -> tuple[tuple[Dim, ...], ...]:
        """Shapes of the outputs."""
        return tuple(value.known_type.shape for value in self.outputs)


def explain_program(
    program: Program,
    about: str,
    sections: Iterable[Section],
    *,
    convention: str = "netcalc",
    notes: tuple[str, ...] = (),
    weight_bytes: Dim | None = None,
) -> Explanation:
    """Return the working of figures of a whole program, which ``about`` names; sections without steps are left out."""
    return Explanation(
        program.name,
        program.dtype,
        program.checkpoint_dtype,
        program.stored_as,
        "",
        about,
        program.about,
        program.source,
        present(program.main.inputs),
        program.main.outputs,
        1,
        {},
        tuple(section for section in sections if section.steps),
        convention,
        notes,
        weight_bytes,
    )


def explain(
    program: Program,
    path: str | None,
    convention: Convention,
    backward: BackwardWork | None = None,
    window: int = 1,
    exclude: Sequence[str] = (),
) -> Explanation:
    """Return the working of the layer or part at ``path``, or of the whole program if it is None.

    With ``backward`` it has the derivatives, the tensors that are saved for them, and the work of the pass, and for a
    recurrent layer ways to learn through time, of which truncated backpropagation has a ``window`` of steps.
    ``exclude`` are patterns of layers that the totals of the whole program leave out.
    The path may lead to one instance, or have the numbers of several as reports print them (``layers.0–11.mlp``).

    Raises:
        NetcalcError: E503 if the program has nothing at ``path``.
    """
    analysis = Analysis(program, convention, backward, exclude)
    if not path:
        inputs, outputs = present(program.main.inputs), program.main.outputs
        network = Row("", "", "network", inputs, outputs, lambda: analysis.total, children=analysis.tree())
        return _row_explanation(analysis, network)
    return _at(analysis, analysis.tree(), path, window)


def explain_all(
    program: Program, paths: Iterable[str], convention: Convention, backward: BackwardWork | None = None
) -> dict[str, Explanation]:
    """Return the workings of layers and parts by path, as :func:`explain` does one by one.

    Raises:
        NetcalcError: E503 if the program has nothing at a path.
    """
    analysis = Analysis(program, convention, backward)
    tree = analysis.tree()
    return {path: _at(analysis, tree, path, _WINDOW) for path in paths}


def _at(analysis: Analysis, tree: Sequence[Row], path: str, window: int) -> Explanation:
    """Return the working at a path of a tree of rows."""
    row = _find(tree, path.replace("...", "…").split("."))
    if row is None:
        raise NetcalcError(_no_such(analysis, path))
    row = _titled(row, path)
    if isinstance(row.node, OpNode):
        return _operation(analysis, row, row.node, window)
    return _row_explanation(analysis, row)


# -- one operation ----------------------------------------------------------------------------------


def _operation(analysis: Analysis, row: Row, node: OpNode, window: int) -> Explanation:
    ctx = Context(training=analysis.program.training, dtype=analysis.program.dtype, working=[])
    infer(node.op, node.input_types, ctx)
    shape = (*(ctx.working or ()), *_output_steps(node.outputs))
    sections = [
        Section("shape", shape, node.op.shape_rule),
        Section("parameters", tuple(_param_steps(node)), node.op.param_rule),
        *_storage_sections(node),
        *_work_sections(analysis, row, node),
        *layer_sections(analysis, row),
    ]
    if analysis.backward is not None:
        from netcalc.analysis.explain_backward import backward_sections
        from netcalc.analysis.through_time import learning_sections

        sections += backward_sections(analysis, row, node)
        sections += learning_sections(node, window)
    return Explanation(
        analysis.program.name,
        analysis.program.dtype,
        analysis.program.checkpoint_dtype,
        analysis.program.stored_as,
        row.title,
        node.op.name,
        _first_line(node.op),
        node.op.reference,
        row.inputs,
        row.outputs,
        row.repeat,
        {name: getattr(node.op, name) for name in type(node.op).model_fields},
        tuple(section for section in sections if section.steps),
        analysis.convention.name,
    )


def _work_sections(analysis: Analysis, row: Row, node: OpNode) -> Iterator[Section]:
    """Yield the sections of the work of an operation, and of what the convention counts of it."""
    rule, declared = _convention(analysis.convention), node.op.declared()
    if declared is not None:
        yield from declared_sections(analysis.convention, row, declared, rule)
        return
    terms, cost = analysis.terms(node), row.cost
    parts, remarks = analysis.parts(node), analysis.remarks_of(node)
    rule = "; ".join((rule, *remarks)) if analysis.backward is None else rule
    counted = counted_steps(analysis.convention, row.repeat, (cost.macs, cost.flops), terms, parts)
    yield Section("work", tuple(term_steps(terms)), node.op.cost_rule)
    if is_masked(node):
        yield Section("pairs", pair_steps(node), PAIRS)
    yield Section("counted", tuple(counted), rule)


def _output_steps(outputs: Sequence[Value]) -> Iterator[WorkingLine]:
    for index, value in enumerate(outputs):
        label = "output" if len(outputs) == 1 else f"output {index}"
        yield WorkingLine(label, "", "", f"{shape_product(value.known_type.shape)} {value.known_type.dtype}")


def _param_steps(node: OpNode) -> Iterator[WorkingLine]:
    for param in node.params:
        label = param.name or "value"
        notes = [_ownership(param, node.ties.get(param.name))]
        if node.frozen and not param.is_buffer:
            notes.append("frozen")
        note = ", ".join(n for n in notes if n)
        yield WorkingLine(f"{label} ({note})" if note else label, "", product_text(param.shape), param.elements)


def _storage_sections(node: OpNode) -> Iterator[Section]:
    """Yield a section for each parameter that a scheme was assigned to: the bytes of each stored tensor."""
    for param in node.params:
        storage = param.storage
        if storage is None or param.name in node.ties:
            continue
        steps = [_stored_step(tensor) for tensor in storage.tensors]
        if len(steps) > 1:
            steps.append(WorkingLine("bytes", "", "", storage.bytes))
        bits = bits_of(storage.bytes, param.elements)
        if bits is not None:
            steps.append(WorkingLine("bits each", "8·bytes/n", "", f"{bits:.6g}"))
        name = storage.scheme if storage.sparsity is None else f"{storage.scheme} {storage.sparsity}"
        reason = f" ({storage.kept})" if storage.kept else ""
        assigned = f", by {storage.assigned}" if storage.assigned else ""
        title = f"{param.name or 'value'} stored as {name}{reason}"
        yield Section(title, tuple(steps), f"{storage.source}{assigned}")


def _stored_step(tensor: StoredTensor) -> WorkingLine:
    formula = parse(tensor.formula)
    sizes = dict(tensor.sizes)
    return WorkingLine(f"{tensor.role} ({tensor.dtype})", formula.pretty(), formula.pretty(sizes), tensor.bytes)


def _ownership(param: Param, tie: Tie | None) -> str:
    if tie is not None:
        return f"tied to {tie.target}, counted there"
    return "buffer" if param.is_buffer else ""


# -- a part of the network --------------------------------------------------------------------------


def _row_explanation(analysis: Analysis, row: Row) -> Explanation:
    figures = [f for f in FIGURES.values() if "explain" in f.fields and f.phase in analysis.phases]
    if analysis.program.assigned and (row.node is not None or row.path):
        figures.insert(1, FIGURES["weight_bytes"])
    rules = dict.fromkeys(("flops", "flops_backward"), _convention(analysis.convention))
    program = analysis.program
    is_network = row.node is None and not row.path
    excluded = analysis.exclusions.parts if analysis.exclusions is not None and is_network else ()
    if is_network:  # totals that reports show where they differ from others
        # activations have a section of the convention's figures
        further = [f for f in shown_totals("summary", [analysis.total], analysis.phases) if f.name != "macts"]
        same = analysis.total.params_trainable == analysis.total.params
        figures += [f for f in further if f not in figures and not (same and f.name == "params_trainable")]
    sections = [_sum(row, figure, rules.get(figure.name, ""), excluded) for figure in figures]
    return Explanation(
        program.name,
        program.dtype,
        program.checkpoint_dtype,
        program.stored_as,
        row.title,
        row.op,
        program.about if is_network else "",
        program.source if is_network else "",
        row.inputs,
        row.outputs,
        row.repeat,
        {},
        (
            *(section for section in sections if section.steps),
            *((*figure_sections(analysis), *_of_network(analysis)) if is_network else ()),
        ),
        analysis.convention.name,
        (*program.notes, *not_computed_below(analysis, row.children)),
        analysis.total.weight_bytes if is_network else None,
    )


def _of_network(analysis: Analysis) -> Iterator[Section]:
    """Yield the working of sizes in bytes, and of the largest layers."""
    sizes = sizes_of(analysis)
    activations = activation_bytes(analysis)
    steps = [WorkingLine(f"results of {op}", "", "", size) for op, size in activations.items() if size != 0]
    yield Section("bytes of activations", (*steps, WorkingLine("sum", "", "", sizes.activations)), _ACTIVATIONS)
    parts = sizes._asdict()
    total = parts.pop("total")
    text = " + ".join(number_text(size) for size in parts.values())
    lines = [WorkingLine(name, "", "", size) for name, size in parts.items()]
    yield Section("size in bytes", (*lines, WorkingLine("sum", " + ".join(parts), text, total)), "if nothing is freed")
    yield from _main_layers(analysis)


def _main_layers(analysis: Analysis) -> Iterator[Section]:
    """Yield the working of the largest layer of each operation with at least a hundredth of the work or parameters."""
    shares = [(figure, _number(figure.of(analysis.total)) / 100) for figure in (FIGURES["flops"], FIGURES["params"])]
    largest: dict[str, tuple[int, Row]] = {}
    for row in analysis.counted_leaves():
        size = max(_number(figure.of(row.total)) for figure, _ in shares)
        if row.op not in largest or size > largest[row.op][0]:
            largest[row.op] = (size, row)
    for op, (_, cost) in analysis.by_operation.items():
        node, row = largest[op][1].node, largest[op][1]
        if isinstance(node, OpNode) and any(_number(figure.of(cost)) >= least > 0 for figure, least in shares):
            declared = node.op.declared()
            work = term_steps(analysis.terms(node)) if declared is None else declared_steps(declared)
            steps = [*_param_steps(node), *work]
            title = f"{row.title} ×{row.repeat:,}" if row.repeat > 1 else row.title
            yield Section(title, tuple(steps), f"{op}: {node.op.cost_rule or node.op.param_rule}")


def _number(value: Dim) -> int:
    """Return a figure at the default sizes; 0 if a size has none."""
    try:
        return value if isinstance(value, int) else value_at(value, {})
    except UndecidedError:
        return 0


def _sum(row: Row, figure: Figure, rule: str, excluded: Iterable[ExcludedPart] = ()) -> Section:
    """Return the working of one figure of a part: the sum over the rows below it, less what is excluded."""
    steps: list[WorkingLine] = []
    for child in row.children:
        value, label = figure.of(child.cost), child.title or child.label
        if value == 0:
            continue
        times, working = "", ""
        if child.repeat > 1:
            times, working = f" ×{child.repeat:,}", f"{child.repeat:,}·{number_text(value)}"
        steps.append(WorkingLine(label + times, "", working, value * child.repeat))
    for part in excluded:
        if (less := figure.of(part.cost)) != 0:
            steps.append(WorkingLine(f"without {part.pattern}", "", "", -less))
    if steps:
        steps.append(WorkingLine("sum", "", "", figure.of(row.cost)))
    return Section(figure.total or figure.title, tuple(steps), rule)


# -- look-up ----------------------------------------------------------------------------------------


def _find(rows: Iterable[Row], parts: Sequence[str], times: int = 1) -> Row | None:
    """Return the row that the parts of a path name, with the number of instances that they stand for."""
    for row in _candidates(rows):
        covered = _covered(row, parts[0])
        if covered is None:
            continue
        if len(parts) == 1:
            return row._replace(repeat=covered * times)
        inner_row = _find(_inside(row), parts[1:], covered * times)
        if inner_row is not None:
            return inner_row
    return None


def _candidates(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows, and those inside them with the same path, as a part of a path may belong to several lines."""
    for row in rows:
        yield row
        yield from _candidates(child for child in row.children if child.path == row.path)


def _covered(row: Row, part: str) -> int | None:
    """Return the number of the row's instances that a part of a path names; None if it names anything else."""
    if row.numbers is None:
        return row.repeat if part == row.label else None
    stem = row.label.removesuffix(str(row.numbers))
    numbers = row.numbers.part(part[len(stem) :]) if part.startswith(stem) else None
    return None if numbers is None else numbers.size


def _inside(row: Row) -> Iterator[Row]:
    """Yield the rows one part of a path below a row."""
    for child in row.children:
        if child.path == row.path:
            yield from _inside(child)
        else:
            yield child


def _titled(row: Row, title: str) -> Row:
    """Return the row and its children with titles that begin as ``title`` does."""
    children = tuple(child._replace(title=title + child.title[len(row.title) :]) for child in row.children)
    return row._replace(title=title, children=children)


def _no_such(analysis: Analysis, path: str) -> Diagnostic:
    paths = list(dict.fromkeys(_paths(analysis.tree())))
    hint = did_you_mean(path, paths) or f"the top level has {', '.join(p for p in paths if '.' not in p)}"
    return Diagnostic("E503", f"the network has nothing at {path!r}", hint=hint)


def _paths(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield row.title
        yield from _paths(row.children)


# -- text -------------------------------------------------------------------------------------------


def _first_line(op: Operation) -> str:
    return (type(op).__doc__ or "").strip().partition("\n")[0]


def _convention(convention: Convention) -> str:
    return f"{convention.name}: {convention.about}"
