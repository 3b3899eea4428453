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
        tuning = self.tuning
        workers = max(1, min(self.threads, elements // tuning.pass_elements_per_worker))
        return workers * self._jobs_of_worker(workers, elements // tuning.pass_elements_per_job)

    def product_jobs(self, macs: int, *, several: bool = False) -> int:
        """Return the number of jobs of a product of so many multiply-adds; 1 where BLAS threads share it.

        With ``several`` a worker may have more than one, each of which reads what the other jobs read too.
        """
        tuning, most = self.tuning, self.threads if self.processes else 1
        workers = max(1, min(most, macs // tuning.product_macs_per_worker))
        return workers * (self._jobs_of_worker(workers, macs // tuning.product_macs_per_job) if several else 1)

    def _jobs_of_worker(self, workers: int, jobs: int) -> int:
        """Return the number of jobs of each worker: several where processes can take them over from each other."""
        if not self.processes or workers == 1:
            return 1
        return max(1, min(self.tuning.jobs_of_worker, jobs // workers))
