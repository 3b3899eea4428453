"""Packed tensors of quantised checkpoints, and the tensors that they stand for.

How a scheme of quantisation stores a tensor is data: a file ``schemes/<method>.yaml``, see
:mod:`netcalc.weights.packing.schemes`.
"""
