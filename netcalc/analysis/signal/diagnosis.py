"""Findings on signals in words: where they vanish or explode within a stage, why, and what would help."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from netcalc.analysis.signal.curves import CURVES
from netcalc.analysis.signal.remedies import NORMS, RECURRENT, around, remedies
from netcalc.analysis.signal.report import Figures, Finding, Growth, InputScale, Reach, SignalReport, SignalRow
from netcalc.analysis.signal.stages import Run, steps
from netcalc.analysis.signal.trunk import Graph, trunks

#: Factor within a stage from which signals are said to vanish or explode.
FAR = 100.0
#: Factor of the relative gradient between stages that is worth a remark.
_STEP = 20.0
#: Share of elements or units that is worth a remark.
_MANY = 0.5
#: Share of the mean square that all samples have in common, from which their outputs are said to be alike.
_ALIKE = 0.99
#: Part of the whole factor, in powers, from which a kind of operation is named as a reason.
_PART = 0.2
#: The same from which a rise is said to be set by norms.
_MOST = 0.8
#: Root mean squares of inputs that weights of the usual initializers suit.
_USUAL = 0.1, 10.0
#: Norm of a gradient below which a product may be 0 because numbers are too small, in float32.
_UNDERFLOW = 1e-20
_ACTIVATIONS = frozenset(CURVES) - {"identity"}


def diagnose(
    report: SignalReport, graph: Graph, found: Sequence[Run], numbered: Sequence[SignalRow | None]
) -> tuple[Finding, ...]:
    """Return the findings on a report at full depth.

    Args:
        report: the report.
        graph: the operations of the program.
        found: its stages.
        numbered: rows by number of the operation; None for results that are not floats.
    """
    findings = [
        *_unusual_inputs(report.inputs, graph),
        *_symmetric(report.rows),
        *(list(_no_gradient(graph, numbered)) or _stages_without(found)),
        *(finding for run in found for finding in _growths(run)),
        *(finding for reach in report.through_time for finding in _through_time(reach)),
        *_saturated_and_dead(report.rows, report.data),
        *_alike_samples(report.layers, report.data),
    ]
    if found and all(finding.kind == "reach" for finding in findings):
        findings.append(_steady(found))
    elif not findings:
        findings.append(_short(report))
    return (*findings, *_steps(found))


# -- through time -----------------------------------------------------------------------------------


def _through_time(reach: Reach) -> Iterator[Finding]:
    """Yield the verdict on how far back the gradient of the last step reaches."""
    first, last = reach.gradients[0], reach.gradients[-1]
    if not any(reach.gradients):
        text = f"no gradient of the last outputs arrives at any of {reach.steps} steps"
        yield Finding("reach", reach.path, text, "", "")
        return
    falls = [
        f"by {name} within {count} steps"
        for name, count in (("10", reach.tenth), ("10³", reach.thousandth), ("10⁶", reach.millionth))
        if count is not None
    ]
    text = f"the gradient of the last outputs goes from {first:.3g} at the last of {reach.steps} steps to {last:.3g} "
    text += "at the first"
    if falls:
        text += f"; it falls {', '.join(falls)}"
    if reach.by_step is not None and reach.op in RECURRENT:
        text += f"; each step multiplies it by {reach.by_step:.3g}"
        if reach.predicted is not None:
            text += f", by its weights {reach.predicted:.3g}"
    if reach.thousandth is not None and reach.op in RECURRENT:
        remedy = {
            "rnn": "a gated cell: lstm or gru; orthogonal weights of the state",
            "lstm": "a bias of the forget gate of 1 or more",
            "gru": "a bias of the update gate of 1 or more",
        }[reach.op]
        what = "slope and weights of the state multiply" if reach.op == "rnn" else "the gate of the state multiplies"
        yield Finding("gradients vanish through time", reach.path, text, f"{what} it at every step", remedy)
    elif last > 1e3 * first > 0:
        why = "the weights of the state multiply it at every step"
        yield Finding("gradients explode through time", reach.path, text, why, "smaller weights of the state; clipping")
    else:
        yield Finding("reach", reach.path, text, "", "")


# -- along a stage ----------------------------------------------------------------------------------


def _growths(run: Run) -> Iterator[Finding]:
    """Yield findings on activations that grow or fall far from line to line, and on gradients on their way back."""
    stage = run.stage
    for growth in stage.activations.growths:
        if not 1 / FAR < growth.factor < FAR and not _is_set_by_norms(run, growth):
            small = growth.factor < 1
            text = (
                f"their root mean square goes from {growth.start:.3g} at {growth.begins} to {growth.stop:.3g} at "
                f"{growth.ends}, {_by_line(growth)}"
            )
            if stage.gradients is not None and not stage.gradients.growths:
                verb = "vanish" if small else "explode"
                text += f"; on their way back gradients {verb} by the same factor, and those of all weights stay alike"
            yield _finding("activations", small, growth.begins, text, run, growth, lambda figures: figures.gain)
    for growth in stage.gradients.growths if stage.gradients is not None else ():
        if not 1 / FAR < growth.factor < FAR and growth.start > 0 and growth.stop > 0:
            small = growth.factor > 1  # on the way back
            text = (
                f"root mean square times norm of the gradient goes from {growth.stop:.3g} at {growth.ends} to "
                f"{growth.start:.3g} at {growth.begins}, {_by_line(growth, back=True)}"
            )
            yield _finding("gradients", small, growth.ends, text, run, growth, lambda figures: figures.back)


def _is_set_by_norms(run: Run, growth: Growth) -> bool:
    """Return True if norms bring most of a rise about: they set a scale of 1, and nothing explodes."""
    gains = [(row.op, row.measured.gain) for row in _between(run, growth)]
    logs = [math.log(gain) for op, gain in gains if op in NORMS and gain is not None and 0 < gain < math.inf]
    return growth.factor > 1 and sum(logs) >= _MOST * math.log(min(growth.factor, 1.7e308))


def _between(run: Run, growth: Growth) -> tuple[SignalRow, ...]:
    """Return the rows from the line where a growth begins to the line where it ends."""
    paths = [row.path for row in run.rows]
    return run.rows[paths.index(growth.begins) : len(paths) - paths[::-1].index(growth.ends)]


def _by_line(growth: Growth, *, back: bool = False) -> str:
    lines = growth.last - growth.first
    factor = 1 / growth.by_line if back else growth.by_line
    return f"by a factor of {factor:.3g} per layer" if 0 < growth.factor < math.inf else f"over {lines} layers"


def _finding(
    what: str,
    small: bool,
    path: str,
    text: str,
    run: Run,
    growth: Growth,
    gain: Callable[[Figures], float | None],
) -> Finding:
    part = _between(run, growth)
    stage = around(Run(run.stage, part, run.residual), _ACTIVATIONS)
    saturated = any((row.measured.saturated or 0.0) >= _MANY for row in part)
    return Finding(
        f"{what} {'vanish' if small else 'explode'}",
        path,
        text,
        _reasons(part, gain, small, run.residual),
        remedies(stage, small, saturated),
    )


def _reasons(rows: Sequence[SignalRow], gain: Callable[[Figures], float | None], small: bool, residual: bool) -> str:
    """Return the reasons in words: the kinds of operations by which most of the factor comes about."""
    logs: dict[str, list[float]] = {}
    nil: dict[str, None] = {}
    for row in rows:
        kind = "a layer with weights" if row.weighted else row.op
        factor = gain(row.measured)
        if factor is not None and 0 < factor < math.inf:
            logs.setdefault(kind, []).append(math.log(factor))
        elif factor == 0 and small:
            nil[kind] = None
    sign = -1 if small else 1
    total = sum(max(sign * sum(each), 0.0) for each in logs.values())
    parts = [f"{kind} multiplies by 0" for kind in nil]
    for kind, each in sorted(logs.items(), key=lambda item: sign * sum(item[1]), reverse=True):
        if total and sign * sum(each) >= _PART * total:
            parts.append(f"{kind} multiplies by {math.exp(sum(each) / len(each)):.3g} on average")
    for op in dict.fromkeys(row.op for row in rows):
        shares = [row.measured.saturated for row in rows if row.op == op and row.measured.saturated is not None]
        if shares and sum(shares) / len(shares) >= _MANY:
            parts.append(f"{_percent(sum(shares) / len(shares))} of the elements of {op} are saturated")
    if small and not residual:
        parts.append("no residual connection bypasses the layers")
    return "; ".join(parts)


def _steady(found: Sequence[Run]) -> Finding:
    """Return the finding on the stage that changes most, where none changes far."""

    def change(run: Run) -> float:
        trends = [trend for trend in (run.stage.activations, run.stage.gradients) if trend is not None]
        return max(trend.largest / trend.smallest if trend.smallest else 1.0 for trend in trends)

    stage = max(found, key=change).stage
    count = sum(len(run.stage.lines) for run in found)
    many = f" in {len(found)} stages" if len(found) > 1 else ""
    text = f"neither vanishes nor explodes over {count} layers{many}: "
    text += "most of all the" if len(found) > 1 else "the"
    text += f" root mean square goes from {stage.activations.first:.3g} to {stage.activations.last:.3g}"
    if stage.gradients is not None:
        text += f", times norm of the gradient from {stage.gradients.first:.3g} to {stage.gradients.last:.3g}"
    text += f", from {stage.lines[0]} to {stage.lines[-1]}"
    return Finding("steady", stage.lines[0], text, "", "")


def _short(report: SignalReport) -> Finding:
    """Return the finding on a network in which there is nothing to compare."""
    path = next((row.path for row in (*report.layers, *report.rows)), "")
    return Finding("too short", path, "fewer than 3 layers follow each other on one path: nothing to compare", "", "")


def _steps(found: Sequence[Run]) -> Iterator[Finding]:
    """Yield remarks on jumps of the relative gradient between stages."""
    for before, after, factor in steps(found):
        if not 1 / _STEP < factor < _STEP:
            yield Finding(
                "step",
                after.lines[0],
                f"root mean square times norm of the gradient is {factor:.3g} times as large at {before.lines[-1]} as "
                f"at {after.lines[0]}, the next stage: one step, which does not repeat by layer",
                "",
                "",
            )


# -- causes of their own ----------------------------------------------------------------------------


def _unusual_inputs(inputs: Sequence[InputScale], graph: Graph) -> Iterator[Finding]:
    """Yield findings on inputs that are far from a scale of 1 and that no norm receives."""
    least, most = _USUAL
    for scale in inputs:
        users = list(graph.uses(-1 - scale.position))
        normalized = all(user.node.op.name in NORMS for user in users)
        if normalized or least <= scale.rms <= most or scale.rms == 0:
            continue
        yield Finding(
            "inputs out of scale",
            users[0].path,
            f"{scale.name} has a root mean square of {scale.rms:.3g} and a mean of {scale.mean:.3g}",
            "initializers suit inputs with a mean of 0 and a deviation of 1",
            "subtract the mean of the data and divide by their deviation, or a norm as the first layer",
        )


def _symmetric(rows: Sequence[SignalRow]) -> Iterator[Finding]:
    """Yield a finding if the units of layers have equal weights and equal gradients."""
    alike = [row for row in rows if row.measured.symmetric]
    if alike:
        layers = sum(row.measured.spread is not None for row in rows)
        yield Finding(
            "symmetric weights",
            alike[0].path,
            f"all units of {len(alike)} of {layers} layers have equal weights and equal gradients: no step of training "
            "tells them apart",
            "weights are drawn from no distribution",
            "--init 'he_normal' or another random initializer of the weights",
        )


def _no_gradient(graph: Graph, rows: Sequence[SignalRow | None]) -> Iterator[Finding]:
    """Yield a finding if half of the layers, and the main trunk before some operation, have gradients of exactly 0."""
    trained = [row.measured.parameters for row in rows if row is not None and row.weighted and row.measured.parameters]
    without = sum(not any(norms.values()) for norms in trained)
    main = next(trunks(graph), None)
    if main is None or without < _MANY * len(trained):
        return
    after: SignalRow | None = None
    for number in reversed(main.numbers):
        row = rows[number]
        if row is None or row.measured.gradient is None:
            continue
        if row.measured.gradient == 0 and after is not None and (after.measured.gradient or 0) > _UNDERFLOW:
            yield _dead(row, after)
            return
        after = row


def _stages_without(found: Sequence[Run]) -> Iterator[Finding]:
    """Yield a finding for every stage whose lines all have gradients of exactly 0."""
    for run in found:
        if run.stage.gradients is not None and run.stage.gradients.largest == 0 < run.stage.activations.largest:
            yield Finding(
                "no gradient",
                run.rows[0].path,
                f"the gradient is exactly 0 at all {len(run.stage.lines)} lines of {run.stage.path}",
                "the outputs do not depend on them for these inputs, as where no token of a text stands for an image",
                "inputs that use them",
            )


def _dead(row: SignalRow, after: SignalRow) -> Finding:
    if after.measured.spread == 0 and any(after.measured.parameters.values()):
        why = f"the weights of {after.path} are 0, which learns at the first step, and the layers before it after that"
        return Finding("no gradient", row.path, f"the gradient is exactly 0 at {row.path} and before it", why, "")
    why, remedy = f"{after.path} passes none on", "weights that are not 0"
    if after.op == "mul":
        why, remedy = f"{after.path} multiplies by 0: a gate that starts closed opens first", ""
    if after.op in _ACTIVATIONS:
        why = f"the slope of {after.op} is 0 at all elements of {after.path}"
        remedy = "biases of 0, smaller weights, normalization before it, or leaky_relu"
    return Finding("no gradient", row.path, f"the gradient is exactly 0 at {row.path} and before it", why, remedy)


def _saturated_and_dead(rows: Sequence[SignalRow], data: int) -> Iterator[Finding]:
    """Yield findings on saturated and dead units; of one datum, half of all units are 0 without being dead."""
    for op in dict.fromkeys(row.op for row in rows):
        those = [row for row in rows if row.op == op]
        saturated = [row for row in those if (row.measured.saturated or 0.0) >= _MANY]
        dead = [row for row in those if data > 1 and (row.measured.dead or 0.0) >= _MANY]
        if saturated:
            worst = max(row.measured.saturated or 0.0 for row in saturated)
            yield Finding(
                "saturation",
                saturated[0].path,
                f"{op} saturates in {len(saturated)} of {len(those)} layers: up to {_percent(worst)} of its elements "
                "have less than a tenth of its greatest slope",
                "its inputs are large beside the range where it rises",
                "smaller weights; batch_norm or layer_norm before it",
            )
        if dead:
            worst = max(row.measured.dead or 0.0 for row in dead)
            yield Finding(
                "dead units",
                dead[0].path,
                f"{op} is 0 for all data in up to {_percent(worst)} of the units of {len(dead)} of {len(those)} layers",
                "the inputs of these units are negative for all data: a common mean or biases outweigh what differs",
                "normalization before it, leaky_relu, or biases of 0",
            )


def _alike_samples(layers: Sequence[SignalRow], data: int) -> Iterator[Finding]:
    """Yield a finding if the outputs of different samples have become alike."""
    rows = [(row, share) for row in layers if data > 1 and (share := _share_of_means(row.measured)) is not None]
    if len(rows) > 2 and rows[0][1] < _ALIKE <= rows[-1][1]:
        begins = next(row for row, share in rows if share >= _ALIKE)
        yield Finding(
            "samples alike",
            begins.path,
            f"at {rows[-1][0].path} the means of channels make up {_percent(rows[-1][1], 1)} of the mean square",
            "means of activations and biases grow beside what differs between samples, the ordered phase",
            "normalization over the batch; weights nearer to the edge of chaos",
        )


def _percent(share: float, digits: int = 0) -> str:
    return f"{share:.{digits}%}".replace("%", " %")


def _share_of_means(figures: Figures) -> float | None:
    """Return the share of the mean square that is squared means of channels; None where each has a single datum."""
    if figures.channel_square is None or not figures.channel_variance:
        return None
    total = figures.channel_square + figures.channel_variance
    return figures.channel_square / total if 0 < total < math.inf else None
