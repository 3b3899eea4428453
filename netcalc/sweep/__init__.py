"""Sweeps: plans of points, their figures in columns, and what is kept of them."""
