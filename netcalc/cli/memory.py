"""Weights as they are stored, caches and states of decoding after the step, and the peak of the activations: where it
is reached, and which tensors are live. --set past=4096 --set length=1 is a step of decoding, --set length=4096 a
prefill.

Caches take as much memory as a tool reserves for them: --cache ideal, vllm or llama.cpp, by default all side by side.
--cache-dtype gives their element type, such as fp8 or q8_0. --tokens-in 24GiB gives the number of tokens whose caches
fit beside the weights. Activations are those of an ideal execution, and of an eager framework; --engine adds what
NumPy's engine holds.

A chart shows the activations by layer; -o FILE.svg writes it, or .png with the extra 'plot'. --depth, --sort, --top and
--filter list layers with their live bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeAlias

from netcalc.cli import options
from netcalc.cli.declarations import Option
from netcalc.cli.options import Format
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.analysis.activations.records import Point
    from netcalc.analysis.memory_report import EngineMemory, MemoryReport
    from netcalc.cli.selection import Selection
    from netcalc.ir import Program
    from netcalc.render.text import Terminal


class Engine(StrEnum):
    """A way to run a network in NumPy."""

    FAST = "fast"
    REFERENCE = "reference"


CacheOption: TypeAlias = Annotated[
    list[str] | None,
    Option("--cache", metavar="NAME", help="Memory of caches: ideal, vllm or llama.cpp.", show_default="all"),
]
CacheDtype: TypeAlias = Annotated[
    str | None,
    Option(
        "--cache-dtype", metavar="TYPE", help="Element type of caches, such as fp8 or q8_0.", show_default="their own"
    ),
]
TokensIn: TypeAlias = Annotated[
    str | None,
    Option("--tokens-in", metavar="BYTES", help="Tokens that fit with the weights, as in 16GiB or 24GB."),
]
EngineOption: TypeAlias = Annotated[
    Engine | None, Option("--engine", help="Add the memory of NumPy's engine, with its default threads.")
]
Output: TypeAlias = Annotated[
    str | None, Option("--output", "-o", metavar="FILE", help="Write to a file; as .svg or .png the chart.")
]


def command(
    spec: options.Spec,
    set_: options.Set = None,
    symbolic: options.Symbolic = None,
    cache: CacheOption = None,
    cache_dtype: CacheDtype = None,
    tokens_in: TokensIn = None,
    engine: EngineOption = None,
    depth: options.Depth = None,
    sort: options.Sort = None,
    top: options.Top = None,
    filter_: options.Filter = None,
    format_: options.FormatChoice = Format.TABLE,
    wide: options.Wide = False,
    output: Output = None,
    mode: options.ModeChoice = None,
    train: options.Train = False,
    dtype: options.Dtype = None,
    lora: options.Lora = None,
    quantize: options.Quantize = None,
    prune: options.Prune = None,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
) -> None:
    """Report the memory of weights, caches and activations."""
    from netcalc.analysis.memory_report import memory_report
    from netcalc.cli.output import terminal_for, write
    from netcalc.cli.pictures import is_picture, require_picture, write_charts
    from netcalc.render.memory import memory_charts

    selection = options.read_selection(sort, top, filter_)
    if is_picture(output):
        require_picture(output, "--output")
    program = options.read_program(
        spec,
        set_,
        symbolic,
        options.is_training(mode, train),
        dtype,
        max_spec_size,
        lora,
        quantize,
        prune,
        decoding=True,
    )
    report = memory_report(
        program,
        cache=cache or (),
        cache_dtype=cache_dtype,
        tokens_in=tokens_in,
        engine=None if engine is None else _engine(program, engine),
    )
    if output is not None and is_picture(output):
        return write_charts(output, list(memory_charts(report)), "--output")
    return write(_lines(report, selection, depth, format_, terminal_for(output, wide=wide)), output)


def _engine(program: Program, engine: Engine) -> EngineMemory:
    from netcalc.engine.held import engine_memory

    return engine_memory(program, engine.value)


def _lines(
    report: MemoryReport, selection: Selection, depth: int | None, format_: Format, terminal: Terminal
) -> Iterable[str]:
    from netcalc.analysis.activations.depth import points_at
    from netcalc.cli.output import json_lines
    from netcalc.cli.selection import keys_of
    from netcalc.records.memory import memory_record
    from netcalc.render.memory import memory_data, memory_page
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.table_csv import table_csv

    points: Sequence[Point] = () if report.ideal is None else points_at(report.ideal, depth)
    selected = selection.apply(points, keys_of("path", "op", "bytes"))
    match format_:
        case Format.JSON:
            return json_lines(memory_record(report, selected.shown), "layers")
        case Format.CSV:
            return table_csv(memory_data(report, selected.shown))
    listed = selection.active or depth is not None
    page = memory_page(report, selected.shown if listed else (), len(selected.others))
    return page_markdown(page) if format_ is Format.MARKDOWN else page_text(page, terminal)
