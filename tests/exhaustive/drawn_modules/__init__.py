"""Modules of PyTorch, drawn as the Python text of their classes.

The text is made line by line, and each line is executed on the way: one that PyTorch refuses, or whose result is too
large, is left out.  So shapes and types need no rules here, and every drawn module runs.
"""
