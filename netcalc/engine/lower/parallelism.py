"""Number of jobs into which a step is cut."""

from __future__ import annotations

from dataclasses import dataclass

from netcalc.engine.tuning import Tuning


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Workers of a plan, and how many of them a step has work for.

    >>> parallelism = Parallelism(16, processes=True, tuning=Tuning())
    >>> [parallelism.pass_jobs(elements) for elements in (10, 10_000, 1_000_000)]
    [1, 2, 16]
    """

    #: Threads or worker processes.
    threads: int
    #: True if the workers are processes.
    processes: bool
    tuning: Tuning

    @property
    def blas_threads(self) -> int:
        """BLAS threads that compute a single product."""
        return 1 if self.processes else self.threads

    def pass_jobs(self, elements: int) -> int:
        """Return the number of jobs of a pass over so many elements."""
        return max(1, min(self.threads, elements // self.tuning.pass_elements_per_worker))

    def product_jobs(self, macs: int) -> int:
        """Return the number of jobs of a product of so many multiply-adds; 1 where BLAS threads share it."""
        most = self.threads if self.processes else 1
        return max(1, min(most, macs // self.tuning.product_macs_per_worker))
