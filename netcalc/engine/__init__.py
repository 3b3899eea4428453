"""The planner between a program and its execution.

A program is flattened, its elementwise work is fused onto the products that it follows, each node is lowered to
steps on strided views of one arena, and the steps are cut into jobs for a few workers, processes or threads.  What no
lowering knows runs by its reference kernel (:mod:`netcalc.numerics.kernels`) on the same views.
"""
