"""Lowering convolutions: one module for each algorithm."""
