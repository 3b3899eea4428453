"""The loss of a spec: lines that take its outputs, elaborated when the loss is first used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Assumption, Poly, assumptions, limited_work
from netcalc.ir import (
    Body,
    CallNode,
    InputSpec,
    Loss,
    Program,
    Value,
    join,
    operation_with_parameters,
    parameter_at,
)
from netcalc.ir.loss import LOSS
from netcalc.opdef import Context
from netcalc.spec.collisions import shared_paths
from netcalc.spec.cursor import Cursor
from netcalc.spec.document import InputDecl
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate_expression
from netcalc.spec.input_ranges import with_ranges
from netcalc.spec.library import Loaded
from netcalc.spec.lines import elaborate_lines
from netcalc.spec.program_io import program_inputs
from netcalc.spec.scope import Outputs, PartialBody
from netcalc.spec.settings import Settings, resolve_settings
from netcalc.spec.shipped import specs_dir


def declares_loss(loaded: Loaded) -> bool:
    """Return True if the spec declares a loss itself and does not inherit it, and is not shipped.

    The loss of such a spec is checked when the spec is loaded at its default settings.  A spec that inherits a loss may
    have changed its outputs, and the settings may have: the loss is then an error where it is used.
    """
    if loaded.document.loss is None:
        return False
    is_shipped = loaded.path is not None and loaded.path.is_relative_to(specs_dir())
    return _is_own(loaded) and not is_shipped


def elaborated_loss(
    loaded: Loaded, settings: Mapping[str, Any], symbolic: Collection[str], program: Program
) -> Loss | None:
    """Return the loss of a spec, None if it has none.

    Args:
        loaded: the spec.
        settings: values of dims and vars by name, in place of the spec's values.
        symbolic: names of dims that stay symbols.
        program: the program of the spec with these settings.

    Raises:
        NetcalcError: with every error in the loss.
    """
    declared = loaded.document.loss
    if declared is None:
        return None
    cursor = loaded.cursor["loss"]
    with assumptions(), limited_work():
        used = resolve_settings(loaded, settings, symbolic, _divisors(program))
    with assumptions() as assumed:
        if declared.when is not None and not evaluate_expression(cursor["when"], used):
            return None
    try:
        return _elaborate(loaded, used, program, assumed)
    except NetcalcError as error:
        if _is_own(loaded):
            raise
        hint = "the loss is that of the spec that this one extends; `loss` declares another, and `loss: null` none"
        raise NetcalcError(d._replace(hint=hint) for d in error.diagnostics) from None


def _divisors(program: Program) -> dict[str, int]:
    """Return the number that divides each symbolic size of a program, by name."""
    sizes = [size for size in program.dims.values() if isinstance(size, Poly)]
    return {named.name: named.multiple for size in sizes for named in size.symbols()}


def _is_own(loaded: Loaded) -> bool:
    place = loaded.cursor["loss"].key_span
    return place is None or place.file == loaded.label


def _elaborate(loaded: Loaded, settings: Settings, program: Program, condition: Sequence[Assumption]) -> Loss:
    declared, cursor = loaded.document.loss, loaded.cursor["loss"]
    assert declared is not None
    outputs = dict(zip(program.output_names, program.main.outputs, strict=True))
    _check_names(declared.inputs, cursor, program.inputs, outputs)
    for name, decl in declared.inputs.items():
        if isinstance(decl, InputDecl) and decl.layout is not None:
            raise cursor["inputs"][name]["layout"].error("E104", "layout: an input of the loss has none")
    ctx = Context(training=program.training, dtype=program.dtype)
    with assumptions() as assumed, limited_work():
        elaboration = Elaboration(loaded, settings, ctx, elaborate_lines)
        elaboration.main.nodes = [*program.main.nodes]  # whose parameters its lines may use
        network = elaboration.root_scope(PartialBody("network", loaded))
        network.defined |= {name: Outputs.single(None) for name in _optional_outputs(loaded)}
        network.defined |= {name: Outputs.single(value, value.span) for name, value in outputs.items()}
        own = tuple(program_inputs(elaboration, network, declared.inputs, cursor.at(("inputs",))))
        names = {value: name for name, defined in network.defined.items() if (value := defined.first) is not None}
        body = PartialBody(LOSS, loaded, network)
        scope = elaboration.root_scope(body)
        first = scope.lookup(next(iter(outputs)))  # as the first line of a network receives the first input
        result = elaboration.lines(cursor["layers"], scope, None if first is None else first.first)
    elaboration.reporter.raise_if_any()
    finished = body.finish(() if result is None else (result,))
    _check(finished, cursor, has_lines=bool(declared.layers))
    _check_adapters(finished, program.main)
    passed = [outer for outer, _ in body.captured.values()]
    own = with_ranges(own, [network.defined[spec.name].first for spec in own], finished, passed)
    return Loss(finished, tuple(names[outer] for outer in passed), own, (*condition, *assumed))


def _optional_outputs(loaded: Loaded) -> list[str]:
    """Return the names of single outputs that the network may lack."""
    declared = loaded.document.outputs or {}
    pairs = declared.items() if isinstance(declared, dict) else ((name, name) for name in declared)
    return [name.removesuffix("?") for name, value in pairs if value.endswith("?") and "*" not in name]


def _check_names(
    declared: Mapping[str, object], cursor: Cursor, inputs: tuple[InputSpec, ...], outputs: Mapping[str, Value]
) -> None:
    """Raise NetcalcError (E106) for an input of the loss that has the name of an input or output of the network."""
    taken = {**dict.fromkeys((spec.name for spec in inputs), "input"), **dict.fromkeys(outputs, "output")}
    problems = [
        Diagnostic("E106", f"loss: {name!r} is the name of an {taken[name]} too", cursor["inputs"][name].key_span)
        for name in declared
        if name in taken
    ]
    if LOSS in taken:
        message = f"a network with a loss cannot have an {taken[LOSS]} called {LOSS!r}"
        problems.append(Diagnostic("E106", message, cursor.key_span))
    if problems:
        raise NetcalcError(problems)


def _check(body: Body, cursor: Cursor, *, has_lines: bool) -> None:
    """Raise NetcalcError unless the body ends in one floating-point number and owns no parameters."""
    place = cursor["layers"]
    if not has_lines:
        raise place.error("E105", "the loss has no layers")
    type_ = body.outputs[0].known_type
    last = place[len(place.data) - 1].span
    if type_.shape:
        hint = "reduce it with mean or sum"
        raise NetcalcError(Diagnostic("E401", f"the loss should be a single number, and is {type_}", last, hint=hint))
    if not type_.is_float:
        message = f"the loss should be a floating-point number, and is {type_.dtype}"
        raise NetcalcError(Diagnostic("E402", message, last))
    node = operation_with_parameters(body.nodes, owned=True)
    if node is not None:
        hint = "let the network apply it, and name the result under `outputs`, or tie it to a line of the network"
        raise NetcalcError(Diagnostic("E104", f"the loss has parameters, of {node.op.name}", node.span, hint=hint))
    problems = list(shared_paths(body))
    if problems:
        raise NetcalcError(problems)


def _check_adapters(loss: Body, main: Body) -> None:
    """Raise NetcalcError (E104) where the loss uses a weight without the adapter that the network has beside it."""
    for node in loss.nodes:
        if isinstance(node, CallNode):
            _check_adapters(node.body, main)
            continue
        for tie in node.ties.values():
            owner = tie.target.rpartition(".")[0]
            if tie.absolute and parameter_at(main.nodes, join(owner, "lora_A.weight")) is not None:
                message = f"the loss uses the parameters of {owner!r}, which has an adapter"
                hint = "leave this line out of --lora"
                raise NetcalcError(Diagnostic("E104", message, node.span, hint=hint))
