"""Collectives of ranks in one process: each rank is a thread, and what a ring sends is counted as it is passed on."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from netcalc.arrays import Array


class Ring:
    """Ranks that exchange arrays; ``sent`` counts the bytes that all of them send, by collective and label.

    Every rank calls the same methods in the same order.
    """

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.sent: Counter[tuple[str, str]] = Counter()
        self._barrier = threading.Barrier(ranks)
        self._given: list[Array | None] = [None] * ranks
        self._results: list[Array] = []

    def run(self, work: Callable[[int], None]) -> None:
        """Run the work of every rank in a thread of its own; raises the first error of one."""
        errors: list[BaseException] = []

        def guarded(rank: int) -> None:
            try:
                work(rank)
            except threading.BrokenBarrierError:
                pass
            except BaseException as error:
                errors.append(error)
                self._barrier.abort()

        threads = [threading.Thread(target=guarded, args=(rank,)) for rank in range(self.ranks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def all_reduce(self, rank: int, array: Array, label: str, groups: Sequence[Sequence[int]]) -> Array:
        """Return the sum of the arrays of a rank's group."""
        return self._together(rank, array, lambda arrays: self._in_groups(arrays, groups, self._sums, label))

    def all_gather(self, rank: int, array: Array, label: str, groups: Sequence[Sequence[int]]) -> list[Array]:
        """Return the arrays of all ranks of a rank's group, which have one shape, in order."""
        stacked = self._together(rank, array, lambda arrays: self._in_groups(arrays, groups, self._gathered, label))
        alone = all(len(group) == 1 for group in groups)
        return [stacked] if alone else list(stacked)

    def reduce_scatter(self, rank: int, pieces: Sequence[Array], label: str, groups: Sequence[Sequence[int]]) -> Array:
        """Return the sum of one's own piece over the ranks of a group; ``pieces`` has one for each of them."""
        stacked = np.stack(pieces)

        def reduced(arrays: list[Array]) -> list[Array]:
            results = list(arrays)
            for group in groups:
                count = len(group)
                held = [list(arrays[member]) for member in group]
                self._add_around(held, "reduce-scatter", label)
                for place, member in enumerate(group):
                    results[member] = held[(place - 1) % count][place]
            return results

        return self._together(rank, stacked, reduced)

    # -- rings ----------------------------------------------------------------------------------------

    def _sums(self, arrays: list[Array], label: str) -> list[Array]:
        """Return the sum for every member of a group: a ring adds chunks, a second one passes the sums on."""
        count = len(arrays)
        held = [np.array_split(array.reshape(-1), count) for array in arrays]
        self._add_around(held, "all-reduce", label)
        for step in range(count - 1):
            for place in range(count):
                chunk = (place - step) % count
                # the sum of a chunk is at the place before its own number
                self.sent["all-reduce", label] += held[place][chunk].nbytes
        total = np.concatenate([held[(chunk - 1) % count][chunk] for chunk in range(count)])
        return [total.reshape(arrays[0].shape)] * count

    def _gathered(self, arrays: list[Array], label: str) -> list[Array]:
        """Return all arrays, stacked, for every member of a group: each passes on the one that it got last."""
        count = len(arrays)
        for step in range(count - 1):
            for place in range(count):
                self.sent["all-gather", label] += arrays[(place - step) % count].nbytes
        return [np.stack(arrays)] * count

    def _add_around(self, held: list[list[Array]], collective: str, label: str) -> None:
        """Pass chunks around a ring that adds them; the sum of chunk i ends at the place before i."""
        count = len(held)
        for step in range(count - 1):
            passed = [((place - step) % count, held[place][(place - step) % count]) for place in range(count)]
            for place, (chunk, data) in enumerate(passed):
                self.sent[collective, label] += data.nbytes
                following = (place + 1) % count
                held[following][chunk] = held[following][chunk] + data

    def _in_groups(
        self,
        arrays: list[Array],
        groups: Sequence[Sequence[int]],
        combine: Callable[[list[Array], str], list[Array]],
        label: str,
    ) -> list[Array]:
        results = list(arrays)
        for group in groups:
            if len(group) > 1:
                combined = combine([arrays[member] for member in group], label)
                for member, result in zip(group, combined, strict=True):
                    results[member] = result
        return results

    def _together(self, rank: int, array: Array, combine: Callable[[list[Array]], list[Array]]) -> Array:
        """Return one's own result of what the first rank combines of the arrays of all."""
        self._given[rank] = array
        self._barrier.wait()
        if rank == 0:
            given = [np.asarray(one) for one in self._given if one is not None]
            self._results = combine(given)
        self._barrier.wait()
        result = self._results[rank]
        self._barrier.wait()
        return result
