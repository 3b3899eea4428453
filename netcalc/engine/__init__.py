"""Planned execution of programs.

A program is flattened to a graph, elementwise operations are fused onto the products that they follow, and each node
is lowered to steps that work on strided views of one arena.  Steps consist of independent jobs, which a session shares
among threads or processes.  Operations without a lowering run by their reference kernel
(:mod:`netcalc.numerics.kernels`) on the same views.  See ``README.md`` in this folder.
"""
