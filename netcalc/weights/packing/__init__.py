"""Packed tensors of quantized checkpoints, and the tensors that they stand for.

How a method of quantization stores a tensor is data, see :mod:`netcalc.schemes.methods`.
"""
