"""Execution of a network in NumPy: the part of the Python API that runs, verifies and differentiates it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcalc.api_arguments import checked, checked_argument
from netcalc.formats import opened_weights
from netcalc.rounded_execution import RoundedExecution

if TYPE_CHECKING:
    from netcalc.analysis.signal.report import SignalReport
    from netcalc.engine.compiled import Compiled
    from netcalc.engine.gradients import GradientResult
    from netcalc.engine.run import PlanName, RunResult
    from netcalc.training.recipe import ScheduleName
    from netcalc.training.result import TrainingResult
    from netcalc.verification.agreement import Agreement
    from netcalc.verification.report import VerifyReport
    from netcalc.weights.checkpoint_files import Weights

__all__ = ["Executable"]


class Executable(RoundedExecution):
    """A program that can be run; the base of :class:`~netcalc.network.Network`."""

    @checked
    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        weights: Weights | None = None,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        trace: Sequence[str] = (),
        keep: bool = False,
        progress: Callable[[int, int, str], None] | None = None,
        plan: PlanName = "fast",
        threads: int | None = None,
        processes: bool = False,
        profiled: bool = False,
        cast: bool = False,
        max_work: float | None = None,
    ) -> RunResult:
        """Run a forward pass in NumPy.

        Args:
            inputs: arrays by name; other inputs are drawn at random, or take their default.
            weights: a ``.safetensors``, ``.npz`` or ``.gguf`` file, a folder or ``.index.json`` of shards, a list of
                these, or arrays by name; None to initialise parameters by ``init``.
            init: one initialiser or several, such as ``"*.bias=zeros"``; as ``--init`` of the command line.
            seed: seed of all random numbers.
            trace: patterns of paths; statistics of the outputs of these layers are recorded.
            keep: True to record the traced arrays as well.
            progress: function that is called with the number of steps done, the number of all steps, and a path.
            plan: ``"fast"`` for a planned run, ``"reference"`` to run operation by operation.
            threads: number of workers of a fast run; None for the number of available cores.
            processes: True for worker processes instead of threads, on Linux.
            profiled: True to time five further passes.
            cast: True to convert weights of another floating-point type to that of the network.
            max_work: most FLOPs and elements of results; a run that takes more is refused.

        Raises:
            NetcalcError: E404 for symbolic sizes, E502 for bad arguments, E503 if a pattern of ``trace`` matches no
                path, E601 if weights and E602 if inputs do not match the spec, E603 if memory is insufficient, E605 if
                a file cannot be read.
        """
        from netcalc.engine.run import forward

        return forward(
            self.program,
            inputs,
            weights=opened_weights(weights),
            init=init,
            seed=seed,
            trace=trace,
            keep=keep,
            progress=progress,
            plan=plan,
            threads=threads,
            processes=processes,
            profiled=profiled,
            cast=cast,
            max_work=max_work,
        )

    @checked
    def gradients(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        loss: str | Mapping[str, Any] | None = None,
        wrt: Sequence[str] | None = None,
        weights: Weights | None = None,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        training: bool | None = None,
        cast: bool = False,
        max_work: float | None = None,
    ) -> GradientResult:
        """Run forward and backward in NumPy; arguments as :func:`netcalc.engine.gradients.gradients` gives them.

        Raises:
            NetcalcError: as :meth:`run` does; E502 also for a ``loss`` or ``wrt`` that names nothing.

        >>> import netcalc
        >>> found = netcalc.load("mlp").gradients(seed=1)
        >>> found.parameters["hidden.0.0.weight"].shape
        (512, 784)
        """
        from netcalc.engine.gradients import gradients

        return gradients(
            self.program,
            inputs,
            loss=loss,
            wrt=wrt,
            weights=opened_weights(weights),
            init=init,
            seed=seed,
            training=training,
            cast=cast,
            max_work=max_work,
        )

    @checked
    def train(
        self,
        steps: int = 20,
        *,
        data: str | Path | Mapping[str, Any] = "synthetic",
        optimizer: str | None = None,
        lr: float | None = None,
        settings: Mapping[str, float] | None = None,
        loss: str | None = None,
        schedule: ScheduleName = "constant",
        warmup: int = 0,
        least_lr: float = 0.0,
        clip: float | None = None,
        seed: int = 0,
        weights: Weights | None = None,
        init: str | Iterable[str] = "default",
        cast: bool = False,
        checkpoint_file: str | Path | None = None,
        checkpoint_every: int | None = None,
        resume: str | Path | None = None,
        progress: Callable[[int, int, str], None] | None = None,
        max_work: float | None = None,
    ) -> TrainingResult:
        """Run steps of training in NumPy, to prove what is predicted of them; no way to train a model.

        Args:
            steps, optimizer, lr, settings, loss, schedule, warmup, least_lr, clip, seed: the recipe, see
                :class:`netcalc.training.Recipe`; the optimizer is ``"adamw"`` when None.
            data: ``"synthetic"``, the path of a file of samples by input, or arrays.
            weights, init, cast, checkpoint_file, checkpoint_every, resume, progress, max_work: as
                :func:`netcalc.training.train` gives them.

        Raises:
            NetcalcError: as :meth:`run` does; E502 also for a spec without loss, and for what no optimizer can do.

        >>> import netcalc
        >>> trained = netcalc.load("mlp").train(3, lr=0.01)
        >>> trained.losses[-1] < trained.losses[0]
        True
        """
        from netcalc.training import Recipe, train

        rates = Recipe(steps, optimizer or "adamw", lr, settings or {}, loss, schedule, warmup, least_lr, clip, seed)
        return train(
            self.program,
            rates,
            data,
            weights=opened_weights(weights),
            init=init,
            cast=cast,
            checkpoint_file=checkpoint_file,
            checkpoint_every=checkpoint_every,
            resume=resume,
            progress=progress,
            max_work=max_work,
        )

    @checked
    def compile(
        self,
        weights: Weights | None = None,
        *,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        threads: int | None = None,
        processes: bool = False,
        cast: bool = False,
        max_work: float | None = None,
    ) -> Compiled:
        """Plan the network and load its weights once, for repeated passes; arguments as for :meth:`run`.

        Raises:
            NetcalcError: as :meth:`run` does; also E502 in training mode or for too many operations.

        >>> import netcalc, numpy
        >>> session = netcalc.load("mlp").compile(seed=1)
        >>> session(x=numpy.zeros((1, 784), "float32"))["output"].shape
        (1, 10)
        """
        from netcalc.engine.compiled import Compiled

        return Compiled(
            self.program,
            opened_weights(weights),
            init=init,
            seed=seed,
            threads=threads,
            processes=processes,
            cast=cast,
            max_work=max_work,
        )

    @checked
    def verify(
        self,
        *,
        seed: int = 0,
        weights: Weights | None = None,
        progress: Callable[[int, int, str], None] | None = None,
        cast: bool = False,
        receptive_field: bool = False,
        values: bool = False,
        backward: bool = False,
        max_work: float | None = None,
    ) -> VerifyReport:
        """Run the network and compare shapes, types, parameters and work with the predictions, and a plan with kernels.

        With ``backward``, the work and the saved tensors of a backward pass are compared with theirs too.

        Raises:
            NetcalcError: as :meth:`run` does; failures of kernels are reported as checks.
        """
        from netcalc.verification.verify import verify

        return verify(
            self.program,
            seed=seed,
            weights=opened_weights(weights),
            progress=progress,
            cast=cast,
            receptive_field=receptive_field,
            values=values,
            backward=backward,
            max_work=max_work,
        )

    @checked
    def signal(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        seeds: int = 3,
        loss: str | None = None,
        depth: int | None = None,
        weights: Weights | None = None,
        training: bool | None = None,
        cast: bool = False,
        max_work: float | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> SignalReport:
        """Measure signals and gradients at initialisation, and predict them from the initialisers.

        Args:
            seed, seeds: the first seed and the number of seeds that figures are means over.
            loss: ``"random"`` for the sum of all outputs with random weights, ``"loss"`` for the loss of the spec,
                ``"sum"``, or the name of an output.
            depth: number of path parts; operations with longer paths are joined.
            inputs, init, weights, training, cast, max_work, progress: as for :meth:`run`.

        Raises:
            NetcalcError: as :meth:`run` does; E502 also for a ``loss`` that names no output.

        >>> import netcalc
        >>> report = netcalc.load("mlp", set={"batch": 16}).signal(init="he_normal(nonlinearity=relu)")
        >>> round(report.layers[1].predicted.variance, 2)
        2.0
        """
        from netcalc.verification.signal import measure

        return measure(
            self.program,
            inputs,
            init=init,
            seed=seed,
            seeds=seeds,
            loss=loss,
            weights=opened_weights(weights),
            training=training,
            cast=cast,
            max_work=max_work,
            progress=progress,
        ).at_depth(depth)

    def verify_against(self, module: Any, *args: Any, seed: int = 0, **kwargs: Any) -> Agreement:
        """Compare the network with the PyTorch module that it was made of, on the same random weights.

        The outputs of both plans are compared with those of the module, FLOPs by operator with those that PyTorch's
        ``FlopCounterMode`` counts, and the parameters by name with the state dict.  The module is not changed.

        Args:
            module: the ``torch.nn.Module`` or the exported program.
            args, kwargs: arguments of its ``forward``.  Floating-point tensors are drawn in their place, and integers
                for which the spec has a range.
            seed: seed of all random numbers.

        Raises:
            NetcalcError: E009 if PyTorch is not installed, the module fails, or has buffers without values; as
                :meth:`run` does.
        """
        from netcalc.formats.torch.agreement import compare_module

        return compare_module(self.program, module, args, kwargs, checked_argument("seed", seed))
