"""Networks that are executed side by side, on the same data with the same seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netcalc.analysis.signal.report import SignalComparison, SignalReport
from netcalc.arguments import options_of
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Program
from netcalc.ir.loss import LOSS
from netcalc.run_options import SignalOptions, TrainOptions
from netcalc.several import numbered, titles_of
from netcalc.training.comparison import TrainingComparison, require_same_inputs, require_same_loss

if TYPE_CHECKING:
    from netcalc.network import Network
    from netcalc.training.result import TrainingResult

#: Options of files of one run.
_FILES = {"checkpoint_file": "--checkpoint", "checkpoint_every": "--checkpoint-every", "resume": "--resume"}


def compared_training(networks: Sequence[Network], steps: int, options: Mapping[str, Any]) -> TrainingComparison:
    """Train each network at each learning rate.

    Raises:
        NetcalcError: E502 for a single run, for inputs or losses that differ, and for files of one run; else as
            :meth:`~netcalc.network.Network.train` does.
    """
    rates = options["lr"] or (None,)
    if len(networks) * len(rates) < 2:
        hint = "netcalc.load(…).train(…) trains one network; several rates, or --set 2:NAME=VALUE, make it several"
        raise NetcalcError(Diagnostic("E502", "a comparison takes two specs or more, or several rates", hint=hint))
    files = [flag for name, flag in _FILES.items() if options[name] is not None]
    if files:
        raise NetcalcError(Diagnostic("E502", f"{files[0]} goes with one network at one learning rate"))
    titles = _titles(networks)
    _require_same_task(dict(zip(titles, networks, strict=True)), options["loss"])
    names: list[str] = []
    runs: list[TrainingResult] = []
    for title, network in zip(titles, networks, strict=True):
        for rate in rates:
            own_title = () if len(networks) == 1 else (title,)
            names.append(", ".join([*own_title, f"lr {rate:g}"]) if len(rates) > 1 else title)
            own = {name: options[name] for name in options_of(TrainOptions)} | {"lr": rate}
            own["progress"] = _shared_progress(options["progress"], names[-1], len(runs), len(networks) * len(rates))
            runs.append(network.train(steps, **own))
    return TrainingComparison(numbered(names), tuple(runs), _warnings(networks))


def compared_signals(
    networks: Sequence[Network], inputs: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> SignalComparison:
    """Measure the signals of each network.

    Raises:
        NetcalcError: E502 for a single network, and for inputs that differ; else as
            :meth:`~netcalc.network.Network.signal` does.
    """
    if len(networks) < 2:
        hint = "netcalc.load(…).signal(…) measures one network; --set 2:NAME=VALUE makes it several"
        raise NetcalcError(Diagnostic("E502", "a comparison takes two specs or more", hint=hint))
    titles = _titles(networks)
    programs = {title: network.program for title, network in zip(titles, networks, strict=True)}
    require_same_inputs(programs, "signals can be compared on the same data only")
    own = {name: options[name] for name in options_of(SignalOptions)}
    reports: list[SignalReport] = []
    for title, network in zip(titles, networks, strict=True):
        progress = _shared_progress(options["progress"], title, len(reports), len(networks))
        reports.append(network.signal(inputs, mode=options["mode"], **{**own, "progress": progress}))
    return SignalComparison(tuple(reports), titles, _warnings(networks))


def _require_same_task(networks: Mapping[str, Network], loss: str | None) -> None:
    """Check that networks in training mode have the same inputs, those of their losses too, and the same losses."""
    name = None if loss == LOSS else loss
    programs: dict[str, Program] = {}
    losses = {}
    for title, network in networks.items():
        request = network.request.executed.with_mode("train")
        losses[title] = request.loss
        with_loss = name is None and request.loss is not None
        programs[title] = request.program_with_loss if with_loss else request.program
    require_same_loss(programs, losses, name)
    require_same_inputs(programs)


def _titles(networks: Sequence[Network]) -> tuple[str, ...]:
    return titles_of(
        [network.name for network in networks],
        [network.request.settings for network in networks],
        [{**network.dims, **network.vars} for network in networks],
    )


def _warnings(networks: Sequence[Network]) -> tuple[Diagnostic, ...]:
    return tuple(dict.fromkeys(warning for network in networks for warning in network.warnings))


def _shared_progress(
    progress: Callable[[int, int, str], None] | None, title: str, run: int, runs: int
) -> Callable[[int, int, str], None] | None:
    """Return the progress of one of several runs as a part of all."""
    if progress is None:
        return None
    return lambda done, every, text: progress(run * every + done, runs * every, f"{title}: {text}")
