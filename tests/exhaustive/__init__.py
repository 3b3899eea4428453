"""Checks that are too long for every change: ``python -m tests.exhaustive NAME``.

A module of this package is a check.  It has ``add_options``, ``run`` and ``sample``; see :class:`Check`.
"""
