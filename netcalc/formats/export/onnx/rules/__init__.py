"""Rules of operations, one module for each family of :data:`netcalc.ops.FAMILIES` that has any.

A rule is a function of the graph and an applied operation, which adds nodes and returns the result, or several.  It
raises :class:`~netcalc.formats.export.onnx.rule.UnsupportedError` for attributes that ONNX cannot express.
"""
