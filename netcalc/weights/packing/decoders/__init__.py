"""Decoders of packed tensors, one file for each method or family of methods.

A decoder takes the stored arrays by their suffixes, the shape of the tensor that they stand for, and the arguments that
the layout in ``data/schemes`` names, and returns the numbers in this shape.  It raises ValueError if the data do not
follow the layout.
"""
