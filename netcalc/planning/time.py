"""The report of ``netcalc time``, of a request and devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from netcalc.amounts import number_in
from netcalc.analysis.cost import Analysis, analyze
from netcalc.analysis.devices import Devices
from netcalc.analysis.precisions import peak_type, precision_named
from netcalc.analysis.recomputation import recomputation
from netcalc.analysis.roofline import Roofs, joined, layer_bounds, total_roofs
from netcalc.analysis.time_report import Peak, TimeReport, training_run
from netcalc.analysis.traffic import Traffic
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Program
from netcalc.ir.loss import LOSS
from netcalc.options import Phase, TimeOptions
from netcalc.planning.devices import devices_of
from netcalc.planning.phases import phase_of, request_in_phase, require_training
from netcalc.planning.split_options import is_split
from netcalc.planning.time_bound import Bound, is_winograd, micro_batches, require_numbers
from netcalc.request import Request

#: Work that is done twice, in words.
_AGAIN = {
    "none": "nothing is computed again",
    "selective": "the core of attention is computed again",
    **dict.fromkeys(("full", "every"), "the layers are computed again"),
}


def time_of(request: Request, options: TimeOptions) -> TimeReport:
    """Return the lower bound of the time of what is asked for, with complete options.

    Raises:
        NetcalcError: as :meth:`netcalc.Network.time` does.
    """
    if options["device"] is None:
        hint = "--device h100, rtx-4090, m4-max, a YAML file, or this"
        raise NetcalcError(Diagnostic("E502", "a time is one on a device", hint=hint))
    tokens = None if options["tokens"] is None else tokens_in(options["tokens"])
    devices = devices_of(options["device"])
    phase: Phase | None = "training" if tokens is not None and options["phase"] is None else options["phase"]
    phase = phase_of(phase, options["training"])
    _check(devices, options, tokens, phase)
    in_phase, remarks = request_in_phase(request, phase, options["logits"])
    if phase != "training":
        require_training(options)
    if is_split(options):
        from netcalc.planning.time_splits import bound_of_split

        bound = bound_of_split(in_phase, devices, options, phase)
    else:
        bound = _bound(in_phase, devices, options, phase)
    report = _report(bound, devices, options, phase)
    report = replace(report, notes=(*report.notes, *remarks))
    if tokens is None:
        return report
    if report.tokens is None:
        raise NetcalcError(Diagnostic("E502", f"--tokens: {report.spec} has no input of tokens"))
    return replace(report, run=training_run(report, tokens, report.tokens))


def tokens_in(text: str | int) -> int:
    """Return the number that ``15T``, ``300B`` or ``2.5M`` stands for; NetcalcError (E502) for another text.

    >>> tokens_in("15T"), tokens_in("1.4B"), tokens_in(300)
    (15000000000000, 1400000000, 300)
    """
    number = number_in(str(text))
    if not number:
        raise NetcalcError(Diagnostic("E502", f"--tokens {text}: should be a number, such as 15T or 300B"))
    return number


def _check(devices: Devices, options: TimeOptions, tokens: int | None, phase: Phase | None) -> None:
    """Check what options say together.

    Raises:
        NetcalcError: E502 for a device without any speed, an efficiency above 1 or without a peak, and tokens of
            another phase than training.
    """
    device, efficiency = devices.device, options["efficiency"]
    if device.bandwidth is None and not device.peaks:
        message = f"--device {device.name}: neither bandwidth nor peaks of {device.title} are known"
        hint = "name a device, or a YAML file with its figures" if device.is_budget else "a YAML file can give them"
        raise NetcalcError(Diagnostic("E502", message, hint=hint))
    if options["arithmetic"] is not None and options["arithmetic"] not in device.peaks:
        hint = f"published are {', '.join(device.peaks) or 'none'}"
        message = f"--arithmetic {options['arithmetic']}: {device.title} has no such peak"
        raise NetcalcError(Diagnostic("E502", message, hint=hint))
    if efficiency is not None and efficiency > 1:
        raise NetcalcError(Diagnostic("E502", f"--efficiency {efficiency:g}: should be a share of the peak, at most 1"))
    if tokens is not None and phase != "training":
        raise NetcalcError(Diagnostic("E502", f"--tokens goes with --phase training, not {phase}"))


def _bound(request: Request, devices: Devices, options: TimeOptions, phase: Phase | None) -> Bound:
    """Return the bound of devices that share all work and bytes evenly."""
    passes = 1
    if phase == "training":
        request, passes = micro_batches(request, options)
        precision = precision_named(options["precision"], options["mixed"], options["attention"])
        if precision.computed is not None:
            request = request.with_dtype(precision.computed)
    analysis = _analysed(request, phase, options["training"])
    program = analysis.program
    inputs = sum(integer(spec.type.elements) * ITEMSIZE[spec.type.dtype] for spec in program.inputs)
    outside = integer(analysis.total.weight_bytes) + inputs
    roofs = Roofs(
        devices, outside, program.dtype, peak_type(devices.device.peaks, options["arithmetic"], options["precision"])
    )
    winograd, again = is_winograd(devices.device, options), recomputation(options["recompute"])
    traffic = Traffic(analysis, options["attention"], options["unfused"], winograd, again)
    layers = tuple(layer_bounds(program, traffic, roofs, options["unroll"], passes))
    seconds = sum(layer.seconds for layer in layers)
    remarks = [] if passes == 1 else [f"{passes:,} passes before an update"]
    if devices.number > 1:
        remarks.append(f"{devices.number:,} devices share work and bytes evenly, without a byte between them")
    return Bound(program, analysis, roofs, layers, seconds, passes, remarks=tuple(remarks))


def _analysed(request: Request, phase: Phase | None, optimizer: str | None) -> Analysis:
    """Return the analysis of the pass."""
    require_numbers(request.program)
    if phase != "training":
        return analyze(request.program)
    has_loss = request.loss is not None
    with_loss = request.program_with_loss if has_loss else None
    loss = LOSS if has_loss else None
    return analyze(request.program, backward=True, optimizer=optimizer, loss=loss, with_loss=with_loss)


def _report(bound: Bound, devices: Devices, options: TimeOptions, phase: Phase | None) -> TimeReport:
    program, roofs, (device, number) = bound.program, bound.roofs, devices
    if roofs.peak is None and options["efficiency"] is not None:
        message = f"--efficiency: the peak of {roofs.dtype} on {device.title} is not published"
        raise NetcalcError(Diagnostic("E502", message, hint="--arithmetic TYPE chooses another one"))
    tokens, samples = _tokens(program), _samples(program)
    layers = bound.layers
    return TimeReport(
        program.name,
        program.about,
        program.dtype,
        program.checkpoint_dtype,
        program.stored_as,
        program.input_types,
        program.output_types,
        phase,
        options["training"],
        device,
        number,
        Peak(roofs.dtype, roofs.peak),
        options["attention"],
        None if tokens is None else tokens * bound.times,
        None if samples is None else samples * bound.times,
        layers if options["depth"] is None else tuple(joined(layers, options["depth"])),
        total_roofs(layers),
        bound.seconds,
        options["efficiency"],
        None,
        bound.analysis.unknown,
        (*_assumptions(bound.analysis, roofs, options), *bound.remarks),
        program.notes,
        options["depth"],
        bound.split,
    )


def _tokens(program: Program) -> int | None:
    """Return the tokens of a pass: those that a step of decoding adds, or those of the first input of integers."""
    new = program.caches.new
    if new is not None:
        return integer(program.dims[new]) * (_samples(program) or 1)
    ids = next((spec.type for spec in program.inputs if spec.type.dtype in ("int64", "int32") and spec.type.rank), None)
    return None if ids is None or ids.rank < 2 else integer(ids.elements)


def _samples(program: Program) -> int | None:
    batch = program.dims.get("batch")
    return batch if isinstance(batch, int) else None


def _assumptions(analysis: Analysis, roofs: Roofs, options: TimeOptions) -> Iterator[str]:
    """Yield what the bound assumes, in words."""
    device, operations = roofs.device, analysis.by_operation
    if roofs.peak is None:
        yield f"no roof of arithmetic: the peak of {roofs.dtype} is not published"
    else:
        yield f"multiply-adds at the peak of {roofs.dtype}, all other work beside them"
    if device.bandwidth is None:
        yield "no roof of memory: the bandwidth is not published"
    if options["unfused"]:
        yield "every operation reads its operands and writes its results"
    else:
        yield "operations without multiply-adds are fused into those that have some"
    if "scaled_dot_product_attention" in operations:
        stored = "writes and reads its scores" if options["attention"] == "eager" else "keeps its scores at hand"
        yield f"attention ({options['attention']}) {stored}, and skips pairs that its pattern hides"
    if "experts" in operations:
        yield "tokens are routed to as many different experts as they can reach"
    if device.cache is not None:
        yield f"tensors of up to {device.cache / 2**20:g} MiB stay in the cache from one operation to the next"
    if is_winograd(device, options) and "conv2d" in operations:
        yield "3×3 convolutions of stride 1 by Winograd's algorithm, with a quarter of the products"
    if analysis.backward is not None:
        again = _AGAIN[options["recompute"].partition(":")[0]]
        yield f"the backward pass starts from {analysis.backward.start}; {again}"
        if options["attention"] == "flash" and "scaled_dot_product_attention" in operations:
            yield "four products in the backward pass of attention; FlashAttention computes the scores again, a fifth"
