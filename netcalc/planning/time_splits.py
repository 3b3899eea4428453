"""The bound of ``netcalc time`` of a split over devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netcalc.analysis.devices import Device, Devices
from netcalc.analysis.parallel.bounds import StepBound
from netcalc.analysis.parallel.network import NODE_DEVICES
from netcalc.analysis.parallel.pieces import RankProgram, divisors
from netcalc.analysis.parallel.split import Split, SplitFigures
from netcalc.analysis.parallel.time import split_time
from netcalc.analysis.precisions import peak_type
from netcalc.analysis.roofline import Roofs
from netcalc.analysis.training_memory import Training
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.options import Phase, TimeOptions
from netcalc.planning.split_bounds import Kernels, rank_time
from netcalc.planning.splits import products_of, require_serving, serving_figures, split_of, training_figures
from netcalc.planning.time_bound import Bound, is_winograd, micro_batches, require_numbers
from netcalc.request import Request

#: Links of a device, in words.
_LINKS = {"node": "between devices of a node", "network": "between nodes"}


def bound_of_split(request: Request, devices: Devices, options: TimeOptions, phase: Phase | None) -> Bound:
    """Return the bound of the split that options ask for.

    Raises:
        NetcalcError: E502 for a split of another number of devices, one that is not possible, or bad options; E404 for
            symbolic sizes.
    """
    device, passes = devices.device, 1
    if phase == "training":
        request, passes = micro_batches(request, options)
    split = split_of(options, passes)
    require_numbers(request.program)
    figures, products = _figures(request, options, split, passes if phase == "training" else None)
    figures.check(split)
    _require_devices(split, devices, figures)
    attention, unfused, recompute = options["attention"], options["unfused"], options["recompute"]
    arithmetic = peak_type(device.peaks, options["arithmetic"], options["precision"])
    kernels = Kernels(attention, unfused, is_winograd(device, options), recompute, arithmetic)
    rank = rank_time(figures, device, kernels, options["training"], products)
    step = rank.bounds.step(split)
    whole = request.program_with_loss if phase == "training" and request.loss is not None else request.program
    return Bound(
        whole,
        rank.analysis,
        Roofs(devices, 0, rank.analysis.program.dtype, arithmetic),
        tuple(rank.bounds.layers(split, step.stage, options["unroll"])),
        step.seconds,
        split.dp * split.micro_batches,
        split_time(split, step, figures.training),
        tuple(_remarks(split, step, device, figures.training)),
    )


def _figures(
    request: Request, options: TimeOptions, split: Split, passes: int | None
) -> tuple[SplitFigures, RankProgram | None]:
    """Return the figures of a rank, and the program of its products where they have another type."""
    if passes is None:
        require_serving(split)
        return serving_figures(request, split), None
    way = Training(
        options["training"],
        options["precision"],
        options["mixed"],
        options["recompute"],
        options["attention"],
        passes,
    )
    return training_figures(request, way, split), products_of(request, way, split)


def _require_devices(split: Split, devices: Devices, figures: SplitFigures) -> None:
    """Raise NetcalcError (E502) for a split of another number of devices."""
    (device, number), needed = devices, split.devices
    if needed == number:
        return
    numbers: dict[str, Any] = split._asdict()
    given = " ".join(f"--{name} {numbers[name]}" for name in ("tp", "pp", "dp", "cp") if numbers[name] > 1)
    product = " · ".join(str(numbers[name]) for name in ("tp", "pp", "dp", "cp") if numbers[name] > 1)
    hints = [f"--device {device.name}:{needed}"]
    if number % needed == 0:
        left = number // needed
        hints.append(f"--dp {split.dp * left}")
        if figures.layers and figures.layers % (split.pp * left) == 0:
            hints.append(f"--pp {split.pp * left}")
    else:
        hints.append(f"numbers that divide {number} are {', '.join(map(str, divisors(number)))}")
    made = f"{product} = {needed}" if " " in product else str(needed)
    message = f"{given or '--tp 1'}: a split over {made} devices, and --device {device.name} has {number}"
    raise NetcalcError(Diagnostic("E502", message, hint=", or ".join(hints)))


def _remarks(split: Split, step: StepBound, device: Device, training: bool) -> Iterator[str]:
    """Yield what the bound of a split assumes, in words."""
    if split.micro_batches > 1:
        yield f"{split.micro_batches:,} passes before an update"
    if split.pp > 1:
        yield f"layers are those of a device of stage {step.stage}, the slowest of {split.pp}"
        takes = "each stage takes the passes in turn" if training else "one stage after the other takes the batch"
        yield f"{takes}; bytes that a stage hands on are sent beside its work"
    yield "layers follow one another; bytes of one are sent in pieces while it computes, all others beside the step"
    yield f"nodes of {NODE_DEVICES} devices, tensor-parallel ranks next to each other"
    for link in step.links:
        if link.sent and link.rate is None:
            yield f"no roof of the network {_LINKS[link.link]}: the rate of {device.title} is not published"
