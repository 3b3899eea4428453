"""Caches and states of decoding: what a network keeps from step to step, and how much memory tools reserve for it."""
