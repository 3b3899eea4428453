"""Operations of a program held against the independent references of their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.ir import Program, join
from netcalc.numerics.initializers import generator
from netcalc.verification.compared import Compared
from netcalc.verification.references import REFERENCES
from netcalc.verification.values import POSITIONS, Comparison, Difference, compare_table, compare_values

#: Faults that no comparison of executed operations with their references can see.
UNSEEN = (
    f"values at positions that are not compared: {POSITIONS} of each output are, of one instance of each operation",
    "random values, such as the elements that dropout omits; of initial values only their distribution is compared",
    "buffers that lines of the spec compute, and weights of a file that are not what their names say",
    "an attribute that is read wrongly, since rules, kernels and references take the attributes as they are read",
    "a spec that describes another architecture than was meant",
    "work that a cost rule and a kernel count wrongly alike",
    "a wrong prediction of a symbolic size at other values than those run, or of a receptive field",
    "an allowance for temporaries of kernels that is too large or too small, and memory of plans, caches and training",
    "work of an update of parameters, and work that a user declares, under a counting convention",
    "inputs that a rule refuses wrongly, or accepts wrongly",
    "differences below rounding",
)


class Definitions(Compared):
    """Comparison of every distinct operation of a program with its reference; repeats are compared once."""

    def __init__(self, program: Program, seed: int, *, drawn: bool) -> None:
        super().__init__()
        self._program = program
        self._rng = generator(seed, "/values")
        self._drawn = drawn  # without weights of the caller, tables have their initial content

    def differences(
        self,
        instance: Instance,
        inputs: Sequence[Array | None],
        params: Mapping[str, Array],
        outputs: Sequence[Array],
        updates: Mapping[str, Array],
    ) -> Sequence[Difference] | None:
        """Compare an executed operation; None if it was compared before, or has no reference."""
        node = instance.node
        if not self.is_new(node):
            return None
        name = node.op.name
        differences: list[Difference] = []
        compared = 0
        try:
            for part in self._parts(instance, inputs, params, outputs, updates):
                differences += part.differences
                compared += part.compared
                for reason in part.gaps:
                    self.leave_out(f"values of {name}", reason)
        except MemoryError:
            raise
        except Exception as error:  # a reference fails on arrays that it cannot have been meant for
            differences.append(Difference("outputs", "values by the definition", f"{type(error).__name__}: {error}"))
        if REFERENCES.get(name) is None:
            return None
        self.count(name, compared, different=bool(differences))
        return differences

    def _parts(
        self,
        instance: Instance,
        inputs: Sequence[Array | None],
        params: Mapping[str, Array],
        outputs: Sequence[Array],
        updates: Mapping[str, Array],
    ) -> Iterator[Comparison]:
        node, dtype = instance.node, self._program.dtype
        yield compare_values(
            node.op,
            inputs,
            params,
            [np.asarray(output) for output in outputs],
            rng=self._rng,
            updates={name: np.asarray(array) for name, array in updates.items()},
            training=self._program.training,
            dtype=dtype,
        )
        for param in node.params if self._drawn else ():
            if param.init.kind == "table" and instance.owners[param.name] == join(instance.path, param.name):
                yield compare_table(node.op, param.name, params[param.name], rng=self._rng, dtype=dtype)
