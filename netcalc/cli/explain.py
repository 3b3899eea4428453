"""Formula, substitution, result and source, step by step; for example `netcalc explain resnet34 conv1`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from netcalc.cli import options
from netcalc.cli.declarations import Argument, Option
from netcalc.limits import MAX_SPEC_SIZE

Memory: TypeAlias = Annotated[
    bool, Option("--memory", help="Explain the figures of `netcalc memory` in place of the counts.")
]


def command(
    spec: options.Spec,
    path: Annotated[str | None, Argument(help="A layer or block, such as layer1.0.conv1.")] = None,
    set_: options.Set = None,
    symbolic: options.Symbolic = None,
    convention: options.Convention = "netcalc",
    format_: options.TextFormatChoice = options.TextFormat.TABLE,
    output: options.Output = None,
    wide: options.Wide = False,
    mode: options.ModeChoice = None,
    train: options.Train = False,
    dtype: options.Dtype = None,
    lora: options.Lora = None,
    quantize: options.Quantize = None,
    prune: options.Prune = None,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
    backward: options.Backward = False,
    training: options.Training = None,
    loss: options.BackwardLoss = None,
    memory: Memory = False,
) -> None:
    """Explain one layer, a block, or the whole network."""
    from netcalc.analysis.cost import analyse
    from netcalc.analysis.explain import explain
    from netcalc.analysis.explain_memory import explain_memory
    from netcalc.analysis.memory_report import memory_report
    from netcalc.cli.output import json_lines, terminal_for, write
    from netcalc.records.explain import explanation_record
    from netcalc.render.explanation import explanation_page, explanation_table
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.table_csv import table_csv

    training_mode = options.is_training(mode, train, training)
    program = options.read_program(
        spec, set_, symbolic, training_mode, dtype, max_spec_size, lora, quantize, prune, decoding=memory
    )
    if memory:
        _refuse_with_memory(path, backward, training, loss)
        explanation = explain_memory(program, memory_report(program))
    else:
        analysis = analyse(program, convention, backward=backward, optimizer=training, loss=loss)
        explanation = explain(program, path, analysis.convention, analysis.backward)
    match format_:
        case options.TextFormat.JSON:
            return write(json_lines(explanation_record(explanation)), output)
        case options.TextFormat.CSV:
            return write(table_csv(explanation_table(explanation)), output)
        case options.TextFormat.MARKDOWN:
            return write(page_markdown(explanation_page(explanation, program.name)), output)
    page = explanation_page(explanation, program.name)
    return write(page_text(page, terminal_for(output, wide=wide)), output)


def _refuse_with_memory(*given: object) -> None:
    """Raise NetcalcError (E502) for a path or a backward pass, which --memory does not explain."""
    if any(given):
        from netcalc.diagnostics import Diagnostic, NetcalcError

        raise NetcalcError(Diagnostic("E502", "--memory explains the memory of a whole forward pass"))
