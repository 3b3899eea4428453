"""Training of several networks side by side, and the checks that their data and their losses are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.ir import Body, InputSpec, Loss, OpNode, Program
from netcalc.results import Result, recorded
from netcalc.training.result import TrainingResult

#: Why specs whose data or losses differ are refused.
_REASON = "losses can be compared on the same data only"


@recorded("names", "runs", name="train-comparison")
@dataclass(frozen=True, slots=True)
class TrainingComparison(Result):
    """Training of several networks, or at several learning rates, with the same data and the same seed."""

    names: tuple[str, ...]
    """Titles of the runs: names of the specs, with settings and learning rates in which they differ."""
    runs: tuple[TrainingResult, ...]
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)

    @property
    def ok(self) -> bool:
        """False if the loss of a run is not finite, which ended that run without an update."""
        return all(run.ok for run in self.runs)


def require_same_inputs(programs: Mapping[str, Program], reason: str = _REASON) -> None:
    """Check that several programs take the same inputs, so that one seed or file gives all of them the same data.

    Args:
        programs: the programs by title, with the inputs of their losses if these are computed.
        reason: why that is asked.

    Raises:
        NetcalcError: E502 with every program whose inputs are not those of the first.
    """
    (first, program), *others = programs.items()
    declared = {spec.name: spec for spec in program.inputs}
    problems = []
    for title, other in others:
        own = {spec.name: spec for spec in other.inputs}
        names = [name for name in {**declared, **own} if declared.get(name) != own.get(name)]
        if names:
            sides = ((first, declared), (title, own))
            texts = [f"{name} has {_inputs_text(specs, names)}" for name, specs in sides]
            hint = f"{reason}; --set N:NAME=VALUE sets a size of one spec"
            problems.append(Diagnostic("E502", f"the inputs differ: {', '.join(texts)}", hint=hint))
    if problems:
        raise NetcalcError(problems)


def require_same_loss(programs: Mapping[str, Program], losses: Mapping[str, Loss | None], name: str | None) -> None:
    """Check that several programs minimize the same loss.

    Args:
        programs: the programs by title.
        losses: their own losses, by title.
        name: ``"sum"`` or the name of an output whose elements are summed, in place of the specs' losses; or None.

    Raises:
        NetcalcError: E502 with every program whose loss is not the loss of the first.
    """
    texts = {
        title: _loss_text(losses[title]) if name is None else _outputs_text(program, name)
        for title, program in programs.items()
    }
    (first, text), *others = texts.items()
    what = "losses" if name is None else "outputs that are summed"
    problems = [
        Diagnostic("E502", f"the {what} differ: {first} has {text}, {title} has {other}", hint=_REASON)
        for title, other in others
        if other != text
    ]
    if problems:
        raise NetcalcError(problems)


def _inputs_text(specs: Mapping[str, InputSpec], names: Sequence[str]) -> str:
    return " and ".join(_input_text(specs[name]) for name in names if name in specs) or "none of these"


def _input_text(spec: InputSpec) -> str:
    text = f"{spec.name} {spec.type} {spec.type.dtype}"
    if spec.low is not None or spec.high is not None:
        text += f" in [{_end(spec.low)}, {_end(spec.high)})"
    return text if spec.default is None else f"{text} = {spec.default:g}"


def _end(number: float | None) -> str:
    return "…" if number is None else f"{number:,g}"


def _loss_text(loss: Loss | None) -> str:
    """Return the operations of a loss with their attributes, which say what it computes."""
    return "no loss" if loss is None else ", ".join(_operations(loss.body))


def _operations(body: Body) -> Iterator[str]:
    for node in body.nodes:
        if isinstance(node, OpNode):
            attributes = {
                name: value
                for name, field_ in type(node.op).model_fields.items()
                if (value := getattr(node.op, name)) != field_.default
            }
            yield f"{node.op.name} {written(_plain(attributes))}" if attributes else node.op.name
        else:
            times = f" ×{node.times}" if node.times > 1 else ""
            yield f"{', '.join(_operations(node.body))}{times}"


def _plain(value: Any) -> Any:
    """Return attributes as plain data."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [*map(_plain, value)]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _outputs_text(program: Program, name: str) -> str:
    outputs = [f"{key} {type_}" for key, type_ in program.output_types.items() if name in ("sum", key)]
    return " and ".join(outputs) or f"no output {name!r}"
